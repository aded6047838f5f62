//! Queries the structures of tables, one by one.

use super::LOG;
use super::touched::Touched;
use crate::cancel::CancelToken;
use crate::change::TableFilter;
use crate::ddl::{SqlServer, TableName};
use crate::error::{Error, Result};
use crate::history::Catalog;
use crate::net::Server;
use crate::protocol::TextRow;
use crate::schema::quoted_name;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// The structures that have been read.
pub(super) struct Structures<'f> {
    filter: &'f TableFilter,
    /// Character set and collation, by database.
    databases: BTreeMap<String, (String, String)>,
    /// The text of CREATE TABLE, or the reason why there is none, by database and table.
    tables: BTreeMap<(String, String), Result<String, String>>,
    pub(super) lower_case_table_names: u8,
    pub(super) sees_all: Option<bool>,
}

/// Sets the session so that the server prints complete structures, and has a time limit for locks.
pub(super) fn prepare(server: &mut Server) -> Result<()> {
    let connection = server.connection();
    for sql in [
        "SET SESSION sql_mode = '', sql_quote_show_create = 1",
        "SET SESSION lock_wait_timeout = 30",
        // The log contains a primary key that MySQL generated; since 8.0.30.
        "SET SESSION show_gipk_in_create_table_and_information_schema = ON",
    ] {
        match connection.query(sql) {
            Err(error) if error.server_code() == Some(UNKNOWN_VARIABLE) => {}
            answer => drop(answer?),
        }
    }
    Ok(())
}

impl<'f> Structures<'f> {
    /// Starts without structures.
    pub(super) fn new(server: &mut Server, filter: &'f TableFilter) -> Result<Self> {
        let connection = server.connection();
        let case = connection.query_value("SELECT @@GLOBAL.lower_case_table_names")?;
        let grants = connection.query("SHOW GRANTS")?;
        Ok(Self {
            filter,
            databases: BTreeMap::new(),
            tables: BTreeMap::new(),
            lower_case_table_names: case.and_then(|case| case.parse().ok()).unwrap_or_default(),
            sees_all: sees_all(grants.iter().filter_map(|row| cell(row, 0))),
        })
    }

    /// Reads the structures of touched tables again.
    pub(super) fn read(
        &mut self,
        server: &mut Server,
        touched: &Touched,
        cancel: &CancelToken,
    ) -> Result<()> {
        let (databases, mut tables) = match touched {
            // Names in other letter case may be names of the same tables.
            Touched::Some { .. } if self.lower_case_table_names != 0 => (None, Vec::new()),
            Touched::Everything => (None, Vec::new()),
            Touched::Some { databases, tables } => (Some(databases), tables.clone()),
        };
        let is_touched = |name: &str| databases.is_none_or(|touched| touched.contains(name));
        self.databases.retain(|name, _| !is_touched(name));
        self.tables.retain(|(database, table), _| {
            let is_of = |name: &TableName| name.database == *database && name.table == *table;
            !is_touched(database) && !tables.iter().any(is_of)
        });
        if databases.is_none_or(|touched| !touched.is_empty()) {
            self.list_databases(server, &is_touched)?;
            let listed = self.list_tables(server, &is_touched)?;
            tables.retain(|name| !is_touched(&name.database));
            tables.extend(listed);
        }
        tables.retain(|name| {
            selects_database(self.filter, &name.database)
                && self.filter.accepts(&name.database, &name.table)
        });
        let mut logged = Instant::now();
        for (number, name) in tables.iter().enumerate() {
            cancel.check()?;
            if logged.elapsed() >= PROGRESS_INTERVAL {
                log::info!(target: LOG, "structures read: {number} of {} tables", tables.len());
                logged = Instant::now();
            }
            if let Some(structure) = structure(server, name)? {
                let key = (name.database.clone(), name.table.clone());
                self.tables.insert(key, structure);
            }
        }
        Ok(())
    }

    fn list_databases(
        &mut self,
        server: &mut Server,
        is_touched: &dyn Fn(&str) -> bool,
    ) -> Result<()> {
        let rows = server.connection().query(
            "SELECT SCHEMA_NAME, DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA",
        )?;
        for row in rows {
            let [Some(name), Some(charset), Some(collation)] =
                <[_; 3]>::try_from(row).map_err(|_| odd())?
            else {
                return Err(odd());
            };
            if is_touched(&name) && selects_database(self.filter, &name) {
                self.databases.insert(name, (charset, collation));
            }
        }
        Ok(())
    }

