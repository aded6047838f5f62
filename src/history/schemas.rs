//! Structures of many tables, from SQL text, by database and table.

use crate::binlog::{FormatDescription, TableMap};
use crate::charset::{Charset, Collation};
use crate::ddl::SqlServer;
use crate::ddl::charset_clause::CharsetClause;
use crate::ddl::create_table::CreateTable;
use crate::ddl::cursor::Cursor;
use crate::ddl::script::{between_statements, is_create_table};
use crate::ddl::token::{self, Token};
use crate::error::{Error, Result};
use crate::schema::TableSchema;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Table structures that were given as SQL text.
///
/// The error of a statement that cannot be parsed is returned with the first rows of its table, because a dump may contain more
/// tables than the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schemas {
    tables: BTreeMap<(String, String), GivenTable>,
    /// The defaults from CREATE DATABASE statements.
    databases: BTreeMap<String, CharsetClause>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum GivenTable {
    Table(Box<CreateTable>),
    /// The reason why it cannot be used.
    Refused(String),
}

impl Schemas {
    /// True if no structure was given.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// True if the structure of the table was given.
    pub fn has(&self, database: &str, table: &str) -> bool {
        self.tables.contains_key(&(database.to_owned(), table.to_owned()))
    }

    /// The usable structures: database, table, structure.
    pub(super) fn tables(&self) -> impl Iterator<Item = (&str, &str, &CreateTable)> {
        self.tables.iter().filter_map(|((database, table), given)| match given {
            GivenTable::Table(create) => Some((database.as_str(), table.as_str(), &**create)),
            GivenTable::Refused(_) => None,
        })
    }

    /// True for a MERGE table; `None` if its structure was not given.
    pub fn is_merge(&self, database: &str, table: &str) -> Option<bool> {
        match self.tables.get(&(database.to_owned(), table.to_owned()))? {
            GivenTable::Table(create) => Some(create.is_merge()),
            GivenTable::Refused(_) => None,
        }
    }

    /// Adds the CREATE TABLE of one table. Its name in the log is `database`.`table`; the name in the statement is ignored.
    ///
    /// # Errors
    /// The text is not one CREATE TABLE statement that is understood.
    pub fn add_table(&mut self, database: &str, table: &str, text: impl AsRef<[u8]>) -> Result<()> {
        let mut own = Self::default();
        own.add_statements(text.as_ref(), Some(database))
            .map_err(|error| error.context(format_args!("the structure of {database}.{table}")))?;
        let mut given = own.tables.into_values();
        let (Some(given), None) = (given.next(), given.next()) else {
            return Err(Error::config(format!(
                "the structure of {database}.{table} must be one CREATE TABLE statement, as SHOW CREATE TABLE prints it"
            )));
        };
        let mut create = match given {
            GivenTable::Table(create) => create,
            GivenTable::Refused(why) => return Err(Error::schema(why)),
        };
        create.table = table.into();
        let key = (database.to_owned(), table.to_owned());
        if self.tables.insert(key, GivenTable::Table(create)).is_some() {
            return Err(given_twice(database, table));
        }
        Ok(())
    }

    /// Adds the tables of a dump: CREATE TABLE statements with a database, or after USE or the first lines of a dump.
    ///
    /// # Errors
    /// The text contains no CREATE TABLE, or one without a database, or a table twice; or it is not complete.
    pub fn add_text(&mut self, text: impl AsRef<[u8]>) -> Result<()> {
        let before = self.tables.len();
        self.add_statements(text.as_ref(), None)?;
        match self.tables.len() == before {
            true => Err(Error::config(
                "the text of table structures holds no CREATE TABLE statement: give what SHOW CREATE TABLE or \
                 mysqldump --no-data prints",
            )),
            false => Ok(()),
        }
    }

    /// The structure of a table in the log, completed by the given one; unchanged if none was given.
    pub fn complete(
        &self,
        log: TableSchema,
        map: &TableMap<'_>,
        format: &FormatDescription,
    ) -> Result<TableSchema> {
        let key = (log.database.to_string(), log.table.to_string());
        let create = match self.tables.get(&key) {
            None => return Ok(log),
            Some(GivenTable::Table(create)) => create,
            Some(GivenTable::Refused(why)) => return Err(Error::schema(why)),
        };
        let server = SqlServer::from(format);
        let database_default = match self.databases.get(&key.0) {
            Some(clause) if !create.is_abridged => server.collation_of(clause),
            _ => None,
        };
        let name = log.full_name();
        create
            .completed(log, map, format, database_default)?
            .map_err(|what| TableSchema::does_not_fit(&name, &what))
    }

