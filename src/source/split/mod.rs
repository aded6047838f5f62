//! Ranges of files between transaction ends, for tasks that decode them independently.
//!
//! | file | does |
//! |---|---|
//! | `scan.rs` | divides one file into ranges |
//! | `link.rs` | adds to each range the data that it needs from the files before it |
//! | `history.rs` | adds the structures of tables |

mod history;
mod link;
mod scan;

use super::file_list::InputFile;
use super::options::{Start, Stop};
use super::table_history::TableHistory;
use crate::error::{Error, ErrorKind, Result, check_stored_version};
use crate::history::{HistoryView, SchemaSnapshot};
use crate::position::Position;
pub use history::add_history;
pub use link::link_splits;
pub use scan::scan_splits;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A range of one file, to be decoded by one task. The task needs only its JSON and the files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// The file's path, or its URI.
    pub path: String,
    /// The place of the file in the list of files, from 1: it is used as the file's number if the
    /// name has none.
    pub place: u64,
    /// Its start: a stored [`Position`].
    pub start: String,
    /// Offset after the last transaction.
    pub stop: u64,
    /// XA transactions prepared in earlier files that are open at its start.
    pub inherited: Vec<OpenXa>,
    /// Ids of XA transactions that are decided in it and were prepared in an earlier file.
    pub foreign: Vec<String>,
    /// XA transactions that were prepared in this file and are open at its end, in the file's last range.
    pub open: Vec<OpenXa>,
    /// The next file, if this file names it, in the file's last range.
    pub successor: Option<String>,
    /// Warnings about the end of the file, contained in the file's last range.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The structures of tables at its start, if there is a history: a [`SchemaSnapshot`] as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<String>,
    /// The structures for XA transactions that were prepared earlier, when tables had other structures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepared: Vec<PreparedPart>,
}

/// The structures of tables at the place where an XA transaction was prepared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreparedPart {
    /// Its id in the form that servers write.
    pub xid: String,
    /// A [`SchemaSnapshot`] as text.
    pub history: String,
}

/// An XA transaction that is prepared in some file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenXa {
    /// Its id in the form that servers write.
    pub xid: String,
    /// The path of the file that it is prepared in.
    pub path: String,
    /// Its place: a stored [`Position`] whose only prepared range is this one.
    pub position: String,
}

impl OpenXa {
    /// The name in the log of the file that it is prepared in.
    fn file(&self) -> Result<String> {
        let Position { file, mut prepared, .. } = Position::from_json(&self.position)?;
        Ok(prepared.pop().map_or(file, |range| range.file))
    }

    fn rename(&mut self, name: &str) -> Result<()> {
        let mut position = Position::from_json(&self.position)?;
        name.clone_into(&mut position.file);
        for range in &mut position.prepared {
            name.clone_into(&mut range.file);
        }
        self.position = position.to_json()?;
        Ok(())
    }
}

impl Split {
    /// The stored form: JSON on one line.
    ///
    /// # Errors
    /// A defect of this library.
    pub fn to_json(&self) -> Result<String> {
        let failed = |error| Error::new(ErrorKind::Internal, format!("split to JSON: {error}"));
        let mut stored = serde_json::to_value(self).map_err(failed)?;
        if let Some(fields) = stored.as_object_mut() {
            fields.insert(VERSION_FIELD.to_owned(), SPLIT_VERSION.into());
        }
        serde_json::to_string(&stored).map_err(failed)
    }

    /// Reads the stored form. Without a version, it is version 1.
    ///
    /// # Errors
    /// The text is not a stored split: an [`ErrorKind::Config`]. A later version of this library wrote it.
    pub fn from_json(text: &str) -> Result<Self> {
        let bad = |error| Error::config(format!("not a stored split: {error}"));
        let mut fields: Map<String, Value> = serde_json::from_str(text).map_err(bad)?;
        let version = fields.remove(VERSION_FIELD).unwrap_or_else(|| 1.into());
        let version = serde_json::from_value(version).map_err(bad)?;
        check_stored_version("the split", version, SPLIT_VERSION.into())?;
        serde_json::from_value(Value::Object(fields)).map_err(bad)
    }

    /// The name of its file in the log.
    fn file(&self) -> Result<String> {
        Position::from_json(&self.start).map(|position| position.file)
    }

    fn rename(&mut self, name: &str) -> Result<()> {
        let mut start = Position::from_json(&self.start)?;
        name.clone_into(&mut start.file);
        self.start = start.to_json()?;
        self.open.iter_mut().try_for_each(|xa| xa.rename(name))
    }

    /// The offset of its first event.
    pub fn start_offset(&self) -> Result<u64> {
        Position::from_json(&self.start).map(|position| position.offset)
    }

