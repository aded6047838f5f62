//! The items that a read returns, and the items of a statement.

use super::item::{Emptied, Item, SchemaChange, Uncertainty};
use super::{OnlineTool, TableFilter};
use crate::ddl::{Ddl, DdlKind, RowEffect, TableName};
use crate::history::AlteredColumn;
use crate::schema::{NameCase, folded};

/// The items to return.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Include {
    /// Statements that change tables or databases.
    pub schema_changes: bool,
    /// Tables that are emptied, as separate items.
    pub truncates: bool,
    /// Tables whose rows change without row events.
    pub emptied: bool,
    /// Statements that are skipped although they may change rows.
    pub skipped_statements: bool,
    /// Changes that may have changed rows of other tables without events.
    pub unlogged_changes: bool,
    /// Begins and ends of transactions.
    pub transactions: bool,
    /// Heartbeats of a server.
    pub heartbeats: bool,
    /// The tables of which statements are returned.
    pub tables: TableFilter,
}

/// A statement's text, and the facts about it that the text does not contain.
#[derive(Debug, Clone, Copy)]
pub struct StatementContext<'s> {
    /// Its text.
    pub text: &'s str,
    /// For each of its renames, the online schema-change tool that made it.
    pub tools: &'s [Option<OnlineTool>],
    /// The columns whose existing values change, or may change, by table.
    pub altered: &'s [(TableName, Vec<AlteredColumn>)],
    /// The meaning of letter case in names of tables.
    pub name_case: NameCase,
}

impl Include {
    /// True if any item is requested.
    pub fn any(&self) -> bool {
        self.statements()
            || self.skipped_statements
            || self.unlogged_changes
            || self.transactions
            || self.heartbeats
    }

    /// True if items of statements are requested.
    pub fn statements(&self) -> bool {
        self.schema_changes || self.truncates || self.emptied
    }

    /// The items of a statement.
    pub fn items_of(&self, ddl: Ddl, context: &StatementContext<'_>) -> Vec<Item> {
        let name_case = context.name_case;
        let mut items = Vec::new();
        if self.emptied {
            let emptied = self.emptied_by(&ddl, context);
            items.extend(emptied.into_iter().map(Item::Emptied));
        }
        if ddl.kind == DdlKind::Truncate && self.truncates {
            let is_wanted = |name: &&TableName| self.wants(name, name_case) != Wanted::No;
            items.extend(ddl.tables.iter().filter(is_wanted).cloned().map(Item::Truncate));
        } else if self.schema_changes {
            let changes_rows = ddl.rows != RowEffect::None || !context.altered.is_empty();
            let change = self.schema_change(ddl, changes_rows, context);
            items.extend(change.map(Item::SchemaChange));
        }
        items
    }

    /// The damaged rows that a REPAIR TABLE may remove.
    pub fn repaired(&self, tables: Vec<TableName>, name_case: NameCase) -> Vec<Item> {
        let is_wanted = |name: &TableName| self.wants(name, name_case) != Wanted::No;
        let item = |TableName { database, table }| {
            Item::Emptied(Emptied {
                database,
                table: Some(table),
                by: "REPAIR TABLE",
                removes_all: false,
                resembles: None,
                columns: Vec::new(),
                uncertainty: Some(Uncertainty::Repair),
                name_case,
            })
        };
        match self.emptied {
            true => tables.into_iter().filter(is_wanted).map(item).collect(),
            false => Vec::new(),
        }
    }

