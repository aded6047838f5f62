//! Statements that change the values of columns in existing rows, over all statements of a read.

use super::left_columns::LeftColumns;
use super::{OnlineTool, TableFilter, ToolTable};
use crate::ddl::{Ddl, DdlKind, DdlSession, ParsedStatement, TableName};
use crate::history::{AlteredColumn, Catalog, altered_columns};
use crate::schema::NameCase;
use std::collections::HashMap;
use std::sync::Arc;

/// The facts on which the effect of a statement depends, besides the statement.
pub struct AlterContext<'c> {
    /// The file and the offset of the statement.
    pub place: (&'c Arc<str>, u64),
    /// The structures before it, if a history is given.
    pub catalog: Option<&'c Catalog>,
    /// The tables that are read.
    pub tables: &'c TableFilter,
    /// The meaning of letter case in names of tables.
    pub name_case: NameCase,
}

impl AlterContext<'_> {
    /// True if the table is read, or may be, because it is read under a name in other letter case.
    fn may_be_read(&self, name: &TableName) -> bool {
        let is_read = |name: &TableName| self.tables.accepts(&name.database, &name.table);
        is_read(name) || self.name_case == NameCase::Unknown && is_read(&name.folded())
    }
}

/// The columns that a statement changes, by table.
type ByTable = Vec<(TableName, Vec<AlteredColumn>)>;

/// The effects of the statements so far.
#[derive(Debug, Default)]
pub struct AlteredTables {
    left: LeftColumns,
    /// The columns that an online schema-change tool has altered in its copy of a table: the copy has converted values.
    copies: HashMap<TableName, Vec<AlteredColumn>>,
    /// The last statement: its file, its offset, and the result. The same statement may be passed twice.
    last: Option<(Arc<str>, u64, ByTable)>,
}

impl AlteredTables {
    /// Adds a statement. Returns the columns whose existing values change, or may change. `tools` contains, for each rename of
    /// the statement, the online schema-change tool that made it.
    pub fn observe(
        &mut self,
        ddl: &Ddl,
        statement: &ParsedStatement,
        session: &DdlSession,
        (tools, context): (&[Option<OnlineTool>], &AlterContext<'_>),
    ) -> ByTable {
        let (file, offset) = context.place;
        if let Some((last_file, at, altered)) = &self.last
            && (last_file, *at) == (file, offset)
        {
            return altered.clone();
        }
        let mut altered = self.of_copies(ddl, statement, session, (tools, context));
        let mut columns = self.left.observe(ddl, context.tables);
        if let (DdlKind::Alter, Some(table)) = (ddl.kind, ddl.tables.first())
            && context.may_be_read(table)
        {
            columns.extend(altered_columns(context.catalog, table, statement, session));
            if !columns.is_empty() {
                altered.push((table.clone(), columns));
            }
        }
        self.last = Some((Arc::clone(file), offset, altered.clone()));
        altered
    }

    /// The tables that an online schema-change tool replaces by a copy with other types.
    fn of_copies(
        &mut self,
        ddl: &Ddl,
        statement: &ParsedStatement,
        session: &DdlSession,
        (tools, context): (&[Option<OnlineTool>], &AlterContext<'_>),
    ) -> ByTable {
        let is_copy = |name: &TableName| {
            matches!(OnlineTool::of_table(&name.table), Some((_, ToolTable::Copy)))
        };
        let swaps = ddl.renames.iter().zip(tools).filter(|(_, tool)| tool.is_some());
        let replaced = swaps.filter_map(|((copy, table), _)| {
            let columns = self.copies.remove(copy)?;
            let is_read = context.tables.accepts(&table.database, &table.table);
            (is_read && !columns.is_empty()).then(|| (table.clone(), columns))
        });
        let replaced = replaced.collect();
        for name in ddl.tables.iter().filter(|name| is_copy(name)) {
            match ddl.kind {
                DdlKind::Create | DdlKind::Drop => drop(self.copies.remove(name)),
                DdlKind::Alter if self.copies.len() < MAX_COPIES => {
                    let columns =
                        altered_columns(context.catalog, name, statement, &session.lenient());
                    self.copies.entry(name.clone()).or_default().extend(columns);
                }
                _ => {}
            }
        }
        replaced
    }
}

/// One for each table that is being changed. A tool has fewer copies than this.
const MAX_COPIES: usize = 1000;
