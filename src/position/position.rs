//! Where a reader is, and its only stored form.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::ahead::{Ahead, StoredAhead};
use super::gtid_set::parse_number;
use super::gtid_state::GtidState;
use super::xid::Xid;
use crate::error::{Error, ErrorKind};
use crate::wire::{from_hex, to_hex};

/// The next place to read: a place at a transaction's end, and what was delivered beyond it.
///
/// The time at which its file was created is not compared: it describes the same place.
#[derive(Debug, Clone, Default)]
pub struct Position {
    /// The server's UUID, else MariaDB's server_uid, else its server id; `None` for a position in files.
    pub server: Option<String>,
    /// Name of the file; empty where only the GTID set is known.
    pub file: String,
    /// Offset of the next event. The sum of event sizes: the header's own field has 32 bits only.
    pub offset: u64,
    /// When the server created the file, in seconds since 1970 UTC, if known: its format description event contains it. After
    /// a log was reset its files have the same names.
    pub file_created: Option<u32>,
    /// All that has been read, by GTID, where the log has them.
    pub gtid_set: Option<GtidState>,
    /// Whether to resume by GTID on the same server too: transactions that were read already, on another server, may stand
    /// after the offset in this one's log.
    pub by_gtid: bool,
    /// What is added to a file's number for the commit version, so that it goes on rising after a move to another server.
    pub version_shift: u32,
    /// XA transactions before this position that are neither committed nor rolled back.
    pub prepared: Vec<PreparedRange>,
    /// For a position that a server returned: true if a SELECT that starts afterwards sees every transaction before it.
    /// Neither stored nor compared.
    pub visible: Option<bool>,
    /// Tables that have changes delivered after this place: a reader starts at the place and leaves those out. Each table is
    /// in one entry with an offset at most, and in any number of entries by GTID alone.
    pub ahead: Vec<Ahead>,
}

/// Where the rows of a prepared XA transaction stand.
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
    /// By GTID, how another server is made to send the transaction again: MySQL's own GTID of it, to be left out of the set;
    /// with MariaDB all that stands before it.
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
            let message = format!("{text:?} is not a position: the first event stands at 4");
            return Err(Error::config(message));
        }
        Ok(Self::in_file(file, offset))
    }

    /// The stored form: JSON on one line, keys sorted, so that equal positions are equal text.
    pub fn to_json(&self) -> Result<String, Error> {
        let stored = Stored {
            ahead: self.ahead.iter().map(StoredAhead::from).collect(),
            by_gtid: self.by_gtid,
            file: self.file.clone(),
            file_created: self.file_created,
            gtid_set: self.gtid_set.as_ref().map(ToString::to_string),
            offset: self.offset,
            prepared: self.prepared.iter().map(StoredRange::from).collect(),
            server: self.server.clone(),
            v: VERSION,
            version_shift: self.version_shift,
        };
        serde_json::to_string(&stored)
            .map_err(|error| Error::new(ErrorKind::Internal, format!("position to JSON: {error}")))
    }

    /// Reads the stored form. Torn or foreign text is an error, and so is one of a later version.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let bad = |error| Error::config(format!("not a stored position: {error}"));
        let StoredVersion { v } = serde_json::from_str(text).map_err(bad)?;
        if !(FIRST_VERSION..=VERSION).contains(&v) {
            return Err(Error::config(format!(
                "the position is stored in version {v}, and this binarrow reads versions up to {VERSION}: use the binarrow that \
                 wrote it, or a later one"
            )));
        }
        let stored: Stored = serde_json::from_str(text).map_err(bad)?;
        if v == FIRST_VERSION && !stored.ahead.is_empty() {
            return Err(Error::config("not a stored position: version 1 has no `ahead`"));
        }
        let prepared = stored.prepared.into_iter().map(TryInto::try_into);
        let ahead = stored.ahead.into_iter().map(TryInto::try_into);
        let mut ahead = ahead.collect::<Result<Vec<_>, Error>>()?;
        let base = Self {
            server: stored.server,
            file: stored.file,
            offset: stored.offset,
            file_created: stored.file_created,
            gtid_set: stored.gtid_set.map(|text| text.parse()).transpose()?,
            by_gtid: stored.by_gtid,
            version_shift: stored.version_shift,
            prepared: prepared.collect::<Result<_, Error>>()?,
            visible: None,
            ahead: Vec::new(),
        };
        Ahead::check(&ahead, &base)?;
        Ahead::sort(&mut ahead);
        Ok(Self { ahead, ..base })
    }

    /// The place without `ahead`: a reader that starts there reads again what was delivered beyond it.
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

    /// Order within one server's log: by file number, then by offset. `None` where the files are not of one series.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        let files = compare_files(&self.file, &other.file)?;
        Some(files.then(self.offset.cmp(&other.offset)))
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
        } = self;
        *server == other.server
            && *file == other.file
            && *offset == other.offset
            && *gtid_set == other.gtid_set
            && *by_gtid == other.by_gtid
            && *version_shift == other.version_shift
            && *prepared == other.prepared
            && *ahead == other.ahead
    }
}

impl Eq for Position {}

