//! What a statement of the log does to tables: its head, which names them, and no more of it than that needs.
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/sql-data-definition-statements.html>,
//! <https://mariadb.com/kb/en/data-definition/>

use super::alter_rows::{MovedColumn, effect};
use super::cursor::Cursor;
use super::row_changes::deletes_all_of_one_table;
use super::token::{QuoteMode, Result, Token};
use crate::error::Error;
use crate::schema::folded;
use std::fmt;

/// What a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DdlKind {
    /// Makes tables, or a database.
    Create,
    /// Changes a table, or a database; its indexes and partitions among it.
    Alter,
    /// Removes tables, or a database with all its tables.
    Drop,
    /// Gives tables other names, and does nothing else.
    Rename,
    /// Empties a table.
    Truncate,
}

/// A table's name, with its database.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TableName {
    /// The database; empty where neither the statement nor its session names one.
    pub database: String,
    /// The table.
    pub table: String,
}

impl TableName {
    /// The name in lower case.
    #[must_use]
    pub fn folded(&self) -> Self {
        Self { database: folded(&self.database), table: folded(&self.table) }
    }
}

/// A statement that changes tables or databases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ddl {
    /// What it does.
    pub kind: DdlKind,
    /// The database that it makes, changes or drops; of tables, the database of the first.
    pub database: String,
    /// The tables that it names as changed, each once; none where it is of a database.
    pub tables: Vec<TableName>,
    /// Old and new names, in the statement's order.
    pub renames: Vec<(TableName, TableName)>,
    /// What becomes of their rows; the log has no row events of it.
    pub rows: RowsGone,
    /// The columns of an ALTER TABLE that are added, removed or renamed.
    pub moved: Vec<MovedColumn>,
}

/// What a statement does to the rows of its tables, and which statement that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowsGone {
    /// They stay, or their tables have none.
    #[default]
    None,
    /// All are gone.
    All(&'static str),
    /// Some rows are removed, added, or have other values.
    Some(&'static str),
    /// Values may be converted with loss, unless a strict `sql_mode` makes this an error.
    UnlessStrict(&'static str),
}

impl RowsGone {
    /// The worse of two.
    pub(super) fn or(self, other: Self) -> Self {
        let rank = |rows: &Self| match rows {
            Self::None => 0,
            Self::UnlessStrict(_) => 1,
            Self::Some(_) => 2,
            Self::All(_) => 3,
        };
        if rank(&other) > rank(&self) { other } else { self }
    }

    /// The effect under a `sql_mode`.
    pub fn under(self, is_strict: bool) -> Self {
        match self {
            Self::UnlessStrict(_) if is_strict => Self::None,
            Self::UnlessStrict(by) => Self::Some(by),
            rows => rows,
        }
    }
}

impl Ddl {
    /// Reads a statement that ran in `database`. `None` where it is none of tables or databases (of a view, an account), or of
    /// a temporary table, whose rows are not in the log either.
    pub fn parse(sql: &str, database: &str, mode: QuoteMode) -> crate::error::Result<Option<Self>> {
        let not_understood = |error: super::token::SyntaxError| {
            Error::schema(format!("the statement is not understood: {}", error.message))
        };
        let cursor = Cursor::with_mode(sql, mode).map_err(not_understood)?;
        // What a server writes for the empty MEMORY table that it finds when it starts.
        let is_servers = deletes_all_of_one_table(sql, mode);
        Head { cursor, database }.statement(is_servers).map_err(not_understood)
    }

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
            rows: RowsGone::None,
            moved: Vec::new(),
        }
    }

    fn of_tables(kind: DdlKind, tables: impl IntoIterator<Item = TableName>) -> Self {
        let mut ddl = Self::of_database(kind, String::new());
        tables.into_iter().for_each(|table| ddl.touch(table));
        ddl
    }

    fn of_renames(kind: DdlKind, renames: Vec<(TableName, TableName)>) -> Self {
        let names = renames.iter().flat_map(|(from, to)| [from.clone(), to.clone()]);
        Self { renames: renames.clone(), ..Self::of_tables(kind, names) }
    }

    fn with_rows(self, rows: RowsGone) -> Self {
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

/// `alter of shop.orders`, for a log: no more of the statement than names.
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

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.database, self.table)
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

/// The words at a statement's beginning.
struct Head<'t> {
    cursor: Cursor<'t>,
    /// The session's database.
    database: &'t str,
}

