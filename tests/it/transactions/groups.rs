//! The ends of transactions.

use super::{gtids, run, run_with, statement};
use crate::log::{
    Log, SECONDS, T, U, annotate, anonymous_gtid, begin, commit_time, gtid, gtid_list, insert,
    mariadb_gtid, not_last, query, query_with, stop, table_map, transaction, v1, xid,
};
use crate::rows::{emitting, options};
use binarrow::ErrorKind;

#[test]
fn xid_and_commit_end_a_transaction() {
    for end in [xid(), query("COMMIT")] {
        let log =
            Log::mysql().with([gtid(1), begin()]).with(statement(T, [1, 2])).with([end, stop()]);
        let outcome = run(&log).ok();
        assert_eq!(outcome.inserted(), [1, 2]);
        assert_eq!(outcome.stats.transactions, 1);
        let row = &outcome.rows[1];
        assert_eq!((row.version, row.ordinal), (1 << 40 | log.starts[1] as i64, 2));
        assert_eq!(row.timestamp, commit_time(1), "the GTID event's, not the header's");
        assert_eq!(row.position, log.starts[4] as i64);
        assert_eq!(outcome.offset(), log.end());
    }
}

#[test]
fn without_a_gtid_begin_opens_it() {
    let log = Log::mysql().with([begin()]).with(statement(T, [1])).with([xid()]);
    let log = log.with([anonymous_gtid(), begin()]).with(statement(T, [2])).with([xid(), stop()]);
    let outcome = run(&log).ok();
    assert_eq!(outcome.inserted(), [1, 2]);
    assert_eq!(outcome.rows[0].version, 1 << 40 | log.starts[1] as i64);
    assert_eq!(outcome.rows[0].timestamp, i64::from(SECONDS) * 1_000_000);
    assert_eq!(outcome.rows[1].version, 1 << 40 | log.starts[5] as i64);
}

#[test]
fn rollback_gives_nothing() {
    let rolled_back = |gno, id| {
        let events = [gtid(gno), begin(), table_map(T), insert(T, [id]), query("ROLLBACK")];
        events.into_iter()
    };
    let log = Log::mysql()
        .with(rolled_back(1, 1))
        .with(transaction(2, [2]))
        .with(rolled_back(3, 3))
        .with([stop()]);
    let outcome = run(&log).ok();
    assert_eq!(outcome.inserted(), [2]);
    assert_eq!(outcome.stats.dropped_rows_events, 2);
    assert_eq!(outcome.stats.transactions, 1);
    assert_eq!(outcome.offset(), log.end());
    let outcome = run_with(&log, emitting(options())).ok();
    assert_eq!(outcome.inserted(), [1, 2, 3]);
}

