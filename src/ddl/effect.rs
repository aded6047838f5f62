//! The tables that a statement changes, and its effect on them.

use super::alter_effect::{MovedColumn, effect};
use super::body::{AlterTable, Body};
use super::parsed::ParsedStatement;
use super::row_effect::RowEffect;
use super::table_name::TableName;
use super::token::SyntaxError;
use crate::error::Error;
use crate::schema::folded;
use std::fmt;

/// The kind of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DdlKind {
    /// Creates tables, or a database.
    Create,
    /// Changes a table, its indexes or partitions, or a database.
    Alter,
    /// Removes tables, or a database with all its tables.
    Drop,
    /// Renames tables, and does nothing else.
    Rename,
    /// Empties a table.
    Truncate,
}

/// A statement that changes tables or databases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ddl {
    /// Its kind.
    pub kind: DdlKind,
    /// The database that it creates, changes or drops; for tables, the database of the first one.
    pub database: String,
    /// The tables that it changes, each once; none for a statement about a database.
    pub tables: Vec<TableName>,
    /// Old and new names, in the statement's order.
    pub renames: Vec<(TableName, TableName)>,
    /// The effect on their rows. The log has no row events for it.
    pub rows: RowEffect,
    /// The columns of an ALTER TABLE that are added, removed or renamed.
    pub moved: Vec<MovedColumn>,
}

impl Ddl {
    /// The statement with all names in lower case.
    #[must_use]
    pub fn folded(self) -> Self {
        let mut tables: Vec<TableName> = Vec::new();
        for name in self.tables.iter().map(TableName::folded) {
            if !tables.contains(&name) {
                tables.push(name);
            }
        }
        let renames = self.renames.iter().map(|(from, to)| (from.folded(), to.folded()));
        let (database, renames) = (folded(&self.database), renames.collect());
        Self { database, tables, renames, ..self }
    }

    fn of_database(kind: DdlKind, database: String) -> Self {
        Self {
            kind,
            database,
            tables: Vec::new(),
            renames: Vec::new(),
            rows: RowEffect::None,
            moved: Vec::new(),
        }
    }

    fn of_tables(kind: DdlKind, tables: impl IntoIterator<Item = TableName>) -> Self {
        let mut ddl = Self::of_database(kind, String::new());
        tables.into_iter().for_each(|table| ddl.touch(table));
        ddl
    }

    fn of_alter(alter: &AlterTable) -> Self {
        let names = std::iter::once(&alter.table).chain(&alter.others).chain(&alter.renamed);
        let mut ddl = Self::of_tables(DdlKind::Alter, names.cloned());
        (ddl.rows, ddl.moved) = effect(&alter.clauses, alter.has_ignore);
        if let Some(to) = &alter.renamed {
            ddl.renames.push((alter.table.clone(), to.clone()));
        }
        if alter.only_renames {
            ddl.kind = DdlKind::Rename;
        }
        ddl
    }

    fn of_renames(kind: DdlKind, renames: Vec<(TableName, TableName)>) -> Self {
        let names = renames.iter().flat_map(|(from, to)| [from.clone(), to.clone()]);
        Self { renames: renames.clone(), ..Self::of_tables(kind, names) }
    }

    fn with_rows(self, rows: RowEffect) -> Self {
        Self { rows, ..self }
    }

    fn touch(&mut self, table: TableName) {
        if self.tables.is_empty() {
            self.database.clone_from(&table.database);
        }
        if !self.tables.contains(&table) {
            self.tables.push(table);
        }
    }
}

/// `alter of shop.orders`, for a log message: of the statement it contains only names.
impl fmt::Display for Ddl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of ", self.kind.name())?;
        if self.tables.is_empty() {
            return write!(f, "database {}", self.database);
        }
        for (number, table) in self.tables.iter().enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            write!(f, "{comma}{table}")?;
        }
        Ok(())
    }
}

