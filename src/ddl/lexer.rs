//! Divides SQL text into tokens.
//!
//! Comments are skipped, except versioned ones (`/*!80023 INVISIBLE */`, MariaDB's `/*M!100301 COMPRESSED*/`): those that the
//! server reads as code are code here, and all of them if the server is not known.

use super::comment::{Comment, dumped_database};
use super::token::{QuoteMode, Result, SyntaxError, Token};
use std::borrow::Cow;

/// Cuts text into tokens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lexer<'t> {
    text: &'t str,
    mode: QuoteMode,
    at: usize,
    /// True inside a versioned comment, whose end is not a token.
    versioned: bool,
    /// After the point of `shop.2020`, digits begin a name.
    after_point: bool,
    /// The end of the token before this one, if it may be a name.
    name_end: Option<usize>,
    /// A byte up to which lines were counted, and its line. Counting from the start each time would be slow for long texts.
    counted: usize,
    line: usize,
    /// The database in the first lines of a dump.
    dumped: Option<&'t str>,
}

impl<'t> Lexer<'t> {
    #[cfg(test)]
    pub(crate) fn new(text: &'t str) -> Self {
        Self::with_mode(text, QuoteMode::default())
    }

    pub(crate) fn with_mode(text: &'t str, mode: QuoteMode) -> Self {
        Self {
            text,
            mode,
            at: 0,
            versioned: false,
            after_point: false,
            name_end: None,
            counted: 0,
            line: 1,
            dumped: None,
        }
    }

    /// The next token, and its offset.
    pub(crate) fn next_token(&mut self) -> Result<(usize, Token<'t>)> {
        self.skip_space()?;
        let start = self.at;
        self.line = self.line(start);
        self.counted = start;
        let after_point = std::mem::take(&mut self.after_point);
        let name_end = self.name_end.take();
        let Some(first) = self.rest().chars().next() else { return Ok((start, Token::End)) };
        let escapes = !self.mode.no_backslash_escapes;
        let token = match first {
            '`' => Token::Quoted(self.quoted('`', false)?),
            '\'' => Token::Text(self.quoted('\'', escapes)?),
            '"' => Token::DoubleQuoted(self.quoted('"', escapes && !self.mode.ansi_quotes)?),
            'x' | 'X' if self.rest().get(1..2) == Some("'") => self.bits_in_quotes(16)?,
            'b' | 'B' if self.rest().get(1..2) == Some("'") => self.bits_in_quotes(2)?,
            'n' | 'N' if self.rest().get(1..2) == Some("'") => {
                self.at += 1;
                Token::Text(self.quoted('\'', escapes)?)
            }
            _ if first.is_ascii_digit() && !after_point => self.number(),
            _ if is_word(first) => Token::Word(self.take_while(is_word)),
            _ => match self.fraction(first != '.' || name_end == Some(start)) {
                Some(number) => number,
                None => {
                    self.at += first.len_utf8();
                    self.after_point = first == '.';
                    Token::Sign(first)
                }
            },
        };
        self.name_end = matches!(token, Token::Word(_) | Token::Quoted(_)).then_some(self.at);
        Ok((start, token))
    }

