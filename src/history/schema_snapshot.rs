//! The tables of a history that a reader of a range of the log needs.

use super::catalog::Catalog;
use super::catalog_text::CatalogText;
use super::encoding::{pack, unpack};
use super::entry::EntryBody;
use super::history_index::HistoryIndex;
use super::logged_ddl::LoggedDdl;
use super::store::{EntryKey, EntryRange};
use crate::ddl::cursor::Cursor;
use crate::ddl::token::Token;
use crate::error::{Error, ErrorKind, Result, check_stored_version};
use crate::position::Position;
use crate::wire::{from_hex, to_hex};
use std::collections::HashSet;

/// The tables at a position, as text: those that a reader from there on needs. A Spark task gets one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaSnapshot {
    text: CatalogText,
}

impl SchemaSnapshot {
    /// The tables at `start`: those that are wanted, and those that statements up to `end` name. If the history does not reach
    /// `end`, all tables.
    pub(super) fn load(
        index: &mut HistoryIndex,
        start: &Position,
        end: &Position,
        wants: impl Fn(&str, &str) -> bool,
    ) -> Result<Self> {
        let (timeline, at) = index.locate(start)?;
        let catalog = index.load(timeline, at)?.catalog;
        if !index.timeline(timeline)?.contains(end) {
            return Ok(Self { text: CatalogText::of(&catalog) });
        }
        let mut named = HashSet::new();
        let until = EntryKey::end_of(end);
        let mut range = EntryRange { timeline, after: Some(at), until };
        loop {
            let page = index.changes(range)?;
            let Some(last) = page.last() else { break };
            range.after = Some(last.key);
            for entry in &page {
                if let EntryBody::Ddl(ddl) = &entry.body {
                    add_names(ddl, &mut named);
                }
            }
        }
        let wanted = |database: &str, table: &str| {
            wants(database, table) || named.contains(&table.to_lowercase())
        };
        Ok(Self { text: CatalogText::of(&catalog.only(&wanted)) })
    }

    /// The tables.
    pub fn catalog(&self) -> Result<Catalog> {
        self.text.catalog()
    }

    /// Text on one line, for another process.
    pub fn to_text(&self) -> Result<String> {
        Ok(format!("{SNAPSHOT_VERSION}:{}", to_hex(&pack(self.text.to_json()?.as_bytes())?)))
    }

    /// Reads [`Self::to_text`].
    pub fn from_text(text: &str) -> Result<Self> {
        let bad = || Error::config("not a snapshot of a table history");
        let (version, hex) = text.split_once(':').ok_or_else(bad)?;
        let version = version.parse().map_err(|_| bad())?;
        check_stored_version("the snapshot of a table history", version, SNAPSHOT_VERSION.into())?;
        let packed = from_hex(hex.as_bytes()).ok_or_else(bad)?;
        let json = unpack(&packed).map_err(|_| bad())?;
        let json = String::from_utf8(json).map_err(|_| bad())?;
        let text = CatalogText::of_json(&json).map_err(|error| match error.kind() {
            ErrorKind::LaterVersion => error,
            _ => bad(),
        })?;
        Ok(Self { text })
    }
}

/// Adds all names in a statement in lower case, also those that are not of tables: more tables than needed do no harm.
fn add_names(ddl: &LoggedDdl, named: &mut HashSet<String>) {
    let Ok(mut cursor) = Cursor::with_mode(&ddl.statement, ddl.session.quote_mode()) else {
        return;
    };
    loop {
        let name = match cursor.bump() {
            Ok(Token::End) | Err(_) => return,
            Ok(Token::Word(word)) => word.to_lowercase(),
            Ok(Token::Quoted(name) | Token::DoubleQuoted(name)) => name.to_lowercase(),
            Ok(_) => continue,
        };
        named.insert(name);
    }
}

/// The version of the text.
pub const SNAPSHOT_VERSION: u32 = 1;
