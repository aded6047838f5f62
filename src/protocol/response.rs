//! The server's answers: OK, ERR, EOF.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_response_packets.html>

use crate::wire::Reader;

/// An ERR packet: the reason why the server refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerRefusal {
    /// The error's number, for example 1045.
    pub code: u16,
    /// Its SQLSTATE; empty if the server sends none, as before the login.
    pub sqlstate: String,
    /// Its text.
    pub message: String,
}

impl ServerRefusal {
    /// Decodes a payload that begins with `ff`; `None` for any other.
    pub fn decode(payload: &[u8]) -> Option<Self> {
        let body = payload.strip_prefix(&[ERR])?;
        let mut reader = Reader::new(body);
        let code = reader.u16("error code").unwrap_or_default();
        let mut rest = reader.rest();
        let mut sqlstate = String::new();
        if let Some((state, text)) =
            rest.strip_prefix(b"#").and_then(|rest| rest.split_at_checked(5))
        {
            sqlstate = printable(state, state.len());
            rest = text;
        }
        let message = printable(rest, MAX_MESSAGE);
        Some(Self { code, sqlstate, message })
    }
}

/// Converts a server's text for a message: limited in length, and without control characters for a
/// terminal.
pub(super) fn printable(bytes: &[u8], limit: usize) -> String {
    let text = String::from_utf8_lossy(bytes.get(..limit).unwrap_or(bytes));
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// True if the payload is an OK packet. Its content is not returned.
pub fn is_ok(payload: &[u8]) -> bool {
    let mut reader = Reader::new(payload);
    reader.u8("OK").is_ok_and(|first| first == OK)
        && reader.lenenc_int("affected rows").is_ok()
        && reader.lenenc_int("last insert id").is_ok()
        && reader.u16("status").is_ok()
        && reader.u16("warnings").is_ok()
}

/// True if the payload is an EOF packet. `fe` is also the first byte of a large number.
pub fn is_eof(payload: &[u8]) -> bool {
    payload.first() == Some(&EOF) && payload.len() < 9
}

/// The number of bytes of an ERR packet's text that are shown; servers send at most 512.
const MAX_MESSAGE: usize = 1024;

/// The first byte of an OK packet.
pub(super) const OK: u8 = 0;
/// The first byte of an ERR packet.
pub(super) const ERR: u8 = 0xff;
/// The first byte of an EOF packet, and of a request to switch the authentication plugin.
pub(super) const EOF: u8 = 0xfe;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_with_a_state_and_without() {
        let refusal = ServerRefusal::decode(b"\xff\x15\x04#28000Access denied").unwrap();
        assert_eq!((refusal.code, refusal.sqlstate.as_str()), (1045, "28000"));
        assert_eq!(refusal.message, "Access denied");
        let early = ServerRefusal::decode(b"\xff\x10\x04Too many connections").unwrap();
        assert_eq!((early.code, early.sqlstate.as_str()), (1040, ""));
        assert_eq!(early.message, "Too many connections");
        for cut in [&b"\xff"[..], b"\xff\x15", b"\xff\x15\x04", b"\xff\x15\x04#28"] {
            assert!(ServerRefusal::decode(cut).is_some(), "{cut:?}");
        }
        assert_eq!(ServerRefusal::decode(b"\0"), None);
    }

    #[test]
    fn a_refusal_is_short_and_obeyed_by_no_terminal() {
        let long = [b"\xff\x15\x04#28000\x1b[2J\r\n\xff".as_slice(), &[b'x'; 70_000]].concat();
        let refusal = ServerRefusal::decode(&long).unwrap();
        assert!(refusal.message.starts_with(" [2J  \u{fffd}xxx"));
        assert!(refusal.message.len() < 1100);
    }

    #[test]
    fn an_ok_is_complete() {
        let ok = b"\0\xfc\x01\x01\0\x02\0\0\0and more";
        assert!(is_ok(ok));
        for len in 0..9 {
            assert!(!is_ok(&ok[..len]), "{len}");
        }
        assert!(!is_ok(&[0xfe, 0, 0, 2, 0, 0, 0]) && !is_ok(b"\0\xff\0\0\0\0\0\0\0\0\0"));
    }

    #[test]
    fn an_eof_is_short() {
        assert!(is_eof(&[0xfe, 0, 0, 2, 0]) && is_eof(&[0xfe]));
        assert!(!is_eof(&[0xfe; 9]) && !is_eof(&[]));
    }
}
