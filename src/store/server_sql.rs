//! The statements of a store on a server, as text. All values are written as hexadecimal digits, so
//! that no value can be parsed as SQL.
//!
//! The place of an entry is one column of bytes; a later place has a greater value. So a range of a
//! timeline is a range of the primary key.

use crate::error::{Error, Result};
use crate::history::{EntryKey, EntryKind, EntryRange, EntryRow, TimelineRow};
use crate::protocol::TextRow;
use crate::wire::{from_hex, to_hex};

/// Text as SQL.
pub(super) fn text(text: &str) -> String {
    format!("_utf8mb4 x'{}'", to_hex(text.as_bytes()))
}

/// Bytes as SQL.
pub(super) fn bytes(bytes: &[u8]) -> String {
    format!("x'{}'", to_hex(bytes))
}

fn place(EntryKey { file, offset, ordinal }: EntryKey) -> String {
    format!("x'{file:016x}{offset:016x}{ordinal:08x}'")
}

pub(super) fn select_timelines(source: &str) -> String {
    format!(
        "SELECT id, server, begins, reached, revision, begins_file_time, reached_file_time FROM binarrow_timelines \
         WHERE source = {} ORDER BY id",
        text(source)
    )
}

/// The entries of [`Store::changes`](crate::history::Store::changes).
pub(super) fn select_changes(source: &str, range: EntryRange, limit: usize) -> String {
    let range = condition(source, range);
    format!(
        "SELECT {COLUMNS} FROM binarrow_entries WHERE {range} AND kind <> 'checkpoint' ORDER BY place LIMIT {limit}"
    )
}

pub(super) fn select_last(
    source: &str,
    timeline: u64,
    until: EntryKey,
    only_complete: bool,
) -> String {
    let range = condition(source, EntryRange { timeline, after: None, until });
    let kinds = if only_complete { " AND kind IN ('baseline', 'checkpoint')" } else { "" };
    format!(
        "SELECT {COLUMNS} FROM binarrow_entries WHERE {range}{kinds} ORDER BY place DESC LIMIT 1"
    )
}

pub(super) fn select_by_time(source: &str, timestamp: i64) -> String {
    let source = text(source);
    format!(
        "SELECT {COLUMNS} FROM binarrow_entries WHERE source = {source} AND logged_at <= {timestamp} \
         ORDER BY timeline DESC, place DESC LIMIT 1"
    )
}

/// Selects the pieces of a body from one piece on, at most two.
pub(super) fn select_pieces(source: &str, timeline: u64, key: EntryKey, from: u32) -> String {
    format!(
        "SELECT piece, HEX(body) FROM binarrow_pieces WHERE {} AND piece >= {from} ORDER BY piece LIMIT 2",
        equals(source, timeline, key)
    )
}

pub(super) fn replace_timeline(source: &str, row: &TimelineRow) -> String {
    let TimelineRow { id, server, from, reached, revision, from_file_time, reached_file_time } =
        row;
    let server = server.as_deref().map_or("NULL".to_owned(), text);
    format!(
        "REPLACE INTO binarrow_timelines (source, id, server, begins, reached, revision, begins_file_time, \
         reached_file_time) VALUES ({}, {id}, {server}, {}, {}, {revision}, {from_file_time}, {reached_file_time})",
        text(source),
        text(from),
        text(reached)
    )
}

/// The statements that store an entry; none contains more than `piece` bytes of its body.
pub(super) fn replace_entry(source: &str, row: &EntryRow, piece: usize) -> Vec<String> {
    let EntryRow { timeline, key, kind, timestamp, position, database, details, body, checksum } =
        row;
    let same = equals(source, *timeline, *key);
    let mut statements = vec![format!("DELETE FROM binarrow_pieces WHERE {same}")];
    let pieces: Vec<&[u8]> = match body.len() <= piece {
        true => Vec::new(),
        false => body.chunks(piece.max(1)).collect(),
    };
    let own = if pieces.is_empty() { body.as_slice() } else { &[] };
    statements.push(format!(
        "REPLACE INTO binarrow_entries (source, timeline, place, kind, logged_at, position, database_name, details, body, \
         pieces, checksum) VALUES ({}, {timeline}, {}, '{kind}', {timestamp}, {}, {}, {}, {}, {}, {checksum})",
        text(source),
        place(*key),
        text(position),
        text(database),
        text(details),
        bytes(own),
        pieces.len()
    ));
    for (number, piece) in pieces.iter().enumerate() {
        statements.push(format!(
            "INSERT INTO binarrow_pieces (source, timeline, place, piece, body) VALUES ({}, {timeline}, {}, {number}, {})",
            text(source),
            place(*key),
            bytes(piece)
        ));
    }
    statements
}

