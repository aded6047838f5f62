//! Formats that only MariaDB writes: `log_bin_compress`, COMPRESSED columns, rows events in
//! fragments.

use crate::log::{
    Event, Log, T, U, begin, compressed, delete, fragment, fragments, gtid, image, insert,
    mariadb_gtid, not_last, packed, packed_as, query, rows_event, stop, table_map, transaction,
    update, v1, xa, xa_prepare, xid, zlib,
};
use crate::malformed::{assert_located, harmless, hostile, map_of, one_cell};
use crate::rows::{decode, emitting, options, segments_of};
use crate::transactions::{run, run_with};
use binarrow::ErrorKind;
use binarrow::columnar::InvalidText;
use binarrow::reader::{EventList, ReadOptions};

// ---- compressed rows

/// A transaction with each kind of rows event, each changed by `form`.
fn all_kinds(form: fn(Event) -> Event) -> Log {
    let long = "x".repeat(300);
    let rows = [insert(T, [1, 2, 3]), update(T, [(1, 1), (2, 20)]), delete(T, [3])].map(not_last);
    let mut events = vec![mariadb_gtid(1, 0), table_map(T)];
    events.extend(rows.clone().map(form));
    events.extend(rows.map(|event| form(v1(event))));
    events.push(form(not_last(rows_event(30, T, &image(4, Some(&long))))));
    events.push(form(rows_event(30, T, &image(5, None))));
    events.extend([xid(), stop()]);
    Log::mariadb().with(events)
}

#[test]
fn compressed_rows_are_those_of_the_plain_events() {
    let expected = run(&all_kinds(|event| event)).ok();
    let outcome = run(&all_kinds(compressed)).ok();
    assert_eq!(outcome.changes(), expected.changes());
    assert_eq!(outcome.rows.len(), 18);
    // The key of row 2 changes, the key of row 1 does not.
    assert_eq!(outcome.changes()[3], "update_preimage d.t 1");
    assert_eq!(outcome.changes()[5], "delete d.t 2");
    assert_eq!(outcome.changes()[6], "insert d.t 20");
    for (row, plain) in outcome.rows.iter().zip(&expected.rows) {
        assert_eq!(
            (&row.cells, row.version, row.ordinal),
            (&plain.cells, plain.version, plain.ordinal)
        );
    }
    let counts = |outcome: &crate::rows::Outcome| {
        let (_, table) = outcome.stats.tables.iter().next().unwrap();
        (table.inserts, table.updates, table.deletes, outcome.stats.rows_events)
    };
    assert_eq!(counts(&outcome), counts(&expected));
    assert_eq!(counts(&outcome), (8, 4, 2, 8));

    // Options that make the batches small or drop the old values also work on plain rows.
    let mut small = options();
    small.decode.limits.bytes = 1;
    assert_eq!(run_with(&all_kinds(compressed), small).ok().changes(), expected.changes());
    let mut unsplit = options();
    unsplit.decode.update_rule.split_key_updates = false;
    let unsplit = run_with(&all_kinds(compressed), unsplit).ok();
    assert_eq!(unsplit.changes()[5], "update_preimage d.t 2");
}