/// `file:offset`, or the GTID set where there is no file.
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

/// Order of two files of one series: equal but for the number. `None` if they are not.
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

/// The stored form, fields in the order of their names.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ahead: Vec<StoredAhead>,
    #[serde(default, skip_serializing_if = "is_false")]
    by_gtid: bool,
    file: String,
    /// Its first name was `begun`.
    #[serde(default, alias = "begun", skip_serializing_if = "Option::is_none")]
    file_created: Option<u32>,
    gtid_set: Option<String>,
    offset: u64,
    prepared: Vec<StoredRange>,
    server: Option<String>,
    v: u32,
    version_shift: u32,
}

#[derive(Deserialize)]
struct StoredVersion {
    v: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    again: Option<String>,
    bqual: String,
    end: u64,
    file: String,
    format_id: u32,
    gtrid: String,
    start: u64,
}

impl From<&PreparedRange> for StoredRange {
    fn from(range: &PreparedRange) -> Self {
        Self {
            again: range.again.as_ref().map(ToString::to_string),
            bqual: to_hex(&range.xid.bqual),
            end: range.end,
            file: range.file.clone(),
            format_id: range.xid.format_id,
            gtrid: to_hex(&range.xid.gtrid),
            start: range.start,
        }
    }
}

impl TryFrom<StoredRange> for PreparedRange {
    type Error = Error;

    fn try_from(stored: StoredRange) -> Result<Self, Error> {
        let bad = || Error::config("not a stored position: the id of a prepared transaction");
        let gtrid = from_hex(stored.gtrid.as_bytes()).ok_or_else(bad)?;
        let bqual = from_hex(stored.bqual.as_bytes()).ok_or_else(bad)?;
        let xid = Xid::try_new(stored.format_id, &gtrid, &bqual)?;
        let again = stored.again.map(|text| text.parse()).transpose()?;
        Ok(Self { xid, file: stored.file, start: stored.start, end: stored.end, again })
    }
}

/// What is false is not stored.
#[allow(clippy::trivially_copy_pass_by_ref)] // serde's form
const fn is_false(value: &bool) -> bool {
    !*value
}

/// Version of the stored form.
const VERSION: u32 = 2;

/// The oldest version that is read: it has no `ahead`.
const FIRST_VERSION: u32 = 1;