pub(super) fn remove_entries(
    source: &str,
    range: EntryRange,
    kind: Option<EntryKind>,
) -> Vec<String> {
    let range = condition(source, range);
    let pieces = match kind {
        // Only these entries can have several pieces.
        None | Some(EntryKind::Checkpoint) => {
            let kinds = kind.map(|kind| format!(" AND e.kind = '{kind}'")).unwrap_or_default();
            let range = range
                .replace("source", "e.source")
                .replace("timeline", "e.timeline")
                .replace("place", "e.place");
            Some(format!(
                "DELETE p FROM binarrow_pieces p JOIN binarrow_entries e USING (source, timeline, place) WHERE {range}{kinds}"
            ))
        }
        Some(_) => None,
    };
    let kinds = kind.map(|kind| format!(" AND kind = '{kind}'")).unwrap_or_default();
    let entries = format!("DELETE FROM binarrow_entries WHERE {range}{kinds}");
    pieces.into_iter().chain([entries]).collect()
}

pub(super) fn remove_timeline(source: &str, id: u64) -> Vec<String> {
    let source = text(source);
    vec![
        format!("DELETE FROM binarrow_pieces WHERE source = {source} AND timeline = {id}"),
        format!("DELETE FROM binarrow_entries WHERE source = {source} AND timeline = {id}"),
        format!("DELETE FROM binarrow_timelines WHERE source = {source} AND id = {id}"),
    ]
}

fn condition(source: &str, EntryRange { timeline, after, until }: EntryRange) -> String {
    let after = after.map(|after| format!(" AND place > {}", place(after))).unwrap_or_default();
    format!(
        "source = {} AND timeline = {timeline}{after} AND place <= {}",
        text(source),
        place(until)
    )
}

fn equals(source: &str, timeline: u64, key: EntryKey) -> String {
    format!("source = {} AND timeline = {timeline} AND place = {}", text(source), place(key))
}

/// Decodes the row of a timeline.
pub(super) fn timeline(row: &TextRow) -> Result<TimelineRow> {
    Ok(TimelineRow {
        id: number(row, 0)?,
        server: cell(row, 1).ok().map(ToOwned::to_owned),
        from: cell(row, 2)?.to_owned(),
        reached: cell(row, 3)?.to_owned(),
        revision: number(row, 4)?,
        from_file_time: number(row, 5)?,
        reached_file_time: number(row, 6)?,
    })
}

/// Decodes the row of an entry; also returns the number of pieces of its body.
pub(super) fn entry(row: &TextRow) -> Result<(EntryRow, u32)> {
    let place = from_hex(cell(row, 1)?.as_bytes()).ok_or_else(damaged)?;
    let (file, rest) = place.split_first_chunk::<8>().ok_or_else(damaged)?;
    let (offset, rest) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
    let ordinal = <[u8; 4]>::try_from(rest).map_err(|_| damaged())?;
    let entry = EntryRow {
        timeline: number(row, 0)?,
        key: EntryKey {
            file: u64::from_be_bytes(*file),
            offset: u64::from_be_bytes(*offset),
            ordinal: u32::from_be_bytes(ordinal),
        },
        kind: EntryKind::by_name(cell(row, 2)?)?,
        timestamp: number(row, 3)?,
        position: cell(row, 4)?.to_owned(),
        database: cell(row, 5)?.to_owned(),
        details: cell(row, 6)?.to_owned(),
        body: from_hex(cell(row, 7)?.as_bytes()).ok_or_else(damaged)?,
        checksum: number(row, 9)?,
    };
    Ok((entry, number(row, 8)?))
}

/// Decodes the number and the bytes of a piece.
pub(super) fn piece(row: &TextRow) -> Result<(u32, Vec<u8>)> {
    Ok((number(row, 0)?, from_hex(cell(row, 1)?.as_bytes()).ok_or_else(damaged)?))
}

pub(super) fn cell(row: &TextRow, index: usize) -> Result<&str> {
    row.get(index).and_then(|cell| cell.as_deref()).ok_or_else(damaged)
}

pub(super) fn number<T: std::str::FromStr>(row: &TextRow, index: usize) -> Result<T> {
    cell(row, index)?.parse().map_err(|_| damaged())
}

pub(super) fn damaged() -> Error {
    Error::malformed("a row of the history is damaged")
}

const COLUMNS: &str = "timeline, HEX(place), kind, logged_at, position, database_name, details, HEX(body), pieces, checksum";

