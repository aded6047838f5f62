//! The one parser of places in a log: `start` and `stop` of all functions, options and flags.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::gtid_state::GtidState;
use super::number::parse_number;
use super::position::{Position, file_number};
use crate::error::{Error, Result, check_stored_version};

/// A place in a log, as users write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The start of the oldest file.
    Earliest,
    /// The current end of the log.
    Latest,
    /// A position.
    Position(Box<Position>),
    /// The place after the transactions of a GTID set.
    Gtids(GtidState),
    /// The first transaction committed at or after a time, in microseconds since 1970 UTC.
    Time(i64),
}

/// A time in text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// Microseconds since 1970 UTC.
    Micros(i64),
    /// The zone of the time is not known.
    WithoutZone,
}

impl Place {
    /// Parses a place. `time` parses a time, and returns `None` for other text.
    ///
    /// | text | place |
    /// |---|---|
    /// | `earliest`, `latest`, `end` | the start and the current end of the log |
    /// | `binlog.000042:1234` | a file and an offset |
    /// | `3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5`, `0-1-5`, `gtid:0-1-5` | a GTID set |
    /// | `2026-11-22T06:00:00Z` | a time with its zone |
    /// | `{"file":"binlog.000042", ...}` | the JSON of a position or of an offset of Spark |
    ///
    /// # Errors
    /// The text has none of these forms, or a time has no zone.
    pub fn parse(text: &str, time: impl FnOnce(&str) -> Option<Time>) -> Result<Self> {
        let word = text.trim();
        match word {
            "earliest" => return Ok(Self::Earliest),
            "latest" | "end" => return Ok(Self::Latest),
            _ if word.starts_with('{') => return position_of_json(word).map(Self::at),
            _ => {}
        }
        if let Some(gtids) = after_gtid_prefix(word) {
            return gtids.parse().map(Self::Gtids);
        }
        let file = file_of(word);
        // Names that servers give to files: they end with a number.
        if file.is_some_and(|file| file_number(file).is_some()) {
            return Position::parse(word).map(Self::at);
        }
        if is_mysql_gtid_set(word) {
            return word.parse().map(Self::Gtids);
        }
        match time(word) {
            Some(Time::Micros(micros)) => return Ok(Self::Time(micros)),
            Some(Time::WithoutZone) => return Err(without_zone(word)),
            None => {}
        }
        if are_mariadb_gtids(word) {
            return word.parse().map(Self::Gtids);
        }
        match file {
            Some(_) => Position::parse(word).map(Self::at),
            None => Err(Error::config(format!(
                "{word:?} is not a place in the log: write file:offset, a GTID set, a time with its zone \
                 (2026-11-22T06:00:00Z), the JSON of a position, earliest or latest"
            ))),
        }
    }

    fn at(position: Position) -> Self {
        Self::Position(Box::new(position))
    }
}

/// The GTID set of `gtid:SET`.
fn after_gtid_prefix(word: &str) -> Option<&str> {
    let (prefix, gtids) = word.split_once(':')?;
    (prefix.eq_ignore_ascii_case("gtid") && !gtids.trim().is_empty()).then_some(gtids)
}

/// The name in `file:offset`; any name is possible.
fn file_of(word: &str) -> Option<&str> {
    let (file, offset) = word.rsplit_once(':')?;
    parse_number::<u64>(offset).filter(|_| !file.is_empty()).map(|_| file)
}

/// True if text begins like a GTID set of MySQL: with a UUID.
fn is_mysql_gtid_set(word: &str) -> bool {
    let uuid = word.split(':').next().unwrap_or_default().trim();
    let hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let lengths = uuid.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && uuid.split('-').all(hex)
}

/// True if text has the form of GTIDs of MariaDB: `domain-server-sequence`, one or more.
fn are_mariadb_gtids(word: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    word.split(',')
        .map(str::trim)
        .all(|gtid| gtid.split('-').count() == 3 && gtid.split('-').all(is_number))
}

fn without_zone(word: &str) -> Error {
    let other = match are_mariadb_gtids(word) {
        true => format!("; write a GTID of MariaDB as gtid:{word}"),
        false => String::new(),
    };
    Error::config(format!(
        "{word:?} is a time without a zone: add it, as in 2026-11-22T06:00:00Z or 2026-11-22T06:00:00+01:00{other}"
    ))
}

/// A position in JSON: its stored form, an offset of Spark, or a file and an offset alone.
fn position_of_json(text: &str) -> Result<Position> {
    let bad = |error| Error::config(format!("not a stored position: {error}"));
    let mut fields: Map<String, Value> = serde_json::from_str(text).map_err(bad)?;
    if let Some(version) = fields.remove(OFFSET_VERSION_FIELD) {
        let version = serde_json::from_value(version).map_err(bad)?;
        check_stored_version("the offset of a query", version, OFFSET_VERSION.into())?;
    }
    fields.retain(|name, _| !OFFSET_MARKS.contains(&name.as_str()));
    let is_alone =
        fields.len() == 2 && fields.contains_key("file") && fields.contains_key("offset");
    let fields = Value::Object(fields);
    if is_alone {
        let FileOffset { file, offset } = serde_json::from_value(fields).map_err(bad)?;
        return Position::parse(&format!("{file}:{offset}"));
    }
    Position::from_json(&fields.to_string())
}

