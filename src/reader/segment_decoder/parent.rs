//! A table whose rows other tables may depend on: by foreign keys, or by the UNION of a MERGE table.

use crate::binlog::{FormatDescription, TableMap};
use crate::columnar::RowCells;
use crate::ddl::TableName;
use crate::error::Result;
use crate::history::{Actions, Catalog, ForeignKeys};
use crate::reader::options::DecodeOptions;
use std::sync::Arc;

/// The known facts about a table as a parent.
#[derive(Debug)]
pub(super) struct Parent {
    pub(super) name: TableName,
    /// The actions on tables that are read; `None` if no known foreign key refers to it.
    pub(super) actions: Option<Actions>,
    /// The names of its columns, if they are known.
    columns: Vec<Option<Arc<str>>>,
    /// The indexes of the columns of all its keys, if they are known: a foreign key refers to some of them.
    pub(super) key_columns: Option<Vec<usize>>,
    pub(super) cells: Option<RowCells>,
    /// True if the log says that it has triggers (MariaDB).
    pub(super) has_triggers: bool,
    /// True if it is a MERGE table; `None` if its engine is not known.
    pub(super) is_merge: Option<bool>,
    /// True if its changes have no effects to check for, except those that MariaDB's statement shows.
    pub(super) is_idle: bool,
    /// Tables that may change because of it although no foreign key in the history refers to it, because their foreign keys are
    /// not known.
    pub(super) possible: Vec<TableName>,
}

impl Parent {
    /// True if a table with these flags in its map can be a parent.
    pub(super) fn may_be(flags: u16, format: &FormatDescription) -> bool {
        format.is_mariadb || flags & REFERENCED != 0 || format.version < FLAGS_PARENTS
    }

    /// The known facts about the table of a map.
    pub(super) fn of(
        map: &TableMap<'_>,
        format: &FormatDescription,
        options: &DecodeOptions,
        catalog: Option<&Catalog>,
        keys: Option<&ForeignKeys>,
    ) -> Result<Self> {
        let log = map.schema(format)?;
        let name = TableName { database: log.database.to_string(), table: log.table.to_string() };
        let is_merge = match catalog {
            Some(catalog) => catalog.is_merge(&name.database, &name.table),
            None => options.plan.schemas.is_merge(&name.database, &name.table),
        };
        let is_read = |table: &TableName| options.tables.accepts(&table.database, &table.table);
        let actions = keys.and_then(|keys| keys.actions_of(&name, &is_read));
        let cells = RowCells::of(&log.columns, format.is_mariadb);
        let width = log.columns.len();
        // Adds names that are not in the log. A structure that contradicts the log is an error when
        // the table's rows are read.
        let completed = match catalog {
            Some(catalog) => catalog.schema(&name.database, &name.table).ok(),
            None => options.plan.schemas.complete(log.clone(), map, format).ok(),
        };
        let table = completed.filter(|table| table.columns.len() == width).unwrap_or(log);
        let is_referenced = map.flags & REFERENCED != 0;
        let possible = match (catalog, keys, &actions) {
            (Some(_), Some(keys), None) if keys.describes(&name.database, &name.table) => {
                Some(changed_by_unknown_keys(keys, options))
            }
            _ => None,
        };
        let is_idle = match &actions {
            Some(actions) => actions.delete.is_none() && actions.update.is_empty(),
            None => {
                format.is_mariadb || !is_referenced || possible.as_ref().is_some_and(Vec::is_empty)
            }
        };
        let parts = table.indexes.iter().flat_map(|index| &index.parts);
        let key_columns: Vec<_> = parts.map(|part| part.column).collect();
        Ok(Self {
            name,
            actions,
            key_columns: Some(key_columns).filter(|columns| !columns.is_empty()),
            columns: table.columns.into_iter().map(|column| column.name).collect(),
            cells,
            has_triggers: map.flags & HAS_TRIGGERS != 0,
            is_merge,
            is_idle,
            possible: possible.unwrap_or_default(),
        })
    }

    /// The indexes of columns; `None` if one of the names is not known.
    pub(super) fn places(&self, names: &[String]) -> Option<Vec<usize>> {
        let place = |name: &String| {
            let is_called = |own: &Option<Arc<str>>| {
                own.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(name))
            };
            self.columns.iter().position(is_called)
        };
        names.iter().map(place).collect()
    }
}

/// The tables that a table without foreign keys to it in the history may change, if there are foreign keys that the history
/// lacks: tables of unknown structure, those that only foreign keys contain, and those to read that it does not describe.
fn changed_by_unknown_keys(keys: &ForeignKeys, options: &DecodeOptions) -> Vec<TableName> {
    let is_read = |table: &TableName| options.tables.accepts(&table.database, &table.table);
    let is_unknown = |table: &TableName| !keys.describes(&table.database, &table.table);
    let asked = options.tables.names_without_wildcards().filter(is_unknown).filter(is_read);
    keys.changed_by_open(&is_read).into_iter().cloned().chain(asked).collect()
}

/// In the flags of a Table_map event, MySQL 5.6 and later: a foreign key refers to the table, or to another one that the
/// statement or its triggers use.
const REFERENCED: u16 = 0x2;

/// In the flags of a Table_map event, MariaDB: the table has triggers.
const HAS_TRIGGERS: u16 = 0x4000;

/// The first version whose Table_map events have a flag for tables that foreign keys refer to.
const FLAGS_PARENTS: (u16, u16, u16) = (5, 6, 0);