impl DdlKind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Alter => "alter",
            Self::Drop => "drop",
            Self::Rename => "rename",
            Self::Truncate => "truncate",
        }
    }
}

impl ParsedStatement {
    /// The tables or databases that the statement changes. `None` for other statements (about a view, an account), and for
    /// statements about temporary tables, whose rows are not in the log either.
    ///
    /// # Errors
    /// The statement cannot be parsed.
    pub fn ddl(&self) -> crate::error::Result<Option<Ddl>> {
        let not_parsed = |error: &SyntaxError| {
            Error::schema(format!("the statement cannot be parsed: {}", error.message))
        };
        let body = self.body.as_ref().map_err(not_parsed)?;
        let tables = |kind, tables: &[TableName]| Ddl::of_tables(kind, tables.iter().cloned());
        let table = |kind, table| tables(kind, std::slice::from_ref(table));
        Ok(Some(match body {
            Body::CreateTable { table: name, or_replace, .. } => {
                table(DdlKind::Create, name).with_rows(replaced(*or_replace))
            }
            Body::CreateDatabase { name, or_replace, .. } => {
                Ddl::of_database(DdlKind::Create, name.clone()).with_rows(replaced(*or_replace))
            }
            Body::CreateIndex { table: name, .. } | Body::DropIndex { table: name, .. } => {
                table(DdlKind::Alter, name)
            }
            Body::AlterDatabase { name, .. } => Ddl::of_database(DdlKind::Alter, name.clone()),
            Body::AlterTable(alter) => Ddl::of_alter(alter),
            Body::DropTables(names) => {
                tables(DdlKind::Drop, names).with_rows(RowEffect::All("DROP TABLE"))
            }
            Body::DropDatabase(name) => Ddl::of_database(DdlKind::Drop, name.clone())
                .with_rows(RowEffect::All("DROP DATABASE")),
            Body::Rename { renames, .. } => Ddl::of_renames(DdlKind::Rename, renames.clone()),
            Body::Truncate(name) => {
                table(DdlKind::Truncate, name).with_rows(RowEffect::All("TRUNCATE"))
            }
            // A server logs this for a MEMORY table that its start has emptied.
            Body::DeleteAll(name) => {
                table(DdlKind::Truncate, name).with_rows(RowEffect::All("a start of the server"))
            }
            Body::Unreadable(error) => return Err(not_parsed(error)),
            Body::Sequence { .. }
            | Body::DropSequences(_)
            | Body::CreateTemporary(_)
            | Body::DropTemporary(_)
            | Body::Trigger(_)
            | Body::Repair(_)
            | Body::Other => return Ok(None),
        }))
    }
}

/// The effect of CREATE OR REPLACE.
fn replaced(or_replace: bool) -> RowEffect {
    match or_replace {
        true => RowEffect::All("CREATE OR REPLACE"),
        false => RowEffect::None,
    }
}

#[cfg(test)]
mod tests {
    use super::DdlKind::{Alter, Create, Drop, Rename, Truncate};
    use super::*;
    use crate::ddl::QuoteMode;
    use proptest::prelude::*;

    fn parse(sql: &str) -> Option<(DdlKind, String)> {
        let ddl = ParsedStatement::parse(sql, "shop", QuoteMode::default()).ddl().unwrap()?;
        let names: Vec<_> =
            ddl.tables.iter().map(|name| format!("{}.{}", name.database, name.table)).collect();
        Some((ddl.kind, if names.is_empty() { ddl.database } else { names.join(" ") }))
    }

