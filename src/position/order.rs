//! The order of positions, and copies with other fields.

use super::ahead_check::check_ahead;
use super::gtid_state::GtidState;
use super::position::{FIRST_EVENT_AT, Position, compare_files, file_number};
use crate::error::{Error, Result};
use std::cmp::Ordering;

/// Fields of a position to replace: those that are `Some`.
#[derive(Debug, Clone, Default)]
pub struct PositionFields {
    /// [`Position::server`].
    pub server: Option<Option<String>>,
    /// [`Position::file`].
    pub file: Option<String>,
    /// [`Position::offset`].
    pub offset: Option<u64>,
    /// [`Position::file_created`].
    pub file_created: Option<Option<u32>>,
    /// [`Position::gtid_set`].
    pub gtid_set: Option<Option<GtidState>>,
    /// [`Position::by_gtid`].
    pub by_gtid: Option<bool>,
    /// [`Position::version_shift`].
    pub version_shift: Option<u32>,
}

impl Position {
    /// A position that is a GTID set alone: the transactions that were read.
    pub fn after_gtids(gtid_set: GtidState) -> Self {
        Self { gtid_set: Some(gtid_set), ..Self::default() }
    }

    /// A copy with other fields.
    ///
    /// # Errors
    /// The result is not a position: it has neither a file nor a GTID set, or its `ahead` is not beyond it.
    pub fn replace(&self, fields: PositionFields) -> Result<Self> {
        let mut new = Self { visible: None, ..self.clone() };
        let PositionFields { server, file, offset, file_created, gtid_set, by_gtid, version_shift } =
            fields;
        if file.as_ref().is_some_and(|file| *file != new.file) {
            // The creation time belongs to the other file.
            new.file_created = None;
        }
        set(&mut new.server, server);
        set(&mut new.file, file);
        set(&mut new.offset, offset);
        set(&mut new.file_created, file_created);
        set(&mut new.gtid_set, gtid_set);
        set(&mut new.by_gtid, by_gtid);
        set(&mut new.version_shift, version_shift);
        if new.file.is_empty() && new.gtid_set.is_none() {
            return Err(Error::config("a position has a file or a GTID set"));
        }
        if !new.file.is_empty() && new.offset < FIRST_EVENT_AT {
            let message = format!("{new} is not a position: the first event is at offset 4");
            return Err(Error::config(message));
        }
        match check_ahead(&new) {
            Ok(()) => Ok(new),
            Err(_) => Err(Error::config(
                "the new fields do not fit the tables in `ahead`: use base.replace(...)",
            )),
        }
    }

    /// The order of two positions of one server: by file and offset, or by GTID if both are GTID sets alone.
    ///
    /// # Errors
    /// They are of different servers or of different series of files, neither GTID set contains the other, or one of them has
    /// tables in `ahead`.
    pub fn order(&self, other: &Self) -> Result<Ordering> {
        if self == other {
            return Ok(Ordering::Equal);
        }
        let unordered = |why: &str| Err(Error::config(format!("{self} and {other} {why}")));
        if !self.ahead.is_empty() || !other.ahead.is_empty() {
            return unordered(
                "cannot be compared, because one has tables in `ahead`: compare their `base`",
            );
        }
        if let (Some(own), Some(others)) = (&self.server, &other.server)
            && own != others
        {
            return unordered("are positions of different servers, which have no order");
        }
        if let (Some(own), Some(others)) = (self.gtids_alone(), other.gtids_alone()) {
            return match (own.covers(others), others.covers(own)) {
                (true, true) => Ok(Ordering::Equal),
                (true, false) => Ok(Ordering::Greater),
                (false, true) => Ok(Ordering::Less),
                (false, false) => unordered("have no order: neither GTID set contains the other"),
            };
        }
        if self.file.is_empty() || other.file.is_empty() {
            return unordered("have no order: one is a GTID set alone");
        }
        let is_moved = self.version_shift != other.version_shift;
        if !is_moved && compare_files(&self.file, &other.file).is_none() {
            return unordered("have no order: their files are of different series");
        }
        // The number with its shift rises also when reading moves to another log.
        let place = |position: &Self| {
            let number = file_number(&position.file).unwrap_or_default();
            (number.saturating_add(position.version_shift.into()), position.offset)
        };
        Ok(place(self).cmp(&place(other)))
    }
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gtids(text: &str) -> Position {
        Position::after_gtids(text.parse().unwrap())
    }

    #[test]
    fn by_file_and_offset() {
        let at = |file: &str, offset| Position::in_file(file, offset);
        let order = |a: &Position, b: &Position| a.order(b).unwrap();
        let first = at("binlog.000009", 900);
        assert_eq!(order(&first, &at("binlog.000010", 4)), Ordering::Less);
        assert_eq!(order(&first, &at("binlog.000009", 899)), Ordering::Greater);
        let with_gtids = Position { gtid_set: gtids("0-1-5").gtid_set, ..first.clone() };
        assert_eq!(order(&first, &with_gtids), Ordering::Equal);
        let moved = Position { version_shift: 20, ..at("mysql-bin.000001", 4) };
        assert_eq!(order(&first, &moved), Ordering::Less);
    }

    #[test]
    fn by_gtid() {
        let uuid = "55778904-0299-11f1-b1b8-4ef0c4956feb";
        let set = |range: &str| gtids(&format!("{uuid}:{range}"));
        assert_eq!(set("1-5").order(&set("1-9")).unwrap(), Ordering::Less);
        assert_eq!(set("1-9").order(&set("1-5")).unwrap(), Ordering::Greater);
        assert!(set("1-5").order(&set("6-9")).is_err());
    }

    #[test]
    fn positions_without_an_order() {
        let place = Position::in_file("binlog.000001", 4);
        let of = |server: &str| Position { server: Some(server.to_owned()), ..place.clone() };
        let ahead = Position {
            ahead: vec![crate::position::Ahead {
                tables: vec![("shop".to_owned(), "orders".to_owned())],
                offset: Some(100),
                gtid_set: None,
                changes: 0,
                next_gtid: None,
            }],
            ..place.clone()
        };
        for (other, why) in [
            (Position::in_file("mysql-bin.000001", 4), "different series"),
            (gtids("0-1-5"), "one is a GTID set alone"),
            (ahead.clone(), "compare their `base`"),
        ] {
            assert!(place.order(&other).unwrap_err().message().contains(why), "{why}");
        }
        assert!(of("a").order(&of("b")).unwrap_err().message().contains("different servers"));
        assert_eq!(ahead.order(&ahead).unwrap(), Ordering::Equal);
    }

    #[test]
    fn other_fields() {
        let place = Position { visible: Some(true), ..Position::in_file("binlog.000001", 4) };
        let fields = PositionFields {
            server: Some(Some("7".into())),
            offset: Some(900),
            by_gtid: Some(true),
            ..PositionFields::default()
        };
        let new = place.replace(fields).unwrap();
        assert_eq!((new.server.as_deref(), new.offset, new.by_gtid), (Some("7"), 900, true));
        assert_eq!((new.file.as_str(), new.visible), ("binlog.000001", None));
        let none = PositionFields { file: Some(String::new()), ..PositionFields::default() };
        assert!(place.replace(none).is_err());
        let magic = PositionFields { offset: Some(0), ..PositionFields::default() };
        assert!(place.replace(magic).is_err());
    }
}
