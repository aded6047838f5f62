//! The comment of a transaction.

use super::literal;
use super::zone::Zone;
use crate::value::{DateTime, digits};

/// The facts about a transaction that its comment contains.
pub(super) struct Transaction<'a> {
    pub(super) version: i64,
    /// Microseconds since 1970 UTC.
    pub(super) time: i64,
    pub(super) file: &'a str,
    pub(super) gtid: Option<&'a str>,
    pub(super) thread: Option<i64>,
}

/// Appends the comment of a transaction.
pub(super) fn comment(of: &Transaction<'_>, zone: &Zone, out: &mut Vec<u8>) {
    if let Some(gtid) = of.gtid {
        out.extend_from_slice(b"GTID ");
        literal::comment(gtid, out);
        out.extend_from_slice(b", ");
    }
    literal::comment(of.file, out);
    out.push(b':');
    digits::push_signed(out, of.version & (FILE - 1));
    out.extend_from_slice(b", ");
    let offset = zone.offset(of.time);
    let local = of.time.saturating_add(i64::from(offset.unwrap_or(0)) * 1_000_000);
    DateTime::from_timestamp(Some(local)).write_text(6, out);
    match offset {
        None => out.extend_from_slice(b" UTC"),
        Some(seconds) => {
            let (sign, minutes) =
                (if seconds < 0 { '-' } else { '+' }, seconds.unsigned_abs() / 60);
            let text = format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60);
            out.extend_from_slice(text.as_bytes());
        }
    }
    if let Some(thread) = of.thread {
        out.extend_from_slice(b", connection ");
        digits::push_signed(out, thread);
    }
}

/// The part of `_commit_version` that is the offset in the file.
const FILE: i64 = 1 << 40;