    /// ENUM and SET columns, as database, table and column, that may have wrong members: servers print `?` for characters beyond
    /// U+FFFF.
    pub fn doubtful_members(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.tables.iter().flat_map(|((database, table), given)| {
            let columns = match given {
                GivenTable::Table(create) => create.columns.as_slice(),
                GivenTable::Refused(_) => &[],
            };
            columns
                .iter()
                .filter(|column| column.data_type.members().iter().any(|m| m.contains('?')))
                .map(move |column| (database.as_str(), table.as_str(), &*column.name))
        })
    }

    /// The advice for a table whose structure the log does not contain completely.
    pub fn advice(&self, database: &str, table: &str) -> String {
        let key = (database.to_owned(), table.to_owned());
        if self.is_empty() || self.tables.contains_key(&key) {
            return "follow the structures of tables with ⟦history⟧, or give the table's CREATE TABLE statement with ⟦schemas⟧".into();
        }
        let is_near = |(d, t): &&(String, String)| {
            d.eq_ignore_ascii_case(database) && t.eq_ignore_ascii_case(table)
        };
        match self.tables.keys().find(is_near) {
            None => {
                "add its CREATE TABLE statement to ⟦schemas⟧, which is without this table".into()
            }
            Some((d, t)) => format!("call {d}.{t} in ⟦schemas⟧ by its name in the log"),
        }
    }

