//! Threads, segments, inputs, filters, resuming and splits change no row: neither its cells, nor
//! its order in its table, nor its `_commit_version` and `_change_ordinal`.

use crate::fixtures::{Fixture, Via, recorded, recorded_as, shop};
use crate::log::{
    Event, Log, T, Table, U, begin, compressed, delete, fragments, gtid, image, insert, not_last,
    payload, previous_gtids, query, rotate, rows_event, stop, table_map, update, xa, xa_prepare,
    xid,
};
use crate::rows::{
    Outcome, Row, batches_of, between, by_table, decode, from, local, options, read, segments_of,
    split_file, up_to,
};
use binarrow::change::TableFilter;
use binarrow::position::Position;
use binarrow::reader::{DecodeOptions, ReadOptions, Reader};
use binarrow::source::{Split, Start, Stop, link_splits};
use std::collections::BTreeSet;
use tempfile::TempDir;

/// The sizes of segments in bytes: smaller than each event, smaller than some transactions, larger
/// than all.
const SEGMENTS: [usize; 5] = [1, 1500, 64 << 10, 1 << 20, 64 << 20];

#[test]
fn threads_segments_and_inputs() {
    for fixture in all(&generated()) {
        let expected = decoded(&fixture);
        for threads in [1, 4] {
            for segment in SEGMENTS {
                // Bytes and streams are read in small segments, and in one segment.
                let vias = match segment {
                    1500 | 0x400_0000 => &[Via::Path, Via::Bytes, Via::Stream][..],
                    _ => &[Via::Path],
                };
                for via in vias.iter().copied() {
                    let options = ReadOptions { threads, ..segments_of(segment) };
                    let outcome = read(fixture.inputs(via), options).ok();
                    let case = format!("{} {threads} {segment} {via:?}", fixture.name);
                    assert_same(&outcome.rows, &expected.rows, &case);
                    assert_eq!(outcome.position, expected.position, "{case}");
                    assert_eq!(outcome.warnings, expected.warnings, "{case}");
                    assert_eq!(outcome.stats.bytes_read, fixture.size(), "{case}");
                    assert_eq!(outcome.stats.rows_events, expected.stats.rows_events, "{case}");
                    assert_eq!(outcome.stats.transactions, expected.stats.transactions, "{case}");
                    assert_eq!(outcome.stats.tables, expected.stats.tables, "{case}");
                    assert_eq!(outcome.stats.time_span, expected.stats.time_span, "{case}");
                    assert_eq!(
                        outcome.stats.dropped_rows_events, expected.stats.dropped_rows_events,
                        "{case}"
                    );
                }
            }
        }
    }
}

#[test]
fn batch_limits() {
    for fixture in all(&generated()) {
        let expected = decoded(&fixture);
        for (rows, bytes, end_at_commit) in
            [(1, 32 << 20, false), (7, 32 << 20, true), (65_536, 300, false)]
        {
            let mut options = segments_of(64 << 10);
            options.decode.limits.rows = rows;
            options.decode.limits.bytes = bytes;
            options.cut.cut_at_commit = end_at_commit;
            let outcome = decode(fixture.paths(), &options).ok();
            assert_same(&outcome.rows, &expected.rows, &fixture.name);
            let ends: Vec<usize> = outcome.batches.iter().map(|(end, _)| *end).collect();
            let starts = std::iter::once(0).chain(ends.iter().copied());
            for (start, end) in starts.zip(&ends) {
                assert!((1..=rows.max(2)).contains(&(end - start))); // (an update has two rows)
                let versions: BTreeSet<i64> =
                    outcome.rows[start..*end].iter().map(|row| row.version).collect();
                assert!(!end_at_commit || versions.len() == 1, "{}: {versions:?}", fixture.name);
            }
        }
    }
}

