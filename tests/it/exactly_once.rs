//! A consumer that stores a batch and its position, stops, and resumes there, receives each row
//! exactly once: after any batch, and for all settings of segments, threads and limits of the first
//! and the second read.

use crate::fixtures::{Fixture, recorded_as, shop};
use crate::invariance::{all, assert_same, generated, statements, version_of};
use crate::log::{
    Event, Log, T, begin, delete, gtid, insert, previous_gtids, query, stop, table_map, update, xa,
    xa_prepare, xid,
};
use crate::rows::{Outcome, Row, batches_of, between, by_table, from, options, read, segments_of};
use binarrow::change::{Include, Operations, TableFilter};
use binarrow::position::{Ahead, Position};
use binarrow::reader::{Poll, ReadOptions, Reader};
use binarrow::source::{InputFile, Stop};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::time::Duration;

/// The settings of a read: threads, bytes of a segment, rows of a batch.
type Way = (usize, usize, usize);

/// Each value of a setting is combined with each value of the others; each four consecutive entries
/// contain all values.
const WAYS: [Way; 12] = [
    (1, 1500, 7),
    (2, 64 << 10, 1000),
    (4, 64 << 20, 1),
    (1, 64 << 10, 1),
    (2, 64 << 20, 65_536),
    (4, 1500, 1000),
    (1, 64 << 20, 1000),
    (2, 1500, 1),
    (4, 64 << 10, 7),
    (4, 1500, 65_536),
    (1, 64 << 10, 65_536),
    (2, 64 << 20, 7),
];

fn by((threads, segment, rows): Way) -> ReadOptions {
    ReadOptions { threads, ..batches_of(rows, segments_of(segment)) }
}

/// A position after it was stored and read again.
fn stored(position: &Position) -> Position {
    let text = position.to_json().unwrap();
    let stored = Position::from_json(&text).unwrap();
    assert_eq!((&stored, &stored.to_json().unwrap()), (position, &text));
    stored
}

fn resume(files: Vec<InputFile>, position: &Position, options: ReadOptions) -> Outcome {
    read(files, between(options, from(position), Stop::End)).ok()
}

/// Returns some of many values, including the first and the last.
fn sample<T>(all: &[T], most: usize) -> impl Iterator<Item = &T> {
    let step = all.len().div_ceil(most).max(1);
    all.iter().step_by(step).chain(all.last())
}

#[test]
fn every_batch_is_a_place_to_resume_at() {
    let mut ahead = 0;
    for (number, fixture) in all(&generated()).iter().enumerate() {
        let (most, least) = match fixture.name.as_str() {
            "shop" => (1, 65_536),
            "generated" => (2, 1),
            _ => (4, 1),
        };
        for (index, way) in WAYS.into_iter().enumerate().filter(|(_, way)| way.2 >= least) {
            let outcome = read(fixture.paths(), by(way)).ok();
            for (at, (end, position)) in sample(&outcome.batches, most).enumerate() {
                let other = WAYS[(number + index + 5 * at) % WAYS.len()];
                let other = (other.0, other.1, other.2.max(least));
                let case = format!("{} {way:?} then {other:?} {position}", fixture.name);
                let position = stored(position);
                ahead += usize::from(!position.ahead.is_empty());
                let resumed = resume(fixture.paths(), &position, by(other));
                assert_same(&resumed.rows, &outcome.rows[*end..], &case);
            }
            let (_, last) = outcome.batches.last().unwrap();
            let is_cut = way.2 < 65_536;
            assert!(is_cut || last.ahead.is_empty(), "{}: {last:?}", fixture.name);
        }
    }
    assert!(ahead > 80, "{ahead}");
}

#[test]
fn by_gtid_too() {
    let mut seen = 0;
    let kept = generated();
    for fixture in [&kept.0, &recorded_as("mariadb10-transactions")] {
        for (index, way) in WAYS.into_iter().enumerate().step_by(3) {
            let outcome = read(fixture.paths(), by(way)).ok();
            for (at, (end, position)) in sample(&outcome.batches, 6).enumerate() {
                let by_gtid: Option<Vec<_>> = position.ahead.iter().map(Ahead::by_gtid).collect();
                let Some(mut by_gtid) = by_gtid else {
                    assert_eq!(position.gtid_set, None, "{position:?}");
                    continue;
                };
                Ahead::sort(&mut by_gtid);
                let position = stored(&Position { ahead: by_gtid, ..(**position).clone() });
                seen += usize::from(!position.ahead.is_empty());
                let other = by(WAYS[(index + 7 * at) % WAYS.len()]);
                let case = format!("{} {way:?} {position:?}", fixture.name);
                assert_same(
                    &resume(fixture.paths(), &position, other).rows,
                    &outcome.rows[*end..],
                    &case,
                );
            }
        }
    }
    assert!(seen > 20, "{seen}");
}

