//! The position of a reader in a log.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use super::ahead::Ahead;
use super::gtid_state::GtidState;
use super::load_progress::{LoadProgress, RowsRead, TableLoad};
use super::number::parse_number;
use super::xid::Xid;
use crate::error::{Error, ErrorKind};

/// The place at which a reader continues: the end of a transaction, and the tables that have changes delivered after it.
/// Inside a transaction: see `ahead.rs`.
///
/// The time at which its file was created is not compared: it describes the same place.
#[derive(Debug, Clone, Default)]
pub struct Position {
    /// The server's UUID, else MariaDB's server_uid, else its server id; `None` for a position in files.
    pub server: Option<String>,
    /// Name of the file; empty if only the GTID set is known.
    pub file: String,
    /// Offset of the next event. It is the sum of the event sizes, because the field in the header has only 32 bits.
    pub offset: u64,
    /// When the server created the file, in seconds since 1970 UTC, if known: its format description event contains it. After
    /// a log was reset its files have the same names.
    pub file_created: Option<u32>,
    /// All transactions that were read, by GTID; `None` if the log has no GTIDs.
    pub gtid_set: Option<GtidState>,
    /// True to resume by GTID on the same server too: transactions that were already read on another server may be after
    /// the offset in the log of this one.
    pub by_gtid: bool,
    /// The number that is added to a file's number for the commit version, so that it still rises after a change of servers.
    pub version_shift: u32,
    /// XA transactions before this position that are neither committed nor rolled back.
    pub prepared: Vec<PreparedRange>,
    /// For a position that a server returned: true if a SELECT that starts afterwards sees every transaction before it.
    /// Neither stored nor compared.
    pub visible: Option<bool>,
    /// Tables that have changes delivered after this place: a reader starts at the place and leaves these changes out. Each
    /// table is in at most one entry with an offset, and in any number of entries by GTID alone.
    pub ahead: Vec<Ahead>,
    /// The rest of an initial load, which continues while the log is read; `None` if no load runs.
    pub load: Option<Arc<LoadProgress>>,
}

/// The place of the rows of a prepared XA transaction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PreparedRange {
    /// The transaction's id.
    pub xid: Xid,
    /// Name of the file.
    pub file: String,
    /// Offset of the group's first event.
    pub start: u64,
    /// Offset after its XA_prepare event.
    pub end: u64,
    /// By GTID, the way to make another server send the transaction again: with MySQL its own GTID, which is left out of the
    /// set; with MariaDB all that is before it.
    pub again: Option<GtidState>,
}

impl Position {
    /// A position in a file of no known server.
    pub fn in_file(file: impl Into<String>, offset: u64) -> Self {
        Self { file: file.into(), offset, ..Self::default() }
    }

