//! Bytes of types that JSON does not have, as the server prints them.
//!
//! ```text
//! 55 73 76      VXN2      6 bits a character, 3 bytes a group, = where a group is not full, \\n after 76 characters
//! ```
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/string-functions.html#function_to-base64>

/// Base64 in the server's manner: padded, in lines of 76 characters. The line ends are escaped, for they stand in a JSON
/// string.
pub(super) fn write(data: &[u8], out: &mut Vec<u8>) {
    out.reserve(data.len() / 3 * 4 + data.len() / LINE_BYTES * 2 + 4);
    for (index, line) in data.chunks(LINE_BYTES).enumerate() {
        if index > 0 {
            out.extend_from_slice(b"\\n");
        }
        let (groups, rest) = line.as_chunks::<3>();
        for [a, b, c] in groups {
            out.extend_from_slice(&group([*a, *b, *c]));
        }
        match *rest {
            [a] => {
                let [first, second, _, _] = group([a, 0, 0]);
                out.extend_from_slice(&[first, second, b'=', b'=']);
            }
            [a, b] => {
                let [first, second, third, _] = group([a, b, 0]);
                out.extend_from_slice(&[first, second, third, b'=']);
            }
            _ => {}
        }
    }
}

fn group([a, b, c]: [u8; 3]) -> [u8; 4] {
    let bits = u32::from_be_bytes([0, a, b, c]);
    [bits >> 18, bits >> 12, bits >> 6, bits].map(|six| match (six & 63) as u8 {
        six @ 0..=25 => b'A' + six,
        six @ 26..=51 => b'a' + six - 26,
        six @ 52..=61 => b'0' + six - 52,
        62 => b'+',
        _ => b'/',
    })
}

/// Bytes that make a line of 76 characters.
const LINE_BYTES: usize = 57;

#[cfg(test)]
mod tests {
    fn text(data: &[u8]) -> String {
        let mut out = Vec::new();
        super::write(data, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn groups() {
        for (data, expected) in [
            (&b""[..], ""),
            (b"U", "VQ=="),
            (b"Us", "VXM="),
            (b"Usv", "VXN2"),
            (b"\xfb\xef\xff\x00", "++//AA=="),
        ] {
            assert_eq!(text(data), expected);
        }
    }

    #[test]
    fn lines() {
        let line = "A".repeat(76);
        assert_eq!(text(&[0; 57]), line);
        assert_eq!(text(&[0; 115]), format!("{line}\\n{line}\\nAA=="));
    }
}
