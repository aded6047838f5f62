//! Structures that do not come from the log: a history begins with them, and they complete unknown tables.

use super::catalog::Catalog;
use super::secrets::without_secrets;
use crate::ddl::DdlSession;
use crate::error::Result;

/// The structures of tables at a position, as a script of CREATE statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    /// `CREATE DATABASE`, `USE` and `CREATE TABLE` statements, as `mysqldump --no-data` prints them.
    pub script: String,
    /// The session with which they are read.
    pub session: DdlSession,
    /// The tables that it describes.
    pub scope: Scope,
}

/// The tables that a baseline describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// All tables: those that are not in the script do not exist.
    AllTables,
    /// These tables, as database and table. Those that are not in the script do not exist. Other tables are unchanged.
    Tables(Vec<(String, String)>),
}

impl Baseline {
    /// A baseline of all tables.
    pub fn of_all_tables(script: impl Into<String>, session: DdlSession) -> Self {
        let script = without_secrets(&script.into(), session.quote_mode()).into_owned();
        Self { script, session, scope: Scope::AllTables }
    }

    /// The tables in the script.
    ///
    /// # Errors
    /// The script is not valid: an [`ErrorKind::Config`](crate::ErrorKind::Config) that names the line.
    pub fn catalog(&self) -> Result<Catalog> {
        Catalog::from_script(&self.script, None, &self.session)
    }

    /// Applies it to the catalog before it.
    pub(super) fn enter(&self, catalog: &mut Catalog) -> Result<()> {
        let own = self.catalog()?;
        match &self.scope {
            Scope::AllTables => *catalog = own,
            Scope::Tables(names) => {
                for (database, table) in names {
                    catalog.replace_table(database, table, own.find(database, table).cloned());
                }
            }
        }
        Ok(())
    }
}