    /// `alone`: the database of the only table, whose statement does not need one.
    fn add_statements(&mut self, bytes: &[u8], alone: Option<&str>) -> Result<()> {
        if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
            return Err(Error::config(
                "the text of table structures is UTF-16, as some shells write what a program prints: let mysqldump \
                 write it (--result-file)",
            ));
        }
        // A dump contains the bytes of binary defaults unchanged. In a name or a member they are an error of the table.
        let text = String::from_utf8_lossy(bytes);
        let is_lossy = matches!(text, Cow::Owned(_));
        let located = |cursor: Option<&Cursor<'_>>, error: token::SyntaxError| {
            let line = cursor.map_or(1, |cursor| cursor.line_of(&error));
            Error::config(format!("line {line} of the table structures: {}", error.message))
        };
        let mut cursor = Cursor::new(&text).map_err(|error| located(None, error))?;
        let mut database = alone.map(ToOwned::to_owned);
        while *cursor.peek() != Token::End {
            if let Some(dumped) = cursor.take_dumped()
                && alone.is_none()
            {
                database = Some(dumped.to_owned());
            }
            let before = cursor.clone();
            self.add_statement(&mut cursor, &mut database)
                .map_err(|error| located(Some(&before), error))??;
        }
        if is_lossy {
            self.refuse_unreadable();
        }
        Ok(())
    }

    fn refuse_unreadable(&mut self) {
        for ((database, table), given) in &mut self.tables {
            if matches!(given, GivenTable::Table(create) if create.has_unreadable_names()) {
                *given = GivenTable::Refused(format!(
                    "the structure of {database}.{table}: a name or a member in it is not UTF-8: give a text in UTF-8"
                ));
            }
        }
    }

    /// Reads one statement and its end. The outer error is a syntax error.
    fn add_statement(
        &mut self,
        cursor: &mut Cursor<'_>,
        database: &mut Option<String>,
    ) -> token::Result<Result<()>> {
        if between_statements(cursor, database)? {
            return Ok(Ok(()));
        }
        if is_create_table(cursor) {
            cursor.expect("CREATE")?;
            return self.create_table(cursor, database.as_deref());
        }
        if cursor.accept("CREATE")? {
            if cursor.accept_any(&["DATABASE", "SCHEMA"])? {
                return self.create_database(cursor).map(Ok);
            }
        } else if cursor.accept("DROP")? {
            if cursor.accept_any(&["TABLE", "TABLES"])? {
                self.drop_tables(cursor, database.as_deref())?;
            }
        } else if cursor.accept_all(&["ALTER", "TABLE"])? {
            self.alter_table(cursor, database.as_deref())?;
        } else if cursor.accept_all(&["RENAME", "TABLE"])? {
            let name = cursor.qualified_name()?;
            self.refuse(database.as_deref(), name, "it is renamed after its CREATE TABLE");
        }
        cursor.skip_statement()?;
        Ok(Ok(()))
    }

    fn create_table(
        &mut self,
        cursor: &mut Cursor<'_>,
        database: Option<&str>,
    ) -> token::Result<Result<()>> {
        let head = CreateTable::parse_head(cursor)?;
        if head.is_temporary {
            cursor.skip_statement()?;
            return Ok(Ok(()));
        }
        let table = head.table.clone();
        let Some(database) = head.database.as_deref().or(database).map(ToOwned::to_owned) else {
            return Ok(Err(Error::config(format!(
                "CREATE TABLE {table} names no database: put USE database; before it, or give a dict of \
                 'database.table' to CREATE TABLE text"
            ))));
        };
        let given = match CreateTable::parse_body(cursor, head) {
            Ok(create) => GivenTable::Table(Box::new(create)),
            Err(error) => {
                let line = cursor.line_of(&error);
                let why = &error.message;
                cursor.skip_statement()?;
                GivenTable::Refused(format!("CREATE TABLE {database}.{table}, line {line}: {why}"))
            }
        };
        cursor.accept_sign(';')?;
        let key = (database, table);
        if self.tables.contains_key(&key) {
            return Ok(Err(given_twice(&key.0, &key.1)));
        }
        self.tables.insert(key, given);
        Ok(Ok(()))
    }

    fn create_database(&mut self, cursor: &mut Cursor<'_>) -> token::Result<()> {
        cursor.accept_all(&["IF", "NOT", "EXISTS"])?;
        let name = cursor.name()?;
        let mut clause = CharsetClause::default();
        while !matches!(cursor.peek(), Token::End | Token::Sign(';')) {
            if !clause.named(cursor)? {
                cursor.bump()?;
            }
        }
        self.databases.insert(name, clause);
        Ok(())
    }

    fn drop_tables(
        &mut self,
        cursor: &mut Cursor<'_>,
        database: Option<&str>,
    ) -> token::Result<()> {
        cursor.accept_all(&["IF", "EXISTS"])?;
        loop {
            let (own, table) = cursor.qualified_name()?;
            if let Some(database) = own.as_deref().or(database) {
                self.tables.remove(&(database.to_owned(), table));
            }
            if !cursor.accept_sign(',')? {
                return Ok(());
            }
        }
    }

    fn alter_table(
        &mut self,
        cursor: &mut Cursor<'_>,
        database: Option<&str>,
    ) -> token::Result<()> {
        cursor.accept_all(&["IF", "EXISTS"])?;
        let name = cursor.qualified_name()?;
        if !cursor.are(&["DISABLE", "KEYS"]) && !cursor.are(&["ENABLE", "KEYS"]) {
            self.refuse(
                database,
                name,
                "an ALTER TABLE follows its CREATE TABLE, and is not applied: give what SHOW CREATE TABLE prints",
            );
        }
        Ok(())
    }

    fn refuse(
        &mut self,
        database: Option<&str>,
        (own, table): (Option<String>, String),
        why: &str,
    ) {
        let Some(database) = own.as_deref().or(database) else { return };
        if let Some(given) = self.tables.get_mut(&(database.to_owned(), table.clone())) {
            *given = GivenTable::Refused(format!("the structure of {database}.{table}: {why}"));
        }
    }
}

impl SqlServer {
    /// The collation that the clause of a database names.
    fn collation_of(self, clause: &CharsetClause) -> Option<Collation> {
        match (&clause.collation, clause.charset) {
            (Some(name), charset) => Collation::from_name(name, charset, self.is_mariadb),
            (None, charset) => {
                charset.and_then(|c: Charset| c.default_collation(self.is_mariadb, self.version))
            }
        }
    }
}

fn given_twice(database: &str, table: &str) -> Error {
    Error::config(format!("the structure of {database}.{table} is given twice"))
}