    #[test]
    fn statements() {
        for (sql, expected) in [
            ("CREATE TABLE t (a INT)", Some((Create, "shop.t"))),
            ("create table if not exists crm.`t``x` like u", Some((Create, "crm.t`x"))),
            ("CREATE OR REPLACE TABLE t SELECT 1", Some((Create, "shop.t"))),
            ("CREATE TABLE `t` (\n  `a` int\n) START TRANSACTION", Some((Create, "shop.t"))),
            ("CREATE TABLE \"t\" (a INT)", Some((Create, "shop.t"))),
            ("CREATE TABLE 2020x (a INT)", Some((Create, "shop.2020x"))),
            ("CREATE TABLE shop . t (a INT)", Some((Create, "shop.t"))),
            ("/* app */ CREATE /*!32312 TABLE */ größe (a INT)", Some((Create, "shop.größe"))),
            ("-- note\nCREATE TABLE t (a INT)", Some((Create, "shop.t"))),
            ("CREATE TEMPORARY TABLE t (a INT)", None),
            ("CREATE OR REPLACE TEMPORARY TABLE t (a INT)", None),
            ("CREATE DATABASE IF NOT EXISTS `crm` CHARSET utf8mb4", Some((Create, "crm"))),
            ("CREATE SCHEMA crm", Some((Create, "crm"))),
            ("CREATE UNIQUE INDEX i ON t (a)", Some((Alter, "shop.t"))),
            ("CREATE INDEX i USING BTREE ON crm.t (a)", Some((Alter, "crm.t"))),
            ("CREATE OR REPLACE INDEX i ON t (a)", Some((Alter, "shop.t"))),
            ("CREATE INDEX IF NOT EXISTS i ON t (a)", Some((Alter, "shop.t"))),
            ("CREATE VECTOR INDEX i ON t (a)", Some((Alter, "shop.t"))),
            ("CREATE VIEW v AS SELECT 1", None),
            ("CREATE OR REPLACE ALGORITHM=MERGE VIEW v AS SELECT 1", None),
            ("CREATE DEFINER=`a`@`b` PROCEDURE p() DROP TABLE t", None),
            ("CREATE USER 'x'@'%' IDENTIFIED BY 'secret'", None),
            ("CREATE SEQUENCE s", None),
            ("ALTER TABLE t ADD COLUMN a INT", Some((Alter, "shop.t"))),
            ("ALTER ONLINE IGNORE TABLE IF EXISTS t NOWAIT DROP a", Some((Alter, "shop.t"))),
            ("ALTER TABLE t WAIT 5 RENAME u", Some((Rename, "shop.t shop.u"))),
            ("ALTER TABLE t RENAME = crm.u", Some((Rename, "shop.t crm.u"))),
            ("ALTER TABLE t RENAME TO u, ALGORITHM=INPLACE", Some((Rename, "shop.t shop.u"))),
            (
                "ALTER TABLE t ADD b ENUM('x,(', 'y') COMMENT 'RENAME z', RENAME AS `u`",
                Some((Alter, "shop.t shop.u")),
            ),
            ("ALTER TABLE t RENAME COLUMN a TO b", Some((Alter, "shop.t"))),
            ("ALTER TABLE t RENAME INDEX a TO b, DROP c", Some((Alter, "shop.t"))),
            ("ALTER TABLE t COMMENT 'not ended", Some((Alter, "shop.t"))),
            ("ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4", Some((Alter, "shop.t"))),
            (
                "ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u WITH VALIDATION",
                Some((Alter, "shop.t shop.u")),
            ),
            ("ALTER TABLE t CONVERT PARTITION p TO TABLE u", Some((Alter, "shop.t shop.u"))),
            (
                "ALTER TABLE t CONVERT TABLE u TO PARTITION p VALUES LESS THAN (4)",
                Some((Alter, "shop.t shop.u")),
            ),
            ("ALTER DATABASE crm COLLATE utf8mb4_bin", Some((Alter, "crm"))),
            ("ALTER DATABASE CHARACTER SET = utf8mb4", Some((Alter, "shop"))),
            ("ALTER USER 'x' IDENTIFIED BY 'secret'", None),
            ("ALTER VIEW v AS SELECT 1", None),
            (
                "SET STATEMENT max_statement_time=5, sql_mode='FOR' FOR ALTER TABLE t ENGINE=InnoDB",
                Some((Alter, "shop.t")),
            ),
            ("SET STATEMENT a=1", None),
            ("DROP TABLE t /* generated by server */", Some((Drop, "shop.t"))),
            ("DROP TABLES IF EXISTS t, crm.u , t CASCADE", Some((Drop, "shop.t crm.u"))),
            ("DROP TEMPORARY TABLE IF EXISTS t", None),
            ("DROP /*!40005 TEMPORARY */ TABLE IF EXISTS `t`", None),
            ("DROP INDEX `PRIMARY` ON t", Some((Alter, "shop.t"))),
            ("DROP INDEX IF EXISTS i ON t ALGORITHM=COPY", Some((Alter, "shop.t"))),
            ("DROP DATABASE IF EXISTS crm", Some((Drop, "crm"))),
            ("DROP VIEW v", None),
            ("DROP USER x", None),
            ("RENAME TABLE t TO tmp, u TO t, tmp TO u", Some((Rename, "shop.t shop.tmp shop.u"))),
            ("RENAME TABLES IF EXISTS t WAIT 3 TO crm.t", Some((Rename, "shop.t crm.t"))),
            ("RENAME USER a TO b", None),
            ("TRUNCATE t", Some((Truncate, "shop.t"))),
            ("TRUNCATE TABLE `crm`.`t` NOWAIT", Some((Truncate, "crm.t"))),
            ("DELETE FROM `crm`.`t` /* generated by server */", Some((Truncate, "crm.t"))),
            ("DELETE FROM `crm`.`t`", Some((Truncate, "crm.t"))),
            ("DELETE FROM `crm`.`t` WHERE a = 1 /* generated by server */", None),
            ("DELETE FROM t", None),
            ("GRANT ALL ON shop.* TO x", None),
            ("INSERT INTO t VALUES (1)", None),
            ("ANALYZE TABLE t", None),
            ("FLUSH TABLES t", None),
            ("", None),
        ] {
            let expected = expected.map(|(kind, names)| (kind, names.to_owned()));
            assert_eq!(parse(sql), expected, "{sql}");
        }
    }