    /// Reads `file:offset`, as [`Display`](fmt::Display) writes it.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let bad = || Error::config(format!("{text:?} is not a position (file:offset)"));
        let (file, offset) = text.trim().rsplit_once(':').ok_or_else(bad)?;
        let offset = parse_number(offset).ok_or_else(bad)?;
        if file.is_empty() {
            return Err(bad());
        }
        if offset < FIRST_EVENT_AT {
            let message = format!("{text:?} is not a position: the first event is at offset 4");
            return Err(Error::config(message));
        }
        Ok(Self::in_file(file, offset))
    }

    /// The place without `ahead`: a reader that starts there reads again the changes that were delivered after it.
    #[must_use]
    pub fn base(&self) -> Self {
        Self { ahead: Vec::new(), ..self.clone() }
    }

    /// Checks that the file is the one of the position, if the time of its creation is known.
    ///
    /// # Errors
    /// The file was created at another time: the log was reset, or the file is another one of that name.
    pub fn check_file_created(&self, created: u32) -> Result<(), Error> {
        match self.file_created {
            Some(before) if before != created && !self.by_gtid => Err(Error::new(
                ErrorKind::ServerIdentity,
                format!(
                    "{} was created again since {self} was read: the log was reset, and changes may be lost; or it is another \
                     server's file of that name",
                    self.file
                ),
            )),
            _ => Ok(()),
        }
    }

    /// The GTID set, if the position is a GTID set alone.
    pub fn gtids_alone(&self) -> Option<&GtidState> {
        self.gtid_set.as_ref().filter(|_| self.file.is_empty())
    }

    /// True if it is before a place in the log of the same server.
    pub fn is_before(&self, file: &str, offset: u64) -> bool {
        compare_files(&self.file, file)
            .is_some_and(|files| files.then(self.offset.cmp(&offset)) == Ordering::Less)
    }

    /// The order within the log of one server: by file number, then by offset. `None` if the files are of different series.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        let files = compare_files(&self.file, &other.file)?;
        Some(files.then(self.offset.cmp(&other.offset)))
    }

    /// The position at which a stream also loads tables: their existing rows are returned between the changes.
    ///
    /// # Errors
    /// It is a GTID set alone, so it is not known which changes are before the rows.
    pub fn with_load(&self, tables: Vec<TableLoad>) -> Result<Self, Error> {
        if self.file.is_empty() {
            return Err(Error::config(
                "the position is a GTID set alone: range_end(position, stop=position) returns the same position with its file \
                 and offset, from which tables can be loaded",
            ));
        }
        let mut position = self.clone();
        let is_partial = self.load.as_ref().is_none_or(|load| load.is_partial);
        let load = Arc::make_mut(position.load.get_or_insert_default());
        load.is_partial = is_partial;
        for table in tables {
            // The changes that were delivered after the place are in its rows, or come again before them.
            for ahead in &mut position.ahead {
                ahead
                    .tables
                    .retain(|(database, name)| *database != table.database || *name != table.table);
            }
            let table = TableLoad { read: RowsRead::Nothing, ..table };
            let known = load
                .tables
                .iter_mut()
                .find(|known| known.database == table.database && known.table == table.table);
            match known {
                Some(known) => *known = table,
                None => load.tables.push(table),
            }
        }
        position.ahead.retain(|ahead| !ahead.tables.is_empty());
        Ok(position)
    }

    /// Returns the position without the load that is in progress there.
    #[must_use]
    pub fn without_load(&self) -> Self {
        Self { load: None, ..self.clone() }
    }
}

impl PartialEq for Position {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            server,
            file,
            offset,
            file_created: _,
            gtid_set,
            by_gtid,
            version_shift,
            prepared,
            visible: _,
            ahead,
            load,
        } = self;
        *server == other.server
            && *file == other.file
            && *offset == other.offset
            && *gtid_set == other.gtid_set
            && *by_gtid == other.by_gtid
            && *version_shift == other.version_shift
            && *prepared == other.prepared
            && *ahead == other.ahead
            && *load == other.load
    }
}

impl Eq for Position {}

/// `file:offset`, or the GTID set if there is no file.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.gtid_set {
            Some(gtid_set) if self.file.is_empty() => gtid_set.fmt(f),
            _ => write!(f, "{}:{}", self.file, self.offset),
        }
    }
}

/// The number at the end of a file's name: 42 for `binlog.000042`. It may have more than six digits.
pub fn file_number(file: &str) -> Option<u64> {
    file.rsplit_once('.').and_then(|(_, number)| parse_number(number))
}

/// The order of two files of one series, whose names differ only in the number. `None` for other files.
pub fn compare_files(a: &str, b: &str) -> Option<Ordering> {
    if a == b {
        return Some(Ordering::Equal);
    }
    let (base_a, number_a) = a.rsplit_once('.')?;
    let (base_b, number_b) = b.rsplit_once('.')?;
    if base_a != base_b {
        return None;
    }
    Some(parse_number::<u64>(number_a)?.cmp(&parse_number(number_b)?))
}

