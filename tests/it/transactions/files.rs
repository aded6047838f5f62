//! Files that follow each other.

use super::statement;
use crate::log::{Log, T, begin, gtid, input, rotate, stop, transaction, xid};
use crate::rows::{decode, options};
use binarrow::ErrorKind;
use binarrow::source::InputFile;

#[test]
fn files_must_follow_each_other() {
    let first = Log::mysql().with(transaction(1, [1])).with([rotate("binlog.000002")]);
    let second = Log::mysql().with(transaction(2, [2])).with([rotate("binlog.000003")]);
    let third = Log::mysql().with(transaction(3, [3])).with([stop()]);
    let all = |names: &[&str]| -> Vec<InputFile> {
        names
            .iter()
            .map(|name| match *name {
                "binlog.000001" => first.clone().input(name),
                "binlog.000002" => second.clone().input(name),
                name => third.clone().input(name),
            })
            .collect()
    };
    let outcome =
        decode(all(&["binlog.000001", "binlog.000002", "binlog.000003"]), &options()).ok();
    assert_eq!(outcome.inserted(), [1, 2, 3]);
    let versions: Vec<i64> = outcome.rows.iter().map(|row| row.version >> 40).collect();
    assert_eq!(versions, [1, 2, 3]);

    let outcome = decode(all(&["binlog.000001", "binlog.000003"]), &options());
    assert_eq!(outcome.inserted(), [1]);
    let error = outcome.failure();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.message().contains("binlog.000002"), "{error}");
    assert!(error.message().contains("gaps"), "{error}");
    assert_eq!(error.file(), Some("binlog.000003"));

    let mut gaps = options();
    gaps.cut.allow_gaps = true;
    let outcome = decode(all(&["binlog.000001", "binlog.000003"]), &gaps).ok();
    assert_eq!(outcome.inserted(), [1, 3]);

    // A file without a number in its name is numbered by its place in the list, and its name does
    // not show that files before it are missing.
    let renamed = [("a.bin", &first), ("b.bin", &second)].into_iter().zip(1..);
    let renamed =
        renamed.map(|((name, log), place)| input(name, place, log.bytes.clone())).collect();
    assert_eq!(decode(renamed, &options()).ok().inserted(), [1, 2]);
}

#[test]
fn a_stopped_server_continues_in_the_next_number() {
    for in_use in [false, true] {
        let first = if in_use { Log::mysql().in_use() } else { Log::mysql() };
        let first = first.with(transaction(1, [1]));
        let first = if in_use { first } else { first.with([stop()]) };
        let second = Log::mysql().with(transaction(2, [2])).with([stop()]);
        let files = |name| vec![first.clone().input("binlog.000009"), second.clone().input(name)];
        assert_eq!(decode(files("binlog.000010"), &options()).ok().inserted(), [1, 2]);
        for name in ["binlog.000011", "binlog.000008"] {
            let outcome = decode(files(name), &options());
            assert_eq!(outcome.inserted(), [1], "{name}");
            assert_eq!(outcome.failure().kind(), ErrorKind::Config);
            assert!(outcome.failure().message().contains("gaps"), "{:?}", outcome.failure());
        }
    }
}

#[test]
fn no_two_files_of_one_name() {
    let log = Log::mysql().with(transaction(1, [1])).with([stop()]);
    let twice = vec![log.clone().input("binlog.000001"), log.input("binlog.000001")];
    let outcome = decode(twice, &options());
    assert_eq!(outcome.rows, []);
    assert_eq!(outcome.failure().kind(), ErrorKind::Config);
    assert!(outcome.failure().message().contains("binlog.000001"), "{:?}", outcome.failure());
}

#[test]
fn an_artificial_rotate_names_no_file() {
    let log = Log::mysql()
        .with([rotate("other.000009").flags(0x20).at(0)])
        .with(transaction(1, [1]))
        .with([rotate("binlog.000002")]);
    let second = Log::mysql().with(transaction(2, [2])).with([stop()]);
    let files = vec![log.input("binlog.000001"), second.input("binlog.000002")];
    assert_eq!(decode(files, &options()).ok().inserted(), [1, 2]);
}

#[test]
fn a_transaction_does_not_continue_in_the_next_file() {
    let first = Log::mysql()
        .with([gtid(1), begin()])
        .with(statement(T, [1]))
        .with([rotate("binlog.000002")]);
    let second = Log::mysql().with(statement(T, [2])).with([xid(), stop()]);
    let files =
        || vec![first.clone().input("binlog.000001"), second.clone().input("binlog.000002")];
    let outcome = decode(files(), &options());
    assert_eq!(outcome.rows, []);
    assert_eq!(outcome.failure().file(), Some("binlog.000001"));
}
