//! Temporary tables of connections, as far as statements in the log contain their names.
//!
//! With STATEMENT (MariaDB, MySQL 5: also MIXED), statements that change a temporary table are
//! logged, and another table may have the same name: `TRUNCATE t`. The servers log these
//! statements:
//!
//! * A TRUNCATE, ALTER or CREATE INDEX of a temporary table has the flag
//!   [`EventHeader::THREAD_SPECIFIC`](crate::binlog::EventHeader::THREAD_SPECIFIC). A statement of a routine has it too if an
//!   earlier statement of the routine uses temporary tables, under ROW as well, except in newer versions of MariaDB.
//! * DROP names temporary tables and others in statements of their own: `DROP TEMPORARY TABLE`. So does the end of a
//!   connection. A restart of the server drops all temporary tables, without a statement.
//! * RENAME TABLE renames temporary tables in MariaDB only. It never has the flag. It is also logged under ROW, although the
//!   log then does not contain the CREATE.
//!
//! So a statement without the flag concerns no temporary table, except MariaDB's RENAME. One with the flag concerns a
//! temporary table if the read has seen its CREATE. Without that, it is not known whether it does, unless the read contains the
//! start of the server, or nothing shows that the log has statements of temporary tables.

use super::statement::{Statement, Target};
use crate::ddl::{DdlKind, TableName, TemporaryStatement};
use crate::schema::NameCase;
use std::collections::HashSet;

/// The temporary tables that exist, of those that were created since the start of the read.
#[derive(Debug, Default)]
pub(super) struct TemporaryTables {
    tables: HashSet<Temporary>,
    /// True if the log contains statements of temporary tables.
    are_logged: bool,
    /// The server whose temporary tables are all known, because the read contains its start.
    all_of: Option<u32>,
}

/// A temporary table, and its connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Temporary {
    server_id: u32,
    thread_id: u32,
    name: TableName,
}

impl TemporaryTables {
    /// Removes the temporary tables of a server that was started with this file.
    pub(super) fn start_again(&mut self, server_id: u32, is_read_from_its_start: bool) {
        self.tables.retain(|table| table.server_id != server_id);
        self.all_of = is_read_from_its_start.then_some(server_id);
    }

    /// Takes in a statement; returns the tables that it concerns. `skips` is true if statements that may change rows are
    /// skipped: the log may then contain statements about temporary tables.
    pub(super) fn observe(
        &mut self,
        statement: &Statement,
        is_mariadb: bool,
        name_case: NameCase,
        skips: bool,
    ) -> Target {
        let is_flagged = statement.is_thread_specific;
        if !is_flagged && (self.tables.is_empty() || !is_mariadb) {
            return Target::Tables;
        }
        let parsed = &statement.logged.parsed;
        let named = |name: TableName| Temporary {
            server_id: statement.server_id,
            thread_id: statement.logged.thread_id,
            name: if name_case == NameCase::Folded { name.folded() } else { name },
        };
        match parsed.temporary() {
            Some(TemporaryStatement::Create(name)) => {
                self.are_logged = true;
                if self.tables.len() < MAX_TABLES {
                    self.tables.insert(named(name));
                } else {
                    self.all_of = None;
                }
                return Target::Temporary;
            }
            Some(TemporaryStatement::Drop(names)) => {
                for name in names {
                    self.tables.remove(&named(name));
                }
                return Target::Temporary;
            }
            Some(TemporaryStatement::Rename(renames)) => {
                return match is_mariadb {
                    true => self.rename(renames, named),
                    false => Target::Tables,
                };
            }
            None => {}
        }
        let Ok(Some(ddl)) = parsed.ddl() else { return Target::Tables };
        let may_be = matches!(ddl.kind, DdlKind::Truncate | DdlKind::Alter | DdlKind::Rename);
        let Some(name) = ddl.tables.first().filter(|_| is_flagged && may_be) else {
            return Target::Tables;
        };
        if !self.tables.contains(&named(name.clone())) {
            let may_be_older =
                self.all_of != Some(statement.server_id) && (self.are_logged || skips);
            return if may_be_older { Target::Unsure } else { Target::Tables };
        }
        self.rename(ddl.renames, named);
        Target::Temporary
    }

    /// Renames temporary tables.
    fn rename(
        &mut self,
        renames: Vec<(TableName, TableName)>,
        named: impl Fn(TableName) -> Temporary,
    ) -> Target {
        let (mut temporary, mut others) = (false, false);
        for (from, to) in renames {
            if self.tables.remove(&named(from)) {
                self.tables.insert(named(to));
                temporary = true;
            } else {
                others = true;
            }
        }
        match (temporary, others) {
            (true, true) => Target::Unsure,
            (true, false) => Target::Temporary,
            (false, _) => Target::Tables,
        }
    }
}

/// The maximum number of temporary tables that are kept: some remain if connections end without an event.
const MAX_TABLES: usize = 10_000;