/// Two servers log the same transactions in a different order, and split their rows events in
/// different places.
#[test]
fn in_another_log() {
    let ids = |gno: i32| 100 * gno..100 * gno + 40;
    let events = |gno: i64, size: usize| {
        let all: Vec<i32> = ids(gno as i32).collect();
        let mut events = vec![gtid(gno), begin()];
        for ids in all.chunks(size) {
            events.extend([table_map(T), insert(T, ids.to_vec())]);
        }
        events.push(xid());
        events
    };
    let log = |order: [i64; 4], size| {
        let events = order.into_iter().flat_map(|gno| events(gno, size));
        Log::mysql().with([previous_gtids(0)]).with(events).with([stop()])
    };
    let one = log([1, 2, 3, 4], 20);
    let complete = read(one.inputs(), by((1, 64 << 20, 3))).ok();
    let mut kept = BTreeSet::new();
    for (end, position) in &complete.batches[..complete.batches.len() - 1] {
        let ahead = position.ahead.iter().map(|ahead| ahead.by_gtid().unwrap()).collect();
        let given: BTreeSet<_> =
            complete.rows[..*end].iter().map(|row| row.cells[0].clone()).collect();
        for order in [[1, 2, 3, 4], [2, 1, 4, 3], [4, 3, 2, 1]] {
            let other = log(order, 7);
            let place = Position {
                gtid_set: position.gtid_set.clone(),
                ahead: Vec::clone(&ahead),
                ..Position::in_file("binlog.000001", 4)
            };
            for way in [(1, 500, 5), (2, 64 << 20, 65_536)] {
                let rest = resume(other.clone().inputs(), &place, by(way));
                let rest: Vec<_> = rest.rows.iter().map(|row| row.cells[0].clone()).collect();
                assert_eq!(rest.len(), complete.rows.len() - end, "{order:?} {position:?}");
                assert!(rest.iter().all(|id| !given.contains(id)));
            }
        }
        kept.insert(position.ahead.first().map(|ahead| ahead.changes));
    }
    assert!(kept.len() > 5);
}

/// The rows that a consumer sees that runs once per batch, each time from the position that it stored before.
#[test]
fn one_batch_per_run() {
    let kept = generated();
    for (fixture, ways) in [
        (&kept.0, [(1, 1500, 1000), (4, 64 << 10, 400)]),
        (&recorded_as("mysql-transactions"), [(2, 64 << 10, 7), (1, 64 << 20, 65_536)]),
    ] {
        let expected = read(fixture.paths(), options()).ok();
        for way in ways {
            let mut rows: Vec<Row> = Vec::new();
            let mut text: Option<String> = None;
            loop {
                let mut options = by(way);
                if let Some(text) = &text {
                    let position = Position::from_json(text).unwrap();
                    options = between(options, from(&position), Stop::End);
                }
                let mut reader = Reader::try_new(fixture.paths(), options).unwrap();
                let Some(batch) = reader.next_batch().unwrap() else { break };
                rows.extend(crate::rows::rows_of(&batch));
                assert_eq!(reader.position().unwrap(), batch.position());
                text = Some(batch.position().to_json().unwrap());
            }
            assert_same(&rows, &expected.rows, &format!("{} {way:?}", fixture.name));
        }
    }
}

/// One place for each table is sufficient.
#[test]
fn a_table_comes_in_the_order_of_the_log() {
    for fixture in all(&generated()) {
        for way in WAYS.into_iter().filter(|way| way.0 > 1 && way.2 > 1) {
            for rows in read(fixture.paths(), by(way)).ok().by_table().values() {
                let key = |row: &Row| (row.version, row.ordinal);
                assert!(rows.is_sorted_by_key(key), "{} {way:?}", fixture.name);
            }
        }
    }
}

fn only(words: &[&str], options: ReadOptions) -> ReadOptions {
    let mut options = options;
    options.decode.operations = Operations::try_new(words).unwrap();
    options
}

#[test]
fn with_other_operations() {
    let kept = generated();
    operations_of(&kept.0, &[&["insert"], &["update", "delete"]]);
    // Its updates are partial updates of documents.
    operations_of(&recorded_as("mysql-partial-json"), &[&["insert"]]);
    operations_of(&recorded_as("mariadb11-compressed"), &[&["update"]]);
}

