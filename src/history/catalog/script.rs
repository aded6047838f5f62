//! Prints a catalog as a SQL script, and reads scripts: its own, and the output of SHOW CREATE TABLE and of dumps.

use super::super::logged_ddl::LoggedDdl;
use super::definition::TableDefinition;
use super::settings::Settings;
use super::{Catalog, TableState};
use crate::ddl::create_table::CreateTable;
use crate::ddl::cursor::Cursor;
use crate::ddl::script::{between_statements, is_create_table};
use crate::ddl::token::{self, QuoteMode, Token};
use crate::ddl::{DdlSession, SqlServer, TableName};
use crate::error::{Error, Result};
use crate::position::Position;
use crate::schema::quoted_name;
use std::fmt::Write;
use std::sync::Arc;

impl Catalog {
    /// All databases and the known tables, as a script that every server of the same kind can run. [`Self::from_script`] reads it
    /// without loss.
    pub fn to_script(&self) -> String {
        let mut script = self.header();
        for name in self.databases() {
            self.print_database(name, &mut script);
        }
        script
    }

    /// The script of one database; `None` if there is none of that name.
    pub fn database_script(&self, database: &str) -> Option<String> {
        let name = self.folded(database);
        self.database(&name)?;
        let mut script = self.header();
        self.print_database(&name, &mut script);
        Some(script)
    }

    /// The first line of a script: properties that the statements do not contain. It can also be put before the statements of
    /// a server.
    pub fn script_header(server: SqlServer, lower_case_table_names: u8) -> String {
        let kind = if server.is_mariadb { "MariaDB" } else { "MySQL" };
        let (major, minor, patch) = server.version;
        format!("{HEADER}{kind} {major}.{minor}.{patch}{CASE}{lower_case_table_names}\n")
    }

    fn header(&self) -> String {
        match self.server {
            Some(server) => Self::script_header(server, self.lower_case_table_names),
            None => format!("{HEADER}no server{CASE}{}\n", self.lower_case_table_names),
        }
    }

    fn print_database(&self, name: &str, script: &mut String) {
        let Some(database) = self.database(name) else { return };
        let is_mariadb = self.server.is_some_and(|server| server.is_mariadb);
        let quoted = quoted_name(name);
        let clause = database.collation.and_then(|collation| {
            let (charset, name) = (collation.charset().name(), collation.name(is_mariadb)?);
            Some(format!("/*!40100 DEFAULT CHARACTER SET {charset} COLLATE {name} */"))
        });
        let clause = clause.unwrap_or_else(|| "/*!99998 CHARSET_UNKNOWN */".into());
        let _ = write!(script, "\nCREATE DATABASE {quoted} {clause};\nUSE {quoted};\n");
        for state in database.tables.values() {
            if let TableState::Known(definition) = state {
                let _ = writeln!(script, "{};", definition.to_sql(is_mariadb));
            }
        }
    }

    /// Reads a script: its own, the output of SHOW CREATE TABLE, or a dump without data, of both servers. Other statements are
    /// applied like those of a log. `database`: the database of tables before the first USE.
    ///
    /// If the statement of a table cannot be followed, the structure of the table is unknown.
    ///
    /// # Errors
    /// The text breaks off, or a table is without a database: an [`ErrorKind::Config`](crate::ErrorKind::Config) that names
    /// the line.
    pub fn from_script(text: &str, database: Option<&str>, session: &DdlSession) -> Result<Self> {
        let mut script = Script {
            catalog: Self::new(session.server, 0),
            database: database.map(ToOwned::to_owned),
            session: session.clone(),
            is_printed: false,
        };
        script.header(text);
        let located = |cursor: Option<&Cursor<'_>>, error: token::SyntaxError| {
            let line = cursor.map_or(1, |cursor| cursor.line_of(&error));
            Error::config(format!("line {line} of the table structures: {}", error.message))
        };
        // The server that printed it reads all of its comments.
        let mode = QuoteMode { server: None, ..script.session.quote_mode() };
        let mut cursor = Cursor::with_mode(text, mode).map_err(|error| located(None, error))?;
        while *cursor.peek() != Token::End {
            if let Some(dumped) = cursor.take_dumped()
                && database.is_none()
            {
                script.database = Some(dumped.to_owned());
            }
            let before = cursor.clone();
            script
                .statement(text, &mut cursor)
                .map_err(|error| located(Some(&before), error))??;
        }
        Ok(script.catalog)
    }
}

