//! A running reader. Waits are done in steps, so that Ctrl-C can interrupt them and no lock of this
//! module is held while Python code runs.

use super::errors::{warn, warn_unmatched};
use super::position::PyPosition;
use super::summary::Summary;
use crate::change::TableFilter;
use crate::columnar::{Masks, Selection};
use crate::error::{Error, Result};
use crate::load::{LoadOptions, TableRange, load, read_range};
use crate::net::Server;
use crate::position::Position;
use crate::reader::{Poll, Progress, ReadOptions, Reader, Waiter};
use crate::schema::NameCase;
use crate::source::{InputFile, LiveOptions, LiveStart};
use pyo3::prelude::*;
use std::collections::HashSet;
use std::fmt;
use std::time::{Duration, Instant};

/// The source of a read.
pub(super) enum Source {
    Files(Vec<InputFile>),
    /// A connected server, whose dump has not started.
    Live(Box<LiveSource>),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files(files) if files.len() == 1 => f.write_str("1 file"),
            Self::Files(files) => write!(f, "{} files", files.len()),
            Self::Live(_) => f.write_str("a server's log"),
        }
    }
}

/// The options of reading a server's log.
pub(super) struct LiveSource {
    /// The server, if it is already connected.
    pub(super) server: Option<Server>,
    pub(super) start: LiveStart,
    pub(super) options: LiveOptions,
    pub(super) part: LivePart,
}

/// The part of a server's data that is read.
pub(super) enum LivePart {
    /// The log.
    Log,
    /// The existing rows and then the log, from a position at which an initial load was stopped if there is one.
    Load(LoadOptions, Option<Box<Position>>),
    /// A range of the rows of a table.
    Rows(LoadOptions, Box<TableRange>),
}

impl LiveSource {
    /// The meaning of letter case in names of tables, if the server is connected.
    pub(super) fn name_case(&self) -> NameCase {
        self.server.as_ref().map_or(NameCase::Unknown, |server| server.identity().name_case)
    }
}

impl Source {
    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Files(Vec::new()))
    }

    fn open(self, options: ReadOptions) -> Result<Reader, Error> {
        match self {
            Self::Files(files) => Reader::try_new(files, options),
            Self::Live(live) => {
                let LiveSource { server, start, options: live, part } = *live;
                match (server, part) {
                    (_, LivePart::Rows(load, range)) => read_range(*range, live, options, load),
                    (Some(server), LivePart::Load(its_load, position)) => {
                        load(server, position, live, options, its_load)
                    }
                    (server, _) => Reader::live(server, start, live, options),
                }
            }
        }
    }
}

/// A running reader, and the warnings that its caller has already received.
pub(super) struct Running {
    reader: Reader,
    /// The patterns about which the caller is warned at the end, if they matched no table of the
    /// input.
    asked: Asked,
    started: Instant,
    warned: HashSet<String>,
    /// The result of a step that the caller could not use.
    kept: Option<Result<Poll, Error>>,
    /// The warnings that the next step returns.
    pending_warnings: Vec<String>,
}

/// Patterns of tables.
#[derive(Default)]
struct Asked {
    tables: TableFilter,
    columns: Selection,
    masks: Masks,
}

/// The next result, or a wait for it, with warnings for the caller.
pub(super) struct Step {
    polled: Result<Poll, Error>,
    /// The wait, if there is no result yet.
    waiter: Option<Waiter>,
    warnings: Vec<String>,
    /// Patterns without a match.
    unmatched: Vec<String>,
}

impl Running {
    pub(super) fn start(
        py: Python<'_>,
        source: Source,
        options: ReadOptions,
    ) -> Result<Self, Error> {
        let decode = &options.decode;
        let asked = Asked {
            tables: decode.tables.clone(),
            columns: decode.plan.columns.clone(),
            masks: decode.plan.masks.clone(),
        };
        Self::start_unchecked(py, source, options, asked)
    }

    /// A reader that does not warn if the input contains no change of its tables.
    pub(super) fn start_table(
        py: Python<'_>,
        source: Source,
        options: ReadOptions,
    ) -> Result<Self, Error> {
        Self::start_unchecked(py, source, options, Asked::default())
    }

    fn start_unchecked(
        py: Python<'_>,
        source: Source,
        options: ReadOptions,
        asked: Asked,
    ) -> Result<Self, Error> {
        let reader = py.detach(|| source.open(options))?;
        Ok(Self {
            reader,
            asked,
            started: Instant::now(),
            warned: HashSet::new(),
            kept: None,
            pending_warnings: Vec::new(),
        })
    }

    /// Takes the next result, if there is one, without the interpreter's lock. It does not wait and runs no Python code, because
    /// the caller holds a lock that other threads and such code may need.
    pub(super) fn step(&mut self, py: Python<'_>) -> Step {
        if let Some(polled) = self.kept.take() {
            return Step { polled, waiter: None, warnings: Vec::new(), unmatched: Vec::new() };
        }
        let (polled, waiter) = py.detach(|| match self.reader.poll(Duration::ZERO) {
            Ok(Poll::Pending) => (Ok(Poll::Pending), self.reader.waiter()),
            polled => (polled, None),
        });
        let mut warnings = std::mem::take(&mut self.pending_warnings);
        warnings.extend(self.warnings());
        let unmatched = match polled {
            Ok(Poll::End) => self.unmatched(),
            _ => Vec::new(),
        };
        Step { polled, waiter, warnings, unmatched }
    }

    /// A wait for the next result, for a thread that does not hold the reader; `None` if [`Self::step`] has one now: a batch or
    /// item, the end, an error, or warnings.
    pub(super) fn waiter(&mut self) -> Option<Waiter> {
        if self.kept.is_some() || !self.pending_warnings.is_empty() {
            return None;
        }
        let waiter = self.reader.waiter()?;
        self.pending_warnings = self.warnings();
        self.pending_warnings.is_empty().then_some(waiter)
    }

