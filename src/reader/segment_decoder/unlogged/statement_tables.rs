//! The tables of a statement, and the rows events that it has of them.

use super::super::parent::Parent;
use crate::binlog::RowsKind;
use crate::history::ChildAction;
use crate::source::RowsSeen;
use std::sync::Arc;

/// A statement: its tables, and in MariaDB the tables that may have changed without an event.
#[derive(Debug, Default)]
pub(in crate::reader::segment_decoder) struct StatementTables {
    pub(super) tables: Vec<StatementTable>,
    /// Tables that may have changed without an event; only for MariaDB.
    pub(super) pending: Vec<Pending>,
    /// Pairs of maps: no action on the second table begins at the first one; only for MariaDB.
    pub(super) unrelated: Vec<(usize, usize)>,
    /// The number of the statement's first rows event in the transaction.
    pub(super) first: Option<u32>,
    /// True if the statement began in a previous piece of the log.
    pub(super) is_continued: bool,
}

/// A table that the statement maps.
#[derive(Debug)]
pub(super) struct StatementTable {
    pub(super) map: usize,
    /// The rows events of the statement so far.
    pub(super) seen: RowsSeen,
    /// The number of them in the previous pieces of the log.
    pub(super) before: RowsSeen,
    pub(super) is_mapped_twice: bool,
}

/// A table that changes of another one may affect, unless no action is known and the statement logs rows of it by its end.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) child: usize,
    pub(super) parent: Arc<Parent>,
    pub(super) kind: RowsKind,
    pub(super) action: ChildAction,
    pub(super) is_known: bool,
}

impl StatementTables {
    pub(in crate::reader::segment_decoder) fn clear(&mut self) {
        self.tables.clear();
        self.pending.clear();
        self.unrelated.clear();
        self.first = None;
        self.is_continued = false;
    }

    /// True if the statement has Table_map events of only one table.
    pub(in crate::reader::segment_decoder) fn is_one_table(&self) -> bool {
        self.tables.len() < 2
    }

    /// The map of a table without rows events.
    pub(super) fn rowless(&self, index: usize) -> Option<usize> {
        self.tables.get(index).filter(|table| table.seen.is_none()).map(|table| table.map)
    }

    /// The map of a table with rows events.
    pub(super) fn with_rows(&self, index: usize) -> Option<usize> {
        self.tables.get(index).filter(|table| !table.seen.is_none()).map(|table| table.map)
    }

    /// Adds a Table_map event of the statement.
    pub(in crate::reader::segment_decoder) fn add(&mut self, map: usize) {
        match self.tables.iter_mut().find(|table| table.map == map) {
            Some(table) => table.is_mapped_twice = true,
            None => self.open(map, RowsSeen::default(), false),
        }
    }

    /// Adds a table of the statement, with its rows in the previous pieces of the log.
    pub(in crate::reader::segment_decoder) fn carry(
        &mut self,
        map: usize,
        before: RowsSeen,
        is_mapped_twice: bool,
    ) {
        self.is_continued = true;
        self.open(map, before, is_mapped_twice);
    }

    fn open(&mut self, map: usize, before: RowsSeen, is_mapped_twice: bool) {
        if self.tables.len() < MAX_TABLES {
            self.tables.push(StatementTable { map, seen: before, before, is_mapped_twice });
        }
    }
}

/// The maximum number of tables that a statement maps: servers join 61, and cascades reach some more.
const MAX_TABLES: usize = 1024;
