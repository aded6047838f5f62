//! Converts stored text to UTF-8.

use super::Charset;
use super::transcoding::to_utf8;
use crate::error::DecodeError;
use crate::wire::Result;
use std::borrow::Cow;

/// The method that converts stored bytes to UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transcoding {
    /// The bytes are UTF-8 and must be checked. Characters of four bytes are accepted in utf8mb3
    /// too: no server stores one there.
    Utf8,
    /// The bytes are ASCII and must be checked: bytes above 0x7f are invalid.
    Ascii,
    /// Windows-1252, with C1 controls for 81, 8D, 8F, 90 and 9D: each byte is a character.
    Latin1,
    /// Each character is converted, with a table or by computation.
    Characters,
}

impl Charset {
    /// The method that converts stored bytes to UTF-8; `None` if they are not text, or if the
    /// character set is unknown.
    pub const fn transcoding(self) -> Option<Transcoding> {
        match self {
            Self::Binary | Self::Unknown => None,
            Self::Utf8mb3 | Self::Utf8mb4 => Some(Transcoding::Utf8),
            Self::Ascii => Some(Transcoding::Ascii),
            Self::Latin1 => Some(Transcoding::Latin1),
            _ => Some(Transcoding::Characters),
        }
    }

    /// Appends `bytes`, which are in this character set, to `out` as UTF-8. `what` names the field
    /// in the error. After an error, `out` is unchanged.
    pub fn decode_into(self, bytes: &[u8], what: &'static str, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        if to_utf8(self, bytes, false, out) {
            return Ok(());
        }
        out.truncate(start);
        Err(match self.transcoding() {
            Some(_) => DecodeError::Text { what, charset: self.name() },
            None => DecodeError::Unsupported { what: "text of no known character set", value: 0 },
        })
    }

    /// Like [`Self::decode_into`], but writes U+FFFD for invalid bytes: one for each character that
    /// Unicode lacks, for each half of a surrogate pair, for each longest prefix of a character of
    /// UTF-8, and for each other byte that does not begin a character. In most cases the server
    /// shows a `?` in the same places.
    pub fn decode_lossy_into(self, bytes: &[u8], out: &mut Vec<u8>) {
        let charset = if self.transcoding().is_some() { self } else { Self::Utf8mb4 };
        to_utf8(charset, bytes, true, out);
    }

    /// Returns `bytes`, which are in this character set, as a string.
    pub fn decode(self, bytes: &[u8], what: &'static str) -> Result<String> {
        let mut out = Vec::with_capacity(bytes.len());
        self.decode_into(bytes, what, &mut out)?;
        String::from_utf8(out).map_err(|_| DecodeError::Text { what, charset: self.name() })
    }

    /// Returns `bytes`, which are in this character set, as text. Invalid bytes become U+FFFD.
    pub fn decode_lossy(self, bytes: &[u8]) -> Cow<'_, str> {
        if matches!(self, Self::Utf8mb3 | Self::Utf8mb4 | Self::Binary | Self::Unknown) {
            return String::from_utf8_lossy(bytes);
        }
        let mut out = Vec::with_capacity(bytes.len());
        self.decode_lossy_into(bytes, &mut out);
        match String::from_utf8(out) {
            Ok(text) => Cow::Owned(text),
            Err(error) => Cow::Owned(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(charset: Charset, bytes: &[u8]) -> Result<String> {
        charset.decode(bytes, "x")
    }

    #[test]
    fn latin1_is_the_servers() {
        let decode = |bytes: &[u8]| decode(Charset::Latin1, bytes).unwrap();
        assert_eq!(decode(b"caf\xe9 \x80"), "café €");
        assert_eq!(decode(&[0x81, 0x8d, 0x8f, 0x90, 0x9d]), "\u{81}\u{8d}\u{8f}\u{90}\u{9d}");
        assert_eq!(decode(b"\xef\xbb\xbfa"), "ï»¿a");
    }

    /// The expected texts are those that MySQL 9.7 shows.
    #[test]
    fn characters_of_each_kind() {
        for (charset, bytes, text) in [
            (Charset::Swe7, &b"@[\\]^`{|}~"[..], "ÉÄÖÅÜéäöåü"),
            (Charset::Cp866, b"\xfc\xfd", "ⁿ²"),
            (Charset::Tis620, b"a\xa0", "a\u{fffd}"),
            (Charset::Gbk, b"a\x81\x40\xd6\xd0", "a丂中"),
            (Charset::Big5, b"\xa1\x45", "•"),
            (Charset::Gb2312, b"\xa1\xa4\xa1\xaa", "・―"),
            (Charset::Sjis, b"\x81\x5f\xb1\x83\x5c\\", "\\ｱソ\\"),
            (Charset::Cp932, b"\x81\x5f\xfc\x4b", "＼黑"),
            (Charset::Euckr, b"\xb0\xa1", "가"),
            (Charset::Ujis, b"\xa4\xa2\x8e\xb1\x8f\xb0\xa1", "あｱ丂"),
            (Charset::Eucjpms, b"\x8f\xf3\xf3", "ⅰ"),
            (Charset::Gb18030, b"\xd6\xd0\x81\x30\x81\x30\x94\x39\xda\x33", "中\u{80}💩"),
            (Charset::Gb18030, b"\xe3\x32\x9a\x35\x84\x31\xa4\x39", "\u{10ffff}\u{ffff}"),
            (Charset::Ucs2, b"\0a\x30\x42", "aあ"),
            (Charset::Utf16, b"\0a\0b\0c\0d\xd8\x3c\xdf\x89\xfe\xff", "abcd🎉\u{feff}"),
            (Charset::Utf16le, b"a\0b\0c\0\x3c\xd8\x89\xdf", "abc🎉"),
            (Charset::Utf32, b"\0\x01\xf3\x89\0\0\0a", "🎉a"),
            (Charset::Utf8mb3, b"\xf0\x9f\x8e\x89", "🎉"),
        ] {
            assert_eq!(decode(charset, bytes).as_deref(), Ok(text), "{}", charset.name());
            assert_eq!(charset.decode_lossy(bytes), text, "{}", charset.name());
        }
    }

    #[test]
    fn what_is_no_character_is_an_error_or_replaced() {
        for (charset, bytes, text) in [
            (Charset::Utf8mb4, &b"a\xc3"[..], "a\u{fffd}"),
            (Charset::Utf8mb4, b"\xf0\x9f\x8ea", "\u{fffd}a"),
            (Charset::Utf8mb4, b"\xed\xa0\x80", "\u{fffd}\u{fffd}\u{fffd}"),
            (Charset::Ascii, b"\xc3\xa9", "\u{fffd}\u{fffd}"),
            (Charset::Dec8, b"\xa4a", "\u{fffd}a"),
            (Charset::Swe7, b"\x80", "\u{fffd}"),
            // an invalid pair of gbk, half of a character, a character that Unicode lacks
            (Charset::Gbk, b"\x80a\x81", "\u{fffd}a\u{fffd}"),
            (Charset::Gbk, b"\xfe\xfea", "\u{fffd}a"),
            (Charset::Gbk, b"\x81\x20", "\u{fffd} "),
            (Charset::Sjis, b"\xa0\xfd\x85\x40a", "\u{fffd}\u{fffd}\u{fffd}a"),
            (Charset::Ujis, b"\x8e\xa0\x8f\xa1\xa1\x8f\xa1", "\u{fffd}".repeat(5).as_str()),
            (Charset::Gb18030, b"\x84\x31\xa5\x30\x81\x30\x81", "\u{fffd}\u{fffd}0\u{fffd}"),
            (Charset::Gb18030, b"\xe3\x32\x9a\x36", "\u{fffd}"),
            (Charset::Ucs2, b"\xd8\x3c\xdf\x89\0", "\u{fffd}\u{fffd}\u{fffd}"),
            (Charset::Utf16, b"\xd8\x3c\0a\xdf\x89\xd8\x3c", "\u{fffd}a\u{fffd}\u{fffd}"),
            (Charset::Utf16le, b"\x3c\xd8a\0a", "\u{fffd}a\u{fffd}"),
            (Charset::Utf32, b"\0\x11\0\0\0\0\xd8\0\0\0\0a\0\0", "\u{fffd}\u{fffd}a\u{fffd}"),
        ] {
            let error = DecodeError::Text { what: "x", charset: charset.name() };
            assert_eq!(decode(charset, bytes), Err(error), "{} {bytes:x?}", charset.name());
            assert_eq!(charset.decode_lossy(bytes), text, "{} {bytes:x?}", charset.name());
        }
    }

    #[test]
    fn bytes_without_a_character_set_are_not_guessed() {
        for charset in [Charset::Binary, Charset::Unknown] {
            assert!(matches!(decode(charset, b"a"), Err(DecodeError::Unsupported { .. })));
            assert_eq!(charset.decode_lossy(b"a\xff"), "a\u{fffd}");
        }
    }

    #[test]
    fn characters_across_chunks_stay_complete() {
        for shift in 0..4 {
            let bytes = [b"a".repeat(4093 + shift), b"\x94\x39\xda\x33".repeat(3000)].concat();
            let text = "a".repeat(4093 + shift) + &"💩".repeat(3000);
            assert_eq!(decode(Charset::Gb18030, &bytes), Ok(text));
        }
    }

    fn any_charset() -> impl Strategy<Value = Charset> {
        (0..400_u32).prop_map(|id| crate::charset::Collation(id).charset())
    }

    proptest! {
        #[test]
        fn any_bytes_are_safe(
            charset in any_charset(),
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0x30..0x42_u8, 0x80..=0xff_u8], 0..80),
        ) {
            let mut lossy = b"kept".to_vec();
            charset.decode_lossy_into(&bytes, &mut lossy);
            let lossy = String::from_utf8(lossy).expect("UTF-8");
            let lossy = lossy.strip_prefix("kept").expect("what was there");
            prop_assert_eq!(&charset.decode_lossy(&bytes), lossy);
            match charset.decode(&bytes, "x") {
                Ok(text) => prop_assert_eq!(text, lossy),
                Err(DecodeError::Text { .. }) => {
                    let has_replacement = lossy.contains(char::REPLACEMENT_CHARACTER);
                    prop_assert!(has_replacement);
                }
                Err(DecodeError::Unsupported { .. }) => prop_assert!(charset.transcoding().is_none()),
                Err(other) => prop_assert!(false, "{other}"),
            }
        }

        #[test]
        fn text_of_unicode_comes_back(text in ".{0,60}") {
            let units: Vec<u16> = text.encode_utf16().collect();
            let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
            let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
            let four: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect();
            for (charset, bytes) in [
                (Charset::Utf16, &big[..]),
                (Charset::Utf16le, &little),
                (Charset::Utf32, &four),
                (Charset::Utf8mb4, text.as_bytes()),
            ] {
                prop_assert_eq!(decode(charset, bytes), Ok(text.clone()));
            }
        }
    }
}
