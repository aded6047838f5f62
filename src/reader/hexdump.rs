//! The bytes of an event in the format of `mysqlbinlog --hexdump`: the header field by field, then
//! 16 bytes per row.
//!
//! ```text
//! # Position  Timestamp   Type   Source ID        Size      Source Pos    Flags
//! # 0000009c 86 4e 9e 5f   0f   01 00 00 00   79 00 00 00   7d 00 00 00   01 00
//! # 000000af 04 00 38 2e 30 2e 32 32  00 00 00 00 00 00 00 00 |..8.0.22........|
//! ```

use crate::binlog::EventHeader;
use std::fmt::Write;

/// Returns the rows for `size` bytes of `event` from index `from` on, rounded up to complete rows.
/// `from` is 0, or a multiple of 16 that an earlier call reached. The first call also returns the
/// row of the header. `offset` is the offset of the event in the file. Returns an empty text after
/// the end.
pub fn hexdump(event: &[u8], offset: u64, from: usize, size: usize) -> String {
    let header = event.get(..EventHeader::LEN).unwrap_or(event);
    let mut out = String::new();
    if from == 0 {
        out.push_str(HEADINGS);
        let _ = write!(out, "# {offset:08x} ");
        for (index, byte) in header.iter().enumerate() {
            let gap = match index {
                0 => "",
                4 | 5 | 9 | 13 | 17 => "   ",
                _ => " ",
            };
            let _ = write!(out, "{gap}{byte:02x}");
        }
        out.push('\n');
    }
    let body = event.get(EventHeader::LEN..).unwrap_or_default();
    let until = from.saturating_add(size.max(1)).min(body.len());
    let mut at = from - from % ROW;
    while at < until {
        let end = (at + ROW).min(body.len());
        let row = body.get(at..end).unwrap_or_default();
        put_row(&mut out, offset.saturating_add((EventHeader::LEN + at) as u64), row);
        at = end;
    }
    out
}

fn put_row(out: &mut String, offset: u64, row: &[u8]) {
    let _ = write!(out, "# {offset:08x} ");
    for index in 0..ROW {
        match row.get(index) {
            Some(byte) => {
                out.push(hex_digit(byte >> 4));
                out.push(hex_digit(byte & 15));
                out.push(' ');
            }
            None => out.push_str("   "),
        }
        if index == ROW / 2 - 1 {
            out.push(' ');
        }
    }
    out.push('|');
    out.extend(row.iter().map(|byte| match byte {
        b' '..=b'~' => char::from(*byte),
        _ => '.',
    }));
    out.push_str("|\n");
}

fn hex_digit(nibble: u8) -> char {
    char::from(if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 })
}

const HEADINGS: &str =
    "# Position  Timestamp   Type   Source ID        Size      Source Pos    Flags\n";

/// Bytes in a row.
const ROW: usize = 16;

#[cfg(test)]
mod tests {
    use super::hexdump;

    /// The Write_rows event of seed 001.
    const EVENT: [u8; 46] = [
        0x40, 0xab, 0xa6, 0x5f, 0x1e, 1, 0, 0, 0, 0x2e, 0, 0, 0, 0x5a, 0xce, 0x87, 0x37, 0, 0,
        0x8c, 0, 0, 0, 0, 0, 1, 0, 2, 0, 3, 0xff, 4, 1, 0, 0, 0, 5, 0x61, 0x70, 0x70, 0x6c, 0x65,
        0x12, 0x82, 0x25, 0xe0,
    ];

    #[test]
    fn as_seed_001_shows_it() {
        let expected = "\
# Position  Timestamp   Type   Source ID        Size      Source Pos    Flags
# 3787ce2c 40 ab a6 5f   1e   01 00 00 00   2e 00 00 00   5a ce 87 37   00 00
# 3787ce3f 8c 00 00 00 00 00 01 00  02 00 03 ff 04 01 00 00 |................|
# 3787ce4f 00 05 61 70 70 6c 65 12  82 25 e0                |..apple..%.|
";
        assert_eq!(hexdump(&EVENT, 0x3787_ce2c, 0, usize::MAX), expected);
        let pieces: String =
            (0..48).step_by(16).map(|from| hexdump(&EVENT, 0x3787_ce2c, from, 16)).collect();
        assert_eq!(pieces, expected);
        for len in 0..EVENT.len() {
            hexdump(&EVENT[..len], u64::MAX - 100, 0, 7);
        }
    }
}
