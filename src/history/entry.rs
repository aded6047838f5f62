//! The entries of a history, and their stored form.

use super::baseline::{Baseline, Scope};
use super::catalog::Catalog;
use super::catalog_text::CatalogText;
use super::encoding::{of_json, pack, to_json, unpack};
use super::logged_ddl::LoggedDdl;
use super::secrets::without_secrets;
use super::store::{EntryKey, EntryKind, EntryRow};
use super::stored_session::StoredSession;
use crate::ddl::DdlSession;
use crate::error::{Error, Result};
use crate::position::Position;
use serde::{Deserialize, Serialize};

/// An entry of a history: a statement, or the tables at a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The range of the log that contains it.
    pub timeline: u64,
    /// Its place in that range.
    pub key: EntryKey,
    /// The position from which it applies.
    pub position: Position,
    /// Microseconds since 1970 UTC: of the commit of a statement, or the time at which the tables had this structure.
    pub timestamp: i64,
    /// Its content.
    pub body: EntryBody,
}

/// The content of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryBody {
    /// Structures that do not come from the log.
    Baseline(Baseline),
    /// A statement of the log.
    Ddl(LoggedDdl),
    /// The result of the entries before it.
    Checkpoint(CatalogText),
}

impl Entry {
    /// Its kind.
    pub fn kind(&self) -> EntryKind {
        match &self.body {
            EntryBody::Baseline(Baseline { scope: Scope::AllTables, .. }) => EntryKind::Baseline,
            EntryBody::Baseline(_) => EntryKind::Tables,
            EntryBody::Ddl(_) => EntryKind::Ddl,
            EntryBody::Checkpoint(_) => EntryKind::Checkpoint,
        }
    }

    /// The stored form.
    pub(super) fn to_row(&self) -> Result<EntryRow> {
        let (database, details, body) = match &self.body {
            EntryBody::Baseline(baseline) => {
                let stored = StoredBaseline {
                    session: StoredSession::from(&baseline.session),
                    tables: match &baseline.scope {
                        Scope::AllTables => None,
                        Scope::Tables(names) => Some(names.clone()),
                    },
                };
                let script = without_secrets(&baseline.script, baseline.session.quote_mode());
                (String::new(), to_json(&stored)?, pack(script.as_bytes())?)
            }
            EntryBody::Ddl(ddl) => {
                let details = to_json(&StoredSession::from(&ddl.session))?;
                let statement = without_secrets(&ddl.statement, ddl.session.quote_mode());
                (ddl.database.clone(), details, statement.into_owned().into_bytes())
            }
            EntryBody::Checkpoint(text) => {
                (String::new(), "{}".to_owned(), pack(text.to_json()?.as_bytes())?)
            }
        };
        let mut row = EntryRow {
            timeline: self.timeline,
            key: self.key,
            kind: self.kind(),
            timestamp: self.timestamp,
            position: self.position.to_json()?,
            database,
            details,
            body,
            checksum: 0,
        };
        row.checksum = row.sum();
        Ok(row)
    }

    /// Reads the stored form.
    pub(super) fn of_row(row: EntryRow) -> Result<Self> {
        let EntryRow { timeline, key, kind, .. } = row;
        Self::read(row).map_err(|error| {
            let EntryKey { file, offset, .. } = key;
            let of = format!("of timeline {timeline}");
            error.in_stored(format!("the history's {kind} at {file}:{offset} {of}"))
        })
    }

    fn read(row: EntryRow) -> Result<Self> {
        if row.checksum != row.sum() {
            return Err(Error::malformed("its checksum is another"));
        }
        let position = Position::from_json(&row.position)?;
        if EntryKey::of(&position, row.key.ordinal) != row.key {
            return Err(Error::malformed("its position is of another place"));
        }
        let body = match row.kind {
            EntryKind::Baseline | EntryKind::Tables => {
                let stored: StoredBaseline = of_json(&row.details)?;
                let scope = match (row.kind, stored.tables) {
                    (EntryKind::Baseline, None) => Scope::AllTables,
                    (EntryKind::Tables, Some(names)) => Scope::Tables(names),
                    _ => return Err(Error::malformed("its scope is not that of its kind")),
                };
                let session = DdlSession::from(stored.session);
                // An entry that an older version stored.
                let script = masked(text(unpack(&row.body)?)?, &session);
                EntryBody::Baseline(Baseline { script, session, scope })
            }
            EntryKind::Ddl => {
                let session = DdlSession::from(of_json::<StoredSession>(&row.details)?);
                EntryBody::Ddl(LoggedDdl {
                    position: position.clone(),
                    timestamp: row.timestamp,
                    database: row.database,
                    statement: masked(text(row.body)?, &session),
                    session,
                })
            }
            EntryKind::Checkpoint => {
                EntryBody::Checkpoint(CatalogText::of_json(&text(unpack(&row.body)?)?)?)
            }
        };
        Ok(Self { timeline: row.timeline, key: row.key, position, timestamp: row.timestamp, body })
    }

    /// Applies it to the catalog before it.
    pub(super) fn enter(&self, catalog: &mut Catalog) -> Result<()> {
        match &self.body {
            EntryBody::Baseline(baseline) => baseline.enter(catalog)?,
            EntryBody::Ddl(ddl) => drop(catalog.apply(ddl)),
            EntryBody::Checkpoint(_) => {}
        }
        Ok(())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredBaseline {
    session: StoredSession,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tables: Option<Vec<(String, String)>>,
}

fn masked(text: String, session: &DdlSession) -> String {
    without_secrets(&text, session.quote_mode()).into_owned()
}

fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| Error::malformed("its text is not UTF-8"))
}