#[test]
fn table_filters() {
    for fixture in all(&generated()) {
        let expected = decoded(&fixture).by_table();
        let tables: Vec<&str> = expected.keys().map(AsRef::as_ref).collect();
        for segment in [1, 1500, 64 << 10] {
            let filtered = |include: &[&str], exclude: &[&str]| {
                let options = segments_of(segment);
                let tables = TableFilter::try_new(include, exclude).unwrap();
                let decode_options = DecodeOptions { tables, ..options.decode };
                decode(fixture.paths(), &ReadOptions { decode: decode_options, ..options }).ok()
            };
            for table in &tables {
                let case = format!("{} {table} {segment}", fixture.name);
                let rows = filtered(&[table], &[]).rows;
                assert_same(&rows, &expected[*table], &case);
                let rest: Vec<Row> = expected
                    .iter()
                    .filter(|(other, _)| ***other != **table)
                    .flat_map(|(_, rows)| rows.clone())
                    .collect();
                assert_same(&filtered(&["*.*"], &[table]).rows, &rest, &case);
            }
            let none = filtered(&["no.such"], &[]);
            assert_eq!(none.rows, []);
            assert_eq!(none.position, decoded(&fixture).position, "it moves over what is left out");
        }
    }
}

#[test]
fn resuming_at_any_batch_gives_the_rest() {
    for fixture in all(&generated()) {
        let segments: &[usize] = if fixture.name == "shop" { &[64 << 10] } else { &[1, 1500] };
        for segment in segments {
            let options = batches_of(1000, segments_of(*segment));
            let outcome = decode(fixture.paths(), &options).ok();
            let mut seen = BTreeSet::new();
            for (end, position) in &outcome.batches {
                // All rows before the position have been returned: otherwise the rows after it
                // would be lost.
                let version = version_of(position);
                let rest = &outcome.rows[*end..];
                let case = format!("{} {segment} {position}", fixture.name);
                assert!(outcome.rows[*end..].iter().all(|row| row.version >= version), "{case}");
                if !seen.insert(version) {
                    continue;
                }
                let stored = Position::from_json(&position.to_json().unwrap()).unwrap();
                assert_eq!(stored.to_json().unwrap(), position.to_json().unwrap());
                let resumed = between(options.clone(), from(&stored), Stop::End);
                let resumed = decode(fixture.paths(), &resumed).ok();
                assert_same(&resumed.rows, rest, &case);
                let nothing_left = **outcome.position.as_ref().unwrap() == **position;
                assert!(nothing_left || resumed.position == outcome.position, "{case}");

                let until = between(options.clone(), Start::Earliest, up_to(position));
                let until = decode(fixture.paths(), &until).ok();
                let before: Vec<Row> =
                    outcome.rows.iter().filter(|row| row.version < version).cloned().collect();
                assert_same(&until.rows, &before, &case);
            }
            assert!(seen.len() > 1 || outcome.batches.len() < 3, "{}", fixture.name);
        }
    }
}

#[test]
fn the_position_after_each_transaction_is_safe() {
    let mut positions = 0;
    for fixture in all(&generated()) {
        if fixture.name == "shop" {
            continue; // too many; the previous test uses some of them
        }
        let options = segments_of(64 << 10);
        let outcome = decode(fixture.paths(), &options).ok();
        let ends: Vec<usize> = outcome.batches.iter().map(|(end, _)| *end).collect();
        for (index, (end, position)) in outcome.batches.iter().enumerate() {
            let next = ends.get(index + 1).map_or(&[][..], |_| &outcome.rows[*end..]);
            let is_last =
                next.first().is_none_or(|row| row.version > outcome.rows[end - 1].version);
            if !is_last || version_of(position) <= outcome.rows[end - 1].version {
                continue; // another table's batch of the transaction follows
            }
            let resumed =
                decode(fixture.paths(), &between(options.clone(), from(position), Stop::End));
            assert_same(&resumed.ok().rows, next, &format!("{} {position}", fixture.name));
            positions += 1;
        }
    }
    assert!(positions > 40, "{positions}");
}

