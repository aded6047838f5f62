//! Passwords in DDL: they are replaced before a statement is stored or shown.
//!
//! FEDERATED, CONNECT and SPIDER tables have the login of another server in their options, and other engines define options of
//! their own. The value of a table option, quoted or not, is kept only if the option is known to contain no password.

use crate::ddl::lexer::Lexer;
use crate::ddl::token::{QuoteMode, Token};
use std::borrow::Cow;

/// Returns a statement, or a script of statements, with `'***'` in the place of strings that may contain a password. The text
/// ends where it cannot be read as SQL.
pub(crate) fn without_secrets(text: &str, mode: QuoteMode) -> Cow<'_, str> {
    let lower = text.to_ascii_lowercase();
    let has_hint = HINTS.iter().any(|hint| lower.contains(hint));
    if !has_hint && !text.contains('=') {
        return Cow::Borrowed(text);
    }
    let mut lexer = Lexer::with_mode(text, mode);
    let mut masked = String::new();
    let mut copied = 0;
    let mut state = State { has_hint, ..State::default() };
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

/// The kind of a statement, by its first words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Head {
    /// Before the first word.
    #[default]
    Start,
    /// After CREATE or ALTER.
    Verb,
    /// A statement with options of a table, a database, a server or a tablespace.
    Options,
    /// Any other statement, or the query of CREATE TABLE.
    Other,
}

impl Head {
    fn after(self, word: &str) -> Self {
        match (self, word) {
            (Self::Start, "CREATE" | "ALTER") => Self::Verb,
            (
                Self::Verb,
                "OR" | "REPLACE" | "TEMPORARY" | "IGNORE" | "ONLINE" | "OFFLINE" | "UNDO",
            ) => Self::Verb,
            (Self::Verb, "TABLE" | "DATABASE" | "SCHEMA" | "SERVER" | "TABLESPACE") => {
                Self::Options
            }
            (Self::Options, "SELECT" | "VALUES") | (Self::Start | Self::Verb | Self::Other, _) => {
                Self::Other
            }
            (Self::Options, _) => Self::Options,
        }
    }
}

/// The context before a token.
#[derive(Default)]
struct State {
    /// True if the text contains one of [`HINTS`].
    has_hint: bool,
    /// The kind of the statement, as far as it is known.
    head: Head,
    /// The next string is secret.
    is_next: bool,
    /// The last word that may be the name of an option.
    word: String,
    /// True if a `=` follows it.
    has_sign: bool,
    /// True after a string: only another string can belong to the value.
    has_value: bool,
    /// After IDENTIFIED, in the same statement.
    is_account: bool,
    depth: u32,
}

impl State {
    /// True before the value of an option that may contain a password.
    fn is_unknown_value(&self) -> bool {
        self.has_sign && self.depth == 0 && !OPEN.contains(&self.word.as_str())
    }

