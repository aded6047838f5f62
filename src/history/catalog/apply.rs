//! Applies statements to a catalog.

use super::alter::altered;
use super::copied::is_copied;
use super::definition::TableDefinition;
use super::sequence::sequence_table;
use super::settings::Settings;
use super::{Catalog, Followed, TableState};
use crate::charset::Collation;
use crate::ddl::alter_action::{Action, Name};
use crate::ddl::body::{AlterTable, Body, TableSource};
use crate::ddl::charset_clause::CharsetClause;
use crate::ddl::create_table::CreateTable;
use crate::ddl::token::{Result, SyntaxError};
use crate::ddl::{DdlSession, ParsedStatement, TableName};
use crate::history::{LoggedDdl, ParsedDdl};
use crate::position::Position;
use std::sync::Arc;

impl Catalog {
    /// Reads a statement, and applies it.
    pub fn apply(&mut self, ddl: &LoggedDdl) -> Followed {
        self.apply_statement(&ddl.parse(), &ddl.session, &ddl.position)
    }

    /// Applies a statement of the log that was read.
    pub(in crate::history) fn apply_parsed(&mut self, ddl: &ParsedDdl) -> Followed {
        let LoggedDdl { session, position, .. } = &ddl.logged;
        self.apply_statement(&ddl.parsed, session, position)
    }

    /// Applies a statement that ends at `position`. If it cannot be followed, the structures of its tables are unknown; all other
    /// tables stay.
    pub fn apply_statement(
        &mut self,
        statement: &ParsedStatement,
        session: &DdlSession,
        position: &Position,
    ) -> Followed {
        if matches!(statement.body, Ok(Body::Unreadable(_))) {
            return Followed::default();
        }
        self.server = Some(session.server);
        let followed = Followed::default();
        let mut applying = Applying { catalog: self, statement, session, position, followed };
        if let Err(message) = applying.statement() {
            applying.lose_all(&message);
        }
        applying.followed
    }
}

/// The error is the reason why a statement cannot be followed.
type Applied<T = ()> = std::result::Result<T, String>;

fn message<T: Clone>(parsed: &Result<T>) -> Applied<T> {
    parsed.clone().map_err(|error: SyntaxError| error.message)
}

struct Applying<'a> {
    catalog: &'a mut Catalog,
    statement: &'a ParsedStatement,
    session: &'a DdlSession,
    position: &'a Position,
    followed: Followed,
}

