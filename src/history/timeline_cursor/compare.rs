//! Compares the log with the history.

use super::TimelineCursor;
use crate::error::{Error, Result};
use crate::history::catalog::Followed;
use crate::history::entry::EntryBody;
use crate::history::history_index::{HistoryIndex, PAGE};
use crate::history::logged_ddl::LoggedDdl;
use crate::history::secrets::without_secrets;
use crate::history::store::{EntryKey, EntryRange};
use crate::position::Position;
use std::cmp::Ordering;

impl TimelineCursor {
    /// Checks a statement that ends before the view's position: the history must contain it.
    pub(super) fn compare_past(
        &self,
        index: &mut HistoryIndex,
        ddl: &LoggedDdl,
    ) -> Result<Followed> {
        let first = EntryKey::of(&ddl.position, 0);
        let mut range = EntryRange {
            timeline: self.timeline.id,
            after: first.previous(),
            until: EntryKey::end_of(&ddl.position),
        };
        let mut other = None;
        loop {
            let page = index.changes(range)?;
            for entry in &page {
                match &entry.body {
                    EntryBody::Ddl(stored) if is_same(stored, ddl) => {
                        return Ok(Followed::default());
                    }
                    EntryBody::Ddl(stored) => other = Some(stored.clone()),
                    _ => {}
                }
            }
            match page.last() {
                Some(last) if page.len() == PAGE => range.after = Some(last.key),
                _ => break,
            }
        }
        let timeline = index.timeline(self.timeline.id)?;
        Err(match other {
            Some(stored) => self.contradiction(&stored, Some(ddl)),
            None if !timeline.contains(&ddl.position) => Error::schema(format!(
                "the statement at {} is before all that the history covers, from {} on",
                ddl.position, timeline.from
            )),
            None => self.foreign(&format!(
                "it has a statement at {} ({}), before {}, where the history has none",
                ddl.position,
                summary(ddl),
                self.position
            )),
        })
    }

    /// Checks that a position is in the log that the history follows here.
    pub(super) fn check_log(&self, position: &Position) -> Result<()> {
        if self.timeline.fits(position) {
            return Ok(());
        }
        let server = |id: &Option<String>| {
            id.as_ref().map(|id| format!(" of server {id}")).unwrap_or_default()
        };
        Err(Error::schema(format!(
            "{position}{} is not of the log that the table history follows here, which is {} to {}{}: begin a new range \
             there with a baseline",
            server(&position.server),
            self.timeline.from,
            self.timeline.reached,
            server(&self.timeline.server)
        )))
    }

    /// Checks the creation time of the current file: after a reset, a log has other files of the same names.
    pub(super) fn check_file(&self, index: &mut HistoryIndex) -> Result<()> {
        let Some((name, timestamp)) = &self.file else { return Ok(()) };
        index.note_file(self.timeline.id, name, *timestamp).map_err(|known| {
            self.foreign(&format!(
                "its {name} was created at {timestamp} and that of the history at {known} (seconds since 1970): the log was \
                 reset since, or is another server's"
            ))
        })
    }

    /// The error for a statement that the log does not have at the place of a stored one.
    pub(super) fn contradiction(&self, stored: &LoggedDdl, statement: Option<&LoggedDdl>) -> Error {
        self.foreign(&match statement {
            None => format!(
                "the history has a statement at {} ({}) that the log does not have",
                stored.position,
                summary(stored)
            ),
            Some(statement)
                if stored.position.compare(&statement.position) == Some(Ordering::Equal) =>
            {
                format!(
                    "at {} the history has another statement ({}) than the log at {} ({})",
                    stored.position,
                    summary(stored),
                    statement.position,
                    summary(statement)
                )
            }
            Some(statement) => format!(
                "the history's next statement is at {} ({}), the log's at {} ({})",
                stored.position,
                summary(stored),
                statement.position,
                summary(statement)
            ),
        })
    }

    /// The error for a log that is not the one of the history.
    pub(super) fn foreign(&self, what: &str) -> Error {
        Error::schema(format!(
            "the log is not the one that the table history (source {:?}) was made from: {what}; give this log a \
             source of its own (⟦source⟧), or create a new history",
            self.shared.source()
        ))
    }
}

/// True if two statements are the same statement of a log.
pub(super) fn is_same(stored: &LoggedDdl, logged: &LoggedDdl) -> bool {
    let LoggedDdl { position, timestamp: _, database, statement, session } = stored;
    EntryKey::of(position, 0) == EntryKey::of(&logged.position, 0)
        && *database == logged.database
        && *statement == without_secrets(&logged.statement, logged.session.quote_mode())
        && *session == logged.session
}

/// The kind of a statement and its tables, for messages.
pub(super) fn summary(ddl: &LoggedDdl) -> String {
    match ddl.parse().ddl() {
        Ok(Some(parsed)) => parsed.to_string(),
        _ => "a statement that cannot be parsed".into(),
    }
}