    /// Returns true if a token is a secret, and updates the context.
    fn is_secret(&mut self, token: &Token<'_>, ansi_quotes: bool) -> bool {
        let text = match token {
            Token::Text(text) => Some(text.as_ref()),
            Token::DoubleQuoted(text) if !ansi_quotes => Some(text.as_ref()),
            Token::Bytes(_) => Some(""),
            _ => None,
        };
        let had_value = std::mem::replace(&mut self.has_value, text.is_some());
        if let Some(text) = text {
            let is_comment = self.word == "COMMENT";
            let is_option = self.has_hint || self.head == Head::Options;
            return self.is_next
                || is_comment && names_password(text)
                || is_option && self.is_unknown_value();
        }
        match token {
            Token::Word(value) | Token::Number(value)
                if self.head == Head::Options
                    && self.is_unknown_value()
                    && !had_value
                    && !value.starts_with('_')
                    && !NUMERIC.contains(&self.word.as_str())
                    && !SWITCHES.contains(&value.to_ascii_uppercase().as_str()) =>
            {
                self.has_sign = false;
                self.word.clear();
                return true;
            }
            // The character set of a string: the string follows.
            Token::Word(word) if word.starts_with('_') => {}
            Token::Word(word) => {
                self.word = word.to_ascii_uppercase();
                self.has_sign = false;
                self.head = self.head.after(&self.word);
                self.is_account |= self.word == "IDENTIFIED";
                self.is_next = SECRET.contains(&self.word.as_str())
                    || self.is_account && AFTER_IDENTIFIED.contains(&self.word.as_str());
            }
            // MariaDB prints the options of engines in backticks.
            Token::Quoted(name) => {
                self.word = name.to_ascii_uppercase();
                (self.is_next, self.has_sign) = (false, false);
            }
            Token::Sign('=') => self.has_sign = true,
            Token::Sign(sign) => {
                match sign {
                    '(' => self.depth += 1,
                    ')' => self.depth = self.depth.saturating_sub(1),
                    ';' => *self = Self { has_hint: self.has_hint, ..Self::default() },
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
const OPEN: [&str; 15] = [
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
    "RENAME",
];
/// Options whose values are numbers or words of the grammar, which are never quoted.
const NUMERIC: [&str; 40] = [
    "AUTO_INCREMENT",
    "AUTOEXTEND_SIZE",
    "AVG_ROW_LENGTH",
    "CHECKSUM",
    "TABLE_CHECKSUM",
    "DELAY_KEY_WRITE",
    "MIN_ROWS",
    "MAX_ROWS",
    "PACK_KEYS",
    "KEY_BLOCK_SIZE",
    "INSERT_METHOD",
    "STATS_AUTO_RECALC",
    "STATS_PERSISTENT",
    "STATS_SAMPLE_PAGES",
    "TRANSACTIONAL",
    "PAGE_CHECKSUM",
    "PAGE_COMPRESSED",
    "PAGE_COMPRESSION_LEVEL",
    "ENCRYPTED",
    "ENCRYPTION_KEY_ID",
    "SEQUENCE",
    "IETF_QUOTES",
    "ALGORITHM",
    "LOCK",
    "STORAGE",
    "NODEGROUP",
    "ONLY",
    "REF_SYSTEM_ID",
    "COLUMN_FORMAT",
    "FILE_BLOCK_SIZE",
    "INITIAL_SIZE",
    "EXTENT_SIZE",
    "MAX_SIZE",
    "UNDO_BUFFER_SIZE",
    "REDO_BUFFER_SIZE",
    "WAIT",
    "RAID_TYPE",
    "RAID_CHUNKS",
    "RAID_CHUNKSIZE",
    "PORT",
];
/// Values that are words of the grammar.
const SWITCHES: [&str; 8] = ["DEFAULT", "ON", "OFF", "YES", "NO", "NULL", "TRUE", "FALSE"];
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
            (
                "CREATE TABLE t (id INT) ENGINE=X ACCESS=secret AUTH 'x' credential=\"secret\", pin=1234 MAX_ROWS=9",
                "CREATE TABLE t (id INT) ENGINE=X ACCESS='***' AUTH 'x' credential='***', pin='***' MAX_ROWS=9",
            ),
            (
                "CREATE OR REPLACE TEMPORARY TABLE t (id INT) `auth`=secret `cred`='secret' `PAGE_COMPRESSED`=1",
                "CREATE OR REPLACE TEMPORARY TABLE t (id INT) `auth`='***' `cred`='***' `PAGE_COMPRESSED`=1",
            ),
            ("CREATE USER u IDENTIFIED BY 'secret'", "CREATE USER u IDENTIFIED BY '***'"),
            (
                "CREATE USER u IDENTIFIED BY PASSWORD 'secret'",
                "CREATE USER u IDENTIFIED BY PASSWORD '***'",
            ),
            ("ALTER TABLE t RENAME = u, COMMENT = 'c'", "ALTER TABLE t RENAME = u, COMMENT = 'c'"),
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
            "CREATE TABLE t (id INT) ENGINE=InnoDB AUTO_INCREMENT=5 ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8 STATS_PERSISTENT=DEFAULT",
            "ALTER TABLE t ADD COLUMN token INT DEFAULT 5, ALGORITHM=INPLACE, LOCK=NONE",
            "ALTER DATABASE d READ ONLY = 1",
            "CREATE TABLE t SELECT a FROM u WHERE b = c AND d = 'e'",
            "CREATE VIEW v AS SELECT a FROM u WHERE b = c AND d = 'e'",
            "CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 'b'",
            "SET @@sql_mode = 'ANSI'",
        ] {
            assert_eq!(masked(text), text);
        }
    }
}