/// After the magic bytes of a file.
pub(super) const FIRST_EVENT_AT: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Position {
        Position {
            server: Some("55778904-0299-11f1-b1b8-4ef0c4956feb".into()),
            file: "binlog.000042".into(),
            offset: 5 << 32,
            file_created: Some(1_790_000_000),
            gtid_set: Some("55778904-0299-11f1-b1b8-4ef0c4956feb:1-5:tag_a:1".parse().unwrap()),
            version_shift: 7,
            prepared: vec![PreparedRange {
                xid: Xid::try_new(17, b"abc", &[0xff]).unwrap(),
                file: "binlog.000041".into(),
                start: 4,
                end: 900,
                again: None,
            }],
            by_gtid: false,
            visible: None,
            ahead: Vec::new(),
        }
    }

    fn ahead() -> Vec<Ahead> {
        let table = |name: &str| ("shop".to_owned(), name.to_owned());
        let gtids = |text: &str| Some(text.parse().unwrap());
        vec![
            Ahead {
                tables: vec![table("a.b"), table("c")],
                offset: Some(900),
                gtid_set: gtids("55778904-0299-11f1-b1b8-4ef0c4956feb:6-7"),
                changes: 0,
                next_gtid: None,
            },
            Ahead {
                tables: vec![table("orders")],
                offset: Some(950),
                gtid_set: gtids("55778904-0299-11f1-b1b8-4ef0c4956feb:6-8"),
                changes: 3,
                next_gtid: gtids("55778904-0299-11f1-b1b8-4ef0c4956feb:9"),
            },
        ]
    }

    #[test]
    fn what_was_delivered_beyond() {
        let full = || Position { offset: 800, ..full() };
        let position = Position { ahead: ahead(), ..full() };
        let text = position.to_json().unwrap();
        assert!(text.starts_with(
            r#"{"ahead":[{"gtid_set":"55778904-0299-11f1-b1b8-4ef0c4956feb:6-7","offset":900,"tables":[["shop","a.b"],["shop","c"]]},{"changes":3,"gtid_set":"#
        ), "{text}");
        assert_eq!(Position::from_json(&text).unwrap(), position);
        assert_ne!(position, full());
        assert_eq!(position.base(), full());
        assert_eq!(position.to_string(), full().to_string());
        assert_eq!(position.compare(&full()), Some(Ordering::Equal));

        // The order of the stored fields is ignored.
        let mut other = position.clone();
        other.ahead.reverse();
        other.ahead[1].tables.reverse();
        assert_eq!(Position::from_json(&other.to_json().unwrap()).unwrap(), position);

        let by_gtid: Vec<_> = position.ahead.iter().map(|ahead| ahead.by_gtid().unwrap()).collect();
        let other = Position { ahead: by_gtid, ..full() };
        assert_eq!(Position::from_json(&other.to_json().unwrap()).unwrap(), other);
        let mut unknown = position.ahead[1].clone();
        unknown.next_gtid = None;
        assert_eq!(unknown.by_gtid(), None);
        assert!(position.ahead[0].has("shop", "c") && !position.ahead[0].has("shop", "b"));

        for (from, to) in [
            ("\"v\":2", "\"v\":1"),
            ("\"offset\":900,", "\"offset\":900,\"more\":1,"),
            (r#""gtid_set":"55778904-0299-11f1-b1b8-4ef0c4956feb:6-7","offset":900,"#, ""),
            (r#"["shop","c"]"#, r#"["shop"]"#),
            (r#"["shop","c"]"#, r#"["shop",""]"#),
            (r#"["shop","c"]"#, r#"["shop","a.b"]"#),
            (r#",["shop","c"]"#, r#",["shop","orders"]"#),
            (r#"[["shop","orders"]]"#, "[]"),
            ("\"offset\":900,", "\"offset\":900.5,"),
            ("\"offset\":900,", "\"offset\":\"900\","),
            ("\"offset\":800,", "\"offset\":951,"),
            ("\"changes\":3,", "\"changes\":-3,"),
            ("\"changes\":3,", ""),
            ("6feb:6-7", "6feb:2-3"),
            ("6feb:6-7", "6feb:0-7"),
            ("55778904-0299-11f1-b1b8-4ef0c4956feb:6-7", "0-1-7"),
            ("6feb:9", "6feb:9-10"),
            ("6feb:9", "6feb:8"),
            ("6feb:9", "6feb:1"),
            ("\"file\":\"binlog.000042\"", "\"file\":\"\""),
            (
                r#""gtid_set":"55778904-0299-11f1-b1b8-4ef0c4956feb:1-5:tag_a:1""#,
                "\"gtid_set\":null",
            ),
        ] {
            let bad = text.replacen(from, to, 1);
            assert_ne!(bad, text);
            assert!(Position::from_json(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn version_1_is_read() {
        let text = full().to_json().unwrap().replace("\"v\":2", "\"v\":1");
        assert_eq!(Position::from_json(&text).unwrap(), full());
    }

    #[test]
    fn json() {
        let text = full().to_json().unwrap();
        assert_eq!(
            text,
            r#"{"file":"binlog.000042","file_created":1790000000,"gtid_set":"55778904-0299-11f1-b1b8-4ef0c4956feb:1-5:tag_a:1","offset":21474836480,"prepared":[{"bqual":"ff","end":900,"file":"binlog.000041","format_id":17,"gtrid":"616263","start":4}],"server":"55778904-0299-11f1-b1b8-4ef0c4956feb","v":2,"version_shift":7}"#
        );
        assert_eq!(Position::from_json(&text).unwrap(), full());

        let mut position = Position { by_gtid: true, ..full() };
        position.prepared[0].again = Some("0-7-39".parse().unwrap());
        let text = position.to_json().unwrap();
        assert!(text.starts_with(r#"{"by_gtid":true,"file""#), "{text}");
        assert!(text.contains(r#"[{"again":"0-7-39","bqual""#), "{text}");
        assert_eq!(Position::from_json(&text).unwrap(), position);

        let mut position = Position::in_file("b.1", 4);
        position.gtid_set = Some("0-7-39,1-8-5".parse().unwrap());
        assert!(matches!(position.gtid_set, Some(GtidState::Mariadb(_))));
        assert_eq!(Position::from_json(&position.to_json().unwrap()).unwrap(), position);
        let position = Position::in_file("odd \"name\"\u{e9}\n", u64::MAX);
        assert_eq!(Position::from_json(&position.to_json().unwrap()).unwrap(), position);
    }

    #[test]
    fn the_time_of_the_file() {
        let position = full();
        assert_eq!(position, Position { file_created: None, ..full() });
        position.check_file_created(1_790_000_000).unwrap();
        let error = position.check_file_created(1_790_000_001).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ServerIdentity);
        Position { file_created: None, ..full() }.check_file_created(1).unwrap();
        Position { by_gtid: true, ..full() }.check_file_created(1).unwrap();
    }

    #[test]
    fn json_refused() {
        let good = full().to_json().unwrap();
        for end in 0..good.len() {
            assert!(Position::from_json(&good[..end]).is_err());
        }
        let error = Position::from_json(&good.replace("\"v\":2", "\"v\":3")).unwrap_err();
        assert!(error.message().contains("is stored in version 3"), "{error}");
        for (from, to) in [
            ("\"v\":2,", ""),
            ("\"v\":2", "\"v\":2,\"w\":1"),
            ("616263", "61626"),
            ("616263", "6162zz"),
            (":1-5:", ":5-1:"),
            ("\"offset\":", "\"offset\":-"),
            ("\"file\":\"binlog.000042\",", ""),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good);
            assert!(Position::from_json(&bad).is_err(), "{bad}");
        }
        assert!(Position::from_json(&format!("{good}x")).is_err());
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
        let mut position = Position { gtid_set: full().gtid_set, ..Position::default() };
        assert_eq!(position.to_string(), "55778904-0299-11f1-b1b8-4ef0c4956feb:1-5:tag_a:1");
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
}
