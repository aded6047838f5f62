//! Patterns of LIKE: `%` is any text, `_` is one character, and a backslash makes the next character ordinary.

/// A pattern of LIKE. Letter case matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(Vec<Piece>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Byte(u8),
    One,
    Any,
}

impl Pattern {
    pub(super) fn parse(text: &str) -> Self {
        let mut pieces = Vec::with_capacity(text.len());
        let mut bytes = text.bytes().peekable();
        while let Some(byte) = bytes.next() {
            pieces.push(match byte {
                b'%' => Piece::Any,
                b'_' => Piece::One,
                b'\\' => Piece::Byte(bytes.next().unwrap_or(byte)),
                byte => Piece::Byte(byte),
            });
        }
        pieces.dedup_by(|next, last| *next == Piece::Any && *last == Piece::Any);
        Self(pieces)
    }

    /// True if the pattern matches all of `text`. `is_text`: it is UTF-8, so a character may be several bytes.
    pub(super) fn matches(&self, text: &[u8], is_text: bool) -> bool {
        let (mut at, mut piece) = (0, 0);
        // The place after the last `%`, and the end of the text that it matches.
        let mut any: Option<(usize, usize)> = None;
        loop {
            let step = match (self.0.get(piece), text.get(at)) {
                (Some(Piece::Any), _) => {
                    any = Some((piece + 1, at));
                    piece += 1;
                    continue;
                }
                (None, None) => return true,
                (Some(Piece::One), Some(_)) => Some(character(text, at, is_text)),
                (Some(Piece::Byte(byte)), Some(found)) if byte == found => Some(at + 1),
                _ => None,
            };
            match (step, any) {
                (Some(next), _) => (at, piece) = (next, piece + 1),
                (None, Some((after, end))) if end < text.len() => {
                    let end = character(text, end, is_text);
                    any = Some((after, end));
                    (at, piece) = (end, after);
                }
                (None, _) => return false,
            }
        }
    }
}

/// The end of the character at `at`.
fn character(text: &[u8], at: usize, is_text: bool) -> usize {
    let rest = text.get(at + 1..).unwrap_or_default();
    let more = rest.iter().take_while(|byte| is_text && **byte & 0xc0 == 0x80).count();
    at + 1 + more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_patterns_match() {
        let matches =
            |pattern: &str, text: &str| Pattern::parse(pattern).matches(text.as_bytes(), true);
        for (pattern, text) in [
            ("", ""),
            ("%", ""),
            ("%%", "a"),
            ("a%", "a"),
            ("a%", "abc"),
            ("%c", "abcc"),
            ("_", "ä"),
            ("%ä_", "xxäß"),
            ("a\\%b", "a%b"),
            ("a\\_", "a_"),
            ("%ab%ab", "abxabab"),
            ("\\\\", "\\"),
            ("a\\", "a\\"),
            ("%_%", "x"),
            ("_%_", "ab"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("", "a"),
            ("_", ""),
            ("_", "ab"),
            ("a", "A"),
            ("a\\%", "ab"),
            ("%ab", "abc"),
            ("_%_", "ä"),
            ("a%b%c", "acb"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
        assert!(Pattern::parse("__").matches("ä".as_bytes(), false));
    }
}
