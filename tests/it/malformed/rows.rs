//! Rows that do not match their table map, and invalid cells.

use super::{SIGNED, assert_located, harmless, hostile, map_of, one_cell};
use crate::log::{
    DELETE_ROWS, Event, Log, T, Table, UPDATE_ROWS, WRITE_ROWS, begin, gtid, image, insert,
    rows_event, stop, table_map, transaction, xid,
};
use crate::rows::{decode, options, segments_of};

/// H7
#[test]
fn another_width_than_the_table_map() {
    for width in [0, 1, 3, 9, 200] {
        let mut event = insert(T, [2]);
        event.body[10] = width;
        hostile([table_map(T), event], 1);
    }
    for width in [&[0xfb][..], &[0xff], &[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]] {
        let mut event = insert(T, [2]);
        event.body.splice(10..11, width.iter().copied());
        hostile([table_map(T), event], 1);
    }
}

/// H8
#[test]
fn table_ids() {
    let unknown = Table { id: 999, ..T };
    let error = hostile([table_map(T), insert(unknown, [2])], 1);
    assert!(error.message().contains("999"), "{error}");
    // The id is that of the previous transaction.
    let log =
        Log::mysql().with(transaction(1, [1])).with([gtid(2), begin(), insert(T, [2]), xid()]);
    for options in [options(), segments_of(1)] {
        let outcome = decode(log.clone().with([stop()]).inputs(), &options);
        assert_eq!(outcome.inserted(), [1]);
        assert_located(outcome.failure(), log.starts[8], "Write_rows");
    }
    // An id that occurs again with another width: the new map applies.
    let mut narrow = T.id.to_le_bytes()[..6].to_vec();
    narrow.extend([1, 0, 2, 0, 1, 0xff, 0xfe, 9, 0, 0, 0]);
    let events = [
        table_map(T),
        insert(T, [2]),
        map_of(&[3], &[], &SIGNED),
        Event::new(WRITE_ROWS, narrow),
        table_map(T),
        insert(T, [3]),
    ];
    assert_eq!(harmless(events), ["insert d.t 2", "insert d.t 9", "insert d.t 3"]);
    // The dummy event that ends a statement.
    let dummy = Event::new(WRITE_ROWS, [255, 255, 255, 0, 0, 0, 1, 0, 2, 0, 1, 0xff]);
    assert_eq!(harmless([table_map(T), insert(T, [2]), dummy]), ["insert d.t 2"]);
}

/// H9
#[test]
fn images_without_columns() {
    let event = |rows: &[u8]| {
        let mut body = T.id.to_le_bytes()[..6].to_vec();
        body.extend([1, 0, 2, 0, 2, 0]);
        body.extend(rows);
        Event::new(WRITE_ROWS, body)
    };
    assert_eq!(harmless([table_map(T), event(&[])]), ["insert d.t NULL"]);
    for rows in [&[0][..], &[0xff, 1, 2]] {
        hostile([table_map(T), event(rows)], 1);
    }
}

/// H10
#[test]
fn lengths_beyond_the_cell() {
    let long = |len: u16| {
        let mut cell = len.to_le_bytes().to_vec();
        cell.extend(vec![b'x'; usize::from(len)]);
        cell
    };
    let cases: [(&[u8], &[u8], Vec<u8>); 9] = [
        (&[15], &[10, 0], vec![11]), // VARCHAR beyond the event
        (&[15], &[10, 0], [&[11][..], &[b'x'; 11]].concat()), // beyond the column
        (&[15], &[0x40, 0x1f], long(8001)),
        (&[254], &[0xfe, 10], [&[11][..], &[b'x'; 11]].concat()), // CHAR
        (&[254], &[0xee, 0x90], [&[0x91, 1][..], &[b'x'; 401]].concat()), // CHAR of two length bytes
        (&[252], &[1], vec![5, 1, 2]),                                    // BLOB beyond the event
        (&[252], &[4], vec![255, 255, 255, 255, 1]),
        (&[245], &[4], vec![255, 255, 255, 127]), // JSON
        (&[255], &[4], vec![9, 0, 0, 0, 1]),      // GEOMETRY
    ];
    for (types, metadata, cell) in cases {
        hostile([map_of(types, metadata, &[2, 3, 0xfc, 0xff, 0]), one_cell(&cell)], 1);
    }
    // Fewer bytes than the row needs, and one byte too many.
    for rows in [&image(2, Some("v"))[..7], &[&image(2, Some("v"))[..], &[0]].concat()] {
        hostile([table_map(T), rows_event(WRITE_ROWS, T, rows)], 1);
    }
    // An update with one image only.
    hostile([table_map(T), rows_event(UPDATE_ROWS, T, &image(2, None))], 1);
    // All rows of an event are returned, or none.
    let rows = [image(2, None), image(3, None), vec![0xfc, 1]].concat();
    hostile([table_map(T), rows_event(DELETE_ROWS, T, &rows)], 1);
}

