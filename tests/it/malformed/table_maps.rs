//! Invalid table maps.

use super::{harmless, hostile, map_of, one_cell};
use crate::log::{Event, T, TABLE_MAP, insert, table_map};
use binarrow::limits::{MAX_COLUMNS, MAX_NAME_BYTES};

/// H5
#[test]
fn numbers_of_odd_lengths() {
    let map = |count: &[u8]| {
        let mut event = table_map(T);
        let at = 8 + 3 + 3;
        assert_eq!(event.body[at], 2);
        event.body.splice(at..=at, count.iter().copied());
        event
    };
    for count in [&[0xfb][..], &[0xff], &[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]] {
        hostile([map(count), insert(T, [2])], 0);
    }
    // A number may be stored longer than necessary, as on the server.
    for count in [&[0xfc, 2, 0][..], &[0xfd, 2, 0, 0], &[0xfe, 2, 0, 0, 0, 0, 0, 0, 0]] {
        assert_eq!(harmless([map(count), insert(T, [2])]), ["insert d.t 2"]);
    }
}

/// H6
#[test]
fn column_counts() {
    let map = |columns: u64, types: usize, metadata: &[u8]| {
        let mut body = T.id.to_le_bytes()[..6].to_vec();
        body.extend([1, 0, 1, b'd', 0, 1, b't', 0, 0xfe]);
        body.extend(columns.to_le_bytes());
        body.extend(vec![3; types]);
        body.extend(metadata);
        body.extend(vec![0; types.div_ceil(8)]);
        Event::new(TABLE_MAP, body)
    };
    for (columns, types) in
        [(0, 0), (MAX_COLUMNS as u64 + 1, MAX_COLUMNS + 1), (1 << 32, 5), (5, 4), (u64::MAX, 0)]
    {
        hostile([map(columns, types, &[0]), insert(T, [2])], 0);
    }
    // Metadata that is longer than the event.
    for metadata in [&[200][..], &[0xfe, 255, 255, 255, 255, 0, 0, 0, 0], &[0xfb]] {
        hostile([map(3, 3, metadata), insert(T, [2])], 0);
    }
    // Metadata that does not match the types; this is detected when the rows are read.
    for (types, metadata) in [(&[15, 3][..], &[][..]), (&[15, 3], &[1]), (&[15, 3], &[1, 0, 0])] {
        hostile([map_of(types, metadata, &[]), insert(T, [2])], 1);
    }
}

#[test]
fn names_that_do_not_fit() {
    let map = |database: &[u8], nul: u8| {
        let mut event = table_map(T);
        let mut name = vec![0xfc];
        name.extend((database.len() as u16).to_le_bytes());
        name.extend(database);
        name.push(nul);
        event.body.splice(8..11, name);
        event
    };
    hostile([map(&[b'd'; MAX_NAME_BYTES + 1], 0), insert(T, [2])], 0);
    hostile([map(b"d", 7), insert(T, [2])], 0);
    hostile([map(b"\xff\xfe", 0), insert(T, [2])], 1);
    assert_eq!(harmless([map(&[b'd'; MAX_NAME_BYTES], 0), insert(T, [2])]).len(), 1);
}

/// H11
#[test]
fn types_that_cannot_be() {
    let cases: [(u8, &[u8]); 20] = [
        (252, &[0]),
        (252, &[5]),
        (252, &[255]),
        (17, &[7]),
        (18, &[7]),
        (19, &[255]),
        (246, &[0, 0]),
        (246, &[66, 0]),
        (246, &[4, 5]),
        (246, &[65, 65]),
        (254, &[248, 5]),
        (254, &[247, 3]),
        (254, &[1, 1]),
        (16, &[1, 8]),
        (16, &[0, 0]),
        (16, &[9, 0]),
        (4, &[8]),
        (230, &[]), // the server's own fault injection
        (0, &[]),
        (243, &[]),
    ];
    for (code, metadata) in cases {
        hostile([map_of(&[code], metadata, &[]), one_cell(&[0; 20])], 1);
    }
}

/// H16
#[test]
fn optional_metadata() {
    let insert = || one_cell(&[7, 0, 0, 0]);
    let map = |optional: &[u8]| map_of(&[3], &[], optional);
    // Unknown fields are skipped; there may be more bits than columns.
    for optional in [&[1, 1, 0, 72, 2, 1, 2][..], &[200, 0, 1, 1, 0], &[1, 3, 0, 0, 0]] {
        assert_eq!(harmless([map(optional), insert()]), ["insert d.t 7"]);
    }
    for optional in [
        &[1, 1, 0, 1, 1, 0][..],   // twice
        &[1],                      // no length
        &[1, 9, 0],                // beyond the event
        &[1, 0],                   // too few bits
        &[12, 0],                  // too few bits
        &[1, 0xfb],                // an invalid length
        &[4, 0],                   // too few names
        &[4, 2, 5, b'a'],          // a name beyond the field
        &[4, 4, 1, b'a', 1, b'b'], // too many names
        &[4, 2, 1, 0xff],          // a name that is not text
        &[8, 1, 1],                // a key column beyond the table
        &[8, 1, 0, 9, 2, 0, 0],    // both forms
        &[9, 1, 0],                // half a pair
        &[2, 1, 63, 3, 0],         // both forms
        &[2, 3, 63, 0, 8],         // a character column that does not exist
        &[2, 0],                   // no default
        &[3, 1, 63],               // too many collations
        &[6, 2, 1, 9],             // members without an ENUM column
    ] {
        hostile([map(optional), insert()], 1);
    }
    let choice = |optional: &[u8]| map_of(&[254], &[247, 1], optional);
    for optional in [
        &[10, 1, 45, 6, 3, 0xfc, 255, 255][..], // more members than bytes
        &[10, 1, 45, 6, 3, 1, 9, b'a'],         // a member beyond the field
        &[10, 1, 45, 6, 3, 1, 1, 0xff],         // a member that is not text
        &[10, 1, 45, 6, 9, 0xfe, 255, 255, 255, 255, 255, 255, 255, 255],
    ] {
        hostile([choice(optional), one_cell(&[1])], 1);
    }
    // An ordinal without a member.
    hostile([choice(&[10, 1, 45, 6, 3, 1, 1, b'a']), one_cell(&[2])], 1);
    hostile([map_of(&[255], &[4], &[7, 1, 100]), one_cell(&[0; 4])], 1);
}