#[test]
fn rollback_to_a_savepoint_undoes_what_came_after() {
    let log = Log::mysql()
        .with([gtid(1), begin()])
        .with(statement(T, [1]))
        .with([query("SAVEPOINT `a`")])
        .with(statement(T, [2]))
        .with([query("SAVEPOINT `B``c`")])
        .with(statement(U, [3]))
        .with([query("ROLLBACK TO `b``C`")])
        .with(statement(T, [4]))
        .with([query("ROLLBACK TO `a`")])
        .with(statement(U, [5]))
        .with([query("SAVEPOINT `a`")])
        .with(statement(T, [6]))
        .with([query("ROLLBACK TO `a`"), query("ROLLBACK TO `a`")])
        .with(statement(T, [7]))
        .with([xid(), stop()]);
    let outcome = run(&log).ok();
    assert_eq!(outcome.inserted(), [1, 5, 7]);
    let ordinals: Vec<i64> =
        outcome.by_table().values().flatten().map(|row| row.ordinal >> 32).collect();
    assert_eq!(ordinals, [0, 6, 4], "all rows events count, those undone too");
    let outcome = run_with(&log, emitting(options())).ok();
    assert_eq!(outcome.inserted(), [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_savepoint_that_the_log_does_not_name_is_an_error() {
    let log = Log::mysql()
        .with(transaction(1, [1]))
        .with([gtid(2), begin()])
        .with(statement(T, [2]))
        .with([query("ROLLBACK TO `x`"), xid(), stop()]);
    let outcome = run(&log);
    assert_eq!(outcome.inserted(), [1]);
    let error = outcome.failure();
    assert_eq!((error.kind(), error.event()), (ErrorKind::Malformed, Some("Query")));
    assert_eq!(error.offset(), Some(log.starts[10]));
}

#[test]
fn rows_of_a_file_that_begins_in_a_transaction_end_with_their_statement() {
    let first = not_last(insert(T, [1]));
    let log = Log::mysql()
        .with([table_map(T), first, insert(T, [2])])
        .with(statement(U, [3]))
        .with([xid()])
        .with(transaction(9, [4]))
        .with([stop()]);
    let outcome = run(&log).ok();
    assert_eq!(outcome.inserted(), [1, 2, 3, 4]);
    assert_eq!(outcome.stats.transactions, 3);
}

#[test]
fn create_table_select() {
    // MySQL logs it as one transaction whose first statement is the CREATE.
    let create = "CREATE TABLE `t` (`id` int NOT NULL) START TRANSACTION";
    let log = Log::mysql()
        .with([gtid(1), query(create)])
        .with(statement(T, [1, 2]))
        .with([xid()])
        .with([gtid(2), begin(), query(create)])
        .with(statement(T, [3]))
        .with([xid()])
        .with([query(create)])
        .with(statement(T, [4]))
        .with([xid(), stop()]);
    let outcome = run(&log).ok();
    assert_eq!(outcome.inserted(), [1, 2, 3, 4]);
    assert_eq!(outcome.stats.transactions, 3);
}

#[test]
fn statements_that_are_alone() {
    let log = Log::mysql()
        .with([gtid(1), query("CREATE TABLE `t` (id INT)")])
        .with(transaction(2, [1]))
        .with([gtid(3), query("DROP TABLE `x`"), query("ALTER TABLE no_gtid ADD x INT")])
        .with(transaction(4, [2]))
        .with([stop()]);
    let outcome = run(&log).ok();
    assert_eq!(outcome.inserted(), [1, 2]);
    assert_eq!(outcome.stats.transactions, 2, "those with rows");
    assert_eq!(outcome.offset(), log.end());
}

/// H19
#[test]
fn status_variables_that_overrun_do_not_hide_the_statement() {
    for variables in [&[5, 200][..], &[12, 254], &[99, 1, 2], &[12, 3, b'a'], &[0, 1]] {
        let log = Log::mysql()
            .with([gtid(1), query_with(variables, "BEGIN")])
            .with(statement(T, [1]))
            .with([query_with(variables, "ROLLBACK")])
            .with(transaction(2, [2]))
            .with([stop()]);
        assert_eq!(run(&log).ok().inserted(), [2]);
    }
}

#[test]
fn mariadb_groups() {
    // Without STANDALONE, a transaction begins without a BEGIN. Statements inside it do not end it.
    let rows =
        |id: i32| statement(T, [id]).map(|event| if event.code == 30 { v1(event) } else { event });
    let log = Log::mariadb()
        .with([gtid_list(0), mariadb_gtid(1, 1), query("CREATE TABLE t (id INT)")])
        .with([mariadb_gtid(2, 12), annotate("INSERT INTO t VALUES (1)")])
        .with(rows(1))
        .with([query("CREATE TEMPORARY TABLE x (id INT)")])
        .with(rows(2))
        .with([xid()])
        .with([mariadb_gtid(3, 0)])
        .with(rows(3))
        .with([query("COMMIT")])
        .with([mariadb_gtid(4, 12)])
        .with(rows(4))
        .with([query("CREATE TEMPORARY TABLE y (id INT)")])
        .with(rows(5))
        .with([query("ROLLBACK")])
        .with([mariadb_gtid(5, 12)])
        .with(rows(6))
        .with([xid(), stop()]);
    let outcome = run(&log).ok();
    assert_eq!(outcome.inserted(), [1, 2, 3, 6]);
    assert_eq!(outcome.stats.dropped_rows_events, 2);
    assert_eq!(gtids(&outcome), "0-1-5");
    assert_eq!(outcome.rows[0].timestamp, (i64::from(SECONDS) + 2) * 1_000_000);
}

#[test]
fn a_transaction_that_does_not_end_before_the_next_is_an_error() {
    let log = Log::mysql()
        .with(transaction(1, [1]))
        .with([gtid(2), begin()])
        .with(statement(T, [2]))
        .with(transaction(3, [3]))
        .with([stop()]);
    let outcome = run(&log);
    assert_eq!(outcome.inserted(), [1]);
    assert_eq!(outcome.failure().kind(), ErrorKind::Malformed);
    assert_eq!(outcome.failure().offset(), Some(log.starts[10]));
}