impl Applying<'_> {
    fn statement(&mut self) -> Applied {
        let statement = self.statement;
        match statement.body.as_ref().map_err(|error| error.message.clone())? {
            Body::CreateTable { table, or_replace, if_not_exists, source } => {
                let table = self.folded(table);
                if !*if_not_exists || self.catalog.state(&table).is_none() {
                    self.create_table(table, *or_replace, source);
                }
            }
            Body::Sequence { table, if_not_exists, number } => {
                let table = self.folded(table);
                if !*if_not_exists || self.catalog.state(&table).is_none() {
                    self.create_sequence(table, number);
                }
            }
            Body::CreateDatabase { name, or_replace, if_not_exists, charset } => {
                let name = self.catalog.folded(name);
                if !*if_not_exists || self.catalog.database(&name).is_none() {
                    self.create_database(&name, *or_replace, charset)?;
                }
            }
            Body::AlterDatabase { name, charset } => {
                let name = self.catalog.folded(name);
                if let Some(clause) = message(charset)? {
                    let collation = self.collation(&clause).or(self.session.server_collation);
                    self.catalog.database_mut(&name).collation = collation;
                }
            }
            Body::CreateIndex { table, or_replace, key } => {
                let key = message(key)?;
                let mut actions = Vec::new();
                if *or_replace && let Some(name) = key.name.clone() {
                    actions.push(Action::DropKey { name, if_exists: true });
                }
                actions.push(Action::AddKey(key));
                self.alter_table(self.folded(table), &actions, None)?;
            }
            Body::DropIndex { table, name, if_exists } => {
                let (name, if_exists) = (name.clone(), *if_exists);
                let action = match name.eq_ignore_ascii_case("PRIMARY") {
                    true => Action::DropPrimary { if_exists },
                    false => Action::DropKey { name, if_exists },
                };
                self.alter_table(self.folded(table), &[action], None)?;
            }
            Body::AlterTable(alter) => {
                let AlterTable { table, if_exists, clauses, .. } = &**alter;
                let table = self.folded(table);
                if *if_exists && self.catalog.state(&table).is_none() {
                    return Ok(());
                }
                let clauses = clauses.as_ref().map_err(|error| error.message.clone())?;
                self.alter_table(table, &clauses.actions, clauses.is_copy)?;
            }
            Body::DropTables(tables) | Body::DropSequences(tables) => {
                tables.iter().for_each(|table| self.remove(self.folded(table)));
            }
            Body::DropDatabase(name) => self.drop_database(&self.catalog.folded(name)),
            Body::Rename { renames, if_exists } => {
                for (from, to) in renames {
                    let (from, to) = (self.folded(from), self.folded(to));
                    if !*if_exists || self.catalog.state(&from).is_some() {
                        self.move_table(from, to, false);
                    }
                }
            }
            Body::Truncate(_)
            | Body::DeleteAll(_)
            | Body::CreateTemporary(_)
            | Body::DropTemporary(_)
            | Body::Trigger(_)
            | Body::Repair(_)
            | Body::Other
            | Body::Unreadable(_) => {}
        }
        Ok(())
    }

    fn create_table(&mut self, name: TableName, or_replace: bool, source: &TableSource) {
        if or_replace {
            self.lose_other_case(&name);
        }
        match self.definition(&name, source) {
            Ok(definition) => self.put(name, TableState::Known(Arc::new(definition))),
            Err(message) => self.lose(name, &message),
        }
    }

    fn definition(&self, name: &TableName, source: &TableSource) -> Applied<TableDefinition> {
        match source {
            TableSource::Columns(create) => {
                let mut create = CreateTable::clone(create);
                create.table = name.table.as_str().into();
                TableDefinition::of(create, &self.settings(&name.database))
            }
            TableSource::Like(like) => {
                let like = self.folded(like);
                match self.catalog.state(&like) {
                    Some(TableState::Known(definition)) => {
                        let mut definition = TableDefinition::clone(definition);
                        definition.become_copy(&name.table, self.session.server);
                        Ok(definition)
                    }
                    _ => {
                        Err(format!("the structure of {like}, which it is made like, is not known"))
                    }
                }
            }
            TableSource::NotUnderstood(message) => Err(message.clone()),
        }
    }

    fn create_sequence(&mut self, name: TableName, number: &str) {
        match sequence_table(&name.table, number, &self.settings(&name.database)) {
            Ok(definition) => self.put(name, TableState::Known(Arc::new(definition))),
            Err(message) => self.lose(name, &message),
        }
    }

    fn create_database(
        &mut self,
        name: &str,
        or_replace: bool,
        charset: &Result<Option<CharsetClause>>,
    ) -> Applied {
        if or_replace {
            self.drop_database(name);
        }
        let clause = message(charset)?.unwrap_or_default();
        let server = if clause.is_unknown { None } else { self.session.server_collation };
        let collation = self.collation(&clause).or(server);
        self.catalog.database_mut(name).collation = collation;
        Ok(())
    }

    /// The collation of a database with this clause.
    fn collation(&self, clause: &CharsetClause) -> Option<Collation> {
        let session = self.session;
        let settings =
            Settings { session, database: None, current: None, makes_keys: true, is_script: false };
        settings.clause(clause, None).ok().flatten()
    }

    fn alter_table(
        &mut self,
        name: TableName,
        actions: &[Action],
        is_copy: Option<bool>,
    ) -> Applied {
        let definition = match self.catalog.state(&name) {
            Some(TableState::Known(definition)) => Arc::clone(definition),
            Some(TableState::Unknown(_)) => {
                self.follow_names(&name, actions);
                return Ok(());
            }
            None => {
                self.lose_other_case(&name);
                self.follow_names(&name, actions);
                self.lose(name, "the history does not have the table");
                return Ok(());
            }
        };
        let settings = self.settings(&name.database);
        let mut altered = altered(&definition, actions.to_vec(), &settings)?;
        let renamed = altered.renamed.as_ref().map(|to| self.named(to)).filter(|to| *to != name);
        let is_copied = renamed.is_some()
            && is_copied(is_copy, actions, &definition, &altered.definition, &settings);
        if is_copied {
            altered.definition.lose_foreign_keys(&definition);
        }
        if let Some(made) = altered.made {
            let made = self.named(&made);
            let mut copy = altered.definition.clone();
            copy.become_copy(&made.table, self.session.server);
            self.put(made, TableState::Known(Arc::new(copy)));
        }
        if let Some(taken) = altered.taken {
            self.remove(self.named(&taken));
        }
        self.put(name.clone(), TableState::Known(Arc::new(altered.definition)));
        if let Some(to) = renamed {
            self.move_table(name, to, is_copied);
        }
        Ok(())
    }

    /// Follows the names in an ALTER TABLE of a table whose structure is not known.
    fn follow_names(&mut self, name: &TableName, actions: &[Action]) {
        for action in actions {
            match action {
                Action::Rename(to) => {
                    self.move_table(name.clone(), self.named(to), false);
                }
                Action::PartitionToTable(made) => {
                    self.lose(self.named(made), &format!("{name} is not known"));
                }
                Action::TableToPartition(taken) => self.remove(self.named(taken)),
                _ => {}
            }
        }
    }

    fn drop_database(&mut self, name: &str) {
        let Some(database) = self.catalog.databases.remove(name) else { return };
        let removed = database
            .tables
            .keys()
            .map(|table| TableName { database: name.to_owned(), table: table.to_string() });
        self.followed.changed.extend(removed);
    }

    /// Gives a table another name. `is_copied` is true if a copy of it gets that name.
    fn move_table(&mut self, from: TableName, to: TableName, is_copied: bool) {
        if from == to {
            return;
        }
        self.lose_other_case(&from);
        self.lose_other_case(&to);
        let changed = self.catalog.rename_table(&from, &to, is_copied);
        self.followed.changed.extend(changed);
    }

    fn remove(&mut self, name: TableName) {
        if self.catalog.take(&name).is_some() {
            self.followed.changed.push(name);
        }
    }

    fn put(&mut self, name: TableName, state: TableState) {
        self.catalog.put(&name, state);
        self.followed.changed.push(name);
    }

    /// The structure of a table is not known from here on.
    fn lose(&mut self, name: TableName, message: &str) {
        let position = self.position;
        let why: Arc<str> =
            format!("the statement at {position} cannot be followed: {message}").into();
        self.catalog.put(&name, TableState::Unknown(Arc::clone(&why)));
        self.followed.lost.push((name, why));
    }

    /// A table that is not in the catalog may be one whose name differs by case: a catalog that is not from a server does not
    /// contain `lower_case_table_names`.
    fn lose_other_case(&mut self, name: &TableName) {
        if self.catalog.lower_case_table_names() != 0 || self.catalog.state(name).is_some() {
            return;
        }
        let folded = name.folded();
        let is_other = |(database, table, _): &(&str, &str, _)| {
            let other = TableName { database: (*database).into(), table: (*table).into() };
            other == folded && other != *name
        };
        let found = self.catalog.tables().find(is_other).is_some();
        if found {
            let message = format!(
                "it names the table {name}, which is the same table if lower_case_table_names is 1 or 2 on the server"
            );
            self.lose(folded, &message);
        }
    }

    /// The structures of all tables that the statement names are unknown from here on. If their names cannot be read, all
    /// structures are.
    fn lose_all(&mut self, message: &str) {
        let head = match self.statement.ddl() {
            Ok(Some(head)) => head,
            Ok(None) => return,
            Err(_) => return self.lose_catalog(message),
        };
        for (from, to) in head.renames {
            let (from, to) = (self.folded(&from), self.folded(&to));
            if self.catalog.state(&from).is_some() {
                self.move_table(from, to, false);
            }
        }
        for name in head.tables {
            let name = self.folded(&name);
            let is_touched = self.followed.changed.contains(&name);
            if self.catalog.state(&name).is_some() || !is_touched {
                self.lose(name, message);
            }
        }
    }

    fn lose_catalog(&mut self, message: &str) {
        let name = |(database, table, _): (&str, &str, _)| TableName {
            database: database.to_owned(),
            table: table.to_owned(),
        };
        for name in self.catalog.tables().map(name).collect::<Vec<_>>() {
            self.lose(name, message);
        }
    }

    fn settings(&self, database: &str) -> Settings<'_> {
        let session = self.session;
        let own = || -> Option<Collation> {
            let is_default = database == self.catalog.folded(&self.statement.database);
            is_default.then_some(session.database_collation).flatten()
        };
        let database = match self.catalog.database(database) {
            Some(known) => known.collation.or_else(own),
            None => own(),
        };
        let current = self.catalog.database(&self.catalog.folded(&self.statement.database));
        let current = current.and_then(|current| current.collation);
        let current = current.or(session.database_collation).or(session.server_collation);
        Settings { session, database, current, makes_keys: true, is_script: false }
    }

    fn named(&self, (database, table): &Name) -> TableName {
        let database = database.as_ref().unwrap_or(&self.statement.database);
        TableName { database: self.catalog.folded(database), table: self.catalog.folded(table) }
    }

    fn folded(&self, name: &TableName) -> TableName {
        TableName {
            database: self.catalog.folded(&name.database),
            table: self.catalog.folded(&name.table),
        }
    }
}