/// Creates the tables that do not exist yet.
pub(super) const TABLES: [&str; 5] = [
    "CREATE TABLE IF NOT EXISTS binarrow_timelines (
       source VARCHAR(128) COLLATE utf8mb4_bin NOT NULL, id BIGINT UNSIGNED NOT NULL, server VARCHAR(255),
       begins LONGTEXT NOT NULL, reached LONGTEXT NOT NULL, revision BIGINT UNSIGNED NOT NULL,
       begins_file_time INT UNSIGNED NOT NULL, reached_file_time INT UNSIGNED NOT NULL, PRIMARY KEY (source, id)
     ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
    "CREATE TABLE IF NOT EXISTS binarrow_entries (
       source VARCHAR(128) COLLATE utf8mb4_bin NOT NULL, timeline BIGINT UNSIGNED NOT NULL, place BINARY(20) NOT NULL,
       kind VARCHAR(16) NOT NULL, logged_at BIGINT NOT NULL, position LONGTEXT NOT NULL,
       database_name VARCHAR(255) NOT NULL, details LONGTEXT NOT NULL, body LONGBLOB NOT NULL,
       pieces INT UNSIGNED NOT NULL, checksum INT UNSIGNED NOT NULL, PRIMARY KEY (source, timeline, place)
     ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
    "CREATE TABLE IF NOT EXISTS binarrow_pieces (
       source VARCHAR(128) COLLATE utf8mb4_bin NOT NULL, timeline BIGINT UNSIGNED NOT NULL, place BINARY(20) NOT NULL,
       piece INT UNSIGNED NOT NULL, body LONGBLOB NOT NULL, PRIMARY KEY (source, timeline, place, piece)
     ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
    "CREATE TABLE IF NOT EXISTS binarrow_writers (
       source VARCHAR(128) COLLATE utf8mb4_bin NOT NULL PRIMARY KEY, holder VARCHAR(255) NOT NULL
     ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
    // The last table: if it exists, all others exist.
    "CREATE TABLE IF NOT EXISTS binarrow_history_version (
       id INT NOT NULL PRIMARY KEY, version INT UNSIGNED NOT NULL
     ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
];

/// The names of the tables.
pub(super) const TABLE_NAMES: [&str; 5] = [
    "binarrow_timelines",
    "binarrow_entries",
    "binarrow_pieces",
    "binarrow_writers",
    "binarrow_history_version",
];

#[cfg(test)]
mod tests {
    #[test]
    fn names_of_tables() {
        for (statement, name) in TABLES.iter().zip(TABLE_NAMES) {
            assert!(
                statement.starts_with(&format!("CREATE TABLE IF NOT EXISTS {name} (")),
                "{name}"
            );
        }
    }

    use super::*;

    const KEY: EntryKey = EntryKey { file: 7, offset: 1 << 40, ordinal: 3 };

    fn row(body: Vec<u8>) -> EntryRow {
        EntryRow {
            timeline: 2,
            key: KEY,
            kind: EntryKind::Ddl,
            timestamp: -5,
            position: "{}".into(),
            database: "a'b`c\\".into(),
            details: "{\"x\":\"'\"}".into(),
            body,
            checksum: 9,
        }
    }

    #[test]
    fn no_value_can_be_read_as_sql() {
        let hostile = "'; DROP TABLE t; -- \\";
        let statements = [
            replace_entry(hostile, &row(hostile.as_bytes().to_vec()), 4),
            remove_entries(hostile, EntryRange { timeline: 1, after: Some(KEY), until: KEY }, None),
            remove_timeline(hostile, 1),
            vec![select_timelines(hostile), select_last(hostile, 1, KEY, true)],
        ];
        for statement in statements.concat() {
            assert!(!statement.contains("DROP") && !statement.contains('\\'), "{statement}");
        }
    }

    #[test]
    fn rows_come_back() {
        let cells = [
            "2",
            "0000000000000007000001000000000000000003",
            "ddl",
            "-5",
            "{}",
            "d",
            "{}",
            "616263",
            "0",
            "9",
        ];
        let good: TextRow = cells.iter().map(|cell| Some((*cell).to_owned())).collect();
        let (entry_row, pieces) = entry(&good).unwrap();
        assert_eq!((entry_row.key, entry_row.body.as_slice(), pieces), (KEY, &b"abc"[..], 0));
        for index in 0..good.len() {
            let mut torn = good.clone();
            torn[index] = None;
            assert!(entry(&torn).is_err(), "{index}");
            torn.truncate(index);
            assert!(entry(&torn).is_err(), "{index}");
        }
        for (index, wrong) in
            [(0, "x"), (1, "00"), (1, "zz"), (2, "view"), (3, "1.5"), (7, "6"), (9, "-1")]
        {
            let mut torn = good.clone();
            torn[index] = Some(wrong.into());
            assert!(entry(&torn).is_err(), "{index}");
        }
    }

    #[test]
    fn large_bodies_go_in_pieces() {
        assert_eq!(replace_entry("s", &row(vec![1; 8]), 8).len(), 2);
        let statements = replace_entry("s", &row(vec![1; 9]), 4);
        assert_eq!(statements.len(), 5);
        assert!(statements[1].contains("x'', 3, 9)"), "{}", statements[1]);
        assert!(statements[4].ends_with(", 2, x'01')"), "{}", statements[4]);
    }
}