/// H18
#[test]
fn compressed_rows_that_are_broken_give_no_row() {
    let event = |rows: &[u8]| {
        let mut event = compressed(insert(T, [2]));
        event.body.truncate(12);
        event.body.extend(rows);
        event
    };
    let rows = image(2, Some("two, and some more text that is worth packing: two, two, two"));
    let len = rows.len() as u64;
    let good = packed(&rows);
    assert_eq!(harmless([table_map(T), event(&good)]), ["insert d.t 2"]);
    let broken = |rows: &[u8]| hostile([table_map(T), event(rows)], 1);
    for end in 0..good.len() {
        broken(&good[..end]);
    }
    for wrong in [1, len - 1, len + 1, 2 * len, 0xffff, 1 << 30] {
        let error = broken(&packed_as(wrong, &rows));
        assert_eq!(error.message(), "the compressed rows cannot be decompressed");
    }
    let error = broken(&packed_as((1 << 30) + 1, &rows));
    assert!(error.message().contains("the limit is 1073741824"), "{error}");
    let error = broken(&[&good[..], b"x"].concat());
    assert!(error.message().contains("1 bytes are left over"), "{error}");
    // Another algorithm, no compression, a length of 0, 5 bytes of length, the Adler-32 of another
    // text.
    assert_eq!(broken(&[&[0x90], &good[1..]].concat()).kind(), ErrorKind::Unsupported);
    broken(&[&[0x01], &good[1..]].concat());
    broken(&packed_as(0, &rows));
    broken(&[&[0x85, 0, 0, 0, 0, len as u8], &good[2..]].concat());
    let mut damaged = good.clone();
    *damaged.last_mut().unwrap() ^= 1;
    broken(&damaged);
    // The rows inside are decoded completely or not at all.
    broken(&packed(&rows[..rows.len() - 1]));
    broken(&packed(&[&rows[..], &rows[..3]].concat()));
}

// ---- compressed statements

#[test]
fn compressed_statements_mean_what_plain_ones_do() {
    let log = |form: fn(Event) -> Event| {
        let query = |sql: &str| form(query(sql));
        let xa = |verb: &str, gtrid: &str| form(xa(verb, gtrid));
        let rows = |id| [table_map(T), insert(T, [id])];
        let log = Log::mariadb().with([gtid(1), query("BEGIN")]).with(rows(1));
        let log = log.with([query("COMMIT"), gtid(2), query("BEGIN")]).with(rows(2));
        let log = log.with([query("ROLLBACK"), gtid(3), query("BEGIN")]).with(rows(3));
        let log = log.with([query("SAVEPOINT `one`")]).with(rows(4));
        let log = log.with([query("ROLLBACK TO `one`")]).with(rows(5)).with([xid()]);
        let log = log.with([gtid(4), xa("START", "id")]).with(rows(6));
        let log = log.with([xa("END", "id"), xa_prepare("id", false)]);
        let log = log.with([gtid(5), query("CREATE TABLE x (id INT)")]);
        let log = log.with([gtid(6), xa("COMMIT", "id"), stop()]);
        log.with([gtid(7), query("CREATE TABLE y (a INT) START TRANSACTION")])
            .with(rows(7))
            .with([xid()])
    };
    let plain = run(&log(|event| event)).ok();
    assert_eq!(plain.inserted(), [1, 3, 5, 6, 7]);
    let outcome = run(&log(compressed)).ok();
    assert_eq!(outcome.inserted(), [1, 3, 5, 6, 7]);
    assert_eq!(outcome.stats.dropped_rows_events, plain.stats.dropped_rows_events);

    let mut events = EventList::new(log(compressed).inputs(), true);
    let mut shown = Vec::new();
    while let Some(event) = events.next_event().unwrap() {
        if event.header.event_type.0 == 165 {
            shown.push(event.info);
        }
    }
    assert_eq!(shown.len(), 12);
    assert_eq!(shown[0], "use `d`; BEGIN");
    assert!(shown.contains(&"use `d`; XA COMMIT X'6964',X'',1".to_owned()), "{shown:?}");
}

#[test]
fn rows_changed_by_a_compressed_statement_are_an_error() {
    let text = "/* some comment */ INSERT INTO t VALUES (1), (2), (3)";
    let log = Log::mariadb().with(transaction(1, [1])).with([gtid(2), compressed(query(text))]);
    let offset = *log.starts.last().unwrap();
    let log = log.with(transaction(3, [3])).with([stop()]);
    let outcome = run(&log);
    assert_eq!(outcome.inserted(), [1]);
    assert_eq!(outcome.failure().kind(), ErrorKind::Unsupported);
    assert!(outcome.failure().message().contains("statements=skip"), "{:?}", outcome.error);
    assert_located(outcome.failure(), offset, "Query_compressed");
    let mut skipping = options();
    skipping.cut.skip_statements = true;
    assert_eq!(run_with(&log, skipping).ok().inserted(), [1, 3]);

    // A text that cannot be decompressed may have changed rows as well.
    let good = compressed(query(text));
    for end in 15..good.body.len() {
        let mut event = good.clone();
        event.body.truncate(end);
        let error = hostile([event], 0);
        assert_eq!(error.event(), Some("Query_compressed"));
    }
}

