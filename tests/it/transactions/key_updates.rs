//! Updates of the key.

use super::{run, run_with};
use crate::log::{Log, T, begin, delete, gtid, stop, table_map, update, xid};
use crate::rows::options;

#[test]
fn an_update_of_the_key_becomes_a_delete_and_an_insert() {
    let log = Log::mysql()
        .with([gtid(1), begin(), table_map(T), update(T, [(1, 1), (2, 20), (3, 3)])])
        .with([table_map(T), delete(T, [3]), xid(), stop()]);
    let outcome = run(&log).ok();
    assert_eq!(
        outcome.changes(),
        [
            "update_preimage d.t 1",
            "update_postimage d.t 1",
            "delete d.t 2",
            "insert d.t 20",
            "update_preimage d.t 3",
            "update_postimage d.t 3",
            "delete d.t 3",
        ]
    );
    let ordinals: Vec<i64> = outcome.rows.iter().map(|row| row.ordinal).collect();
    assert_eq!(ordinals, [0, 1, 2, 3, 4, 5, 1 << 32]);
    let stats = outcome.stats.tables.values().next().unwrap();
    assert_eq!((stats.inserts, stats.updates, stats.deletes), (0, 3, 1));

    let mut complete = options();
    complete.decode.update_rule.split_key_updates = false;
    let outcome = run_with(&log, complete).ok();
    assert_eq!(outcome.changes()[2..4], ["update_preimage d.t 2", "update_postimage d.t 20"]);
}