    /// Returns the result of a step that the caller could not use.
    pub(super) fn keep(&mut self, polled: Result<Poll, Error>) {
        self.kept = Some(polled);
    }

    pub(super) fn position(&self) -> Option<PyPosition> {
        self.reader.position().map(PyPosition)
    }

    /// The progress, from which the position is built when it is needed.
    pub(super) fn progress(&self) -> Option<Progress> {
        self.reader.progress().cloned()
    }

    pub(super) fn summary(&self) -> Summary {
        Summary::of(&self.reader, self.position(), self.started.elapsed())
    }

    fn warnings(&mut self) -> Vec<String> {
        let mut warnings = self.reader.take_warnings();
        // Each segment of the log may have the same cause.
        let is_full = self.warned.len() >= MAX_REMEMBERED;
        warnings.retain(|message| is_full || self.warned.insert(message.clone()));
        for (table, tool) in &self.reader.stats().ghost_tables {
            if self.warned.insert(table.clone()) {
                warnings.push(format!(
                    "rows of {table} are left out: with ⟦online_schema_change=trust⟧ a table of this name belongs to {tool}. To read \
                     them, omit the keyword, or name the table in ⟦tables⟧"
                ));
            }
        }
        for (parent, count) in &self.reader.stats().unlogged {
            if self.warned.insert(format!("unlogged {parent}")) {
                warnings.push(count.message.clone());
            }
        }
        for (table, mismatch) in &self.reader.stats().history_mismatches {
            if self.warned.insert(format!("history {table}")) {
                warnings
                    .push(format!("{mismatch}; the history is not used, because the log contains the names of the columns"));
            }
        }
        for column in self.reader.stats().zero_dates.keys() {
            if self.warned.insert(column.clone()) {
                warnings.push(zero_dates_warning(column, " (counted in stats())"));
            }
        }
        for (table, why) in &self.reader.stats().uncounted {
            if self.warned.insert(format!("uncounted {table}")) {
                warnings.push(format!(
                    "changes of {table} are not counted, because the log does not contain the length of its cells: {why}"
                ));
            }
        }
        if self.reader.stats().unstated_rows_events > 0 && self.warned.insert("query".to_owned()) {
            warnings.push(
                "the log does not contain the statement of some rows, whose `query` in the envelope is NULL: set \
                 binlog_rows_query_log_events=ON (MySQL) or binlog_annotate_row_events=ON (MariaDB)"
                    .to_owned(),
            );
        }
        warnings
    }

    fn unmatched(&mut self) -> Vec<String> {
        let seen = self.reader.stats().tables.keys();
        let seen = seen.map(|(database, table)| (&**database, &**table));
        let Asked { tables, columns, masks } = &self.asked;
        let unmatched = |keyword: &str, pattern: &str| {
            format!("{keyword}no change of a table that matches {pattern:?} in the input")
        };
        let tables = tables.unmatched(seen.clone()).into_iter();
        let columns = columns.unmatched(seen).map(|pattern| unmatched("columns: ", pattern));
        let masks = masks.unmatched(&self.reader.stats().matched_masks).map(|pattern| {
            format!(
                "mask: no change of a table with a column that matches {pattern:?} in the input"
            )
        });
        let warnings = tables.map(|pattern| unmatched("", pattern)).chain(columns).chain(masks);
        warnings.filter(|warning| self.warned.insert(warning.clone())).collect()
    }
}

impl Step {
    /// True if the result is an error.
    pub(super) fn is_failure(&self) -> bool {
        self.polled.is_err()
    }

    /// Returns the result, or waits for one, for `longest` and [`SIGNAL_CHECK`] at most, and returns [`Poll::Pending`]. Runs
    /// Python code (warnings, signal handlers), so the caller must hold no lock of this module. If that code raises an
    /// exception, `keep` receives the result for the next call.
    pub(super) fn settle(
        self,
        py: Python<'_>,
        longest: Duration,
        keep: impl FnOnce(Result<Poll, Error>),
    ) -> PyResult<Poll> {
        let warned = self
            .warnings
            .iter()
            .try_for_each(|message| warn(py, message))
            .and_then(|()| self.unmatched.iter().try_for_each(|text| warn_unmatched(py, text)));
        if let Err(raised) = warned {
            keep(self.polled);
            return Err(raised);
        }
        let polled = self.polled?;
        if matches!(polled, Poll::Pending) {
            if let Some(waiter) = self.waiter {
                py.detach(|| waiter.wait(longest.min(SIGNAL_CHECK)));
            }
            py.check_signals()?;
        }
        Ok(polled)
    }
}

/// Drops a value that owns threads, which may wait for the interpreter's lock.
pub(super) fn drop_detached<T: Send>(value: T) {
    let mut value = Some(value);
    let detached = Python::try_attach(|py| py.detach(|| drop(value.take())));
    if detached.is_none() {
        drop(value);
    }
}

/// The maximum number of warnings that are remembered, so that none is given twice: most texts name no place.
const MAX_REMEMBERED: usize = 10_000;

/// The interval between two checks for Ctrl-C during a wait.
pub(super) const SIGNAL_CHECK: Duration = Duration::from_millis(50);

/// The warning about a column whose zero dates become NULL. `note` says more about them.
pub(super) fn zero_dates_warning(column: &str, note: &str) -> String {
    format!(
        "{column} contains zero or partial dates, which become NULL{note}; ⟦zero_dates=error⟧ or 'text' of TypeOptions treats \
         them otherwise"
    )
}
