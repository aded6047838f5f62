//! The tokens of SQL text: names, words, literals, signs.
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/language-structure.html>

use super::server::SqlServer;
use std::borrow::Cow;

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token<'t> {
    /// A keyword or a name without quotes.
    Word(&'t str),
    /// A name in backticks.
    Quoted(Cow<'t, str>),
    /// A string in single quotes.
    Text(Cow<'t, str>),
    /// A string in double quotes, or a name under `ANSI_QUOTES`.
    DoubleQuoted(Cow<'t, str>),
    /// `x'41'`, `0x41`, `b'1000001'`, `0b1000001`.
    Bytes(Vec<u8>),
    /// Digits, with a fraction and an exponent if they have them.
    Number(&'t str),
    /// Any other character.
    Sign(char),
    /// The end of the text.
    End,
}

impl Token<'_> {
    /// The token in a message. Strings are not shown: they may contain values.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Word(word) | Self::Number(word) => format!("`{word}`"),
            Self::Quoted(name) => format!("`{name}`"),
            Self::Text(_) | Self::DoubleQuoted(_) | Self::Bytes(_) => "a string".into(),
            Self::Sign(sign) => format!("`{sign}`"),
            Self::End => "the end".into(),
        }
    }
}

/// An error in the text, and its byte offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) message: String,
    pub(crate) at: usize,
}

pub(crate) type Result<T> = std::result::Result<T, SyntaxError>;

/// The meaning of quotes and comments: quotes depend on `sql_mode`, comments on the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QuoteMode {
    /// `ANSI_QUOTES`: names are in double quotes.
    pub ansi_quotes: bool,
    /// `NO_BACKSLASH_ESCAPES`: a backslash is an ordinary character.
    pub no_backslash_escapes: bool,
    /// The server that reads the text, if it is known.
    pub server: Option<SqlServer>,
}