// ---- compressed columns

/// A Table_map of one column, `v`, in MariaDB's form of optional metadata, with this collation.
fn column(code: u8, metadata: &[u8], collation: u8) -> Event {
    map_of(&[code], metadata, &[2, 1, collation, 4, 2, 1, b'v'])
}

fn cells(map: &Event, cells: &[Vec<u8>], options: &ReadOptions) -> Vec<Option<String>> {
    let events = cells.iter().map(|cell| one_cell(cell));
    let log = Log::mariadb().with([mariadb_gtid(1, 0), map.clone()]).with(events);
    let log = log.with([xid(), stop()]);
    let rows = decode(log.inputs(), options).ok().rows;
    rows.into_iter().map(|row| row.cells[0].clone()).collect()
}

#[test]
fn cells_of_compressed_columns() {
    let long = "é and much more of it, é and much more of it".repeat(10);
    let packed = |head: &[u8], plain: &[u8], len_bytes: usize| {
        let cell = [head, &zlib(plain)].concat();
        let mut bytes = (cell.len() as u32).to_le_bytes()[..len_bytes].to_vec();
        bytes.extend(cell);
        bytes
    };
    let head = |text: &[u8]| [&[0x82][..], &(text.len() as u16).to_be_bytes()].concat();
    // VARCHAR(1000) and TEXT in utf8mb4: empty, stored, compressed.
    for (code, metadata) in [(141, &[0xa1, 0x0f][..]), (140, &[2][..])] {
        let map = column(code, metadata, 45);
        let stored = [vec![0, 0], vec![4, 0, 0, b'a', 0xc3, 0xa9]];
        let all = [&stored[..], &[packed(&head(long.as_bytes()), long.as_bytes(), 2)]].concat();
        let expected = ["", "aé", &long].map(|text| Some(text.to_owned()));
        assert_eq!(cells(&map, &all, &options()), expected);
    }
    // In latin1 they are transcoded; as bytes they are unchanged.
    let latin1: Vec<u8> = long.chars().map(|char| char as u32 as u8).collect();
    let cell = packed(&head(&latin1), &latin1, 2);
    let map = column(140, &[2], 8);
    assert_eq!(cells(&map, std::slice::from_ref(&cell), &options()), [Some(long.clone())]);
    let mut bytes = options();
    bytes.decode.plan.types.invalid_text = InvalidText::Binary;
    let hex = |bytes: &[u8]| Some(bytes.iter().map(|b| format!("{b:02x}")).collect::<String>());
    assert_eq!(cells(&map, std::slice::from_ref(&cell), &bytes), [hex(&latin1)]);
    assert_eq!(cells(&column(140, &[2], 63), &[cell], &options()), [hex(&latin1)]);

    // The decompressed size of cells counts for the size of a batch.
    let text = "y".repeat(60_000);
    let cell = packed(&head(text.as_bytes()), text.as_bytes(), 2);
    let events = (0..40).map(|_| one_cell(&cell));
    let log = Log::mariadb().with([mariadb_gtid(1, 0), column(140, &[2], 45)]).with(events);
    let mut small = options();
    small.decode.limits.bytes = 100_000;
    let outcome = decode(log.with([xid(), stop()]).inputs(), &small).ok();
    assert_eq!((outcome.rows.len(), outcome.batches.len()), (40, 20));
}

