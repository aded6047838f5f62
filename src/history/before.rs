//! The tables at an earlier position, from those at a later one and the statements between the two.

use super::catalog::Catalog;
use super::logged_ddl::ParsedDdl;
use crate::ddl::{DdlKind, TableName};
use crate::schema::folded;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Returns the tables at an earlier position. `catalog` contains those at a later one, and `statements` are all statements that
/// changed tables between the two.
///
/// A table that no statement names is the same, except for the names of parents in its foreign keys. A table that was created
/// between the two did not exist. The structure of any other table is unknown, up to a statement that creates it again.
pub fn tables_before(catalog: &Catalog, statements: &[ParsedDdl]) -> Catalog {
    let mut past = Past::default();
    for ddl in statements.iter().filter(|ddl| ddl.parsed.changes_structures()) {
        past.take(ddl, catalog.lower_case_table_names() != 0);
    }
    let Past { tables, databases, altered, lost, renames } = past;
    let mut before = catalog.clone();
    for (from, to) in renames.iter().rev() {
        before.rename_parent(to, from);
    }
    before.retain(&|database, table| {
        let name = (database.to_owned(), table.to_owned());
        !tables.contains_key(&name) && !databases.contains(database)
    });
    for ((database, table), state) in &tables {
        if let Some(why) = state {
            before.set_unknown(database, table, Arc::clone(why));
        }
    }
    for database in &altered {
        before.forget_default(database);
    }
    if let Some(why) = lost {
        let all: BTreeSet<_> =
            before.tables().map(|(d, t, _)| (d.to_owned(), t.to_owned())).collect();
        for (database, table) in all {
            before.set_unknown(&database, &table, Arc::clone(&why));
        }
    }
    before
}

/// The facts that statements show about the time before them.
#[derive(Default)]
struct Past {
    /// The reason why the table may have been another one; `None` if it did not exist.
    tables: BTreeMap<(String, String), Option<Arc<str>>>,
    /// Databases whose tables did not exist or were different, except those above.
    databases: BTreeSet<String>,
    /// Databases that had other defaults.
    altered: BTreeSet<String>,
    /// The reason why no table is known.
    lost: Option<Arc<str>>,
    /// The names of tables before and after, in order. Foreign keys contain them.
    renames: Vec<(TableName, TableName)>,
}