    /// The tables of a statement that are selected under names in other letter case, if these may
    /// be the same tables.
    pub fn in_other_case<'d>(
        &self,
        ddl: &'d Ddl,
        name_case: NameCase,
    ) -> impl Iterator<Item = &'d TableName> {
        ddl.tables.iter().filter(move |name| self.wants(name, name_case) == Wanted::InOtherCase)
    }

    fn wants(&self, name: &TableName, name_case: NameCase) -> Wanted {
        let is_wanted = |name: &TableName| self.tables.accepts(&name.database, &name.table);
        Wanted::of(name, name_case, &is_wanted, TableName::folded)
    }

    fn wants_database(&self, name: &String, name_case: NameCase) -> Wanted {
        let is_wanted = |name: &String| self.tables.accepts_database(name);
        Wanted::of(name, name_case, &is_wanted, |name| folded(name))
    }

    /// The tables whose rows change by a statement. If an online schema-change tool replaces a table by its copy, the rows
    /// stay.
    fn emptied_by(&self, ddl: &Ddl, context: &StatementContext<'_>) -> Vec<Emptied> {
        let StatementContext { tools, altered, name_case, .. } = *context;
        let (by, removes_all) = match ddl.rows {
            RowEffect::All(by) => (by, true),
            RowEffect::Some(by) | RowEffect::UnlessStrict(by) => (by, false),
            RowEffect::None => ("", false),
        };
        let mut emptied = Vec::new();
        let mut push = |wanted: Wanted, (database, table), by, removes_all, resembles| {
            if wanted != Wanted::No {
                let uncertainty =
                    wanted.uncertainty().or(REPAIRS.contains(&by).then_some(Uncertainty::Repair));
                let columns = Vec::new();
                emptied.push(Emptied {
                    database,
                    table,
                    by,
                    removes_all,
                    resembles,
                    columns,
                    uncertainty,
                    name_case,
                });
            }
        };
        if !by.is_empty() && ddl.tables.is_empty() {
            let wanted = self.wants_database(&ddl.database, name_case);
            push(wanted, (ddl.database.clone(), None), by, removes_all, None);
        }
        let mut add = |name: &TableName, by, removes_all, resembles| {
            let table = (name.database.clone(), Some(name.table.clone()));
            push(self.wants(name, name_case), table, by, removes_all, resembles);
        };
        if !by.is_empty() {
            ddl.tables.iter().for_each(|name| add(name, by, removes_all, None));
        }
        let is_renamed_to = |name: &TableName| ddl.renames.iter().any(|(_, to)| to == name);
        let is_renamed = |name: &TableName| ddl.renames.iter().any(|(from, _)| from == name);
        // A rename of a table to its own name has no effect.
        let renames = ddl.renames.iter().zip(tools).filter(|((from, to), _)| from != to);
        for ((from, to), tool) in renames {
            let of_tool = |name: &TableName| OnlineTool::of_table(&name.table);
            // In a tool's swap the table keeps its rows; the tool's own tables are treated like all others.
            let is_kept = |name| tool.is_some() && of_tool(name).is_none();
            let resembles =
                of_tool(from).or(of_tool(to)).map(|(tool, _)| tool).filter(|_| tool.is_none());
            if !is_kept(from) && !is_renamed_to(from) {
                add(from, "a RENAME to another name", true, resembles);
            }
            if !is_kept(to) {
                let by = match is_renamed(to) {
                    true => "a RENAME that puts another table in its place",
                    false => "a RENAME of another table to its name",
                };
                add(to, by, false, resembles);
            }
        }
        let altered = altered.iter().filter(|_| by.is_empty());
        emptied.extend(altered.map(|(name, columns)| Emptied {
            database: name.database.clone(),
            table: Some(name.table.clone()),
            by: "ALTER TABLE",
            removes_all: false,
            resembles: None,
            columns: columns.clone(),
            uncertainty: self.wants(name, name_case).uncertainty(),
            name_case,
        }));
        emptied
    }

    fn schema_change(
        &self,
        ddl: Ddl,
        changes_rows: bool,
        context: &StatementContext<'_>,
    ) -> Option<SchemaChange> {
        let StatementContext { text, tools, name_case, .. } = *context;
        let Ddl { mut kind, mut database, mut tables, renames, moved, .. } = ddl;
        let statement = text.to_owned();
        if tables.is_empty() {
            let is_wanted = self.wants_database(&database, name_case) != Wanted::No;
            return is_wanted.then_some(SchemaChange {
                kind,
                database,
                tables,
                statement,
                tool: None,
                changes_rows,
                renames,
                renamed_columns: Vec::new(),
                dropped_columns: Vec::new(),
            });
        }
        let tool = tools.iter().copied().find_map(|tool| tool);
        // The tool's own tables, unless the caller reads them.
        let is_of_tool = |name: &TableName| {
            let is_in_swap = || {
                let mut swaps = renames.iter().zip(tools).filter(|(_, tool)| tool.is_some());
                swaps.any(|((from, to), _)| from == name || to == name)
            };
            OnlineTool::of_table(&name.table).is_some()
                && !self.tables.accepts(&name.database, &name.table)
                && (self.tables.skips_as_ghost(&name.database, &name.table).is_some()
                    || is_in_swap())
        };
        // A table replaces another one, which then has a new structure.
        let swapped: Vec<_> = renames
            .iter()
            .zip(tools)
            .filter(|((from, to), tool)| tool.is_some() && is_of_tool(from) && !is_of_tool(to))
            .map(|((_, to), _)| to.clone())
            .collect();
        let is_left = |((from, to), tool): (&(TableName, TableName), &Option<OnlineTool>)| {
            tool.is_none() || !(is_of_tool(from) || is_of_tool(to) && swapped.contains(from))
        };
        if !swapped.is_empty() && !renames.iter().zip(tools).any(is_left) {
            (kind, tables) = (DdlKind::Alter, swapped.clone());
        }
        tables.retain(|name| !is_of_tool(name));
        database.clone_from(&tables.first()?.database);
        let is_wanted = tables.iter().any(|name| self.wants(name, name_case) != Wanted::No);
        let (mut renamed_columns, mut dropped_columns) = (Vec::new(), Vec::new());
        for column in moved {
            match (column.from, column.to) {
                (Some(from), Some(to)) => renamed_columns.push((from, to)),
                (Some(from), None) => dropped_columns.push(from),
                (None, _) => {}
            }
        }
        is_wanted.then_some(SchemaChange {
            kind,
            database,
            tables,
            statement,
            tool,
            changes_rows,
            renames,
            renamed_columns,
            dropped_columns,
        })
    }
}