struct Script {
    catalog: Catalog,
    database: Option<String>,
    session: DdlSession,
    /// True if a server or this module printed it.
    is_printed: bool,
}

impl Script {
    /// Reads the first line of an own script.
    fn header(&mut self, text: &str) {
        let line = text.lines().next().unwrap_or_default();
        let Some((server, case)) = line.strip_prefix(HEADER).and_then(|l| l.split_once(CASE))
        else {
            return;
        };
        self.is_printed = true;
        self.catalog.lower_case_table_names = case.trim().parse().unwrap_or(0);
        self.catalog.server = server_of(server);
        if let Some(server) = self.catalog.server {
            self.session.server = server;
        }
    }

    fn statement(&mut self, text: &str, cursor: &mut Cursor<'_>) -> token::Result<Result<()>> {
        if between_statements(cursor, &mut self.database)? {
            return Ok(Ok(()));
        }
        if is_create_table(cursor) {
            cursor.expect("CREATE")?;
            return self.create_table(cursor);
        }
        let start = cursor.at();
        cursor.skip_statement_end()?;
        let statement = text.get(start..cursor.at()).unwrap_or_default();
        cursor.accept_sign(';')?;
        self.follow(statement);
        Ok(Ok(()))
    }

    /// Applies a statement like one of a log.
    fn follow(&mut self, statement: &str) {
        let ddl = LoggedDdl {
            position: Position::default(),
            timestamp: 0,
            database: self.database.clone().unwrap_or_default(),
            statement: statement.to_owned(),
            session: self.session.clone(),
        };
        let server = self.catalog.server;
        let statement = ddl.parse();
        if statement.changes_structures() {
            self.catalog.apply_statement(&statement, &ddl.session, &ddl.position);
        }
        self.catalog.server = server;
    }

    fn create_table(&mut self, cursor: &mut Cursor<'_>) -> token::Result<Result<()>> {
        let mut head = CreateTable::parse_head(cursor)?;
        if head.is_temporary {
            cursor.skip_statement()?;
            return Ok(Ok(()));
        }
        let table = self.catalog.folded(&head.table);
        let Some(database) = head.database.take().or_else(|| self.database.clone()) else {
            return Ok(Err(Error::config(format!(
                "CREATE TABLE {table} names no database: put USE database; before it"
            ))));
        };
        let name = TableName { database: self.catalog.folded(&database), table };
        head.table.clone_from(&name.table);
        let line = cursor.line();
        let mut copied = cursor.clone();
        let is_like = copied.accept("LIKE")? || copied.accept_sign('(')? && copied.is("LIKE");
        let parsed = if is_like {
            let like = copied.accept("LIKE").and_then(|_| copied.qualified_name())?;
            cursor.skip_statement_end()?;
            let database = like.0.unwrap_or(database);
            match self.catalog.find(&database, &like.1) {
                Some(TableState::Known(like)) => {
                    let mut copy = TableDefinition::clone(like);
                    copy.become_copy(&name.table, self.session.server);
                    Ok(copy)
                }
                _ => Err(format!("{database}.{} is not known", like.1)),
            }
        } else {
            match CreateTable::parse_body(cursor, head) {
                Ok(create) => {
                    let collation = self.catalog.database(&name.database).and_then(|d| d.collation);
                    let settings = Settings {
                        session: &self.session,
                        database: collation,
                        current: None,
                        makes_keys: !self.is_printed,
                        is_script: true,
                    };
                    TableDefinition::of(create, &settings)
                }
                Err(error) => {
                    cursor.skip_statement_end()?;
                    Err(error.message)
                }
            }
        };
        cursor.accept_sign(';')?;
        let state = match parsed {
            Ok(definition) => TableState::Known(Arc::new(definition)),
            Err(why) => TableState::Unknown(
                format!("CREATE TABLE {name}, line {line} of the script: {why}").into(),
            ),
        };
        self.catalog.put(&name, state);
        Ok(Ok(()))
    }
}

/// `MySQL 9.7.4`
fn server_of(text: &str) -> Option<SqlServer> {
    let (kind, version) = text.split_once(' ')?;
    let mut numbers = version.split('.').map(str::parse);
    let mut next = || numbers.next()?.ok();
    let version = (next()?, next()?, next()?);
    let is_mariadb = match kind {
        "MariaDB" => true,
        "MySQL" => false,
        _ => return None,
    };
    Some(SqlServer { is_mariadb, version })
}

const HEADER: &str = "-- Table structures of ";
const CASE: &str = ", lower_case_table_names=";