/// H18
#[test]
fn cells_that_do_not_inflate() {
    let map = || column(140, &[2], 63);
    for cell in [
        &b"\x03\0\x89\x02\x01"[..],  // an invalid stream
        b"\x01\0\x01",               // another first byte
        b"\x01\0\x88",               // no length
        b"\x05\0\x8a\x01\x2c\x03\0", // 300 bytes from an empty stream
        b"\x07\0\x8c\xff\xff\xff\xff\x03\0",
        b"\x09\0\x89\x02\x01", // the cell is truncated
    ] {
        let log = Log::mariadb().with([mariadb_gtid(1, 0), map(), one_cell(cell)]);
        let offset = *log.starts.last().unwrap();
        let outcome = run(&log.with([xid(), stop()]));
        assert_eq!(outcome.rows, []);
        assert_located(outcome.failure(), offset, "Write_rows");
        assert!(outcome.failure().message().contains("column v"), "{:?}", outcome.error);
    }
}

// ---- fragments

#[test]
fn fragments_are_the_rows_event_that_they_make() {
    let texts = |id: i32| image(id, Some(&format!("{id:0500}")));
    let rows = rows_event(30, T, &(10..20).flat_map(texts).collect::<Vec<_>>());
    let log = |form: &dyn Fn(Event) -> Vec<Event>| {
        let log = Log::mariadb().with([mariadb_gtid(1, 0), table_map(T), table_map(U)]);
        let log = log.with(form(not_last(insert(U, [1])))).with(form(rows.clone())).with([xid()]);
        let log = log.with([mariadb_gtid(2, 0), table_map(T)]);
        let log = log.with(form(compressed(v1(update(T, [(10, 11)]))))).with([query("ROLLBACK")]);
        let log = log.with([mariadb_gtid(3, 0), table_map(T)]);
        log.with(form(compressed(v1(update(T, [(10, 11)]))))).with([xid(), stop()])
    };
    let expected = run(&log(&|event| vec![event])).ok();
    assert_eq!(expected.rows.len(), 13);
    for len in [27, 28, 100, 1024, 1 << 20] {
        for checksum in [true, false] {
            let log = log(&|event| fragments(&event, len, checksum));
            let outcome = run(&log).ok();
            assert_eq!(outcome.changes(), expected.changes(), "{len} {checksum}");
            assert_eq!(outcome.stats.rows_events, expected.stats.rows_events);
            assert_eq!(outcome.stats.dropped_rows_events, 1);
            for (row, plain) in outcome.rows.iter().zip(&expected.rows) {
                assert_eq!((row.ordinal, &row.cells), (plain.ordinal, &plain.cells));
                // The position of the rows is the start of their event.
                assert!(log.starts.contains(&(row.position as u64)));
            }
        }
    }
    let plain = fragments(&insert(T, [1]), 30, false);
    let without = Log::without_checksums().with([gtid(1), begin(), table_map(T)]).with(plain);
    assert_eq!(run(&without.with([xid(), stop()])).ok().inserted(), [1]);

    let log = log(&|event| fragments(&event, 1024, true));
    let mut events = EventList::new(log.inputs(), true);
    let mut shown = Vec::new();
    while let Some(event) = events.next_event().unwrap() {
        if event.header.event_type.0 == 172 {
            shown.push(event.info);
        }
    }
    assert!(shown.contains(&"fragment 2 of 5, 1024 bytes".to_owned()), "{shown:?}");
}

#[test]
fn fragments_without_an_opening_event_end_with_their_statement() {
    let log =
        Log::mariadb().with([table_map(T)]).with(fragments(&not_last(insert(T, [1])), 30, true));
    let log = log.with(fragments(&insert(T, [2]), 30, true));
    let log = log.with([table_map(T)]).with(fragments(&insert(T, [3]), 30, true));
    let outcome = run(&log.with([stop()])).ok();
    assert_eq!(outcome.inserted(), [1, 2, 3]);
    assert_eq!(outcome.stats.transactions, 2);
}

#[test]
fn fragments_that_a_crash_cut_off_are_left_out() {
    let parts = fragments(&insert(T, [2, 3, 4]), 27, true);
    assert!(parts.len() > 2);
    let log = Log::mariadb().with(transaction(1, [1])).with([gtid(2), begin(), table_map(T)]);
    let log = log.with([insert(T, [9])]).with(parts[..2].to_vec()).in_use();
    assert_eq!(run(&log).ok().inserted(), [1]);
    assert_eq!(run_with(&log, emitting(options())).ok().inserted(), [1, 9]);
}