/// The offset after the magic bytes of a file.
pub(super) const FIRST_EVENT_AT: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_the_file() {
        let full =
            || Position { file_created: Some(1_790_000_000), ..Position::in_file("b.000042", 900) };
        let position = full();
        assert_eq!(position, Position { file_created: None, ..full() });
        position.check_file_created(1_790_000_000).unwrap();
        let error = position.check_file_created(1_790_000_001).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ServerIdentity);
        Position { file_created: None, ..full() }.check_file_created(1).unwrap();
        Position { by_gtid: true, ..full() }.check_file_created(1).unwrap();
    }

    #[test]
    fn text() {
        let position = Position::parse("binlog.000042:1234").unwrap();
        assert_eq!(position, Position::in_file("binlog.000042", 1234));
        assert_eq!(position.to_string(), "binlog.000042:1234");
        assert_eq!(Position::parse("C:\\logs\\b.1:4").unwrap().file, "C:\\logs\\b.1");
        for bad in [
            "",
            "binlog.000042",
            "binlog.000042:",
            ":4",
            "b:3",
            "b:-4",
            "b:+4",
            "b:4x",
            "b:18446744073709551616",
        ] {
            assert!(Position::parse(bad).is_err(), "{bad}");
        }
        let gtids = "55778904-0299-11f1-b1b8-4ef0c4956feb:1-5:tag_a:1";
        let mut position =
            Position { gtid_set: Some(gtids.parse().unwrap()), ..Position::default() };
        assert_eq!(position.to_string(), gtids);
        position.gtid_set = None;
        assert_eq!(position.to_string(), ":0");
    }

    #[test]
    fn order() {
        use Ordering::{Equal, Greater, Less};
        for (a, b, order) in [
            ("b.000001:500", "b.000002:4", Some(Less)),
            ("b.1000000:4", "b.999999:4", Some(Greater)),
            ("b.000001:5", "b.000001:4", Some(Greater)),
            ("b.000001:4", "b.000001:4", Some(Equal)),
            ("b.000001:4", "c.000001:4", None),
            ("plain:4", "plain:5", Some(Less)),
            ("plain:4", "other:5", None),
        ] {
            let (a, b) = (Position::parse(a).unwrap(), Position::parse(b).unwrap());
            assert_eq!(a.compare(&b), order);
            assert_eq!(b.compare(&a), order.map(Ordering::reverse));
        }
        assert_eq!(file_number("a.b.000042"), Some(42));
        assert_eq!(file_number("binlog"), None);
        assert_eq!(file_number("binlog.index"), None);
    }

    fn table(name: &str) -> TableLoad {
        TableLoad::new("shop", name)
    }

    #[test]
    fn tables_are_loaded_from_their_first_row() {
        let mut position = Position::in_file("b.000001", 900);
        position.ahead = vec![Ahead {
            tables: vec![("shop".into(), "a".into()), ("shop".into(), "b".into())],
            offset: Some(1_000),
            gtid_set: None,
            changes: 0,
            next_gtid: None,
        }];
        let filtered = TableLoad { condition: Some("id > 7".into()), ..table("a") };
        let again = position.with_load(vec![filtered]).unwrap();
        assert_eq!(again.ahead[0].tables, [("shop".to_owned(), "b".to_owned())]);
        let load = again.load.as_ref().unwrap();
        assert!(load.is_partial);
        assert_eq!(load.missing(), ["shop.a"]);
        assert_eq!(Position::from_json(&again.to_json().unwrap()).unwrap(), again);
        // A load that runs loads it too.
        let mut running = again;
        let load = Arc::make_mut(running.load.as_mut().unwrap());
        (load.tables[0].read, load.is_partial) = (RowsRead::All, false);
        let both = running.with_load(vec![table("b"), table("a")]).unwrap();
        let load = both.load.unwrap();
        assert!(!load.is_partial && both.ahead.is_empty());
        assert_eq!(load.missing(), ["shop.a", "shop.b"]);
        assert_eq!(load.tables[0].condition, None);
        let alone = Position { file: String::new(), ..Position::default() };
        alone.with_load(vec![table("a")]).unwrap_err();
    }
}