    #[test]
    fn quotes_are_those_of_the_sql_mode() {
        let ansi = QuoteMode { ansi_quotes: true, ..QuoteMode::default() };
        let sql = "ALTER TABLE \"a\\\" COMMENT 'x', RENAME \"b\"\"c\"";
        let ddl = ParsedStatement::parse(sql, "shop", ansi).ddl().unwrap().unwrap();
        assert_eq!((&*ddl.tables[0].table, &*ddl.tables[1].table), ("a\\", "b\"c"));
        let plain = QuoteMode { no_backslash_escapes: true, ..QuoteMode::default() };
        let sql = "ALTER TABLE t COMMENT 'x\\', RENAME u";
        let ddl = ParsedStatement::parse(sql, "shop", plain).ddl().unwrap().unwrap();
        assert_eq!(ddl.renames.len(), 1);
    }

    #[test]
    fn a_statement_that_cannot_be_parsed_is_an_error() {
        for sql in ["CREATE TABLE", "DROP TABLE t,", "RENAME TABLE t", "CREATE TABLE 'x' (a INT)"] {
            let error =
                ParsedStatement::parse(sql, "shop", QuoteMode::default()).ddl().unwrap_err();
            assert!(error.message().starts_with("the statement cannot be parsed: "), "{sql}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_safe(
            sql in "(CREATE |ALTER |DROP |RENAME |TRUNCATE |SET STATEMENT )?(TABLE |INDEX |DATABASE )?[ a-c'\"`/*!#;,x().=\\\\-]{0,12}(RENAME|FOR|TO|ON)?.*"
        ) {
            let _ = ParsedStatement::parse(&sql, "d", QuoteMode::default()).ddl();
        }
    }
}
