//! The tables that statements create, drop or rename: another table may have the name of a table afterwards.

use super::logged_statement::LoggedStatement;
use crate::ddl::{DdlKind, TableName};
use crate::position::LoadProgress;

/// The progress of an initial load after a statement that replaces tables; `None` if it is the same.
pub type OnReplaced = Box<dyn Fn(&LoadProgress, &ReplacedTables) -> Option<LoadProgress> + Send>;

/// Tables that are others after a statement than before it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplacedTables {
    tables: Vec<TableName>,
    databases: Vec<String>,
    /// Old and new names.
    renames: Vec<(TableName, TableName)>,
    /// True after a statement that cannot be read.
    may_be_all: bool,
}

impl ReplacedTables {
    /// The tables of a statement.
    pub(super) fn of(statement: &LoggedStatement) -> Self {
        let mut replaced = Self::default();
        match statement.parsed.ddl() {
            Ok(Some(ddl)) => {
                if matches!(ddl.kind, DdlKind::Create | DdlKind::Drop) {
                    if ddl.tables.is_empty() {
                        replaced.databases.push(ddl.database);
                    }
                    replaced.tables = ddl.tables;
                }
                replaced.renames = ddl.renames;
            }
            Ok(None) => {}
            Err(_) => replaced.may_be_all = true,
        }
        replaced
    }

    /// True if another table may have the name of a table. Letter case is ignored.
    pub fn contains(&self, database: &str, table: &str) -> bool {
        let is_it = |name: &TableName| {
            name.database.eq_ignore_ascii_case(database) && name.table.eq_ignore_ascii_case(table)
        };
        self.may_be_all
            || self.databases.iter().any(|name| name.eq_ignore_ascii_case(database))
            || self.tables.iter().any(is_it)
            || self.renames.iter().any(|(from, to)| is_it(from) || is_it(to))
    }

    /// The old and the new names of renamed tables.
    pub fn renames(&self) -> &[(TableName, TableName)] {
        &self.renames
    }
}

#[cfg(test)]
impl ReplacedTables {
    /// The tables of a statement in a database.
    pub(crate) fn of_text(text: &str, database: &str) -> Self {
        use crate::ddl::{DdlSession, ParsedStatement, SqlServer};
        let session = DdlSession::new(SqlServer { is_mariadb: false, version: (8, 4, 0) });
        let parsed = ParsedStatement::parse(text, database, session.quote_mode()).into();
        let (database, text) = (database.to_owned(), text.to_owned());
        Self::of(&LoggedStatement { thread_id: 1, database, text, session, parsed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_replace_tables() {
        for (text, replaces) in [
            ("RENAME TABLE a TO old, n TO a", true),
            ("ALTER TABLE a RENAME TO b", true),
            ("DROP TABLE a", true),
            ("CREATE TABLE IF NOT EXISTS `A` (id INT)", true),
            ("DROP DATABASE shop", true),
            ("CREATE TABLE a (id INT", true),
            ("ALTER TABLE a ADD COLUMN v INT", false),
            ("TRUNCATE TABLE a", false),
            ("DROP TABLE other.a, b", false),
            ("GRANT SELECT ON *.* TO a", false),
        ] {
            assert_eq!(
                ReplacedTables::of_text(text, "shop").contains("shop", "a"),
                replaces,
                "{text}"
            );
        }
        let renamed = ReplacedTables::of_text("RENAME TABLE a TO x.old, b TO c", "shop");
        let names: Vec<_> = renamed.renames().iter().map(|(_, to)| to.to_string()).collect();
        assert_eq!(names, ["x.old", "shop.c"]);
        assert!(!renamed.contains("shop", "old"));
    }
}
