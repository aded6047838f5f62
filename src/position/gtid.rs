//! MySQL's GTIDs: the source of a transaction, and its number there.
//!
//! <https://dev.mysql.com/doc/refman/en/replication-gtids-concepts.html>

use std::cmp::Ordering;
use std::fmt;

use super::varint::decode_varint;
use crate::error::DecodeError;
use crate::limits::MAX_TAG_BYTES;
use crate::wire::{Reader, Result, from_hex, to_hex};

/// The source of a GTID: a server's UUID, from MySQL 8.3 on with a tag, which is mostly empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tsid {
    /// The server's UUID.
    pub uuid: [u8; 16],
    /// The tag, in lower case; `None`, never an empty text, if there is none: two of them are then compared without a call.
    pub tag: Option<Box<str>>,
}

impl Tsid {
    /// The TSID with a tag, which may be empty.
    pub fn new(uuid: [u8; 16], tag: &str) -> Self {
        Self { uuid, tag: (!tag.is_empty()).then(|| tag.into()) }
    }

    /// The TSID without a tag.
    pub const fn untagged(uuid: [u8; 16]) -> Self {
        Self { uuid, tag: None }
    }
}

/// The order of UUIDs, then of tags. UUIDs are compared as numbers: that needs no call, and every transaction does it.
impl Ord for Tsid {
    fn cmp(&self, other: &Self) -> Ordering {
        let (uuid, others) = (u128::from_be_bytes(self.uuid), u128::from_be_bytes(other.uuid));
        uuid.cmp(&others).then_with(|| self.tag.cmp(&other.tag))
    }
}

impl PartialOrd for Tsid {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// `55778904-0299-11f1-b1b8-4ef0c4956feb`, and `:tag` if it has one.
impl fmt::Display for Tsid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_uuid(f, &self.uuid)?;
        match &self.tag {
            Some(tag) => write!(f, ":{tag}"),
            None => Ok(()),
        }
    }
}

/// One transaction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gtid {
    /// Its source.
    pub tsid: Tsid,
    /// Its number there, from 1 on.
    pub gno: u64,
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.tsid, self.gno)
    }
}

/// True if the bytes are a tag: 1 to 32 of `a-z`, `0-9`, `_`, no digit first.
pub(super) fn is_tag(tag: &[u8]) -> bool {
    let word = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    tag.len() <= MAX_TAG_BYTES
        && tag.first().is_some_and(|first| !first.is_ascii_digit())
        && tag.iter().all(word)
}

/// Decodes a tag with its length before it. It may be empty.
pub(crate) fn decode_tag<'a>(reader: &mut Reader<'a>) -> Result<&'a str> {
    let len = decode_varint(reader, "GTID tag length")?;
    if len > MAX_TAG_BYTES as u64 {
        let limit = MAX_TAG_BYTES as u64;
        return Err(DecodeError::Limit { what: "GTID tag length", value: len, limit });
    }
    let tag = reader.take(len as usize, "GTID tag")?;
    if !tag.is_empty() && !is_tag(tag) {
        return Err(DecodeError::Text { what: "GTID tag", charset: "tag" });
    }
    std::str::from_utf8(tag).map_err(|_| DecodeError::Text { what: "GTID tag", charset: "tag" })
}

/// Reads 32 hexadecimal digits, with dashes in the four usual places or without.
pub(super) fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let mut digits = text.as_bytes().to_vec();
    if digits.len() == 36 {
        for at in [23, 18, 13, 8] {
            if digits.remove(at) != b'-' {
                return None;
            }
        }
    }
    from_hex(&digits)?.try_into().ok()
}

pub(super) fn write_uuid(f: &mut fmt::Formatter<'_>, uuid: &[u8; 16]) -> fmt::Result {
    for (index, byte) in uuid.iter().enumerate() {
        f.write_str(if matches!(index, 4 | 6 | 8 | 10) { "-" } else { "" })?;
        f.write_str(&to_hex(&[*byte]))?;
    }
    Ok(())
}

/// The greatest number that a server gives: 2^63 - 2.
pub(crate) const MAX_GNO: u64 = i64::MAX as u64 - 1;
