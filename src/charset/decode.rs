//! Stored text as UTF-8.

use super::{Charset, collation::Transcoding};
use crate::error::DecodeError;
use crate::wire::Result;

impl Charset {
    /// `bytes` of this character set as UTF-8, appended to `out`. `what` names the field in the error.
    pub fn decode_into(self, bytes: &[u8], what: &'static str, out: &mut Vec<u8>) -> Result<()> {
        let bad = DecodeError::Text { what, charset: self.name() };
        match self.transcoding() {
            Some(Transcoding::Utf8) => {
                simdutf8::basic::from_utf8(bytes).map_err(|_| bad)?;
                out.extend_from_slice(bytes);
            }
            Some(Transcoding::Ascii) => {
                if !bytes.is_ascii() {
                    return Err(bad);
                }
                out.extend_from_slice(bytes);
            }
            Some(Transcoding::Latin1) => latin1_into(bytes, out),
            None => {
                return Err(DecodeError::Unsupported {
                    what: "text of this character set",
                    value: 0,
                });
            }
        }
        Ok(())
    }

    /// `bytes` of this character set as a string.
    pub fn decode(self, bytes: &[u8], what: &'static str) -> Result<String> {
        let mut out = Vec::with_capacity(bytes.len());
        self.decode_into(bytes, what, &mut out)?;
        String::from_utf8(out).map_err(|_| DecodeError::Text { what, charset: self.name() })
    }
}

/// Windows-1252 to UTF-8: encoding_rs agrees with the server on all 256 bytes.
pub(crate) fn latin1_into(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.is_ascii() {
        out.extend_from_slice(bytes);
        return;
    }
    let (text, _) = encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes);
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin1_is_the_servers() {
        let decode = |bytes: &[u8]| Charset::Latin1.decode(bytes, "x").unwrap();
        assert_eq!(decode(b"caf\xe9 \x80"), "café €");
        assert_eq!(decode(&[0x81, 0x8d, 0x8f, 0x90, 0x9d]), "\u{81}\u{8d}\u{8f}\u{90}\u{9d}");
        assert_eq!(decode(b"\xef\xbb\xbfa"), "ï»¿a");
    }

    #[test]
    fn invalid_text_is_an_error() {
        assert!(Charset::Utf8mb4.decode(&[0xc3], "x").is_err());
        assert!(Charset::Ascii.decode(&[0x80], "x").is_err());
        assert!(Charset::Gbk.decode(b"a", "x").is_err());
    }
}
