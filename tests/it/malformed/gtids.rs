//! Invalid GTIDs and GTID sets.

use super::assert_located;
use crate::log::{
    Event, GTID_LIST, Log, PREVIOUS_GTIDS, T, insert, mariadb_gtid, query, stop, table_map,
    transaction, xa_prepare, xid,
};
use crate::rows::{decode, options, segments_of};
use binarrow::binlog::{MariadbGtidEvent, MariadbGtidList, PreviousGtids};
use binarrow::limits::{MAX_TAG_BYTES, MAX_XID_PART_BYTES};

const GTID_TAGGED: u8 = 42;

/// The opening event of a transaction is an error; the transaction before it is complete.
fn refused(log: &Log, opening: Event, name: &str) {
    let log = log.clone().with(transaction(1, [1]));
    let offset = log.end();
    let log = log.with([opening, table_map(T), insert(T, [2]), xid(), stop()]);
    for options in [options(), segments_of(1)] {
        let outcome = decode(log.clone().inputs(), &options);
        assert_eq!(outcome.inserted(), [1], "{:?}", outcome.error);
        assert_located(outcome.failure(), offset, name);
    }
}

/// H20
#[test]
fn tagged_gtids() {
    // Version 1 and its size, both as varints, then the last field that must not be skipped.
    let body = |needed: u8, fields: &[u8]| {
        let mut body = vec![2, 0, needed << 1];
        body.extend(fields);
        body[1] = (body.len() as u8) << 1;
        body
    };
    let number = [4, 12];
    let tag = |tag: &[u8]| [&number[..], &[6, (tag.len() as u8) << 1], tag].concat();
    let good = Event::new(GTID_TAGGED, body(0, &tag(&[b'a'; MAX_TAG_BYTES])));
    let log = Log::mysql().with([good, table_map(T), insert(T, [1]), xid(), stop()]);
    assert_eq!(decode(log.inputs(), &options()).ok().inserted(), [1]);

    let mut broken = vec![
        body(13, &number),                // an unknown field that must not be skipped
        body(0, &[4, 12, 4, 12]),         // twice
        body(0, &[4, 12, 0, 0]),          // in the wrong order
        body(0, &[4, 0]),                 // number 0
        body(0, &[2, 0x01, 0x04, 4, 12]), // 256 is not a byte of a UUID
        body(0, &tag(b"A")),              // upper case
        body(0, &tag(&[b'a'; MAX_TAG_BYTES + 1])), // too long
        body(0, &[4, 12, 6, 60]),         // longer than the event
    ];
    for size in [-1_i8, 1, 60] {
        let mut body = body(0, &number);
        body[1] = body[1].wrapping_add_signed(2 * size);
        broken.push(body);
    }
    for body in broken {
        refused(&Log::mysql(), Event::new(GTID_TAGGED, body), "Gtid_tagged_log_event");
    }
}

/// H21
#[test]
fn sets_of_gtids() {
    let interval = |start: u64, end: u64| [start.to_le_bytes(), end.to_le_bytes()].concat();
    let set = |sources: u64, intervals: u64, bytes: &[u8]| {
        [&sources.to_le_bytes()[..], &[1; 16], &intervals.to_le_bytes(), bytes].concat()
    };
    let good = set(1, 2, &[interval(1, 3), interval(5, 9)].concat());
    assert!(PreviousGtids::decode(&good).is_ok());
    for body in [
        set(1 << 56, 1, &interval(1, 2)),
        set(1, 1 << 56, &interval(1, 2)),
        set(1, u64::MAX, &interval(1, 2)),
        set(2, 1, &interval(1, 2)),
        set(1, 1, &interval(9, 5)),
        set(1, 1, &interval(5, 5)),
        set(1, 1, &interval(0, 5)),
        set(1, 1, &interval(5, u64::MAX)),
        set(1, 2, &[interval(5, 9), interval(1, 3)].concat()),
        set(1, 2, &[interval(1, 6), interval(5, 9)].concat()),
        set(1, 1, &[interval(1, 2), vec![0]].concat()),
    ] {
        assert!(PreviousGtids::decode(&body).is_err(), "{body:?}");
        let event = Event::new(PREVIOUS_GTIDS, body).flags(0x80);
        let log = Log::mysql().with([event]).with(transaction(1, [1])).with([stop()]);
        let outcome = decode(log.clone().inputs(), &options());
        assert_eq!(outcome.rows, []);
        assert_located(outcome.failure(), log.starts[1], "Previous_gtids");
    }
    // The count in MariaDB's list has 28 bits.
    let body = [&0x0fff_ffff_u32.to_le_bytes()[..], &[0; 16]].concat();
    assert!(MariadbGtidList::decode(&body).is_err());
    let log = Log::mariadb().with([Event::new(GTID_LIST, body)]).with(transaction(1, [1]));
    let outcome = decode(log.clone().with([stop()]).inputs(), &options());
    assert_eq!(outcome.rows, []);
    assert_located(outcome.failure(), log.starts[1], "Gtid_list");
}

/// H22
#[test]
fn gtids_of_mariadb() {
    const COMMIT_ID: u8 = 2;
    const PREPARED: u8 = 0x40;
    let event = |flags: u8, tail: &[u8]| {
        let mut event = mariadb_gtid(2, flags);
        event.body.truncate(13);
        event.body.extend(tail);
        event
    };
    let id = [9, 0, 0, 0, 0, 0, 0, 0];
    let xid = |gtrid: usize, bqual: usize| {
        [&[1, 0, 0, 0, gtrid as u8, bqual as u8][..], &vec![b'x'; gtrid + bqual]].concat()
    };
    let most = MAX_XID_PART_BYTES;
    // Both: the number of the commit is before the name of the XA transaction.
    let good = event(COMMIT_ID | PREPARED, &[&id[..], &xid(most, most)].concat());
    let decoded = MariadbGtidEvent::decode(&good.body).unwrap();
    assert_eq!((decoded.commit_id, decoded.xid.is_some()), (Some(9), true));
    let opening = event(COMMIT_ID | PREPARED, &[&id[..], &xid(3, 0)].concat());
    let log = Log::mariadb().with([opening, table_map(T), insert(T, [1])]);
    let log = log.with([query("XA END X'787878',X'',1"), xa_prepare("xxx", false), stop()]);
    assert_eq!(decode(log.inputs(), &options()).ok().rows, [], "prepared, and never decided");
    for tail in [
        &xid(most + 1, 0)[..],
        &xid(0, most + 1),
        &xid(255, 255),
        &xid(3, 0)[..8],
        &[1, 0, 0, 0, 255],
        &[],
    ] {
        refused(&Log::mariadb(), event(PREPARED, tail), "Gtid");
    }
    refused(&Log::mariadb(), event(COMMIT_ID, &id[..7]), "Gtid");
    refused(&Log::mariadb(), Event::new(162, [0; 12]), "Gtid");
}