#[test]
fn splits() {
    for fixture in all(&generated()) {
        let expected = decoded(&fixture);
        let mut counts = BTreeSet::new();
        for target in [1, 2000, 64 << 10, 300 << 10, u64::MAX / 2] {
            let mut splits: Vec<Split> = Vec::new();
            for (path, place) in fixture.files.iter().zip(1..) {
                splits.extend(split_file(path, place, target).unwrap());
            }
            link_splits(&mut splits, false).unwrap();
            counts.insert(splits.len());
            let case = format!("{} {target}", fixture.name);
            let mut rows = Vec::new();
            for split in &splits {
                // A task receives it as JSON.
                let json = serde_json::to_string(split).unwrap();
                let split: Split = serde_json::from_str(&json).unwrap();
                let (files, start, stop) = split.input(&local).unwrap();
                let outcome = decode(files, &between(options(), start, stop)).ok();
                rows.extend(outcome.rows);
            }
            assert_same(&rows, &expected.rows, &case);
            for pair in splits.windows(2) {
                let follows =
                    pair[0].path != pair[1].path || pair[0].stop == pair[1].start_offset().unwrap();
                assert!(follows, "{case}");
            }
        }
        assert!(counts.len() > 1, "{} {counts:?}", fixture.name);
    }
}

#[test]
fn a_reader_closed_early_ends_its_threads() {
    let shop = shop();
    for threads in [1, 4] {
        for batches in [0, 1, 5] {
            let options = batches_of(100, ReadOptions { threads, ..segments_of(64 << 10) });
            let mut reader = Reader::try_new(shop.paths(), options).unwrap();
            for _ in 0..batches {
                assert!(reader.next_batch().unwrap().is_some());
            }
            reader.close();
            assert!(reader.is_ended());
            assert!(reader.next_batch().unwrap().is_none());
        }
    }
}

#[test]
fn the_last_statement_of_a_table_map_counts_not_its_bytes() {
    // Two tables with the same id, one after the other, in one transaction: the newer map applies.
    let renamed = Table { name: "renamed", ..T };
    let log = Log::mysql().with([
        gtid(1),
        begin(),
        table_map(T),
        insert(T, [1]),
        table_map(renamed),
        insert(renamed, [2]),
        table_map(T),
        insert(T, [3]),
        xid(),
        stop(),
    ]);
    for segment in [1, 1 << 20] {
        let outcome = decode(log.clone().inputs(), &segments_of(segment)).ok();
        assert_eq!(outcome.changes(), ["insert d.t 1", "insert d.renamed 2", "insert d.t 3"]);
    }
}

// ---- inputs

pub(crate) fn all(generated: &(Fixture, TempDir)) -> Vec<Fixture> {
    let mut all = recorded();
    all.push(generated.0.clone());
    all.push(shop());
    all
}

fn decoded(fixture: &Fixture) -> Outcome {
    let outcome = decode(fixture.paths(), &options()).ok();
    assert!(!outcome.rows.is_empty(), "{}", fixture.name);
    outcome
}

