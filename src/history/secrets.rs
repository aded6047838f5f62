//! Passwords in DDL: they are replaced before a statement is kept or shown.
//!
//! FEDERATED, CONNECT and SPIDER tables have the login of another server in their options. A string that is the value of a table
//! option is kept only if the option is known to contain no password.

use super::sql::token::{Lexer, QuoteMode, Token};
use std::borrow::Cow;

/// Returns a statement, or a script of statements, with `'***'` in the place of strings that may contain a password. The text
/// ends where it cannot be read as SQL.
pub(crate) fn without_secrets(text: &str, mode: QuoteMode) -> Cow<'_, str> {
    let lower = text.to_ascii_lowercase();
    if !HINTS.iter().any(|hint| lower.contains(hint)) {
        return Cow::Borrowed(text);
    }
    let mut lexer = Lexer::with_mode(text, mode);
    let mut masked = String::new();
    let mut copied = 0;
    let mut state = State::default();
    loop {
        let Ok((at, token)) = lexer.next_token() else {
            masked.push_str(text.get(copied..lexer.at().max(copied)).unwrap_or_default());
            masked.push_str(CUT);
            return Cow::Owned(masked);
        };
        if token == Token::End {
            break;
        }
        if state.is_secret(&token, mode.ansi_quotes) {
            masked.push_str(text.get(copied..at).unwrap_or_default());
            masked.push_str(MASK);
            copied = lexer.at();
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    masked.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(masked)
}

/// The context before a token.
#[derive(Default)]
struct State {
    /// The next string is secret.
    is_next: bool,
    /// The last word that may be the name of an option.
    word: String,
    /// True if a `=` follows it.
    has_sign: bool,
    /// After IDENTIFIED, in the same statement.
    is_account: bool,
    depth: u32,
}

impl State {
    /// Returns true if a token is a secret, and updates the context.
    fn is_secret(&mut self, token: &Token<'_>, ansi_quotes: bool) -> bool {
        let text = match token {
            Token::Text(text) => Some(text.as_ref()),
            Token::DoubleQuoted(text) if !ansi_quotes => Some(text.as_ref()),
            Token::Bytes(_) => Some(""),
            _ => None,
        };
        if let Some(text) = text {
            let is_comment = self.word == "COMMENT";
            return self.is_next
                || is_comment && names_password(text)
                || self.has_sign && self.depth == 0 && !OPEN.contains(&self.word.as_str());
        }
        match token {
            // The character set of a string: the string follows.
            Token::Word(word) if word.starts_with('_') => {}
            Token::Word(word) => {
                self.word = word.to_ascii_uppercase();
                self.has_sign = false;
                self.is_account |= self.word == "IDENTIFIED";
                self.is_next = SECRET.contains(&self.word.as_str())
                    || self.is_account && AFTER_IDENTIFIED.contains(&self.word.as_str());
            }
            Token::Sign('=') => self.has_sign = true,
            Token::Sign(sign) => {
                match sign {
                    '(' => self.depth += 1,
                    ')' => self.depth = self.depth.saturating_sub(1),
                    ';' => *self = Self::default(),
                    _ => {}
                }
                (self.is_next, self.has_sign) = (false, false);
                self.word.clear();
            }
            _ => {
                (self.is_next, self.has_sign) = (false, false);
                self.word.clear();
            }
        }
        false
    }
}

/// `password "secret"` in the comment of a SPIDER table.
fn names_password(comment: &str) -> bool {
    let lower = comment.to_ascii_lowercase();
    ["password", "passwd", "pwd"].iter().any(|word| lower.contains(word))
        && lower.contains(['"', '\'', '=', ':'])
}

/// A text without these words contains no password.
const HINTS: [&str; 9] =
    ["connection", "password", "passwd", "pwd", "identified", "option", "secret", "token", "key"];
/// Options whose values are secret in any place.
const SECRET: [&str; 4] = ["CONNECTION", "PASSWORD", "OPTION_LIST", "SECRET"];
const AFTER_IDENTIFIED: [&str; 5] = ["BY", "AS", "USING", "PASSWORD", "WITH"];
/// Options of tables and databases that contain no password. The values of all others are not kept.
const OPEN: [&str; 14] = [
    "COMMENT",
    "ENGINE",
    "TYPE",
    "CHARSET",
    "SET",
    "COLLATE",
    "DIRECTORY",
    "COMPRESSION",
    "ENCRYPTION",
    "TABLESPACE",
    "ROW_FORMAT",
    "SECONDARY_ENGINE",
    "DEFAULT",
    "UNION",
];
const MASK: &str = "'***'";
const CUT: &str = " /* the rest cannot be read, and is not kept */";

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> String {
        without_secrets(text, QuoteMode::default()).into_owned()
    }

    #[test]
    fn passwords_are_masked() {
        for (text, expected) in [
            (
                "CREATE TABLE t (id INT) ENGINE=FEDERATED CONNECTION='mysql://u:secret@h/d/t'",
                "CREATE TABLE t (id INT) ENGINE=FEDERATED CONNECTION='***'",
            ),
            (
                "ALTER TABLE t connection = \"mysql://u:secret@h\"",
                "ALTER TABLE t connection = '***'",
            ),
            ("ALTER TABLE t CONNECTION 'sec' 'ret'", "ALTER TABLE t CONNECTION '***' '***'"),
            ("ALTER TABLE t CONNECTION=_utf8'secret'", "ALTER TABLE t CONNECTION=_utf8'***'"),
            ("ALTER TABLE t CONNECTION=x'736563726574'", "ALTER TABLE t CONNECTION='***'"),
            (
                "ALTER TABLE t /*!50100 CONNECTION='secret' */",
                "ALTER TABLE t /*!50100 CONNECTION='***' */",
            ),
            (
                "CREATE TABLE t (a INT) ENGINE=SPIDER COMMENT='host \"h\", password \"secret\"'",
                "CREATE TABLE t (a INT) ENGINE=SPIDER COMMENT='***'",
            ),
            (
                "CREATE TABLE t (a INT) ENGINE=CONNECT OPTION_LIST='user=u,password=secret' TABNAME='x'",
                "CREATE TABLE t (a INT) ENGINE=CONNECT OPTION_LIST='***' TABNAME='***'",
            ),
            (
                "CREATE TABLE t (a INT) PARTITION BY LIST (a) (PARTITION p VALUES IN (1) CONNECTION='secret')",
                "CREATE TABLE t (a INT) PARTITION BY LIST (a) (PARTITION p VALUES IN (1) CONNECTION='***')",
            ),
            (
                "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD 'secret')",
                "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD '***')",
            ),
            ("CREATE USER u IDENTIFIED BY 'secret'", "CREATE USER u IDENTIFIED BY '***'"),
            (
                "CREATE USER u IDENTIFIED BY PASSWORD 'secret'",
                "CREATE USER u IDENTIFIED BY PASSWORD '***'",
            ),
        ] {
            assert_eq!(masked(text), expected);
            assert_eq!(masked(expected), expected, "twice");
        }
        assert!(!masked("ALTER TABLE t CONNECTION='secret").contains("secret"));
    }

    #[test]
    fn all_else_stays() {
        for text in [
            "CREATE TABLE t (a ENUM('x','password'), b INT DEFAULT '1' COMMENT 'key of \"b\"', KEY (a)) ENGINE='InnoDB' \
             COMMENT='a token: kept' DEFAULT CHARSET='utf8mb4' COLLATE='utf8mb4_bin' DATA DIRECTORY='/d' ENCRYPTION='Y'",
            "CREATE TABLE password (connection VARCHAR(9) DEFAULT 'x', CHECK (token = 'key'))",
            "ALTER TABLE t ADD COLUMN token INT COMMENT 'the password of the row'",
            "CREATE TABLE t (id INT)",
        ] {
            assert_eq!(masked(text), text);
        }
    }
}
