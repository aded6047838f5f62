//! A range of one server's log that a history covers completely.

use super::store::{EntryKey, TimelineRow};
use crate::error::{Error, Result};
use crate::position::{Position, compare_files};

/// A range of one server's log, `[from, reached]`: a history contains all its statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// Its number: later ones are greater.
    pub id: u64,
    /// The server; `None` where the log came as files.
    pub server: Option<String>,
    /// Where it begins: what is in force here is known.
    pub from: Position,
    /// How far it reaches.
    pub reached: Position,
    /// Rises when what stands in it changes otherwise than by something behind it.
    pub revision: u64,
    /// When the files were begun that it begins in and reaches to: a log that was reset has others of the same names.
    begun: [Option<u32>; 2],
}

impl Timeline {
    /// One that reaches no further than its beginning.
    pub(super) fn new(id: u64, from: &Position) -> Self {
        let from = stored_position(from);
        let begun = [None; 2];
        Self { id, server: from.server.clone(), reached: from.clone(), from, revision: 0, begun }
    }

    /// Whether a position is of the log that this is a part of, inside it or not.
    pub fn fits(&self, position: &Position) -> bool {
        let same_server = match (&self.server, &position.server) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        };
        same_server
            && !position.file.is_empty()
            && compare_files(&self.from.file, &position.file).is_some()
    }

    /// Whether a position is inside.
    pub fn contains(&self, position: &Position) -> bool {
        self.fits(position)
            && EntryKey::of(&self.from, 0) <= EntryKey::of(position, 0)
            && EntryKey::of(position, 0) <= EntryKey::of(&self.reached, 0)
    }

    /// Whether a GTID position is inside, as far as GTIDs tell.
    pub(super) fn contains_gtids(&self, position: &Position) -> bool {
        match (&self.from.gtid_set, &position.gtid_set, &self.reached.gtid_set) {
            (Some(from), Some(at), Some(reached)) => at.covers(from) && reached.covers(at),
            _ => false,
        }
    }

    /// Moves its end on.
    pub(super) fn reach(&mut self, position: &Position) {
        if self.reached.file != position.file {
            self.begun[1] = None;
        }
        self.reached = stored_position(position);
        if self.server.is_none() {
            self.server.clone_from(&position.server);
        }
    }

    /// A file of its log is there, and was begun at `timestamp`. Gives whether that is news.
    ///
    /// # Errors
    /// It knows another time, which it gives.
    pub(super) fn note_file(
        &mut self,
        file: &str,
        timestamp: u32,
    ) -> std::result::Result<bool, u32> {
        let mut is_news = false;
        for (end, begun) in [&self.from, &self.reached].into_iter().zip(&mut self.begun) {
            match *begun {
                _ if end.file != file || timestamp == 0 => {}
                Some(known) if known != timestamp => return Err(known),
                Some(_) => {}
                None => {
                    *begun = Some(timestamp);
                    is_news = true;
                }
            }
        }
        Ok(is_news)
    }

    /// Ends elsewhere, as is said from outside: of which log its files are is learned anew.
    pub(super) fn cut(&mut self, from: &Position, reached: &Position) {
        (self.from, self.reached) = (stored_position(from), stored_position(reached));
        self.begun = [None; 2];
    }

    pub(super) fn to_row(&self) -> Result<TimelineRow> {
        Ok(TimelineRow {
            id: self.id,
            server: self.server.clone(),
            from: self.from.to_json()?,
            reached: self.reached.to_json()?,
            revision: self.revision,
            from_begun: self.begun[0].unwrap_or_default(),
            reached_begun: self.begun[1].unwrap_or_default(),
        })
    }

    pub(super) fn of_row(row: TimelineRow) -> Result<Self> {
        let TimelineRow { id, server, from, reached, revision, from_begun, reached_begun } = row;
        let begun =
            [from_begun, reached_begun].map(|begun| Some(begun).filter(|begun| *begun != 0));
        let damaged = |error: Error| {
            Error::malformed(format!("the history's timeline {id} is damaged: {}", error.message()))
        };
        let from = Position::from_json(&from).map_err(damaged)?;
        let reached = Position::from_json(&reached).map_err(damaged)?;
        let is_range = compare_files(&from.file, &reached.file).is_some()
            && EntryKey::of(&from, 0) <= EntryKey::of(&reached, 0);
        if !is_range {
            return Err(damaged(Error::malformed("it ends before it begins")));
        }
        Ok(Self { id, server, from, reached, revision, begun })
    }
}

/// What a history keeps of a position: where it is. What is prepared there is the reader's matter.
pub(super) fn stored_position(position: &Position) -> Position {
    Position {
        server: position.server.clone(),
        file: position.file.clone(),
        offset: position.offset,
        gtid_set: position.gtid_set.clone(),
        ..Position::default()
    }
}