/// True if a table or a database is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    No,
    Yes,
    /// It is selected under a name in other letter case, and it is not known whether this is the
    /// same name.
    InOtherCase,
}

impl Wanted {
    fn of<N: PartialEq>(
        name: &N,
        name_case: NameCase,
        is_wanted: &dyn Fn(&N) -> bool,
        folded: impl Fn(&N) -> N,
    ) -> Self {
        if is_wanted(name) {
            return Self::Yes;
        }
        let other = folded(name);
        match name_case == NameCase::Unknown && other != *name && is_wanted(&other) {
            true => Self::InOtherCase,
            false => Self::No,
        }
    }

    fn uncertainty(self) -> Option<Uncertainty> {
        (self == Self::InOtherCase).then_some(Uncertainty::LetterCase)
    }
}

/// Statements that remove damaged rows.
const REPAIRS: [&str; 2] = ["REPAIR TABLE", "REPAIR PARTITION"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::OnlineChanges;
    use crate::change::OnlineSchemaChange::{self, Evidence, Trust};
    use crate::ddl::{ParsedStatement, QuoteMode};

    fn include(tables: &[&str], online: OnlineSchemaChange) -> Include {
        let tables = TableFilter::try_new(tables, &[]).unwrap().with_online(online);
        Include { schema_changes: true, tables, ..Include::default() }
    }

    fn items(include: &Include, sql: &str) -> Vec<Item> {
        let ddl = ParsedStatement::parse(sql, "shop", QuoteMode::default()).ddl().unwrap().unwrap();
        let tools = OnlineChanges::default().tools_of(&ddl, sql, include.tables.online());
        let name_case = NameCase::Exact;
        include
            .items_of(ddl, &StatementContext { text: sql, tools: &tools, altered: &[], name_case })
    }

    fn shown(include: &Include, sql: &str) -> String {
        let shown = items(include, sql).into_iter().map(|item| match item {
            Item::SchemaChange(change) => {
                assert_eq!(change.statement, sql);
                let tables: Vec<_> = change
                    .tables
                    .iter()
                    .map(|name| format!("{}.{}", name.database, name.table))
                    .collect();
                let tool = change.tool.map_or("", OnlineTool::name);
                format!("{:?} {} {} {tool}", change.kind, change.database, tables.join(","))
            }
            Item::Truncate(name) => format!("truncate {}.{}", name.database, name.table),
            other => panic!("{other:?}"),
        });
        shown.collect::<Vec<_>>().join(";")
    }

    #[test]
    fn online_schema_changes() {
        let skip = include(&[], Trust);
        for (sql, expected) in [
            ("create /* gh-ost */ table `shop`.`_t_ghc` (id bigint)", ""),
            ("create /* gh-ost */ table `shop`.`_t_gho` like `shop`.`t`", ""),
            ("alter /* gh-ost */ table `shop`.`_t_gho` add b int", ""),
            ("drop /* gh-ost */ table if exists `shop`.`_t_del`", ""),
            (
                "rename /* gh-ost */ table `shop`.`t` to `shop`.`_t_del`, `shop`.`_t_gho` to `shop`.`t`",
                "Alter shop shop.t gh-ost",
            ),
            (
                "rename /* gh-ost */ table t to _t_20261121093000_del, _t_gho to t",
                "Alter shop shop.t gh-ost",
            ),
            // In two steps: between them the table does not exist.
            ("alter /* gh-ost */ table t rename _t_del", "Rename shop shop.t gh-ost"),
            ("alter /* gh-ost */ table _t_gho rename t", "Alter shop shop.t gh-ost"),
            (
                "RENAME TABLE `shop`.`t` TO `shop`.`__t_old`, `shop`.`__t_new` TO `shop`.`t`",
                "Alter shop shop.t pt-online-schema-change",
            ),
            ("DROP TABLE IF EXISTS `_t_old`", ""),
            ("DROP TABLE u, _t_old", "Drop shop shop.u "),
            ("RENAME TABLE t TO u", "Rename shop shop.t,shop.u "),
            (
                "RENAME TABLE a TO b, t TO _t_del, _t_gho TO t",
                "Rename shop shop.a,shop.b,shop.t gh-ost",
            ),
            ("TRUNCATE _t_ghc", ""),
            ("TRUNCATE t", "Truncate shop shop.t "),
            ("DROP DATABASE crm", "Drop crm  "),
        ] {
            assert_eq!(shown(&skip, sql), expected, "{sql}");
        }
        let swap = "RENAME TABLE t TO _t_del, _t_gho TO t";
        let all = include(&[], Evidence);
        assert_eq!(shown(&all, swap), "Rename shop shop.t,shop._t_del,shop._t_gho ");
        let proved = "rename /* gh-ost */ table t to _t_del, _t_gho to t";
        assert_eq!(shown(&all, proved), "Rename shop shop.t,shop._t_del,shop._t_gho gh-ost");
        assert_eq!(shown(&all, "DROP TABLE _t_del"), "Drop shop shop._t_del ");
        let one = include(&["shop.t"], Evidence);
        assert_eq!(shown(&one, swap), "Rename shop shop.t,shop._t_del,shop._t_gho ");
        assert_eq!(shown(&one, proved), "Alter shop shop.t gh-ost");
        let back = "RENAME TABLE t TO _t_gho, _t_del TO t";
        assert_eq!(shown(&skip, back), "Rename shop shop.t ");
        let named = include(&["shop.t", "shop._t_gho"], Trust);
        assert_eq!(
            shown(&named, "create table _t_gho like t"),
            "Create shop shop._t_gho ",
            "a pattern that names it takes it"
        );
    }

    #[test]
    fn rows_that_go_or_come_without_events() {
        let include = Include {
            emptied: true,
            tables: TableFilter::exactly("shop", "t"),
            ..Include::default()
        };
        let shown = |sql: &str| {
            let shown = items(&include, sql).into_iter().map(|item| match item {
                Item::Emptied(Emptied { by, removes_all, table, resembles, .. }) => {
                    let part = if removes_all { "" } else { "part " };
                    let resembles =
                        resembles.map_or(String::new(), |tool| format!(" ({})", tool.name()));
                    format!("{part}{by}{}{resembles}", table.map_or(" of all", |_| ""))
                }
                other => panic!("{other:?}"),
            });
            shown.collect::<Vec<_>>().join(", ")
        };
        let renamed = ["a RENAME to another name", "part a RENAME of another table to its name"];
        let swapped = "part a RENAME that puts another table in its place";
        let (gh_ost, pt) =
            (format!("{swapped} (gh-ost)"), format!("{swapped} (pt-online-schema-change)"));
        for (sql, expected) in [
            ("TRUNCATE t", "TRUNCATE"),
            ("TRUNCATE TABLE `shop`.`t`", "TRUNCATE"),
            ("TRUNCATE u", ""),
            ("DELETE FROM `shop`.`t` /* generated by server */", "a start of the server"),
            ("DROP TABLE IF EXISTS u, t", "DROP TABLE"),
            ("DROP TEMPORARY TABLE t2, v", ""),
            ("CREATE TABLE t (a INT)", ""),
            ("CREATE OR REPLACE TABLE t (a INT)", "CREATE OR REPLACE"),
            ("CREATE OR REPLACE TABLE t SELECT 1", "CREATE OR REPLACE"),
            ("DROP DATABASE shop", "DROP DATABASE of all"),
            ("CREATE OR REPLACE DATABASE shop", "CREATE OR REPLACE of all"),
            ("DROP DATABASE crm", ""),
            ("ALTER TABLE t DROP COLUMN a, ADD b INT", ""),
            ("ALTER TABLE t DROP PARTITION p0, p1", "part DROP PARTITION"),
            ("ALTER TABLE t TRUNCATE PARTITION ALL", "part TRUNCATE PARTITION"),
            ("ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u", "part EXCHANGE PARTITION"),
            (
                "ALTER TABLE u EXCHANGE PARTITION p WITH TABLE t WITHOUT VALIDATION",
                "part EXCHANGE PARTITION",
            ),
            ("ALTER TABLE u CONVERT PARTITION p TO TABLE t", "part CONVERT PARTITION or TABLE"),
            ("ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4", ""),
            ("ALTER TABLE t DISCARD TABLESPACE", "part DISCARD TABLESPACE"),
            ("ALTER TABLE t IMPORT PARTITION p TABLESPACE", "part IMPORT TABLESPACE"),
            ("ALTER TABLE t REORGANIZE PARTITION p INTO (PARTITION q VALUES LESS THAN (5))", ""),
            ("RENAME TABLE t TO u", renamed[0]),
            ("ALTER TABLE t RENAME TO t", ""),
            ("ALTER TABLE t RENAME TO shop.t", ""),
            ("RENAME TABLE u TO t", renamed[1]),
            ("ALTER TABLE u RENAME TO t", renamed[1]),
            ("RENAME TABLE t TO old, new TO t", swapped),
            ("RENAME TABLE t TO tmp, u TO t, tmp TO u", swapped),
            ("rename /* gh-ost */ table t to _t_del, _t_gho to t", ""),
            ("RENAME TABLE t TO _t_del, _t_gho TO t", &gh_ost),
            ("RENAME TABLE t TO _t_gho, _t_del TO t", &gh_ost),
            ("RENAME TABLE `shop`.`t` TO `shop`.`_t_old`, `shop`.`_t_new` TO `shop`.`t`", &pt),
        ] {
            if let Ok(None) = ParsedStatement::parse(sql, "shop", QuoteMode::default()).ddl() {
                assert_eq!(expected, "", "{sql}");
                continue;
            }
            assert_eq!(shown(sql), expected, "{sql}");
        }
    }

    #[test]
    fn effects_on_rows_and_names() {
        let all = include(&[], OnlineSchemaChange::Evidence);
        let change = |sql: &str| match items(&all, sql).pop() {
            Some(Item::SchemaChange(change)) => change,
            other => panic!("{other:?}"),
        };
        for (sql, changes_rows) in [
            ("ALTER TABLE t ADD COLUMN a INT DEFAULT 5, DROP COLUMN b", false),
            ("ALTER TABLE t ADD KEY (a), COMMENT='x'", false),
            ("ALTER TABLE t CHANGE v w INT, CHANGE w v INT AFTER id", true),
            ("ALTER TABLE t ENGINE=BLACKHOLE", true),
            ("ALTER TABLE t DROP PARTITION p", true),
            ("ALTER TABLE t SOMETHING NEW", true),
            ("CREATE TABLE t (a INT)", false),
            ("CREATE OR REPLACE TABLE t (a INT)", true),
            ("RENAME TABLE t TO u", false),
        ] {
            assert_eq!(change(sql).changes_rows, changes_rows, "{sql}");
        }
        let renamed = change("ALTER TABLE t RENAME COLUMN A TO b, CHANGE c D INT, CHANGE e E INT");
        let names = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        assert_eq!(renamed.renamed_columns, [names("a", "b"), names("c", "d")]);
        let shown: Vec<_> = change("RENAME TABLE t TO x, crm.u TO t")
            .renames
            .iter()
            .map(|(from, to)| format!("{from} {to}"))
            .collect();
        assert_eq!(shown, ["shop.t shop.x", "crm.u shop.t"]);
    }

    #[test]
    fn only_of_wanted_tables() {
        let one = include(&["shop.t"], Trust);
        for (sql, expected) in [
            ("ALTER TABLE u ADD a INT", ""),
            ("DROP TABLE u, t", "Drop shop shop.u,shop.t "),
            ("ALTER TABLE crm.t ADD a INT", ""),
            ("CREATE DATABASE crm", ""),
            ("DROP DATABASE shop", "Drop shop  "),
        ] {
            assert_eq!(shown(&one, sql), expected, "{sql}");
        }
        let both = Include { truncates: true, ..one };
        assert_eq!(shown(&both, "TRUNCATE t"), "truncate shop.t");
        assert_eq!(shown(&both, "TRUNCATE u"), "");
    }
}