/// H12
#[test]
fn decimals() {
    for digits in [[0xff; 8], [0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]] {
        hostile([map_of(&[246], &[18, 9], &[]), one_cell(&digits)], 1);
    }
    hostile([map_of(&[246], &[18, 9], &[]), one_cell(&[0x80, 0, 0])], 1);
}

/// H13
#[test]
fn dates_that_are_none() {
    let date = |year: u64, month: u64, day: u64, time: u64| {
        let value = ((year * 13 + month) << 5 | day) << 17 | time;
        (value + (1 << 39)).to_be_bytes()[3..].to_vec()
    };
    let noon = 12 << 12;
    for cell in [
        date(2024, 0, 1, noon),
        date(2024, 2, 30, noon),
        date(2024, 12, 31, 31 << 12 | 63 << 6 | 63),
        date(9999, 12, 0, noon),
        date(0, 0, 0, 0),
        vec![0xff; 5],
    ] {
        let events = [gtid(1), begin(), map_of(&[18], &[0], &[]), one_cell(&cell), xid(), stop()];
        let outcome = decode(Log::mysql().with(events).inputs(), &options());
        let is_null = outcome.rows.first().is_some_and(|row| row.cells == [None]);
        assert!(is_null || outcome.error.is_some(), "{cell:?}: {:?}", outcome.rows);
    }
    // A time of 63 minutes, and of 1023 hours; a date of day 31 in month 15; a year before all
    // valid years.
    for (code, metadata, cell) in [
        (19, &[0][..], &[0x80, 0x0f, 0xff][..]),
        (19, &[0], &[0xff, 0xff, 0xff]),
        (19, &[6], &[0, 0, 0, 0, 0, 0]),
        (10, &[], &[0xff, 0xff, 0xff]),
        (12, &[], &[0xff; 8]),
        (11, &[], &[0xff, 0xff, 0x7f]),
        (17, &[6], &[0xff; 7]),
        (18, &[0], &[0; 5]),
        (13, &[], &[255]),
    ] {
        let events =
            [gtid(1), begin(), map_of(&[code], metadata, &[]), one_cell(cell), xid(), stop()];
        let outcome = decode(Log::mysql().with(events).inputs(), &options());
        assert_eq!(outcome.rows.len() + usize::from(outcome.error.is_some()), 1, "{code}");
    }
}

#[test]
fn extra_row_info_that_does_not_fit() {
    for info in
        [&[0, 0][..], &[1, 0], &[3, 0, 1], &[200, 0], &[4, 0, 0, 9], &[3, 0, 0], &[4, 0, 0, 0]]
    {
        let mut event = insert(T, [2]);
        event.body.splice(8..10, info.iter().copied());
        hostile([table_map(T), event], 1);
    }
    for info in [&[5, 0, 1, 3, 0][..], &[5, 0, 0, 2, 1], &[4, 0, 9, 9]] {
        let mut event = insert(T, [2]);
        event.body.splice(8..10, info.iter().copied());
        assert_eq!(harmless([table_map(T), event]), ["insert d.t 2"]);
    }
}