    /// The database in the first lines of a dump, if they were read since the last call.
    pub(crate) fn take_dumped(&mut self) -> Option<&'t str> {
        self.dumped.take()
    }

    /// The text that was not read yet.
    pub(crate) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The offset after the last token.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// True if names are in double quotes.
    pub(crate) fn ansi_quotes(&self) -> bool {
        self.mode.ansi_quotes
    }

    /// Continues at byte `at`, which is between two characters and outside quotes and comments.
    pub(crate) fn seek(&mut self, at: usize) {
        self.at = at;
    }

    /// The line of byte `at`, from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        let ends = |from: usize, to: usize| {
            let between = self.text.as_bytes().get(from..to).unwrap_or_default();
            between.iter().filter(|byte| **byte == b'\n').count()
        };
        (self.line + ends(self.counted, at)).saturating_sub(ends(at, self.counted))
    }

    fn skip_space(&mut self) -> Result<()> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
            self.at += rest.len() - trimmed.len();
            let is_dashes = |rest: &str| {
                let after = rest.strip_prefix("--").map(|rest| rest.chars().next());
                after.is_some_and(|next| next.is_none_or(|c| c.is_whitespace() || c.is_control()))
            };
            if trimmed.starts_with('#') || is_dashes(trimmed) {
                let line = trimmed.lines().next().unwrap_or_default();
                self.at += line.len();
                self.dumped = dumped_database(line).or(self.dumped);
            } else if self.versioned && trimmed.starts_with("*/") {
                self.versioned = false;
                self.at += 2;
            } else if trimmed.starts_with("/*") {
                match Comment::of(trimmed, self.mode.server) {
                    Comment::Code(after) => {
                        self.versioned = true;
                        self.at += after;
                    }
                    Comment::Skipped(Some(len)) => self.at += len,
                    Comment::Skipped(None) => {
                        let message = "a comment without its end".into();
                        return Err(SyntaxError { message, at: self.at });
                    }
                }
            } else {
                return Ok(());
            }
        }
    }

    fn take_while(&mut self, accepts: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let taken = rest.get(..rest.find(|c| !accepts(c)).unwrap_or(rest.len())).unwrap_or("");
        self.at += taken.len();
        taken
    }

    /// A number, or a name that begins with digits. As in the servers, `1.5select` is `1.5` and `select`.
    fn number(&mut self) -> Token<'t> {
        let start = self.at;
        let digits = self.take_while(|c| c.is_ascii_digit());
        if let Some(len) = exponent_len(self.rest()) {
            self.at += len;
        } else if self.rest().starts_with(is_word) {
            self.take_while(is_word);
            let word = self.text.get(start..self.at).unwrap_or(digits);
            let bits = |prefix: &str, base| {
                word.strip_prefix(prefix).filter(|d| !d.is_empty()).and_then(|d| bits(d, base))
            };
            return match bits("0x", 16).or_else(|| bits("0b", 2)) {
                Some(bytes) => Token::Bytes(bytes),
                None => Token::Word(word),
            };
        } else if self.rest().starts_with('.') {
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit());
            self.at += exponent_len(self.rest()).unwrap_or(0);
        }
        Token::Number(self.text.get(start..self.at).unwrap_or(digits))
    }

    /// The number `.5`, unless the point is between two parts of a name.
    fn fraction(&mut self, name_before: bool) -> Option<Token<'t>> {
        let start = self.at;
        let rest = self.rest();
        let is_number =
            rest.get(1..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if name_before || !is_number {
            return None;
        }
        self.at += 1;
        self.take_while(|c| c.is_ascii_digit());
        self.at += exponent_len(self.rest()).unwrap_or(0);
        self.text.get(start..self.at).map(Token::Number)
    }

    /// The text between two `quote`s. A doubled quote is one character, and so is a character after a backslash in a string.
    fn quoted(&mut self, quote: char, escapes: bool) -> Result<Cow<'t, str>> {
        let start = self.at + quote.len_utf8();
        let inside = self.text.get(start..).unwrap_or_default();
        let mut text = String::new();
        // The part of `inside` that is already in `text`.
        let mut copied = 0;
        let mut chars = inside.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if c == '\\' && escapes {
                text.push_str(inside.get(copied..at).unwrap_or_default());
                let Some((at, escaped)) = chars.next() else { break };
                match escaped {
                    '0' => text.push('\0'),
                    'b' => text.push('\u{8}'),
                    'n' => text.push('\n'),
                    'r' => text.push('\r'),
                    't' => text.push('\t'),
                    'Z' => text.push('\u{1a}'),
                    // These remain two characters, for patterns.
                    '%' | '_' => text.extend(['\\', escaped]),
                    other => text.push(other),
                }
                copied = at + escaped.len_utf8();
            } else if c == quote {
                text.push_str(inside.get(copied..at).unwrap_or_default());
                if chars.next_if(|(_, next)| *next == quote).is_some() {
                    text.push(quote);
                    copied = at + 2 * quote.len_utf8();
                    continue;
                }
                self.at = start + at + quote.len_utf8();
                let plain = inside.get(..at).filter(|plain| *plain == text);
                return Ok(plain.map_or(Cow::Owned(text), Cow::Borrowed));
            }
        }
        Err(SyntaxError { message: format!("a {quote} without its end"), at: self.at })
    }

    fn bits_in_quotes(&mut self, base: u32) -> Result<Token<'t>> {
        let start = self.at;
        self.at += 1;
        let digits = self.quoted('\'', false)?;
        bits(&digits, base).map(Token::Bytes).ok_or_else(|| SyntaxError {
            message: "a hexadecimal or bit literal with other digits".into(),
            at: start,
        })
    }
}

/// Digits of base 16 or 2 as bytes, in the same order.
fn bits(digits: &str, base: u32) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        digits.chars().map(|c| c.to_digit(base).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let (width, shift) = if base == 16 { (2, 4) } else { (8, 1) };
    Some(
        digits
            .rchunks(width)
            .rev()
            .map(|byte| byte.iter().fold(0, |b, d| b << shift | d))
            .collect(),
    )
}

