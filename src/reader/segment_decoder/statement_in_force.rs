//! The text of the statement that changed the rows, from Rows_query and Annotate_rows events.

use crate::binlog::{EventType, Query, RowsQuery, STMT_END};
use crate::charset::Charset;
use crate::error::Result;
use crate::source::CarriedStatement;

/// Tracks the statements of a transaction's events, if their text is requested.
#[derive(Debug, Default)]
pub(super) struct StatementInForce {
    is_wanted: bool,
    /// `_commit_version` of the current transaction.
    commit_version: i64,
    text: String,
    is_known: bool,
    /// True if the last rows event was the last of its statement.
    is_over: bool,
    client: Option<Charset>,
}

impl StatementInForce {
    pub(super) fn new(is_wanted: bool) -> Self {
        Self { is_wanted, ..Self::default() }
    }

    pub(super) const fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Begins a transaction, or the next piece of a transaction with the statement of the previous
    /// piece.
    pub(super) fn begin(&mut self, commit_version: i64, carried: &CarriedStatement) {
        if self.is_wanted {
            (self.is_known, self.is_over) = (false, false);
            // Events that ROLLBACK TO rolled back may be between the statement and its BEGIN.
            let before = self.client.filter(|_| self.commit_version == commit_version);
            self.client = carried.client.or(before);
            self.commit_version = commit_version;
            if let Some(sql) = &carried.sql {
                self.set(sql);
            }
        }
    }

    /// Processes an event without rows: the statement that it contains is in force from now on.
    pub(super) fn on_event(&mut self, event_type: EventType, body: &[u8]) -> Result<()> {
        if !self.is_wanted {
            return Ok(());
        }
        if event_type == EventType::QUERY {
            if self.client.is_none() {
                self.client = Some(Query::decode(body)?.client_charset());
            }
        } else if let Some(query) = RowsQuery::of(event_type, body)? {
            self.set(query.sql);
            self.is_over = false;
        }
        Ok(())
    }

    /// Processes the flags of a rows event: the statement ends after its last one.
    pub(super) fn on_rows(&mut self, flags: u16) {
        self.is_known &= !self.is_over;
        self.is_over = flags & STMT_END != 0;
    }

    /// The text.
    pub(super) fn text(&self) -> Option<&str> {
        self.is_known.then_some(self.text.as_str())
    }

    /// Sets the text. It is in the client's character set, which MariaDB's log does not contain.
    fn set(&mut self, sql: &[u8]) {
        let mut text = std::mem::take(&mut self.text).into_bytes();
        text.clear();
        self.is_known = true;
        let charset = match self.client {
            None | Some(Charset::Binary | Charset::Unknown)
                if std::str::from_utf8(sql).is_err() =>
            {
                Charset::Latin1
            }
            None => Charset::Utf8mb4,
            Some(charset) => charset,
        };
        charset.decode_lossy_into(sql, &mut text);
        self.text = String::from_utf8(text).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows_query(sql: &[u8]) -> Vec<u8> {
        [&[0], sql].concat()
    }

    #[test]
    fn a_statement_holds_until_its_last_rows() {
        let mut statement = StatementInForce::new(true);
        statement.begin(1, &CarriedStatement::default());
        statement.on_rows(0);
        assert_eq!(statement.text(), None);
        statement.on_event(EventType::ROWS_QUERY, &rows_query(b"a")).unwrap();
        statement.on_event(EventType::TABLE_MAP, b"junk").unwrap();
        statement.on_rows(0);
        statement.on_rows(STMT_END);
        assert_eq!(statement.text(), Some("a"));
        statement.on_rows(STMT_END);
        assert_eq!(statement.text(), None, "one that is not in the log");
        statement.on_event(EventType::MARIADB_ANNOTATE_ROWS, b"b").unwrap();
        statement.on_rows(0);
        assert_eq!(statement.text(), Some("b"));
        statement.begin(1, &CarriedStatement { sql: Some(b"c".as_slice().into()), client: None });
        statement.on_rows(0);
        assert_eq!(statement.text(), Some("c"));
    }

    #[test]
    fn character_sets() {
        let text = |client, sql: &[u8]| {
            let mut statement = StatementInForce::new(true);
            statement.begin(1, &CarriedStatement { sql: Some(sql.into()), client });
            statement.text().unwrap().to_owned()
        };
        assert_eq!(text(None, "é".as_bytes()), "é");
        assert_eq!(text(None, b"\xe9"), "é");
        assert_eq!(text(Some(Charset::Binary), b"\xe9"), "é");
        assert_eq!(text(Some(Charset::Gbk), b"\xd6\xd0"), "中");
        assert_eq!(text(Some(Charset::Utf8mb4), b"a\xff"), "a\u{fffd}");
    }

    #[test]
    fn where_it_is_not_asked_for_nothing_is_looked_at() {
        let mut statement = StatementInForce::new(false);
        statement.on_event(EventType::ROWS_QUERY, b"").unwrap();
        statement.on_event(EventType::QUERY, b"").unwrap();
        statement.on_rows(0);
        assert_eq!(statement.text(), None);
    }
}
