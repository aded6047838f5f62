//! A run of one server's log that a history knows whole.

use super::store::{EntryKey, EpochRow};
use crate::error::{Error, Result};
use crate::position::{Position, compare_files};

/// A range of one server's log, `[from, reached]`, all of whose statements a history holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Epoch {
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
}

impl Epoch {
    /// One that reaches no further than its beginning.
    pub(super) fn new(id: u64, from: &Position) -> Self {
        let from = stored_position(from);
        Self { id, server: from.server.clone(), reached: from.clone(), from, revision: 0 }
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
        self.reached = stored_position(position);
        if self.server.is_none() {
            self.server.clone_from(&position.server);
        }
    }

    pub(super) fn to_row(&self) -> Result<EpochRow> {
        Ok(EpochRow {
            id: self.id,
            server: self.server.clone(),
            from: self.from.to_json()?,
            reached: self.reached.to_json()?,
            revision: self.revision,
        })
    }

    pub(super) fn of_row(row: EpochRow) -> Result<Self> {
        let EpochRow { id, server, from, reached, revision } = row;
        let damaged = |error: Error| {
            Error::malformed(format!("the history's epoch {id} is damaged: {}", error.message()))
        };
        let from = Position::from_json(&from).map_err(damaged)?;
        let reached = Position::from_json(&reached).map_err(damaged)?;
        let is_range = compare_files(&from.file, &reached.file).is_some()
            && EntryKey::of(&from, 0) <= EntryKey::of(&reached, 0);
        if !is_range {
            return Err(damaged(Error::malformed("it ends before it begins")));
        }
        Ok(Self { id, server, from, reached, revision })
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