/// Transactions of all kinds and sizes in two files; the larger ones are larger than 64 KiB.
pub(crate) fn generated() -> (Fixture, TempDir) {
    let mut next = 0;
    let mut number = || {
        next += 1;
        next
    };
    let mut first = vec![previous_gtids(0)];
    for _ in 0..20 {
        first.extend([gtid(number()), begin()]);
        first.extend(statements(number() as i32 * 100_000, 1, 5));
        first.push(xid());
    }
    // Large transactions: plain, rolled back, with a savepoint, prepared and decided immediately or
    // later, compressed.
    for end in ["COMMIT", "ROLLBACK", "COMMIT"] {
        first.extend([gtid(number()), begin()]);
        first.extend(statements(number() as i32 * 100_000, 30, 20));
        first.push(query(end));
    }
    let id = number() as i32 * 100_000;
    first.extend([gtid(number()), begin()]);
    first.extend(statements(id, 20, 20));
    first.push(query("SAVEPOINT `s`"));
    first.extend(statements(id + 10_000, 20, 20));
    first.push(query("ROLLBACK TO `s`"));
    first.extend(statements(id + 20_000, 20, 20));
    first.push(xid());
    for gtrid in ["committed", "undone", "later"] {
        first.extend([gtid(number()), xa("START", gtrid)]);
        first.extend(statements(number() as i32 * 100_000, 20, 20));
        first.extend([xa("END", gtrid), xa_prepare(gtrid, false)]);
        first.extend([gtid(number()), begin()]);
        first.extend(statements(number() as i32 * 100_000, 1, 2));
        first.push(xid());
    }
    first.extend([gtid(number()), xa("COMMIT", "committed")]);
    first.extend([gtid(number()), xa("ROLLBACK", "undone")]);
    for events in [1, 40] {
        let id = number() as i32 * 100_000;
        let inside = [begin()].into_iter().chain(statements(id, events, 20)).chain([xid()]);
        first.extend([gtid(number()), payload(true, inside)]);
    }
    // MariaDB: compressed rows, and rows in fragments that are together larger than a segment.
    first.extend([gtid(number()), begin()]);
    let packed = |event: Event| if event.code == 19 { event } else { compressed(event) };
    first.extend(statements(number() as i32 * 100_000, 40, 20).into_iter().map(packed));
    first.extend([xid(), gtid(number()), begin()]);
    for (event, index) in statements(number() as i32 * 100_000, 4, 200).into_iter().zip(0..) {
        match event.code {
            19 => first.push(event),
            _ => first.extend(fragments(&event, 1000 + 3000 * index, index % 2 == 0)),
        }
    }
    first.push(xid());
    let id = number() as i32 * 100_000;
    let inside = [xa("START", "packed")]
        .into_iter()
        .chain(statements(id, 40, 20))
        .chain([xa("END", "packed"), xa_prepare("packed", false)]);
    first.extend([gtid(number()), payload(true, inside)]);
    first.extend([gtid(number()), query("CREATE TABLE x (id INT)")]);
    first.push(rotate("binlog.000008"));

    let mut second = vec![previous_gtids(number() as u64)];
    second.extend([gtid(number()), xa("COMMIT", "later")]);
    second.extend([gtid(number()), begin()]);
    second.extend(statements(number() as i32 * 100_000, 1, 2));
    second.extend([xid(), gtid(number()), xa("COMMIT", "packed"), stop()]);

    let folder = tempfile::tempdir().unwrap();
    let files = [("binlog.000007", first), ("binlog.000008", second)].map(|(name, events)| {
        let path = folder.path().join(name);
        std::fs::write(&path, Log::mysql().with(events).bytes).unwrap();
        path
    });
    (Fixture { name: "generated".to_owned(), files: files.to_vec() }, folder)
}

/// Statements on two tables: `events` rows events with `rows` rows each.
pub(crate) fn statements(id: i32, events: i32, rows: i32) -> Vec<Event> {
    let mut all = Vec::new();
    for event in 0..events {
        let id = id + event * rows;
        let text = format!("{id:0200}");
        let images: Vec<u8> = (id..id + rows).flat_map(|id| image(id, Some(&text))).collect();
        all.extend([table_map(T), table_map(U), not_last(rows_event(30, T, &images))]);
        all.push(match event % 3 {
            0 => insert(U, id..id + rows),
            1 => update(U, (id..id + rows).map(|id| (id, id + id % 2))),
            _ => delete(U, id..id + rows),
        });
    }
    all
}

// ---- comparing

pub(crate) fn assert_same(rows: &[Row], expected: &[Row], case: &str) {
    let (found, expected) = (by_table(rows), by_table(expected));
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{case}");
    for (table, expected) in expected {
        let found = &found[&table];
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{case}");
        }
        assert_eq!(found.len(), expected.len(), "{case} {table}");
    }
}

/// The `_commit_version` of a transaction that begins at a position.
pub(crate) fn version_of(position: &Position) -> i64 {
    let number: i64 = position.file.rsplit_once('.').unwrap().1.parse().unwrap();
    number << 40 | position.offset as i64
}

#[test]
fn the_fixtures_hold_what_they_are_there_for() {
    let changes = |name: &str| decode(recorded_as(name).paths(), &options()).ok().rows;
    assert!(changes("mysql-transactions").iter().any(|row| row.cell("v") == Some("prepared")));
    for name in ["mysql-compressed", "mariadb10-transactions", "mysql-no-gtids"] {
        assert!(changes(name).iter().all(|row| row.cell("v") != Some("never")), "{name}");
    }
    for name in ["mariadb10-compressed", "mariadb11-compressed"] {
        let rows = changes(name);
        let text = "é".repeat(100);
        assert!(rows.iter().any(|row| row.cell("v") == Some(&text)), "{name}");
        assert!(rows.iter().any(|row| row.cell("l") == Some(&"ß".repeat(100))), "{name}");
    }
}