    fn list_tables(
        &self,
        server: &mut Server,
        is_touched: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<TableName>> {
        let mut names = Vec::new();
        for database in self.databases.keys().filter(|name| is_touched(name)) {
            let sql = format!("SHOW FULL TABLES FROM {}", quoted_name(database));
            let rows = match server.connection().query(&sql) {
                Err(error) if error.server_code() == Some(NO_SUCH_DATABASE) => continue,
                answer => answer?,
            };
            for row in rows {
                let [Some(table), Some(kind)] = <[_; 2]>::try_from(row).map_err(|_| odd())? else {
                    return Err(odd());
                };
                // A table, or MariaDB's SEQUENCE or SYSTEM VERSIONED table; not a temporary table
                // of this connection.
                if !kind.contains("VIEW") && !kind.contains("TEMPORARY") {
                    names.push(TableName { database: database.clone(), table });
                }
            }
        }
        Ok(names)
    }

    /// The number of tables that have a structure.
    pub(super) fn len(&self) -> usize {
        self.tables.values().filter(|statement| statement.is_ok()).count()
    }

    /// Returns all structures as a script.
    pub(super) fn script(&self, server: SqlServer) -> String {
        let mut script = Catalog::script_header(server, self.lower_case_table_names);
        for (database, (charset, collation)) in &self.databases {
            let name = quoted_name(database);
            // Writing to a String cannot fail.
            let _ = writeln!(
                script,
                "CREATE DATABASE {name} DEFAULT CHARACTER SET {charset} COLLATE {collation};\nUSE {name};"
            );
            let first = (database.clone(), String::new());
            let own = self.tables.range(first..).take_while(|((owner, _), _)| owner == database);
            for statement in own.filter_map(|(_, statement)| statement.as_ref().ok()) {
                let _ = writeln!(script, "{statement};");
            }
        }
        script
    }

    /// Returns the tables without a structure, each with the reason.
    pub(super) fn into_missing(self) -> Vec<(TableName, String)> {
        let missing =
            |((database, table), statement): ((String, String), Result<String, String>)| {
                Some((TableName { database, table }, statement.err()?))
            };
        self.tables.into_iter().filter_map(missing).collect()
    }
}

/// True if tables of this database may be selected: those of the server itself only if a pattern names their database.
pub fn selects_database(filter: &TableFilter, database: &str) -> bool {
    let is_own = SYSTEM_DATABASES.iter().any(|own| own.eq_ignore_ascii_case(database));
    filter.accepts_database(database) && (!is_own || filter.names_database(database))
}

/// The output of SHOW CREATE TABLE, or the reason why there is none; `None` if the table does not
/// exist any more.
pub(super) fn structure(
    server: &mut Server,
    name: &TableName,
) -> Result<Option<Result<String, String>>> {
    match show_create_table(server, name) {
        // A view may have replaced the table.
        Ok(statement) => Ok(statement.map(Ok)),
        Err(error) => match error.server_code() {
            Some(NO_SUCH_TABLE | NO_SUCH_DATABASE) => Ok(None),
            Some(LOCK_WAIT_TIMEOUT) => Err(error
                .context(name)
                .advise("a long statement has locked the table: try again when it has ended")),
            Some(_) => Ok(Some(Err(error.message().to_owned()))),
            None => Err(error),
        },
    }
}

/// The CREATE TABLE statement of a table; `None` for a view.
pub(super) fn show_create_table(server: &mut Server, name: &TableName) -> Result<Option<String>> {
    let sql =
        format!("SHOW CREATE TABLE {}.{}", quoted_name(&name.database), quoted_name(&name.table));
    let rows = server.connection().query(&sql)?;
    let statement = rows.into_iter().next().and_then(|row| row.into_iter().nth(1)).flatten();
    Ok(statement.filter(|text| text.starts_with("CREATE TABLE ")))
}

/// True if one of the grants is SELECT on all tables.
fn sees_all<'g>(grants: impl Iterator<Item = &'g str>) -> Option<bool> {
    let mut has_roles = false;
    for grant in grants {
        match grant.split_once(" ON ") {
            None => has_roles = true,
            Some((privileges, place)) if place.starts_with("*.* ") => {
                if ["SELECT", "ALL PRIVILEGES"].iter().any(|one| privileges.contains(one)) {
                    return Some(true);
                }
            }
            Some(_) => {}
        }
    }
    if has_roles { None } else { Some(false) }
}

fn cell(row: &TextRow, index: usize) -> Option<&str> {
    row.get(index)?.as_deref()
}

pub(super) fn odd() -> Error {
    Error::malformed("the server's list of tables does not have the requested form")
}

/// The databases of the server itself.
const SYSTEM_DATABASES: [&str; 4] = ["mysql", "sys", "information_schema", "performance_schema"];

/// The interval between log messages about the progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(3);

const NO_SUCH_DATABASE: u16 = 1049;
const NO_SUCH_TABLE: u16 = 1146;
const UNKNOWN_VARIABLE: u16 = 1193;
const LOCK_WAIT_TIMEOUT: u16 = 1205;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_sees_all_tables() {
        let sees = |grants: &[&str]| sees_all(grants.iter().copied());
        assert_eq!(sees(&["GRANT REPLICATION SLAVE ON *.* TO `r`@`%`"]), Some(false));
        assert_eq!(
            sees(&["GRANT USAGE ON *.* TO `r`@`%`", "GRANT SELECT ON `d`.* TO `r`@`%`"]),
            Some(false)
        );
        assert_eq!(sees(&["GRANT SELECT, REPLICATION SLAVE ON *.* TO `r`@`%`"]), Some(true));
        assert_eq!(sees(&["GRANT ALL PRIVILEGES ON *.* TO `r`@`%` WITH GRANT OPTION"]), Some(true));
        assert_eq!(sees(&["GRANT USAGE ON *.* TO `r`@`%`", "GRANT `reader`@`%` TO `r`@`%`"]), None);
    }
}
