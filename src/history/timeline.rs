//! A range of one server's log that a history covers completely.

use super::store::{EntryKey, TimelineRow};
use crate::error::{Error, Result};
use crate::position::{Position, compare_files};

/// A range of one server's log, `[from, reached]`: a history contains all its statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// Its number: later ones are greater.
    pub id: u64,
    /// The server; `None` if the log was read from files.
    pub server: Option<String>,
    /// Its start: all structures here are known.
    pub from: Position,
    /// Its end.
    pub reached: Position,
    /// Incremented whenever stored entries are rewritten, not merely appended.
    pub revision: u64,
    /// The creation times of its first and its last file: after a reset the log has other files of the same names.
    file_times: [Option<u32>; 2],
}

impl Timeline {
    /// An empty timeline at a position.
    pub(super) fn new(id: u64, from: &Position) -> Self {
        let from = stored_position(from);
        let file_times = [None; 2];
        Self {
            id,
            server: from.server.clone(),
            reached: from.clone(),
            from,
            revision: 0,
            file_times,
        }
    }

    /// True if a position is in the log of this timeline, inside the range or not.
    pub fn fits(&self, position: &Position) -> bool {
        let same_server = match (&self.server, &position.server) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        };
        same_server
            && !position.file.is_empty()
            && compare_files(&self.from.file, &position.file).is_some()
    }

    /// True if a position is inside the range.
    pub fn contains(&self, position: &Position) -> bool {
        self.fits(position)
            && EntryKey::of(&self.from, 0) <= EntryKey::of(position, 0)
            && EntryKey::of(position, 0) <= EntryKey::of(&self.reached, 0)
    }

    /// True if a position is inside the range, by its GTIDs.
    pub(super) fn contains_gtids(&self, position: &Position) -> bool {
        match (&self.from.gtid_set, &position.gtid_set, &self.reached.gtid_set) {
            (Some(from), Some(at), Some(reached)) => at.covers(from) && reached.covers(at),
            _ => false,
        }
    }

    /// Moves its end to a later position.
    pub(super) fn reach(&mut self, position: &Position) {
        if self.reached.file != position.file {
            self.file_times[1] = None;
        }
        self.reached = stored_position(position);
        if self.server.is_none() {
            self.server.clone_from(&position.server);
        }
    }

    /// A file of its log was created at `timestamp`. Returns true if that was not known.
    ///
    /// # Errors
    /// The time that was known, if it is another one.
    pub(super) fn note_file(
        &mut self,
        file: &str,
        timestamp: u32,
    ) -> std::result::Result<bool, u32> {
        let mut is_news = false;
        for (end, file_time) in [&self.from, &self.reached].into_iter().zip(&mut self.file_times) {
            match *file_time {
                _ if end.file != file || timestamp == 0 => {}
                Some(known) if known != timestamp => return Err(known),
                Some(_) => {}
                None => {
                    *file_time = Some(timestamp);
                    is_news = true;
                }
            }
        }
        Ok(is_news)
    }

    /// Sets its start and its end. The creation times of its files become unknown.
    pub(super) fn cut(&mut self, from: &Position, reached: &Position) {
        (self.from, self.reached) = (stored_position(from), stored_position(reached));
        self.file_times = [None; 2];
    }

    pub(super) fn to_row(&self) -> Result<TimelineRow> {
        Ok(TimelineRow {
            id: self.id,
            server: self.server.clone(),
            from: self.from.to_json()?,
            reached: self.reached.to_json()?,
            revision: self.revision,
            from_file_time: self.file_times[0].unwrap_or_default(),
            reached_file_time: self.file_times[1].unwrap_or_default(),
        })
    }

    pub(super) fn of_row(row: TimelineRow) -> Result<Self> {
        let TimelineRow { id, server, from, reached, revision, from_file_time, reached_file_time } =
            row;
        let file_times =
            [from_file_time, reached_file_time].map(|time| Some(time).filter(|time| *time != 0));
        let damaged = |error: Error| error.in_stored(format!("the history's timeline {id}"));
        let from = Position::from_json(&from).map_err(damaged)?;
        let reached = Position::from_json(&reached).map_err(damaged)?;
        let is_range = compare_files(&from.file, &reached.file).is_some()
            && EntryKey::of(&from, 0) <= EntryKey::of(&reached, 0);
        if !is_range {
            return Err(damaged(Error::malformed("it ends before it begins")));
        }
        Ok(Self { id, server, from, reached, revision, file_times })
    }
}

/// The parts of a position that a history stores: its place, without prepared transactions.
pub(super) fn stored_position(position: &Position) -> Position {
    Position {
        server: position.server.clone(),
        file: position.file.clone(),
        offset: position.offset,
        gtid_set: position.gtid_set.clone(),
        ..Position::default()
    }
}
