//! Bytes as base64: 6 bits a character, 3 bytes a group, `=` where a group is not full.
//!
//! <https://www.rfc-editor.org/rfc/rfc4648#section-4>

/// Appends `data`, padded, in one line.
pub fn write(data: &[u8], out: &mut Vec<u8>) {
    out.reserve(data.len().div_ceil(3) * 4);
    let (groups, rest) = data.as_chunks::<3>();
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

#[cfg(test)]
mod tests {
    #[test]
    fn groups() {
        for (data, expected) in [
            (&b""[..], ""),
            (b"U", "VQ=="),
            (b"Us", "VXM="),
            (b"Usv", "VXN2"),
            (b"\xfb\xef\xff\x00", "++//AA=="),
        ] {
            let mut out = Vec::new();
            super::write(data, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
