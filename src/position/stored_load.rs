//! The stored form of the progress of an initial load: JSON, with the values of keys in hexadecimal digits.

use serde::{Deserialize, Serialize};

use super::load_progress::{ChunkCount, KeyValues, LoadProgress, RowsRead, TableLoad};
use crate::error::{Error, ErrorKind};
use crate::wire::{from_hex, to_hex};

/// The stored form, with its fields in the order of their names.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredLoad {
    chunks: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    consistent_from: Option<(String, u64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counted: Option<StoredCount>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    partial: bool,
    tables: Vec<StoredTable>,
}

/// An entry of a certificate; `hash` has 32 hexadecimal digits.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredCount {
    database: String,
    exact: bool,
    file: String,
    first: bool,
    hash: String,
    last: bool,
    number: u32,
    offset: u64,
    rows: u64,
    table: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<(String, u64)>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredTable {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<StoredKey>,
    database: String,
    read: StoredRead,
    table: String,
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    condition: Option<String>,
}

/// The rows that were read; `after` is the key of `part`.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredRead {
    Nothing,
    Part,
    Some,
    All,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredKey {
    columns: Vec<String>,
    values: Vec<String>,
}

impl KeyValues {
    /// The key as JSON.
    ///
    /// # Errors
    /// A defect of this library.
    pub fn to_json(&self) -> Result<String, Error> {
        serde_json::to_string(&StoredKey::from(self)).map_err(|error| {
            Error::new(ErrorKind::Internal, format!("a key cannot be stored: {error}"))
        })
    }

    /// The key of the text of [`Self::to_json`].
    ///
    /// # Errors
    /// The text is not the stored form of a key.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let stored: Option<StoredKey> = serde_json::from_str(text).ok();
        stored.ok_or_else(|| Error::config("not the stored form of a key"))?.try_into()
    }
}

impl From<&LoadProgress> for StoredLoad {
    fn from(load: &LoadProgress) -> Self {
        Self {
            chunks: load.chunks,
            consistent_from: load.consistent_from.clone(),
            counted: load.counted.as_ref().map(StoredCount::from),
            partial: load.is_partial,
            tables: load.tables.iter().map(StoredTable::from).collect(),
        }
    }
}

impl From<&TableLoad> for StoredTable {
    fn from(table: &TableLoad) -> Self {
        let (read, after) = match &table.read {
            RowsRead::Nothing => (StoredRead::Nothing, None),
            RowsRead::UpTo(key) => (StoredRead::Part, Some(StoredKey::from(key))),
            RowsRead::Some => (StoredRead::Some, None),
            RowsRead::All => (StoredRead::All, None),
        };
        Self {
            after,
            database: table.database.clone(),
            read,
            table: table.table.clone(),
            condition: table.condition.clone(),
        }
    }
}

impl From<&KeyValues> for StoredKey {
    fn from(key: &KeyValues) -> Self {
        let values = key.values.iter().map(|value| to_hex(value)).collect();
        Self { columns: key.columns.clone(), values }
    }
}

impl TryFrom<StoredLoad> for LoadProgress {
    type Error = Error;

    fn try_from(stored: StoredLoad) -> Result<Self, Error> {
        let tables = stored.tables.into_iter().map(TableLoad::try_from);
        Ok(Self {
            tables: tables.collect::<Result<_, _>>()?,
            chunks: stored.chunks,
            consistent_from: stored.consistent_from,
            counted: stored.counted.map(TryInto::try_into).transpose()?,
            is_partial: stored.partial,
        })
    }
}

impl ChunkCount {
    /// The entry of a certificate: JSON on one line.
    pub fn to_json(&self) -> Result<String, Error> {
        serde_json::to_string(&StoredCount::from(self))
            .map_err(|error| Error::new(ErrorKind::Internal, format!("chunk to JSON: {error}")))
    }
}

impl From<&ChunkCount> for StoredCount {
    fn from(count: &ChunkCount) -> Self {
        Self {
            database: count.database.clone(),
            exact: count.is_exact,
            file: count.file.clone(),
            first: count.is_first,
            hash: format!("{:032x}", count.hash),
            last: count.is_last,
            number: count.number,
            offset: count.offset,
            rows: count.rows,
            table: count.table.clone(),
            until: count.until.clone(),
        }
    }
}