/// The length of the exponent that the text begins with, such as `e-3`.
fn exponent_len(text: &str) -> Option<usize> {
    let after = text.strip_prefix(['e', 'E'])?;
    let unsigned = after.strip_prefix(['+', '-']).unwrap_or(after);
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then(|| text.len() - unsigned.len() + digits)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$' || c >= '\u{80}' && !c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ddl::SqlServer;
    use crate::ddl::token::Token::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::new();
        loop {
            match lexer.next_token().unwrap().1 {
                End => return tokens,
                token => tokens.push(token),
            }
        }
    }

    #[test]
    fn names_strings_and_numbers() {
        assert_eq!(
            tokens(
                "a `b``c` 'd''e\\n\\\\\\'\\%' \"f\" x'4142' 0x141 b'1' 0b100000001 N'g' 12 1.5 größe"
            ),
            [
                Word("a"),
                Quoted("b`c".into()),
                Text("d'e\n\\'\\%".into()),
                DoubleQuoted("f".into()),
                Bytes(b"AB".to_vec()),
                Bytes(vec![1, 0x41]),
                Bytes(vec![1]),
                Bytes(vec![1, 1]),
                Text("g".into()),
                Number("12"),
                Number("1.5"),
                Word("größe"),
            ]
        );
        assert_eq!(
            tokens("shop.2020 1a 1e5"),
            [Word("shop"), Sign('.'), Word("2020"), Word("1a"), Number("1e5")]
        );
        assert_eq!(
            tokens("1.5e-3,2e+4)"),
            [Number("1.5e-3"), Sign(','), Number("2e+4"), Sign(')')]
        );
    }

    #[test]
    fn a_number_ends_before_a_word() {
        for (text, number) in [
            ("=1.5select", "1.5"),
            ("=1e3select", "1e3"),
            ("=1.e3select", "1.e3"),
            ("=.5select", ".5"),
            ("=1.select", "1."),
            ("=1e+3select", "1e+3"),
            ("=.5e1select", ".5e1"),
        ] {
            assert_eq!(tokens(text), [Sign('='), Number(number), Word("select")], "{text}");
        }
        assert_eq!(tokens("`a`.5b"), [Quoted("a".into()), Sign('.'), Word("5b")]);
        assert_eq!(tokens("1e"), [Word("1e")]);
    }

    #[test]
    fn comments_are_passed_over_and_versioned_ones_are_code() {
        assert_eq!(
            tokens("a -- b\n# c\n/* d */ e--f"),
            [Word("a"), Word("e"), Sign('-'), Sign('-'), Word("f")]
        );
        assert_eq!(
            tokens("a /*!80023 INVISIBLE */ b /*M!100301 C*/,/*!d*/"),
            [Word("a"), Word("INVISIBLE"), Word("b"), Word("C"), Sign(','), Word("d")]
        );
        assert_eq!(tokens("/*!50100 a /* b */ c */ d"), [Word("a"), Word("c"), Word("d")]);
        assert_eq!(tokens("/*M!999999\\- enable the sandbox mode */ a"), [Word("a")]);
        assert_eq!(tokens("'-- no' --"), [Text("-- no".into())]);
    }

    #[test]
    fn code_is_what_the_server_reads() {
        let text = "a /*!50100 b */ /*!80023 c */ /*M! d */ /*M!110000 e */ /*!99999 f */ /*!99998 g */ /*! h */";
        let read = |is_mariadb, version| {
            let server = Some(SqlServer { is_mariadb, version });
            let mut lexer = Lexer::with_mode(text, QuoteMode { server, ..QuoteMode::default() });
            std::iter::from_fn(|| match lexer.next_token().unwrap().1 {
                Word(word) => Some(word),
                _ => None,
            })
            .collect::<String>()
        };
        assert_eq!(read(false, (9, 7, 4)), "abcgh");
        assert_eq!(read(false, (5, 7, 29)), "abgh");
        assert_eq!(read(true, (11, 8, 9)), "abdegh");
        assert_eq!(read(true, (10, 5, 29)), "abdgh");
    }

    #[test]
    fn old_servers_read_versions_of_five_digits() {
        let read = |version, text| {
            let server = Some(SqlServer { is_mariadb: false, version });
            let mut lexer = Lexer::with_mode(text, QuoteMode { server, ..QuoteMode::default() });
            (lexer.next_token().unwrap().1, lexer.next_token().unwrap().1)
        };
        let text = "/*!500001 select*/";
        assert_eq!(read((5, 7, 29), text), (Number("1"), Word("select")));
        assert_eq!(read((9, 7, 4), text), (End, End));
        assert_eq!(read((9, 7, 4), "/*!080000 select*/"), (Word("select"), End));
        assert_eq!(read((9, 7, 4), "/*!50 select*/"), (Number("50"), Word("select")));
    }

    #[test]
    fn what_does_not_end_is_an_error() {
        for text in ["'a", "`a", "\"a\\\"", "/* a", "x'4", "x'4g'", "b'2'", "'\\"] {
            assert!(Lexer::new(text).next_token().is_err(), "{text}");
        }
        assert_eq!(Lexer::new("a\nb").line(2), 2);
    }
}