impl Head<'_> {
    fn statement(&mut self, is_servers: bool) -> Result<Option<Ddl>> {
        let cursor = &mut self.cursor;
        if !skip_set_statement(cursor)? {
            return Ok(None);
        }
        if cursor.accept("CREATE")? {
            self.create()
        } else if cursor.accept("ALTER")? {
            self.alter()
        } else if cursor.accept("DROP")? {
            self.drop_()
        } else if cursor.accept("RENAME")? {
            self.rename()
        } else if cursor.accept("TRUNCATE")? {
            cursor.accept("TABLE")?;
            let ddl = Ddl::of_tables(DdlKind::Truncate, [self.table()?]);
            Ok(Some(ddl.with_rows(RowsGone::All("TRUNCATE"))))
        } else if is_servers && cursor.accept_all(&["DELETE", "FROM"])? {
            let ddl = Ddl::of_tables(DdlKind::Truncate, [self.table()?]);
            Ok(Some(ddl.with_rows(RowsGone::All("a start of the server"))))
        } else {
            Ok(None)
        }
    }

    fn create(&mut self) -> Result<Option<Ddl>> {
        let cursor = &mut self.cursor;
        let rows = match cursor.accept_all(&["OR", "REPLACE"])? {
            true => RowsGone::All("CREATE OR REPLACE"),
            false => RowsGone::None,
        };
        if cursor.accept("TABLE")? {
            cursor.accept_all(&["IF", "NOT", "EXISTS"])?;
            return Ok(Some(Ddl::of_tables(DdlKind::Create, [self.table()?]).with_rows(rows)));
        }
        if cursor.accept_any(&["DATABASE", "SCHEMA"])? {
            cursor.accept_all(&["IF", "NOT", "EXISTS"])?;
            return Ok(Some(Ddl::of_database(DdlKind::Create, cursor.name()?).with_rows(rows)));
        }
        while cursor
            .accept_any(&["ONLINE", "OFFLINE", "UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR"])?
        {
        }
        match cursor.accept("INDEX")? {
            true => self.index(&["IF", "NOT", "EXISTS"]),
            false => Ok(None),
        }
    }

    /// `name [USING BTREE] ON table`
    fn index(&mut self, condition: &[&str]) -> Result<Option<Ddl>> {
        let cursor = &mut self.cursor;
        cursor.accept_all(condition)?;
        cursor.name()?;
        if cursor.accept_any(&["USING", "TYPE"])? {
            cursor.name()?;
        }
        cursor.expect("ON")?;
        Ok(Some(Ddl::of_tables(DdlKind::Alter, [self.table()?])))
    }

    fn drop_(&mut self) -> Result<Option<Ddl>> {
        let cursor = &mut self.cursor;
        if cursor.accept_any(&["TABLE", "TABLES"])? {
            cursor.accept_all(&["IF", "EXISTS"])?;
            let mut ddl = Ddl::of_tables(DdlKind::Drop, [self.table()?]);
            while self.cursor.accept_sign(',')? {
                ddl.touch(self.table()?);
            }
            return Ok(Some(ddl.with_rows(RowsGone::All("DROP TABLE"))));
        }
        if cursor.accept_any(&["DATABASE", "SCHEMA"])? {
            cursor.accept_all(&["IF", "EXISTS"])?;
            let ddl = Ddl::of_database(DdlKind::Drop, cursor.name()?);
            return Ok(Some(ddl.with_rows(RowsGone::All("DROP DATABASE"))));
        }
        cursor.accept_any(&["ONLINE", "OFFLINE"])?;
        match cursor.accept("INDEX")? {
            true => self.index(&["IF", "EXISTS"]),
            false => Ok(None),
        }
    }

    fn rename(&mut self) -> Result<Option<Ddl>> {
        if !self.cursor.accept_any(&["TABLE", "TABLES"])? {
            return Ok(None);
        }
        self.cursor.accept_all(&["IF", "EXISTS"])?;
        let mut renames = Vec::new();
        loop {
            let from = self.table()?;
            self.wait()?;
            self.cursor.expect("TO")?;
            renames.push((from, self.table()?));
            if !self.cursor.accept_sign(',')? {
                return Ok(Some(Ddl::of_renames(DdlKind::Rename, renames)));
            }
        }
    }

    fn alter(&mut self) -> Result<Option<Ddl>> {
        let cursor = &mut self.cursor;
        let mut has_ignore = false;
        loop {
            if cursor.accept("IGNORE")? {
                has_ignore = true;
            } else if !cursor.accept_any(&["ONLINE", "OFFLINE"])? {
                break;
            }
        }
        if cursor.accept_any(&["DATABASE", "SCHEMA"])? {
            // Without a name it is the session's.
            let is_option = DATABASE_OPTIONS.iter().any(|word| cursor.is(word));
            let name = if is_option { self.database.to_owned() } else { cursor.name()? };
            return Ok(Some(Ddl::of_database(DdlKind::Alter, name)));
        }
        if !cursor.accept("TABLE")? {
            return Ok(None);
        }
        cursor.accept_all(&["IF", "EXISTS"])?;
        let table = self.table()?;
        let mut ddl = Ddl::of_tables(DdlKind::Alter, [table.clone()]);
        (ddl.rows, ddl.moved) = effect(self.cursor.clone(), has_ignore);
        let mut others = 0;
        // What the head says stands, whatever the rest is.
        let renamed = self.actions(&mut ddl, &mut others).ok().flatten();
        if let Some(to) = renamed {
            ddl.touch(to.clone());
            ddl.renames.push((table, to));
            if others == 0 {
                ddl.kind = DdlKind::Rename;
            }
        }
        Ok(Some(ddl))
    }

    /// The other tables that an ALTER TABLE names; gives the new name, if it has one. `others` counts what else it does.
    fn actions(&mut self, ddl: &mut Ddl, others: &mut usize) -> Result<Option<TableName>> {
        self.wait()?;
        let mut renamed = None;
        loop {
            let cursor = &mut self.cursor;
            if cursor.accept("RENAME")? {
                if ["COLUMN", "INDEX", "KEY"].iter().any(|word| cursor.is(word)) {
                    *others += 1;
                } else {
                    let _ = cursor.accept_any(&["TO", "AS"])? || cursor.accept_sign('=')?;
                    renamed = Some(self.table()?);
                }
            } else if !["ALGORITHM", "LOCK"].iter().any(|word| cursor.is(word)) {
                *others += 1;
                // EXCHANGE PARTITION p WITH TABLE t; MariaDB's CONVERT PARTITION p TO TABLE t, and CONVERT TABLE t TO ...
                let cursor = &self.cursor;
                let is_of_tables = ["EXCHANGE", "CONVERT"].iter().any(|word| cursor.is(word));
                while is_of_tables && !self.is_action_end() && !self.cursor.is("TABLE") {
                    self.cursor.bump()?;
                }
                if is_of_tables && self.cursor.accept("TABLE")? {
                    let other = self.table()?;
                    ddl.touch(other);
                }
            }
            while !self.is_action_end() {
                if !self.cursor.accept_parens()? {
                    self.cursor.bump()?;
                }
            }
            if !self.cursor.accept_sign(',')? {
                return Ok(renamed);
            }
        }
    }

    fn is_action_end(&self) -> bool {
        matches!(self.cursor.peek(), Token::Sign(',' | ';') | Token::End)
    }

    /// MariaDB's `WAIT 5` and `NOWAIT`.
    fn wait(&mut self) -> Result<()> {
        if self.cursor.accept("WAIT")? {
            self.cursor.bump()?;
        } else {
            self.cursor.accept("NOWAIT")?;
        }
        Ok(())
    }

    fn table(&mut self) -> Result<TableName> {
        let (database, table) = self.cursor.qualified_name()?;
        Ok(TableName { database: database.unwrap_or_else(|| self.database.to_owned()), table })
    }
}