impl TryFrom<StoredCount> for ChunkCount {
    type Error = Error;

    fn try_from(stored: StoredCount) -> Result<Self, Error> {
        let hash = u128::from_str_radix(&stored.hash, 16)
            .map_err(|_| Error::config("not a stored position: the hash of a chunk"))?;
        Ok(Self {
            number: stored.number,
            database: stored.database,
            table: stored.table,
            is_first: stored.first,
            is_last: stored.last,
            file: stored.file,
            offset: stored.offset,
            is_exact: stored.exact,
            until: stored.until,
            rows: stored.rows,
            hash,
        })
    }
}

impl TryFrom<StoredTable> for TableLoad {
    type Error = Error;

    fn try_from(stored: StoredTable) -> Result<Self, Error> {
        let read = match (stored.read, stored.after) {
            (StoredRead::Nothing, None) => RowsRead::Nothing,
            (StoredRead::Part, Some(key)) => RowsRead::UpTo(key.try_into()?),
            (StoredRead::Some, None) => RowsRead::Some,
            (StoredRead::All, None) => RowsRead::All,
            _ => return Err(Error::config("not a stored position: the rows that were read")),
        };
        let (database, table, condition) = (stored.database, stored.table, stored.condition);
        Ok(Self { database, table, read, condition })
    }
}

impl TryFrom<StoredKey> for KeyValues {
    type Error = Error;

    fn try_from(stored: StoredKey) -> Result<Self, Error> {
        let bad = || Error::config("not a stored position: the key of a row");
        let values = stored.values.iter().map(|value| from_hex(value.as_bytes()).ok_or_else(bad));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        match stored.columns.len() == values.len() && !values.is_empty() {
            true => Ok(Self { columns: stored.columns, values }),
            false => Err(bad()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::position::{ChunkCount, KeyValues, LoadProgress, Position, RowsRead, TableLoad};
    use std::sync::Arc;

    #[test]
    fn there_and_back() {
        let key = KeyValues {
            columns: vec!["id bigint".into(), "name varchar(10) utf8mb4_bin".into()],
            values: vec![b"-17".to_vec(), vec![0xff, 0, b'a']],
        };
        let mut load = LoadProgress {
            tables: ["orders", "notes", "done", "new"]
                .map(|table| TableLoad::new("shop", table))
                .to_vec(),
            chunks: 7,
            consistent_from: Some(("b.000002".into(), 900)),
            is_partial: true,
            counted: Some(ChunkCount {
                number: 6,
                database: "shop".into(),
                table: "orders".into(),
                is_first: false,
                is_last: true,
                file: "b.000001".into(),
                offset: 4000,
                is_exact: false,
                until: Some(("b.000002".into(), 900)),
                rows: 3,
                hash: 0xfe,
            }),
        };
        load.tables[0].read = RowsRead::UpTo(key);
        load.tables[1].read = RowsRead::Some;
        load.tables[1].condition = Some("id > 7".into());
        load.tables[2].read = RowsRead::All;
        assert_eq!(load.next().unwrap().0, 0);
        let position =
            Position { load: Some(Arc::new(load)), ..Position::in_file("b.000001", 4711) };
        let text = position.to_json().unwrap();
        assert!(text.contains(r#""after":{"columns":["id bigint","#), "{text}");
        assert_eq!(Position::from_json(&text).unwrap(), position);
        // No key is in messages.
        for value in ["17", "id > 7"] {
            assert!(!format!("{position:?}").contains(value), "{position:?}");
        }
        assert!(text.contains(r#""hash":"000000000000000000000000000000fe""#), "{text}");
        for bad in [
            text.replace("2d3137", "2d313"),
            text.replace(r#","ff0061""#, ""),
            text.replace("00fe", "00fx"),
        ] {
            assert_ne!(bad, text);
            Position::from_json(&bad).unwrap_err();
        }
        Position::from_json(&text.replace(r#""v":3"#, r#""v":2"#)).unwrap_err();
        // Versions without loads can read positions outside of them.
        let outside = Position { load: None, ..position }.to_json().unwrap();
        assert!(outside.contains(r#""v":2"#) && !outside.contains("load"), "{outside}");
    }
}