    /// Its start and end.
    fn range(&self) -> Result<(Position, Position)> {
        let Position { server, file, offset, gtid_set, .. } = Position::from_json(&self.start)?;
        let end =
            Position { server: server.clone(), ..Position::in_file(file.as_str(), self.stop) };
        Ok((Position { server, file, offset, gtid_set, ..Position::default() }, end))
    }

    /// Its start, with the transactions that are prepared there.
    fn start(&self) -> Result<Position> {
        let mut start = Position::from_json(&self.start)?;
        for xa in &self.inherited {
            start.prepared.extend(Position::from_json(&xa.position)?.prepared);
        }
        Ok(start)
    }

    /// The structures of tables for its rows, if there is a history.
    pub fn structures(&self) -> Result<Option<TableHistory>> {
        let Some(text) = &self.history else { return Ok(None) };
        let view = Box::new(HistoryView::of_snapshot(&SchemaSnapshot::from_text(text)?)?);
        if self.prepared.is_empty() {
            return Ok(Some(TableHistory::View(view)));
        }
        let mut prepared = Vec::new();
        for range in self.start()?.prepared {
            let xid = range.xid.to_string();
            if let Some(own) = self.prepared.iter().find(|own| own.xid == xid) {
                let catalog = SchemaSnapshot::from_text(&own.history)?.catalog()?;
                prepared.push((range.xid, Arc::new(catalog)));
            }
        }
        Ok(Some(TableHistory::Part(view, prepared)))
    }

    /// The files to read, and the start and stop in them. `file` creates an input from a path and a
    /// place.
    pub fn input(&self, file: &FileOf<'_>) -> Result<(Vec<InputFile>, Start, Stop)> {
        let start = self.start()?;
        let mut paths: Vec<&str> = Vec::new();
        for xa in &self.inherited {
            if !paths.contains(&xa.path.as_str()) {
                paths.push(&xa.path);
            }
        }
        let last = file(&self.path, self.place).named(&start.file);
        let stop = Position::in_file(&*last.name, self.stop);
        let named = |path: &&str| -> Result<InputFile> {
            let xa = self.inherited.iter().find(|xa| xa.path == **path);
            let file = file(path, self.place);
            match xa.map(OpenXa::file).transpose()? {
                Some(name) => Ok(file.named(&name)),
                None => Ok(file),
            }
        };
        let mut files = paths.iter().map(named).collect::<Result<Vec<_>>>()?;
        files.push(last);
        Ok((files, Start::Position(Box::new(start)), Stop::Position(Box::new(stop))))
    }
}

/// Creates the input for a path or URI at a place of the list: [`InputFile::at_path`] if all files
/// are in the file system.
pub type FileOf<'f> = dyn Fn(&str, u64) -> InputFile + 'f;

/// The field with the version of the stored form.
const VERSION_FIELD: &str = "v";

/// The version of the stored form of a [`Split`].
pub const SPLIT_VERSION: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_forms() {
        let open = OpenXa { xid: "X'61',X'',1".into(), path: "b.1".into(), position: "{}".into() };
        let split = Split {
            path: "b.2".into(),
            place: 2,
            start: Position::in_file("b.2", 4).to_json().unwrap(),
            stop: 900,
            inherited: vec![open.clone()],
            foreign: vec!["X'62',X'',1".into()],
            open: vec![open],
            successor: Some("b.3".into()),
            warnings: vec!["cut".into()],
            history: Some("1:00".into()),
            prepared: vec![PreparedPart { xid: "x".into(), history: "1:01".into() }],
        };
        let text = split.to_json().unwrap();
        assert!(text.contains(r#""v":1"#), "{text}");
        assert_eq!(Split::from_json(&text).unwrap(), split);
        // The first form had no version.
        assert_eq!(Split::from_json(&serde_json::to_string(&split).unwrap()).unwrap(), split);
        let later = text.replace(r#""v":1"#, r#""v":2,"w":1"#);
        assert_eq!(Split::from_json(&later).unwrap_err().kind(), ErrorKind::LaterVersion);
        for bad in [
            text.replace(r#""v":1"#, r#""v":1,"w":1"#),
            text.replace(r#""v":1"#, r#""v":"1""#),
            text.replace(r#""xid":"x""#, r#""xid":"x","w":1"#),
            text.replacen(r#""path":"b.1""#, r#""path":"b.1","w":1"#, 1),
            text.replace(r#""stop":900,"#, ""),
        ] {
            assert_ne!(bad, text);
            assert_eq!(Split::from_json(&bad).unwrap_err().kind(), ErrorKind::Config, "{bad}");
        }
    }
}
