//! Base64 of values whose types JSON does not have, as the server prints them.
//!
//! ```text
//! 55 73 76      VXN2      6 bits a character, 3 bytes a group, = where a group is not full, \\n after 76 characters
//! ```
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/string-functions.html#function_to-base64>

use crate::value::base64;

/// Appends base64 as the server writes it: padded, in lines of 76 characters. The line ends are
/// escaped, because they are in a JSON string.
pub(super) fn write(data: &[u8], out: &mut Vec<u8>) {
    out.reserve(data.len() / 3 * 4 + data.len() / LINE_BYTES * 2 + 4);
    for (index, line) in data.chunks(LINE_BYTES).enumerate() {
        if index > 0 {
            out.extend_from_slice(b"\\n");
        }
        base64::write(line, out);
    }
}

/// The number of bytes of a line of 76 characters.
const LINE_BYTES: usize = 57;

#[cfg(test)]
mod tests {
    fn text(data: &[u8]) -> String {
        let mut out = Vec::new();
        super::write(data, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines() {
        let line = "A".repeat(76);
        assert_eq!(text(&[0; 57]), line);
        assert_eq!(text(&[0; 115]), format!("{line}\\n{line}\\nAA=="));
    }
}
