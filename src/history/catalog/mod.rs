//! All tables at one place of the log.

use super::logged_ddl::LoggedDdl;
use super::sql::create_table::CreateTable;
use super::sql::cursor::Cursor;
use super::sql::statement::{Ddl, DdlKind, TableName};
use crate::binlog::{FormatDescription, TableMap};
use crate::charset::Collation;
use crate::error::{Error, Result};
use crate::schema::TableSchema;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The databases and tables at one place of the log. A copy costs little: what two of them share is held once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalog {
    databases: BTreeMap<Arc<str>, Arc<Database>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Database {
    collation: Option<Collation>,
    tables: BTreeMap<Arc<str>, TableState>,
}

/// What is known of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableState {
    /// Its structure.
    Known(Arc<TableDefinition>),
    /// Why its structure is not known: a statement that could not be followed, and where it stands.
    Unknown(Arc<str>),
}

/// The structure of a table, with all that later statements can build on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDefinition {
    create: CreateTable,
}

/// What a statement did to a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Followed {
    /// The tables that are others now, or gone.
    pub changed: Vec<TableName>,
    /// The tables whose structure is unknown from here on, and why.
    pub lost: Vec<(TableName, Arc<str>)>,
}

impl Catalog {
    /// Whether a statement can change the structure of tables: those that a history must hold. By its first words only.
    pub fn concerns(ddl: &LoggedDdl) -> bool {
        !matches!(
            Ddl::parse(&ddl.statement, &ddl.database, ddl.session.quote_mode()),
            Ok(None | Some(Ddl { kind: DdlKind::Truncate, .. }))
        )
    }

    /// Takes a statement in. One that cannot be followed makes its tables unknown; all others stay as they are.
    pub fn apply(&mut self, ddl: &LoggedDdl) -> Followed {
        let mut followed = Followed::default();
        let mode = ddl.session.quote_mode();
        let Ok(Some(parsed)) = Ddl::parse(&ddl.statement, &ddl.database, mode) else {
            return followed;
        };
        for name in parsed.tables {
            let state = match parsed.kind {
                DdlKind::Drop => None,
                DdlKind::Create => Some(self.created(ddl)),
                _ => Some(TableState::Unknown(format!("{} is not followed", ddl.position).into())),
            };
            let database = self.databases.entry(name.database.as_str().into()).or_default();
            let tables = &mut Arc::make_mut(database).tables;
            match state {
                None => drop(tables.remove(name.table.as_str())),
                Some(state) => drop(tables.insert(name.table.as_str().into(), state)),
            }
            followed.changed.push(name);
        }
        followed
    }

    fn created(&self, ddl: &LoggedDdl) -> TableState {
        let parse = || {
            let mut cursor = Cursor::with_mode(&ddl.statement, ddl.session.quote_mode())?;
            cursor.expect("CREATE")?;
            let head = CreateTable::parse_head(&mut cursor)?;
            CreateTable::parse_body(&mut cursor, head)
        };
        match parse() {
            Ok(create) => TableState::Known(Arc::new(TableDefinition { create })),
            Err(error) => TableState::Unknown(error.message.into()),
        }
    }

    /// Puts what is known of a table in the place of what was; `None` removes the table.
    pub(super) fn replace_table(&mut self, database: &str, table: &str, state: Option<TableState>) {
        let tables = match (state.is_some(), self.databases.get_mut(database)) {
            (false, None) => return,
            (_, Some(found)) => &mut Arc::make_mut(found).tables,
            (true, None) => {
                let new = self.databases.entry(database.into()).or_default();
                &mut Arc::make_mut(new).tables
            }
        };
        match state {
            Some(state) => drop(tables.insert(table.into(), state)),
            None => drop(tables.remove(table)),
        }
    }

    /// All databases, and of the tables those that are wanted.
    pub(super) fn only(&self, wanted: &dyn Fn(&str, &str) -> bool) -> Self {
        let mut only = self.clone();
        for (name, database) in &mut only.databases {
            Arc::make_mut(database).tables.retain(|table, _| wanted(name, table));
        }
        only
    }

    /// What is known of a table; `None` where there is no such table.
    pub fn find(&self, database: &str, table: &str) -> Option<&TableState> {
        self.databases.get(database)?.tables.get(table)
    }

    /// The structure of a table as the log tells it, checked against this catalog and made whole by it.
    ///
    /// A log that names its own columns stands by itself where the catalog knows no better.
    ///
    /// # Errors
    /// The catalog does not know the table, or knows another structure: an [`ErrorKind::Schema`](crate::ErrorKind::Schema).
    pub fn complete(
        &self,
        log: TableSchema,
        _map: &TableMap<'_>,
        format: &FormatDescription,
    ) -> Result<TableSchema> {
        match self.find(&log.database, &log.table) {
            Some(TableState::Known(definition)) => {
                let known = definition.create.table_schema(
                    &log.database,
                    super::resolve::SqlServer::from(format),
                    &|index| log.columns.get(index).and_then(|column| column.collation),
                )?;
                log.complete(&known)
            }
            Some(TableState::Unknown(why)) => Err(Error::schema(why.to_string())),
            None => Err(Error::schema(format!("the history has no table {}", log.full_name()))),
        }
    }
}