#[derive(Deserialize)]
struct FileOffset {
    file: String,
    offset: u64,
}

/// The fields that an offset of Spark has in addition to those of a position; see `python/binarrow/spark/live/offset.py`.
const OFFSET_MARKS: [&str; 3] = ["initial", "from", "resumed"];

/// The field of an offset with the version of these fields.
const OFFSET_VERSION_FIELD: &str = "offset_version";

/// The version of these fields. The position in an offset has its own version.
pub const OFFSET_VERSION: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn time(text: &str) -> Option<Time> {
        match text {
            "2026-11-22T06:00:00Z" | "2026-11-22T06:00:00.000+00:00" => Some(Time::Micros(7)),
            "2026-11-22" | "2026-11-22T06:30" => Some(Time::WithoutZone),
            _ => None,
        }
    }

    fn parse(text: &str) -> Result<Place> {
        Place::parse(text, time)
    }

    #[test]
    fn every_form() {
        let at = |file: &str, offset| Place::at(Position::in_file(file, offset));
        let gtids = |text: &str| Place::Gtids(text.parse().unwrap());
        let stored = Position { server: Some("7".into()), ..Position::in_file("b.000004", 9) };
        let json = stored.to_json().unwrap();
        let offset = json.replacen('{', r#"{"initial":true,"from":{},"#, 1);
        let versioned = json.replacen('{', r#"{"offset_version":1,"resumed":{},"#, 1);
        for (text, place) in [
            (" earliest", Place::Earliest),
            ("latest\n", Place::Latest),
            ("end", Place::Latest),
            ("binlog.000042:1234", at("binlog.000042", 1234)),
            ("20261122.000042:12", at("20261122.000042", 12)),
            ("0-1-5.000042:12", at("0-1-5.000042", 12)),
            ("copy of a log:4", at("copy of a log", 4)),
            ("C:\\logs\\b:4", at("C:\\logs\\b", 4)),
            (r#"{"file":"b.000004","offset":9}"#, at("b.000004", 9)),
            (&*json, Place::at(stored.clone())),
            (&*offset, Place::at(stored.clone())),
            (&*versioned, Place::at(stored)),
            ("0-1-5", gtids("0-1-5")),
            ("0-1-5, 1-8-9", gtids("0-1-5,1-8-9")),
            ("GTID: 2026-11-22", gtids("2026-11-22")),
            ("gtid:0-1-5", gtids("0-1-5")),
            (&*format!("{UUID}:1-5"), gtids(&format!("{UUID}:1-5"))),
            (&*format!("{UUID}:5"), gtids(&format!("{UUID}:5"))),
            (&*format!("gtid:{UUID}:1-5,\n{UUID}:9"), gtids(&format!("{UUID}:1-5:9"))),
            ("2026-11-22T06:00:00Z", Place::Time(7)),
            (" 2026-11-22T06:00:00.000+00:00", Place::Time(7)),
        ] {
            assert_eq!(parse(text).unwrap(), place, "{text}");
        }
    }

    #[test]
    fn other_text() {
        let none = "is not a place in the log: write file:offset, a GTID set, a time";
        for (text, message) in [
            ("", none),
            ("newest", none),
            ("gtid:", none),
            ("123", none),
            ("binlog.000042", none),
            (":4", none),
            ("binlog.000042:x", none),
            ("binlog.000042:18446744073709551616", none),
            ("[1]", none),
            ("binlog.000042:3", "the first event is at offset 4"),
            ("b:3", "the first event is at offset 4"),
            (r#"{"file":"b","offset":3}"#, "the first event is at offset 4"),
            ("{", "not a stored position"),
            ("{}", "not a stored position"),
            (r#"{"v":1}"#, "not a stored position"),
            (r#"{"file":"b","offset":"9"}"#, "not a stored position"),
            (r#"{"offset_version":"1","file":"b","offset":9}"#, "not a stored position"),
            (r#"{"offset_version":2,"next":1}"#, "query has the format version 2"),
            ("gtid:x", "\"x\" is not"),
            (&*format!("{UUID}:x-y"), "is not part of a GTID set"),
            ("2026-11-22", "is a time without a zone: add it, as in 2026-11-22T06:00:00Z"),
            ("2026-11-22", "; write a GTID of MariaDB as gtid:2026-11-22"),
            ("2026-11-22T06:30", "is a time without a zone"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
