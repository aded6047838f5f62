//! Ranges of files between transaction ends, for tasks that decode them apart from each other.

use super::file_list::InputFile;
use super::follower::{self, SchemaFollower};
use super::log_name::{NameEvidence, names};
use super::options::{LogOptions, Start, Stop};
use super::table_history::TableHistory;
use super::walk::{Step, Walk};
use crate::change::TableFilter;
use crate::error::{Error, ErrorKind, Result};
use crate::history::{HistoryPart, HistoryView, SchemaHistory};
use crate::position::{Position, PreparedRange};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A range of one file, to be decoded by one task. Its JSON is all that the task needs besides the files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// The file's path, or its URI.
    pub path: String,
    /// The file's place in its list, from 1: its number where its name has none.
    pub place: u64,
    /// Where it begins: a stored [`Position`].
    pub start: String,
    /// Offset after the last transaction.
    pub stop: u64,
    /// XA transactions prepared in earlier files that are open at its start.
    pub inherited: Vec<OpenXa>,
    /// Ids of XA transactions that are decided in it and were prepared in an earlier file.
    pub foreign: Vec<String>,
    /// XA transactions that were prepared in this file and are open at its end; told by the file's last range.
    pub open: Vec<OpenXa>,
    /// The file that follows, where this one says so; told by the file's last range.
    pub successor: Option<String>,
    /// Warnings about the end of the file, contained in the file's last range.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The structures of tables at its start, where a history is given: a [`HistoryPart`] as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<String>,
    /// The same for XA transactions that were prepared before under other structures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepared: Vec<PreparedPart>,
}

/// The structures of tables where an XA transaction was prepared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparedPart {
    /// Its id as servers write it.
    pub xid: String,
    /// A [`HistoryPart`] as text.
    pub history: String,
}

/// An XA transaction that is prepared in some file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenXa {
    /// Its id as servers write it.
    pub xid: String,
    /// The path of the file that it is prepared in.
    pub path: String,
    /// Where: a stored [`Position`] whose only prepared range is this one.
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

    /// Offset of its first event.
    pub fn start_offset(&self) -> Result<u64> {
        Position::from_json(&self.start).map(|position| position.offset)
    }

    /// Where it begins and ends.
    fn range(&self) -> Result<(Position, Position)> {
        let Position { server, file, offset, gtid_set, .. } = Position::from_json(&self.start)?;
        let end =
            Position { server: server.clone(), ..Position::in_file(file.as_str(), self.stop) };
        Ok((Position { server, file, offset, gtid_set, ..Position::default() }, end))
    }

    /// With all that is prepared there.
    fn start(&self) -> Result<Position> {
        let mut start = Position::from_json(&self.start)?;
        for xa in &self.inherited {
            start.prepared.extend(Position::from_json(&xa.position)?.prepared);
        }
        Ok(start)
    }

    /// The structures of tables that its rows are of, where a history was given.
    pub fn structures(&self) -> Result<Option<TableHistory>> {
        let Some(text) = &self.history else { return Ok(None) };
        let view = Box::new(HistoryView::of_part(&HistoryPart::from_text(text)?)?);
        if self.prepared.is_empty() {
            return Ok(Some(TableHistory::View(view)));
        }
        let mut prepared = Vec::new();
        for range in self.start()?.prepared {
            let xid = range.xid.to_string();
            if let Some(part) = self.prepared.iter().find(|part| part.xid == xid) {
                let catalog = HistoryPart::from_text(&part.history)?.catalog()?;
                prepared.push((range.xid, Arc::new(catalog)));
            }
        }
        Ok(Some(TableHistory::Part(view, prepared)))
    }

    /// The files to read, and where to begin and end in them; `file` makes an input of a path and a place.
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

/// Makes the input of a path or URI at a place of the list: [`InputFile::at_path`], where all files are the system's.
pub type FileOf<'f> = dyn Fn(&str, u64) -> InputFile + 'f;

