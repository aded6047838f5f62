//! Comments: dumps and servers write code in them.
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/comments.html>, <https://mariadb.com/kb/en/comment-syntax/>

use super::server::SqlServer;

/// A comment that begins with `/*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comment {
    /// Its content is code, which begins after this number of bytes.
    Code(usize),
    /// It is not read, and has this number of bytes; `None` if it has no end.
    Skipped(Option<usize>),
}

impl Comment {
    /// The comment that `text` begins with, as `server` reads it. If the server is not known, all versioned comments are code.
    pub(super) fn of(text: &str, server: Option<SqlServer>) -> Self {
        let code = text.strip_prefix("/*!").or_else(|| text.strip_prefix("/*M!"));
        if let Some(code) = code {
            let digits = version_digits(code, server);
            let version = code.get(..digits).and_then(|digits| digits.parse().ok()).unwrap_or(0);
            let is_code = match server {
                _ if version == OWN => true,
                Some(server) => server.reads(version, text.starts_with("/*M!")),
                None => !NEVER.contains(&version),
            };
            if is_code {
                return Self::Code(text.len() - code.len() + digits);
            }
        }
        let inside = text.get(2..).unwrap_or_default();
        let end = if code.is_some() { end_of_unread(inside) } else { inside.find("*/") };
        Self::Skipped(end.map(|end| end + 4))
    }
}

/// The database in `-- Host: localhost    Database: shop`, a line that `mysqldump` and `mariadb-dump` print first. For one
/// database they do not print USE.
pub(super) fn dumped_database(comment: &str) -> Option<&str> {
    let (_, database) = comment.strip_prefix("-- Host: ")?.split_once("Database: ")?;
    Some(database.trim_end()).filter(|database| !database.is_empty())
}

/// The number of digits of the version after `/*!`: five or six. MySQL before 8.0 reads five, and the next one is code.
fn version_digits(code: &str, server: Option<SqlServer>) -> usize {
    let most = match server {
        Some(SqlServer { is_mariadb: false, version: (major, ..) }) if major < 8 => 5,
        _ => 6,
    };
    match code.bytes().take(most).take_while(u8::is_ascii_digit).count() {
        0..5 => 0,
        digits => digits,
    }
}

/// The end of a versioned comment that the server does not read. It may contain other comments.
fn end_of_unread(inside: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = inside.get(at..)?;
        let end = rest.find("*/")?;
        match rest.find("/*").filter(|begin| *begin < end) {
            Some(begin) => at += begin + 2 + rest.get(begin + 2..)?.find("*/")? + 2,
            None => return Some(at + end),
        }
    }
}

/// Versions of comments that no server reads as code. One is in the first line of `mariadb-dump`.
const NEVER: [u32; 2] = [99_999, 999_999];

/// The version of the comments in scripts of this crate, which no server reads.
const OWN: u32 = 99_998;

impl SqlServer {
    /// True if the server reads the code in a comment with this version; 0 for a comment without a version.
    fn reads(self, version: u32, has_m: bool) -> bool {
        let (major, minor, patch) = self.version;
        let own = u32::from(major) * 10_000 + u32::from(minor) * 100 + u32::from(patch);
        match self.is_mariadb {
            true => version <= own && (has_m || !(50_700..=99_999).contains(&version)),
            false => version <= own && !has_m,
        }
    }
}
