//! The progress of an initial load: which rows of which tables were read.

use std::fmt;

/// The progress of an initial load, as part of a position.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoadProgress {
    /// The tables, in the order in which they are read.
    pub tables: Vec<TableLoad>,
    /// The number of chunks that were read.
    pub chunks: u32,
    /// The file and offset from which the rows are consistent: a chunk may contain changes up to there.
    pub consistent_from: Option<(String, u64)>,
    /// The rows of the last chunk that were read; `None` if they are not counted.
    pub counted: Option<ChunkCount>,
    /// True if only some of the stream's tables are loaded.
    pub is_partial: bool,
}

/// The rows of a chunk that were read, as an entry of a certificate. It contains no values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkCount {
    /// The number of the chunk in the load, from 0.
    pub number: u32,
    /// The database.
    pub database: String,
    /// The table.
    pub table: String,
    /// True if it begins with the first row of the table.
    pub is_first: bool,
    /// True if it ends with the last row of the table.
    pub is_last: bool,
    /// The file of the position of its snapshot.
    pub file: String,
    /// The offset of that position.
    pub offset: u64,
    /// True if the snapshot contains no transaction from the position on.
    pub is_exact: bool,
    /// Otherwise: a file and offset after all transactions that it contains, if known.
    pub until: Option<(String, u64)>,
    /// The number of rows.
    pub rows: u64,
    /// The sum of the hashes of the rows.
    pub hash: u128,
}

/// The progress of one table.
#[derive(Clone, PartialEq, Eq)]
pub struct TableLoad {
    /// The database.
    pub database: String,
    /// The table.
    pub table: String,
    /// The rows that were read.
    pub read: RowsRead,
    /// A condition in SQL of the rows to read; all rows if `None`.
    pub condition: Option<String>,
}

/// The rows of a table that were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowsRead {
    /// None.
    Nothing,
    /// The rows up to a key.
    UpTo(KeyValues),
    /// Some rows of a table that has no order: the read cannot be continued.
    Some,
    /// All.
    All,
}

/// The key of a row.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyValues {
    /// The columns of the key, with their types: the values belong to no other key.
    pub columns: Vec<String>,
    /// The value of each column: numbers and times as SQL writes them, text in the column's character set.
    pub values: Vec<Vec<u8>>,
}

impl LoadProgress {
    /// The tables (`database.table`) of which rows are missing.
    pub fn missing(&self) -> Vec<String> {
        let missing = self.tables.iter().filter(|table| table.read != RowsRead::All);
        missing.map(TableLoad::name).collect()
    }

    /// The first table of which rows are missing, and its index.
    pub fn next(&self) -> Option<(usize, &TableLoad)> {
        self.tables.iter().enumerate().find(|(_, table)| table.read != RowsRead::All)
    }
}

impl TableLoad {
    /// `database.table`
    pub fn name(&self) -> String {
        format!("{}.{}", self.database, self.table)
    }

    /// A table of which no row was read.
    pub fn new(database: impl Into<String>, table: impl Into<String>) -> Self {
        let (database, table) = (database.into(), table.into());
        Self { database, table, read: RowsRead::Nothing, condition: None }
    }
}

/// Without the condition, which may contain values.
impl fmt::Debug for TableLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { database, table, read, condition: _ } = self;
        let mut shown = f.debug_struct("TableLoad");
        shown.field("database", database).field("table", table).field("read", read);
        shown.finish_non_exhaustive()
    }
}

/// Without the values, which are data.
impl fmt::Debug for KeyValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyValues").field("columns", &self.columns).finish_non_exhaustive()
    }
}