/// Cuts one file, that at `path`, into ranges of about `target_bytes` at transaction ends. The ranges know nothing of other
/// files yet. `go_on` is asked now and then; where it says no, the scan ends with an error.
pub fn scan_splits(
    (file, path): (InputFile, &str),
    place: u64,
    target_bytes: u64,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Vec<Split>> {
    // No row is returned here: readers of the ranges report statements that are not understood.
    let options =
        LogOptions { verify_checksum: false, skip_statements: true, ..LogOptions::default() };
    let mut walk = Walk::over_files(vec![file], options)?;
    let mut splits: Vec<Split> = Vec::new();
    let mut start: Option<Position> = None;
    let mut foreign = Vec::new();
    let split = |start: &Position, stop: u64, foreign: &mut Vec<String>| -> Result<Split> {
        Ok(Split {
            path: path.to_string(),
            place,
            start: start.to_json()?,
            stop,
            inherited: Vec::new(),
            foreign: std::mem::take(foreign),
            open: Vec::new(),
            successor: None,
            warnings: Vec::new(),
            history: None,
            prepared: Vec::new(),
        })
    };
    let next_step = |walk: &mut Walk| walk.next(true).map_err(|error| walk.name_file(error));
    let mut asked_at = 0;
    while let Some(step) = next_step(&mut walk)? {
        match step {
            Step::FileBegins(_) => start = Some(walk.position().clone()),
            Step::GtidsBefore => {
                if let Some(start) = &mut start {
                    start.gtid_set.clone_from(&walk.position().gtid_set);
                }
            }
            Step::LoneStatement(statement) => walk.pass_statement(&statement),
            Step::Transaction(verdicts) => {
                let ended = walk.take_transaction()?;
                walk.pass(&ended, verdicts)?;
            }
            _ => {}
        }
        let here = walk.position().offset;
        if here.saturating_sub(asked_at) >= ASK_EVERY {
            asked_at = here;
            if !go_on() {
                return Err(Error::new(ErrorKind::Internal, "the scan was interrupted"));
            }
        }
        if let Some(first) = &start
            && walk.transaction().is_none()
            && here >= first.offset.saturating_add(target_bytes)
        {
            foreign.extend(walk.take_prepared_elsewhere().iter().map(ToString::to_string));
            splits.push(split(first, here, &mut foreign)?);
            start = Some(walk.position().clone());
        }
    }
    let end = walk.position().clone();
    foreign.extend(walk.take_prepared_elsewhere().iter().map(ToString::to_string));
    if let Some(first) = start
        && (end.offset > first.offset || splits.is_empty())
    {
        splits.push(split(&first, end.offset, &mut foreign)?);
    }
    if let Some(last) = splits.last_mut() {
        last.successor = walk.files().successor().map(ToOwned::to_owned);
        last.warnings.extend(walk.take_unclosed());
        last.open = open_at_end(&walk, path)?;
    }
    Ok(splits)
}

/// The XA transactions that are prepared at the end of a file.
fn open_at_end(walk: &Walk, path: &str) -> Result<Vec<OpenXa>> {
    let open = |range: &PreparedRange| {
        let at = Position { prepared: vec![range.clone()], ..Position::in_file(&*range.file, 4) };
        let (xid, path, position) = (range.xid.to_string(), path.to_string(), at.to_json()?);
        Ok(OpenXa { xid, path, position })
    };
    walk.position().prepared.iter().map(open).collect()
}

/// Gives the files of `splits` the names that they have if they are read together: each was scanned alone.
fn name_files(splits: &mut [Split]) -> Result<()> {
    let mut files: Vec<&mut [Split]> = splits.chunk_by_mut(|a, b| a.path == b.path).collect();
    let own: Vec<_> = files
        .iter()
        .filter_map(|ranges| ranges.first())
        .map(|first| InputFile::at_path(&first.path, first.place))
        .collect();
    if own.iter().all(|file| file.numbered) {
        return Ok(());
    }
    let evidence: Vec<_> = own
        .iter()
        .zip(&files)
        .map(|(file, ranges)| NameEvidence {
            own: file.numbered.then(|| file.name.to_string()),
            successor: ranges.last().and_then(|last| last.successor.clone()),
        })
        .collect();
    let names = names(&evidence);
    for (index, (ranges, file)) in files.iter_mut().zip(&own).enumerate() {
        if file.numbered {
            continue;
        }
        let name = names.as_ref().and_then(|names| names.get(index));
        let name = name.map_or(&*file.name, String::as_str);
        ranges.iter_mut().try_for_each(|range| range.rename(name))?;
    }
    Ok(())
}

/// Tells each range which XA transactions of earlier files are open at its start. `splits` in log order; a file that says
/// that another one follows it is an error, unless gaps are allowed.
pub fn link_splits(splits: &mut [Split], allow_gaps: bool) -> Result<()> {
    name_files(splits)?;
    let mut open: Vec<OpenXa> = Vec::new();
    let mut before: Option<(String, String)> = None;
    for split in splits {
        let file = InputFile::at_path(&split.path, split.place).named(&split.file()?);
        if let Some((path, successor)) = before.take()
            && path != split.path
            && !allow_gaps
            && file.numbered
            && *file.name != *successor
        {
            return Err(Error::config(format!(
                "{path} goes on in {successor}, not in {}: files are missing or out of order; \
                 gaps='allow' reads on regardless",
                file.name
            )));
        }
        before = split.successor.clone().map(|successor| (split.path.clone(), successor));
        split.inherited = open.clone();
        open.retain(|xa| !split.foreign.contains(&xa.xid));
        if let Some(unknown) =
            split.open.iter().find(|xa| open.iter().any(|other| other.xid == xa.xid))
        {
            return Err(Error::malformed(format!(
                "XA transaction {} is prepared twice",
                unknown.xid
            )));
        }
        open.extend(split.open.iter().cloned());
    }
    Ok(())
}

/// Gives every range the structures of the tables that are wanted, so that its task needs no history. `splits` in log order,
/// linked. What the history does not cover of them is followed first.
pub fn add_history(
    splits: &mut [Split],
    history: &Arc<SchemaHistory>,
    tables: &TableFilter,
    options: &LogOptions,
    file: &FileOf<'_>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<()> {
    let ends = splits.iter().map(Split::range).collect::<Result<Vec<_>>>()?;
    let covered = history.covered()?;
    let is_covered = |(start, end): &(Position, Position)| {
        covered.iter().any(|epoch| epoch.contains(start) && epoch.contains(end))
    };
    if !ends.iter().all(is_covered) {
        let start = ends
            .first()
            .map_or(Start::Earliest, |(start, _)| Start::Position(Box::new(start.clone())));
        follow(splits, start, history, (options, file), go_on)?;
    }
    let covered = history.covered()?;
    for (split, (start, end)) in splits.iter_mut().zip(&ends) {
        // A file's first events are of no transaction: the history may begin behind them.
        let is_covered = covered.iter().any(|epoch| epoch.contains(start));
        let begins_behind = covered
            .iter()
            .map(|epoch| &epoch.from)
            .find(|from| !is_covered && from.file == start.file && from.offset > start.offset);
        let start = begins_behind.unwrap_or(start);
        let end = if end.offset < start.offset { start } else { end };
        split.history = Some(
            history
                .part(start, end, |database, table| tables.accepts(database, table))?
                .to_text()?,
        );
        split.prepared = prepared_parts(&split.start()?.prepared, start, history, tables)?;
    }
    Ok(())
}

/// The structures for transactions that were prepared before `start`, where they are others.
fn prepared_parts(
    prepared: &[PreparedRange],
    start: &Position,
    history: &Arc<SchemaHistory>,
    tables: &TableFilter,
) -> Result<Vec<PreparedPart>> {
    let mut parts = Vec::new();
    for range in prepared {
        let at = Position {
            server: start.server.clone(),
            ..Position::in_file(range.file.as_str(), range.start)
        };
        let part = history.part(&at, &at, |database, table| tables.accepts(database, table))?;
        if part != history.part(start, start, |database, table| tables.accepts(database, table))? {
            let (xid, history) = (range.xid.to_string(), part.to_text()?);
            parts.push(PreparedPart { xid, history });
        }
    }
    Ok(parts)
}

/// Follows the statements in the files of `splits`, rows unread.
fn follow(
    splits: &[Split],
    start: Start,
    history: &Arc<SchemaHistory>,
    (options, file): (&LogOptions, &FileOf<'_>),
    go_on: &mut dyn FnMut() -> bool,
) -> Result<()> {
    let mut files: Vec<InputFile> = Vec::new();
    let mut last = None;
    for split in splits {
        if last != Some(&split.path) {
            files.push(file(&split.path, split.place).named(&split.file()?));
            last = Some(&split.path);
        }
    }
    let history = Some(TableHistory::Shared(Arc::clone(history)));
    // Without rows nothing is missed.
    let options = LogOptions { start, history, skip_statements: true, ..options.clone() };
    let mut walk = Walk::over_files(files, options)?;
    let mut follower = SchemaFollower::new(&mut walk)?;
    follower::follow(&mut walk, &mut follower, go_on)
}

/// Bytes of a file between two questions whether to continue.
const ASK_EVERY: u64 = 1 << 20;