/// H23
#[test]
fn fragments_that_do_not_fit() {
    let event = insert(T, 2..9);
    let parts = || fragments(&event, 40, false);
    let total = parts().len();
    assert_eq!(total, 3);
    let map = || vec![table_map(T)];
    let with = |change: &dyn Fn(&mut Vec<Event>)| {
        let mut events = map();
        events.extend(parts());
        change(&mut events);
        events
    };
    // A gap, the same fragment twice, the wrong order, another count, no fragments.
    for (broken, events) in [
        (2, with(&|events| drop(events.remove(2)))),
        (1, with(&|events| drop(events.remove(1)))),
        (3, with(&|events| events.insert(3, events[2].clone()))),
        (1, with(&|events| events.swap(1, 2))),
        (3, with(&|events| events[3].body[0] = 4)),
        (1, with(&|events| events[1].body[0] = 0)),
        (1, with(&|events| events[1].body[4] = 0)),
        (2, with(&|events| events[2].body[8] = 1)),
        (1, with(&|events| events[1].body[8] = 2)),
    ] {
        hostile(events, broken);
    }
    // Another event between the fragments, the commit, rows, a statement.
    for between in [xid(), query("COMMIT"), query("SAVEPOINT `s`"), table_map(T), insert(T, [9])] {
        hostile(with(&|events| events.insert(2, between.clone())), 2);
    }
    let error = hostile(with(&|events| drop(events.remove(3))), 3); // the Xid is next
    assert!(
        error.message().contains("fragments of the rows event before it are missing"),
        "{error}"
    );
    // Wrong sizes: the size in the first fragment, the sizes of the chunks, the size of the event
    // itself.
    for size in [0_u64, 20, 100, 1 << 30, 1 << 31, u64::MAX] {
        let events = with(&|events| events[1].body[9..17].copy_from_slice(&size.to_le_bytes()));
        let broken = match size {
            0 | 20 => 1,
            100 => 3,
            (0x4000_0001..) => 1,
            _ => 3,
        };
        hostile(events, broken);
    }
    hostile(with(&|events| events[3].body.truncate(10)), 3);
    hostile(with(&|events| events[3].body.push(0)), 3);
    hostile(with(&|events| events[1].body[17 + 9] ^= 1), 3);
    // The joined event is not a rows event, or a fragment, or a damaged rows event.
    for event in [begin(), table_map(T), parts().remove(0), begin().coded(40)] {
        let events = [map(), fragments(&event, 40, false)].concat();
        let error = hostile(events, 1);
        assert!(error.message().contains("without rows"), "{error}");
    }
    let mut bad = event.clone();
    bad.body.pop();
    hostile([map(), fragments(&bad, 40, false)].concat(), 3);
    // The first fragment must contain the header of the event.
    hostile([map(), fragments(&event, 20, false)].concat(), 1);
    // Without a size, the last fragment is the end.
    let bytes = event.bytes(0, false);
    let events = [fragment(2, 1, None, &bytes[..50]), fragment(2, 2, None, &bytes[50..])];
    assert_eq!(harmless(map().into_iter().chain(events)).len(), 7);
}

#[test]
fn a_start_in_the_middle_of_fragments() {
    let log = Log::mariadb().with([mariadb_gtid(1, 0), table_map(T)]);
    let log = log.with(fragments(&insert(T, [1, 2, 3]), 30, true)).with([xid(), stop()]);
    for index in 4..6 {
        let mut position =
            decode(log.clone().inputs(), &options()).position.unwrap().as_ref().clone();
        position.offset = log.starts[index];
        let mut from = segments_of(1);
        from.cut.start = crate::rows::from(&position);
        let outcome = decode(log.clone().inputs(), &from);
        assert_eq!(outcome.rows, []);
        assert!(outcome.error.is_some());
    }
}
