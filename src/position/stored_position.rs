//! The stored form of a position: JSON on one line, with a version.

use serde::{Deserialize, Serialize};

use super::ahead::Ahead;
use super::ahead_check::check_ahead;
use super::gtid_state::GtidState;
use super::position::{Position, PreparedRange};
use super::stored_load::StoredLoad;
use super::xid::Xid;
use crate::error::{Error, ErrorKind, check_stored_version};
use crate::wire::{from_hex, to_hex};
use std::sync::Arc;

impl Position {
    /// The stored form: JSON on one line with sorted keys, so that equal positions have equal texts.
    pub fn to_json(&self) -> Result<String, Error> {
        let stored = Stored {
            ahead: self.ahead.iter().map(StoredAhead::from).collect(),
            by_gtid: self.by_gtid,
            file: self.file.clone(),
            file_created: self.file_created,
            gtid_set: self.gtid_set.as_ref().map(ToString::to_string),
            load: self.load.as_deref().map(StoredLoad::from),
            offset: self.offset,
            prepared: self.prepared.iter().map(StoredRange::from).collect(),
            server: self.server.clone(),
            v: if self.load.is_some() { POSITION_VERSION } else { WITHOUT_LOAD },
            version_shift: self.version_shift,
        };
        serde_json::to_string(&stored)
            .map_err(|error| Error::new(ErrorKind::Internal, format!("position to JSON: {error}")))
    }

    /// Reads the stored form. Damaged text, other text and the form of a later version are errors.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let bad = |error| Error::config(format!("not a stored position: {error}"));
        let StoredVersion { v } = serde_json::from_str(text).map_err(bad)?;
        check_stored_version("the position", v, POSITION_VERSION.into())?;
        let stored: Stored = serde_json::from_str(text).map_err(bad)?;
        let v = stored.v;
        if v == FIRST_VERSION && !stored.ahead.is_empty() {
            return Err(Error::config("not a stored position: version 1 has no `ahead`"));
        }
        if v < POSITION_VERSION && stored.load.is_some() {
            return Err(Error::config(format!("not a stored position: version {v} has no `load`")));
        }
        let prepared = stored.prepared.into_iter().map(TryInto::try_into);
        let ahead = stored.ahead.into_iter().map(TryInto::try_into);
        let ahead = ahead.collect::<Result<_, Error>>()?;
        let mut position = Self {
            server: stored.server,
            file: stored.file,
            offset: stored.offset,
            file_created: stored.file_created,
            gtid_set: stored.gtid_set.map(|text| text.parse()).transpose()?,
            by_gtid: stored.by_gtid,
            version_shift: stored.version_shift,
            prepared: prepared.collect::<Result<_, Error>>()?,
            visible: None,
            ahead,
            load: stored.load.map(TryInto::try_into).transpose()?.map(Arc::new),
        };
        check_ahead(&position)?;
        Ahead::sort(&mut position.ahead);
        Ok(position)
    }
}

/// The stored form, with its fields in the order of their names.
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    load: Option<StoredLoad>,
    offset: u64,
    prepared: Vec<StoredRange>,
    server: Option<String>,
    v: u32,
    version_shift: u32,
}

#[derive(Deserialize)]
struct StoredVersion {
    v: u64,
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

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredAhead {
    #[serde(default, skip_serializing_if = "is_zero")]
    changes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gtid_set: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_gtid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    tables: Vec<(String, String)>,
}

impl From<&Ahead> for StoredAhead {
    fn from(ahead: &Ahead) -> Self {
        Self {
            changes: ahead.changes,
            gtid_set: ahead.gtid_set.as_ref().map(ToString::to_string),
            next_gtid: ahead.next_gtid.as_ref().map(ToString::to_string),
            offset: ahead.offset,
            tables: ahead.tables.clone(),
        }
    }
}

impl TryFrom<StoredAhead> for Ahead {
    type Error = Error;

    fn try_from(stored: StoredAhead) -> Result<Self, Error> {
        let parse = |text: Option<String>| text.map(|text| text.parse::<GtidState>()).transpose();
        Ok(Self {
            tables: stored.tables,
            offset: stored.offset,
            gtid_set: parse(stored.gtid_set)?,
            changes: stored.changes,
            next_gtid: parse(stored.next_gtid)?,
        })
    }
}

/// Zero is not stored.
#[allow(clippy::trivially_copy_pass_by_ref)] // serde's form
const fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// False is not stored.
#[allow(clippy::trivially_copy_pass_by_ref)] // serde's form
const fn is_false(value: &bool) -> bool {
    !*value
}

/// The version of the stored form. Version 3 has `load`; positions without it are stored in version 2, which 0.1 reads.
pub const POSITION_VERSION: u32 = 3;

/// The version of positions outside of an initial load.
const WITHOUT_LOAD: u32 = 2;

/// The oldest version that is read: it has no `ahead`.
const FIRST_VERSION: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

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
            load: None,
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
    fn json_refused() {
        let good = full().to_json().unwrap();
        for end in 0..good.len() {
            assert!(Position::from_json(&good[..end]).is_err());
        }
        for later in ["4", "18446744073709551615,\"w\":1"] {
            let text = good.replace("\"v\":2", &format!("\"v\":{later}"));
            assert_eq!(Position::from_json(&text).unwrap_err().kind(), ErrorKind::LaterVersion);
        }
        for (from, to) in [
            ("\"v\":2,", ""),
            ("\"v\":2", "\"v\":0"),
            ("\"v\":2", "\"v\":-1"),
            ("\"v\":2", "\"v\":2.5"),
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
}