impl Past {
    fn take(&mut self, ddl: &ParsedDdl, folds: bool) {
        let ParsedDdl { logged: ddl, parsed: statement } = ddl;
        let fold = |name: &str| if folds { folded(name) } else { name.to_owned() };
        let key = |name: &TableName| (fold(&name.database), fold(&name.table));
        let parsed = match statement.ddl() {
            Ok(Some(parsed)) => parsed,
            Ok(None) => return,
            Err(error) => {
                let why = format!(
                    "the statement at {} cannot be parsed ({})",
                    ddl.position,
                    error.message()
                );
                self.lost.get_or_insert_with(|| why.into());
                return;
            }
        };
        if parsed.tables.is_empty() {
            let name = fold(&parsed.database);
            match parsed.kind {
                DdlKind::Create if statement.is_conditional_create() => {}
                // It changes the defaults of later tables.
                DdlKind::Alter => drop(self.altered.insert(name)),
                _ => drop(self.databases.insert(name)),
            }
            return;
        }
        let why: Arc<str> = format!(
            "the statement at {} changed it, and its structure before is not known ({})",
            ddl.position,
            parsed.kind.name()
        )
        .into();
        let is_made = parsed.kind == DdlKind::Create && !statement.is_conditional_create();
        for (from, to) in &parsed.renames {
            let folded = |name: &TableName| {
                let (database, table) = key(name);
                TableName { database, table }
            };
            self.renames.push((folded(from), folded(to)));
            let known = [(from, Some(&why)), (to, None)];
            for (name, state) in known {
                self.tables.entry(key(name)).or_insert_with(|| state.cloned());
            }
        }
        for name in &parsed.tables {
            if !self.databases.contains(&fold(&name.database)) {
                let state = (!is_made).then(|| Arc::clone(&why));
                self.tables.entry(key(name)).or_insert(state);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ddl::{DdlSession, SqlServer};
    use crate::history::{LoggedDdl, TableState};
    use crate::position::Position;

    const SERVER: SqlServer = SqlServer { is_mariadb: false, version: (8, 4, 0) };

    /// The tables before statements, from those after them; with `?` after a name if the structure is unknown.
    fn before(later: &str, statements: &[&str]) -> Vec<String> {
        let session = DdlSession::new(SERVER);
        let later = Catalog::from_script(later, None, &session).unwrap();
        let statements: Vec<_> = statements
            .iter()
            .zip(1..)
            .map(|(statement, number)| {
                ParsedDdl::from(LoggedDdl {
                    position: Position::in_file("binlog.000001", number * 100),
                    timestamp: 0,
                    database: "d".into(),
                    statement: (*statement).to_owned(),
                    session: session.clone(),
                })
            })
            .collect();
        let before = tables_before(&later, &statements);
        let tables = before.tables().map(|(database, table, state)| {
            let unknown = if matches!(state, TableState::Unknown(_)) { "?" } else { "" };
            format!("{database}.{table}{unknown}")
        });
        tables.collect()
    }

    const LATER: &str = "CREATE DATABASE d; USE d; CREATE TABLE a (x INT); CREATE TABLE b (x INT);\
                         CREATE DATABASE e; USE e; CREATE TABLE c (x INT);";

    #[test]
    fn what_no_statement_names_is_as_it_is_later() {
        assert_eq!(before(LATER, &[]), ["d.a", "d.b", "e.c"]);
        assert_eq!(
            before(LATER, &["TRUNCATE a", "CREATE VIEW v AS SELECT 1"]),
            ["d.a", "d.b", "e.c"]
        );
    }

    #[test]
    fn what_was_made_was_not_there() {
        assert_eq!(before(LATER, &["CREATE TABLE a (x INT)"]), ["d.b", "e.c"]);
        assert_eq!(
            before(LATER, &["CREATE TABLE a (y INT)", "ALTER TABLE a ADD x INT"]),
            ["d.b", "e.c"]
        );
        assert_eq!(
            before(LATER, &["CREATE DATABASE e", "CREATE TABLE e.c (x INT)"]),
            ["d.a", "d.b"]
        );
        // They may have been there.
        for made in ["CREATE TABLE IF NOT EXISTS a (x INT)", "CREATE OR REPLACE TABLE a (x INT)"] {
            assert_eq!(before(LATER, &[made]), ["d.a?", "d.b", "e.c"]);
        }
        assert_eq!(before(LATER, &["CREATE DATABASE IF NOT EXISTS e"]), ["d.a", "d.b", "e.c"]);
    }

    #[test]
    fn what_was_changed_is_unknown() {
        assert_eq!(before(LATER, &["ALTER TABLE a ADD x INT"]), ["d.a?", "d.b", "e.c"]);
        assert_eq!(before(LATER, &["DROP TABLE old"]), ["d.a", "d.b", "d.old?", "e.c"]);
        assert_eq!(
            before(LATER, &["DROP TABLE a", "CREATE TABLE a (x INT)"]),
            ["d.a?", "d.b", "e.c"]
        );
        assert_eq!(before(LATER, &["RENAME TABLE old TO a"]), ["d.b", "d.old?", "e.c"]);
        let swap = "RENAME TABLE a TO t, b TO a, t TO b";
        assert_eq!(before(LATER, &[swap]), ["d.a?", "d.b?", "e.c"]);
        assert_eq!(before(LATER, &["DROP DATABASE e", "CREATE DATABASE e"]), ["d.a", "d.b"]);
    }

    #[test]
    fn a_statement_that_is_not_understood_may_be_of_any_table() {
        assert_eq!(before(LATER, &["RENAME TABLE a"]), ["d.a?", "d.b?", "e.c?"]);
    }

    #[test]
    fn foreign_keys_have_the_old_names_of_parents() {
        let later = "USE d; CREATE TABLE c (p INT, FOREIGN KEY (p) REFERENCES p3 (id))";
        let later = Catalog::from_script(later, None, &DdlSession::new(SERVER)).unwrap();
        let ddl = LoggedDdl {
            position: Position::in_file("binlog.000001", 100),
            timestamp: 0,
            database: "d".into(),
            statement: "RENAME TABLE p TO p2, e.p TO x, p2 TO d.p3".into(),
            session: DdlSession::new(SERVER),
        };
        let mut before = tables_before(&later, &[ddl.clone().into()]);
        assert!(before.table_sql("d", "c").unwrap().contains("REFERENCES `p` (id)"));
        before.apply(&ddl);
        assert!(before.table_sql("d", "c").unwrap().contains("REFERENCES `p3` (id)"));
    }

    #[test]
    fn a_databases_default_may_have_been_another() {
        let later = "CREATE DATABASE d CHARACTER SET latin1;";
        let session = DdlSession::new(SERVER);
        let later = Catalog::from_script(later, None, &session).unwrap();
        let mut ddl = LoggedDdl {
            position: Position::in_file("binlog.000001", 100),
            timestamp: 0,
            database: "d".into(),
            statement: "ALTER DATABASE d CHARACTER SET latin1".into(),
            session,
        };
        let mut before = tables_before(&later, &[ddl.clone().into()]);
        ddl.statement = "CREATE TABLE t (x VARCHAR(3))".into();
        before.apply(&ddl);
        // The character set of the table is not known to be latin1.
        let sql = before.table_sql("d", "t").unwrap_or_default();
        assert!(!sql.contains("latin1"), "{sql}");
    }
}