fn operations_of(fixture: &Fixture, words: &[&[&str]]) {
    let key = |row: &Row| (row.version, row.ordinal);
    let full = read(fixture.paths(), options()).ok();
    for words in words.iter().copied() {
        let some = read(fixture.paths(), only(words, options())).ok();
        let keys: BTreeSet<_> = some.rows.iter().map(key).collect();
        assert!(keys.len() < full.rows.len());
        for (index, way) in WAYS.into_iter().enumerate().step_by(4) {
            // All operations first, then some.
            let outcome = read(fixture.paths(), by(way)).ok();
            for (at, (end, position)) in sample(&outcome.batches, 3).enumerate() {
                let other = only(words, by(WAYS[(index + at) % WAYS.len()]));
                let rest = outcome.rows[*end..].iter().filter(|row| keys.contains(&key(row)));
                let rest: Vec<Row> = rest.cloned().collect();
                let case = format!("{words:?} {way:?} {position:?}");
                assert_same(&resume(fixture.paths(), position, other).rows, &rest, &case);
            }
            // Some operations first, then all: the rest of each table starts between the same two
            // rows.
            let outcome = read(fixture.paths(), only(words, by(way))).ok();
            for (at, (end, position)) in sample(&outcome.batches, 3).enumerate() {
                let case = format!("{words:?} first {way:?} {position:?}");
                let other = by(WAYS[(index + at) % WAYS.len()]);
                let resumed = resume(fixture.paths(), &stored(position), other).rows;
                let some = resumed.iter().filter(|row| keys.contains(&key(row)));
                let some: Vec<Row> = some.cloned().collect();
                assert_same(&some, &outcome.rows[*end..], &case);
                let mut tables = by_table(&full.rows);
                for (table, rows) in by_table(&resumed) {
                    let all = tables.get_mut(&table).unwrap();
                    assert_eq!(rows, all.split_off(all.len() - rows.len()), "{case}");
                }
            }
        }
    }
}

#[test]
fn with_more_tables() {
    let kept = generated();
    let fixture: &Fixture = &kept.0;
    let full = by_table(&read(fixture.paths(), options()).ok().rows);
    let (t, u) = (&full["d.t"], &full["d.u"]);
    for way in WAYS.into_iter().step_by(3) {
        let mut first = by(way);
        first.decode.tables = TableFilter::try_new(&["d.t"], &[] as &[&str]).unwrap();
        let outcome = read(fixture.paths(), first).ok();
        for (end, position) in sample(&outcome.batches, 4) {
            let resumed = by_table(&resume(fixture.paths(), position, by(way)).rows);
            let case = format!("{way:?} {position:?}");
            let of = |table: &str| resumed.get(table).cloned().unwrap_or_default();
            assert_eq!(of("d.t"), t[*end..], "{case}");
            let version = version_of(position);
            let from_base = u.iter().filter(|row| row.version >= version).cloned();
            assert_eq!(of("d.u"), from_base.collect::<Vec<_>>(), "{case}");
        }
    }
}

#[test]
fn items_are_where_a_reader_may_resume() {
    let kept = generated();
    let fixture: &Fixture = &kept.0;
    let include =
        Include { schema_changes: true, truncates: true, transactions: true, ..Include::default() };
    let full = read(fixture.paths(), options()).ok();
    for way in WAYS.into_iter().step_by(3) {
        let mut options = by(way);
        options.cut.include = include.clone();
        let mut reader = Reader::try_new(fixture.paths(), options).unwrap();
        let (mut rows, mut places) = (Vec::new(), Vec::new());
        loop {
            match reader.poll(Duration::from_secs(60)).unwrap() {
                Poll::Batch(batch) => {
                    rows.extend(crate::rows::rows_of(&batch));
                    places.push((rows.len(), batch.position()));
                }
                Poll::Item(item) => {
                    assert_eq!(*item.position, reader.position().unwrap());
                    places.push((rows.len(), (*item.position).clone()));
                }
                Poll::Pending => panic!("a minute has passed"),
                Poll::End => break,
            }
        }
        assert_same(&rows, &full.rows, "with items");
        for (end, position) in sample(&places, 6) {
            let resumed = resume(fixture.paths(), position, by(way));
            assert_same(&resumed.rows, &rows[*end..], &format!("{way:?} {position:?}"));
        }
    }
}