/// Steps over MariaDB's `SET STATEMENT max_statement_time=1 FOR` before a statement. Gives whether there is one behind it.
pub(crate) fn skip_set_statement(cursor: &mut Cursor<'_>) -> Result<bool> {
    if !cursor.accept_all(&["SET", "STATEMENT"])? {
        return Ok(true);
    }
    while !cursor.is("FOR") {
        match cursor.peek() {
            Token::End => return Ok(false),
            Token::Sign('(') => cursor.skip_parens()?,
            _ => drop(cursor.bump()?),
        }
    }
    cursor.bump()?;
    Ok(true)
}

/// What may follow ALTER DATABASE in the place of a name.
pub(crate) const DATABASE_OPTIONS: [&str; 8] =
    ["CHARACTER", "CHARSET", "DEFAULT", "COLLATE", "ENCRYPTION", "READ", "COMMENT", "UPGRADE"];

#[cfg(test)]
mod tests {
    use super::DdlKind::{Alter, Create, Drop, Rename, Truncate};
    use super::*;
    use proptest::prelude::*;

    fn parse(sql: &str) -> Option<(DdlKind, String)> {
        let ddl = Ddl::parse(sql, "shop", QuoteMode::default()).unwrap()?;
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
        let ddl = Ddl::parse(sql, "shop", ansi).unwrap().unwrap();
        assert_eq!((&*ddl.tables[0].table, &*ddl.tables[1].table), ("a\\", "b\"c"));
        let plain = QuoteMode { no_backslash_escapes: true, ..QuoteMode::default() };
        let sql = "ALTER TABLE t COMMENT 'x\\', RENAME u";
        let ddl = Ddl::parse(sql, "shop", plain).unwrap().unwrap();
        assert_eq!(ddl.renames.len(), 1);
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for sql in ["CREATE TABLE", "DROP TABLE t,", "RENAME TABLE t", "CREATE TABLE 'x' (a INT)"] {
            let error = Ddl::parse(sql, "shop", QuoteMode::default()).unwrap_err();
            assert!(error.message().starts_with("the statement is not understood: "), "{sql}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_safe(
            sql in "(CREATE |ALTER |DROP |RENAME |TRUNCATE |SET STATEMENT )?(TABLE |INDEX |DATABASE )?[ a-c'\"`/*!#;,x().=\\\\-]{0,12}(RENAME|FOR|TO|ON)?.*"
        ) {
            let _ = Ddl::parse(&sql, "d", QuoteMode::default());
        }
    }
}