#[test]
fn a_statement_within_a_transaction() {
    let log = Log::mysql()
        .with([
            gtid(1),
            begin(),
            table_map(T),
            insert(T, [1, 2]),
            query("ALTER TABLE d.x ADD b INT"),
        ])
        .with([table_map(T), insert(T, [3]), xid(), stop()]);
    let mut options = options();
    options.cut.include = Include { schema_changes: true, ..Include::default() };
    let mut reader = Reader::try_new(log.clone().inputs(), options.clone()).unwrap();
    let mut positions = Vec::new();
    loop {
        match reader.poll(Duration::from_secs(60)).unwrap() {
            Poll::Batch(batch) => positions.push(batch.position()),
            Poll::Item(item) => positions.push((*item.position).clone()),
            Poll::Pending => {}
            Poll::End => break,
        }
    }
    let rest: Vec<_> = positions
        .iter()
        .map(|position| {
            let options = between(options.clone(), from(position), Stop::End);
            read(log.clone().inputs(), options).ok().inserted()
        })
        .collect();
    assert_eq!(rest, [vec![3], vec![3], vec![]]);
}

#[test]
fn what_comes_before_a_broken_event() {
    let images = crate::log::image(7, Some("v"));
    let cut = crate::log::rows_event(30, T, &images[..images.len() - 1]);
    let events = |last: Event| {
        let mut events = vec![previous_gtids(0), gtid(1), begin()];
        events.extend(statements(1, 3, 4));
        events.extend([xid(), gtid(2), begin()]);
        events.extend(statements(100, 3, 4));
        events.extend([table_map(T), last, table_map(T), insert(T, [8]), xid(), stop()]);
        Log::mysql().with(events).inputs()
    };
    let good = read(events(insert(T, [7])), options()).ok();
    for way in [(1, 64 << 20, 65_536), (4, 64 << 20, 5), (1, 64 << 20, 1)] {
        let broken = read(events(cut.clone()), by(way));
        assert_eq!(broken.rows.len() + 2, good.rows.len(), "{:?}", broken.error);
        for (end, position) in &broken.batches {
            let given = |row: &Row| (row.table.clone(), row.version, row.ordinal);
            let before: BTreeSet<_> = broken.rows[..*end].iter().map(given).collect();
            let rest = good.rows.iter().filter(|row| !before.contains(&given(row)));
            let rest: Vec<Row> = rest.cloned().collect();
            let resumed = resume(events(insert(T, [7])), &stored(position), options()).rows;
            // The events after the damaged one are one byte longer.
            let cells = |rows: &[Row]| -> Vec<_> {
                let key = |row: &Row| (row.table.clone(), row.change.clone(), row.cells.clone());
                let mut all: Vec<_> = rows.iter().map(key).collect();
                all.sort();
                all
            };
            assert_eq!(cells(&resumed), cells(&rest), "{way:?} {position:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Any transactions, any two settings, any batch.
    #[test]
    fn any_log(
        transactions in prop::collection::vec((0..4_u8, prop::collection::vec((0..3_u8, 1..9_i32), 1..12)), 1..12),
        first in 0..WAYS.len(),
        second in 0..WAYS.len(),
        segment in 1..4000_usize,
    ) {
        let mut log = Log::mysql().with([previous_gtids(0)]);
        let mut id = 0;
        for (number, (kind, statements)) in transactions.iter().enumerate() {
            let gno = 2 * number as i64 + 1;
            let name = format!("x{number}");
            log = log.with(match kind {
                0 => vec![gtid(gno), xa("START", &name)],
                _ => vec![gtid(gno), begin()],
            });
            for (operation, count) in statements {
                let ids = id..id + count;
                id += count;
                log = log.with([table_map(T), match operation {
                    0 => insert(T, ids),
                    1 => update(T, ids.map(|id| (id, id + id % 2))),
                    _ => delete(T, ids),
                }]);
            }
            log = log.with(match kind {
                0 => vec![xa("END", &name), xa_prepare(&name, false), gtid(gno + 1), xa("COMMIT", &name)],
                1 => vec![query("COMMIT")],
                _ => vec![xid()],
            });
        }
        let log = log.with([stop()]);
        let (threads, _, rows) = WAYS[first];
        let outcome = read(log.clone().inputs(), by((threads, segment, rows))).ok();
        for (end, position) in &outcome.batches {
            let resumed = resume(log.clone().inputs(), &stored(position), by(WAYS[second]));
            assert_same(&resumed.rows, &outcome.rows[*end..], &format!("{position:?}"));
        }
    }
}

#[test]
fn shop_in_pieces() {
    // The batches are large: more than one event is left out of the first one.
    let shop = shop();
    let outcome = read(shop.paths(), by((4, 8 << 20, 65_536))).ok();
    for (end, position) in sample(&outcome.batches, 3) {
        let resumed = resume(shop.paths(), &stored(position), by((4, 256 << 10, 1000)));
        assert_same(&resumed.rows, &outcome.rows[*end..], &position.to_string());
    }
}
