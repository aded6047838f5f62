//! Statements of the log, taken in by a catalog.

use super::super::logged_ddl::LoggedDdl;
use super::definition::TableDefinition;
use super::settings::Settings;
use super::{Catalog, Followed, TableState};
use crate::charset::Collation;
use crate::ddl::alter_table::{self, Action, Name};
use crate::ddl::column::CharsetClause;
use crate::ddl::create_table::{CreateTable, Head};
use crate::ddl::cursor::Cursor;
use crate::ddl::key::KeyKind;
use crate::ddl::statement::{DATABASE_OPTIONS, Ddl, TableName, skip_set_statement};
use crate::ddl::token::{Result, SyntaxError, Token};
use std::sync::Arc;

impl Catalog {
    /// Whether a statement can change the structure of tables: those that a history must hold. By its first words only.
    pub fn concerns(ddl: &LoggedDdl) -> bool {
        let concerns = || -> Result<bool> {
            let mut cursor = Cursor::with_mode(&ddl.statement, ddl.session.quote_mode())?;
            if !skip_set_statement(&mut cursor)? {
                return Ok(false);
            }
            let is_create = cursor.is("CREATE");
            if !cursor.accept_any(&["CREATE", "ALTER", "DROP", "RENAME"])? {
                return Ok(false);
            }
            if is_create {
                cursor.accept_all(&["OR", "REPLACE"])?;
            }
            while cursor.accept_any(&[
                "ONLINE", "OFFLINE", "IGNORE", "UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR",
            ])? {}
            let words = ["TABLE", "TABLES", "DATABASE", "SCHEMA", "INDEX", "SEQUENCE"];
            Ok(words.iter().any(|word| cursor.is(word)))
        };
        // What cannot be read is held: a history that is read again says so again.
        concerns().unwrap_or(true)
    }

    /// Takes a statement in. One that cannot be followed makes its tables unknown; all others stay as they are.
    pub fn apply(&mut self, ddl: &LoggedDdl) -> Followed {
        let mode = ddl.session.quote_mode();
        let Ok(cursor) = Cursor::with_mode(&ddl.statement, mode) else {
            return Followed::default();
        };
        self.server = Some(ddl.session.server);
        let mut applying = Applying { catalog: self, ddl, cursor, followed: Followed::default() };
        if let Err(error) = applying.statement() {
            applying.lose_all(&error);
        }
        applying.followed
    }
}

struct Applying<'a> {
    catalog: &'a mut Catalog,
    ddl: &'a LoggedDdl,
    cursor: Cursor<'a>,
    followed: Followed,
}

impl Applying<'_> {
    fn statement(&mut self) -> Result<()> {
        let cursor = &mut self.cursor;
        if !skip_set_statement(cursor)? {
            return Ok(());
        }
        if cursor.accept("CREATE")? {
            self.create()
        } else if cursor.accept("ALTER")? {
            self.alter()
        } else if cursor.accept("DROP")? {
            self.drop_()
        } else if cursor.accept("RENAME")? && cursor.accept_any(&["TABLE", "TABLES"])? {
            self.rename()
        } else {
            Ok(())
        }
    }

    fn create(&mut self) -> Result<()> {
        let before = self.cursor.clone();
        let cursor = &mut self.cursor;
        let or_replace = cursor.accept_all(&["OR", "REPLACE"])?;
        if cursor.is("TABLE") {
            *cursor = before;
            return self.create_table(or_replace);
        }
        if cursor.accept("SEQUENCE")? {
            let if_not_exists = cursor.accept_all(&["IF", "NOT", "EXISTS"])?;
            return self.create_sequence(if_not_exists, or_replace);
        }
        if cursor.accept_any(&["DATABASE", "SCHEMA"])? {
            let if_not_exists = cursor.accept_all(&["IF", "NOT", "EXISTS"])?;
            let name = self.database_name()?;
            return self.create_database(&name, if_not_exists, or_replace);
        }
        while cursor.accept_any(&["ONLINE", "OFFLINE"])? {}
        let kind = if cursor.accept("UNIQUE")? {
            KeyKind::Unique
        } else if cursor.accept("FULLTEXT")? {
            KeyKind::Fulltext
        } else if cursor.accept("SPATIAL")? {
            KeyKind::Spatial
        } else if cursor.accept("VECTOR")? {
            KeyKind::Vector
        } else {
            KeyKind::Index
        };
        if !cursor.accept("INDEX")? {
            return Ok(());
        }
        let (name, key) = alter_table::create_index(cursor, kind)?;
        let name = self.named(name);
        let mut actions = Vec::new();
        if or_replace && let Some(name) = key.name.clone() {
            actions.push(Action::DropKey { name, if_exists: true });
        }
        actions.push(Action::AddKey(key));
        self.alter_table(name, actions, false);
        Ok(())
    }

    fn create_table(&mut self, or_replace: bool) -> Result<()> {
        let mut head = CreateTable::parse_head(&mut self.cursor)?;
        let name = self.named((head.database.take(), std::mem::take(&mut head.table)));
        if head.if_not_exists && self.catalog.state(&name).is_some() {
            return Ok(());
        }
        head.table.clone_from(&name.table);
        if or_replace {
            self.lose_other_case(&name);
        }
        let state = match self.definition(&name, head) {
            Ok(definition) => TableState::Known(Arc::new(definition)),
            Err(message) => {
                return self.lose(name, &message);
            }
        };
        self.put(name, state);
        Ok(())
    }

    /// The table that a CREATE TABLE makes, from behind its name on.
    fn definition(
        &mut self,
        name: &TableName,
        head: Head,
    ) -> std::result::Result<TableDefinition, String> {
        let message = |error: SyntaxError| error.message;
        let cursor = &mut self.cursor;
        let mut in_parens = cursor.clone();
        let is_like = cursor.accept("LIKE").map_err(message)?
            || in_parens
                .accept_sign('(')
                .and_then(|_| in_parens.accept("LIKE"))
                .map_err(message)?
                && {
                    *cursor = in_parens;
                    true
                };
        if is_like {
            let like = cursor.qualified_name().map_err(message)?;
            let like = self.named(like);
            return match self.catalog.state(&like) {
                Some(TableState::Known(definition)) => {
                    let mut definition = TableDefinition::clone(definition);
                    definition.become_copy(&name.table, self.ddl.session.server);
                    Ok(definition)
                }
                _ => Err(format!("the structure of {like}, which it is made like, is not known")),
            };
        }
        let mut create = CreateTable::parse_body(cursor, head).map_err(message)?;
        // A statement says all that there is to say, in whatever quotes.
        create.is_abridged = false;
        TableDefinition::of(create, &self.settings(&name.database))
    }

    /// MariaDB's sequence, a table of one row.
    fn create_sequence(&mut self, if_not_exists: bool, _or_replace: bool) -> Result<()> {
        let name = self.cursor.qualified_name()?;
        let name = self.named(name);
        if if_not_exists && self.catalog.state(&name).is_some() {
            return Ok(());
        }
        let mut number = "bigint(21)".to_owned();
        if self.cursor.accept("AS")? {
            number = self.cursor.name()?;
            if self.cursor.accept("UNSIGNED")? {
                number.push_str(" unsigned");
            }
        }
        let text = format!(
            "TABLE s (next_not_cached_value {number} NOT NULL, minimum_value {number} NOT NULL, \
             maximum_value {number} NOT NULL, start_value {number} NOT NULL COMMENT 'start value when sequences is \
             created or value if RESTART is used', increment bigint(21) NOT NULL COMMENT 'increment value', \
             cache_size bigint(21) unsigned NOT NULL, \
             cycle_option tinyint(1) unsigned NOT NULL COMMENT '0 if no cycles are allowed, 1 if the sequence should \
             begin a new cycle when maximum_value is passed', cycle_count bigint(21) NOT NULL COMMENT 'How many cycles have \
             been done') SEQUENCE=1"
        );
        let mut cursor = Cursor::new(&text)?;
        let mut head = CreateTable::parse_head(&mut cursor)?;
        head.table.clone_from(&name.table);
        let create = CreateTable::parse_body(&mut cursor, head)?;
        match TableDefinition::of(create, &self.settings(&name.database)) {
            Ok(definition) => self.put(name, TableState::Known(Arc::new(definition))),
            Err(message) => self.lose(name, &message)?,
        }
        Ok(())
    }

    fn create_database(&mut self, name: &str, if_not_exists: bool, or_replace: bool) -> Result<()> {
        if if_not_exists && self.catalog.database(name).is_some() {
            return Ok(());
        }
        if or_replace {
            self.drop_database(name);
        }
        let clause = self.database_clause()?.unwrap_or_default();
        let session = &self.ddl.session;
        let server = if clause.is_unknown { None } else { session.server_collation };
        let settings =
            Settings { session, database: None, current: None, makes_keys: true, is_script: false };
        let collation = settings.clause(&clause, None).ok().flatten().or(server);
        self.catalog.database_mut(name).collation = collation;
        Ok(())
    }

    /// The character set that the options of a database name; `None` where they name none.
    fn database_clause(&mut self) -> Result<Option<CharsetClause>> {
        let mut clause = CharsetClause::default();
        let mut is_there = false;
        while !matches!(self.cursor.peek(), Token::End | Token::Sign(';')) {
            if clause.named(&mut self.cursor)? {
                is_there = true;
            } else if self.cursor.accept("CHARSET_UNKNOWN")? {
                (clause.is_unknown, is_there) = (true, true);
            } else {
                self.cursor.bump()?;
            }
        }
        Ok(is_there.then_some(clause))
    }

    fn alter(&mut self) -> Result<()> {
        let cursor = &mut self.cursor;
        while cursor.accept_any(&["ONLINE", "OFFLINE", "IGNORE"])? {}
        if cursor.accept_any(&["DATABASE", "SCHEMA"])? {
            let is_option = DATABASE_OPTIONS.iter().any(|word| cursor.is(word));
            let name = match is_option {
                true => self.catalog.folded(&self.ddl.database),
                false => self.database_name()?,
            };
            if let Some(clause) = self.database_clause()? {
                let session = &self.ddl.session;
                let settings = Settings {
                    session,
                    database: None,
                    current: None,
                    makes_keys: true,
                    is_script: false,
                };
                let collation = settings.clause(&clause, None).ok().flatten();
                self.catalog.database_mut(&name).collation = collation.or(session.server_collation);
            }
            return Ok(());
        }
        if cursor.accept("SEQUENCE")? {
            return self.alter_sequence();
        }
        if !cursor.accept("TABLE")? {
            return Ok(());
        }
        let if_exists = cursor.accept_all(&["IF", "EXISTS"])?;
        let name = cursor.qualified_name()?;
        let name = self.named(name);
        if if_exists && self.catalog.state(&name).is_none() {
            return Ok(());
        }
        let actions = alter_table::actions(&mut self.cursor)?;
        self.alter_table(name, actions, true);
        Ok(())
    }

    /// `ALTER SEQUENCE s AS type` makes other columns of it.
    fn alter_sequence(&mut self) -> Result<()> {
        self.cursor.accept_all(&["IF", "EXISTS"])?;
        let before = self.cursor.clone();
        self.cursor.qualified_name()?;
        if !self.cursor.is("AS") {
            return Ok(());
        }
        self.cursor = before;
        self.create_sequence(false, true)
    }

    fn alter_table(&mut self, name: TableName, actions: Vec<Action>, may_rename: bool) {
        let definition = match self.catalog.state(&name) {
            Some(TableState::Known(definition)) => Arc::clone(definition),
            Some(TableState::Unknown(_)) => {
                // Its names are followed all the same.
                for action in actions {
                    match action {
                        Action::Rename(to) if may_rename => {
                            let to = self.named(to);
                            self.move_table(name.clone(), to);
                        }
                        Action::PartitionToTable(made) => {
                            let made = self.named(made);
                            let _ = self.lose(made, &format!("{name} is not known"));
                        }
                        Action::TableToPartition(taken) => self.remove(taken),
                        _ => {}
                    }
                }
                return;
            }
            None => {
                self.lose_other_case(&name);
                let _ = self.lose(name, "the history does not have the table");
                return;
            }
        };
        let altered = definition.altered(actions, &self.settings(&name.database));
        let altered = match altered {
            Ok(altered) => altered,
            Err(message) => {
                let error = self.cursor.error(message);
                return self.lose_all(&error);
            }
        };
        if let Some(made) = altered.made {
            let made = self.named(made);
            let mut copy = altered.definition.clone();
            copy.become_copy(&made.table, self.ddl.session.server);
            self.put(made, TableState::Known(Arc::new(copy)));
        }
        if let Some(taken) = altered.taken {
            self.remove(taken);
        }
        self.put(name.clone(), TableState::Known(Arc::new(altered.definition)));
        if let Some(to) = altered.renamed {
            let to = self.named(to);
            self.move_table(name, to);
        }
    }

    fn drop_(&mut self) -> Result<()> {
        let cursor = &mut self.cursor;
        if cursor.accept_any(&["TABLE", "TABLES", "SEQUENCE"])? {
            cursor.accept_all(&["IF", "EXISTS"])?;
            loop {
                let name = self.cursor.qualified_name()?;
                self.remove(name);
                if !self.cursor.accept_sign(',')? {
                    return Ok(());
                }
            }
        }
        if cursor.accept_any(&["DATABASE", "SCHEMA"])? {
            cursor.accept_all(&["IF", "EXISTS"])?;
            let name = self.database_name()?;
            self.drop_database(&name);
            return Ok(());
        }
        while cursor.accept_any(&["ONLINE", "OFFLINE"])? {}
        if !cursor.accept("INDEX")? {
            return Ok(());
        }
        let if_exists = cursor.accept_all(&["IF", "EXISTS"])?;
        let key = cursor.name()?;
        cursor.expect("ON")?;
        let name = cursor.qualified_name()?;
        let name = self.named(name);
        let action = match key.eq_ignore_ascii_case("PRIMARY") {
            true => Action::DropPrimary { if_exists },
            false => Action::DropKey { name: key, if_exists },
        };
        self.alter_table(name, vec![action], false);
        Ok(())
    }

    fn drop_database(&mut self, name: &str) {
        let Some(database) = self.catalog.databases.remove(name) else { return };
        let gone = database
            .tables
            .keys()
            .map(|table| TableName { database: name.to_owned(), table: table.to_string() });
        self.followed.changed.extend(gone);
    }

    fn rename(&mut self) -> Result<()> {
        let if_exists = self.cursor.accept_all(&["IF", "EXISTS"])?;
        loop {
            let from = self.cursor.qualified_name()?;
            alter_table::wait(&mut self.cursor)?;
            self.cursor.expect("TO")?;
            let to = self.cursor.qualified_name()?;
            let (from, to) = (self.named(from), self.named(to));
            if !if_exists || self.catalog.state(&from).is_some() {
                self.move_table(from, to);
            }
            if !self.cursor.accept_sign(',')? {
                return Ok(());
            }
        }
    }

    fn move_table(&mut self, from: TableName, to: TableName) {
        if from == to {
            return;
        }
        self.lose_other_case(&from);
        self.lose_other_case(&to);
        let state = match self.catalog.take(&from) {
            Some(TableState::Known(mut definition)) => {
                Arc::make_mut(&mut definition).rename(&to.table);
                TableState::Known(definition)
            }
            Some(unknown) => unknown,
            // A view; or one of the tables that the history leaves out, as what it becomes is then.
            None => return,
        };
        self.followed.changed.push(from);
        self.put(to, state);
    }

    fn remove(&mut self, name: Name) {
        let name = self.named(name);
        if self.catalog.take(&name).is_some() {
            self.followed.changed.push(name);
        }
    }

    fn put(&mut self, name: TableName, state: TableState) {
        self.catalog.put(&name, state);
        self.followed.changed.push(name);
    }

    /// The structure of a table is not known from here on.
    fn lose(&mut self, name: TableName, message: &str) -> Result<()> {
        let position = &self.ddl.position;
        let why: Arc<str> =
            format!("the statement at {position} cannot be followed: {message}").into();
        self.catalog.put(&name, TableState::Unknown(Arc::clone(&why)));
        self.followed.lost.push((name, why));
        Ok(())
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
            let _ = self.lose(folded, &message);
        }
    }

    /// The structure of all tables that the statement names is not known from here on; where not even their names can be
    /// read, it may be any.
    fn lose_all(&mut self, error: &SyntaxError) {
        let ddl = self.ddl;
        let mode = ddl.session.quote_mode();
        let head = match Ddl::parse(&ddl.statement, &ddl.database, mode) {
            Ok(Some(head)) => head,
            Ok(None) => return,
            Err(_) => return self.lose_catalog(&error.message),
        };
        for (from, to) in head.renames {
            let (from, to) = (self.folded(from), self.folded(to));
            if self.catalog.state(&from).is_some() {
                self.move_table(from, to);
            }
        }
        for name in head.tables {
            let name = self.folded(name);
            let is_touched = self.followed.changed.contains(&name);
            if self.catalog.state(&name).is_some() || !is_touched {
                let _ = self.lose(name, &error.message);
            }
        }
    }

    fn lose_catalog(&mut self, message: &str) {
        let name = |(database, table, _): (&str, &str, _)| TableName {
            database: database.to_owned(),
            table: table.to_owned(),
        };
        for name in self.catalog.tables().map(name).collect::<Vec<_>>() {
            let _ = self.lose(name, message);
        }
    }

    fn settings(&self, database: &str) -> Settings<'_> {
        let session = &self.ddl.session;
        let own = || -> Option<Collation> {
            let is_default = database == self.catalog.folded(&self.ddl.database);
            is_default.then_some(session.database_collation).flatten()
        };
        let database = match self.catalog.database(database) {
            Some(known) => known.collation.or_else(own),
            None => own(),
        };
        let current = self.catalog.database(&self.catalog.folded(&self.ddl.database));
        let current = current.and_then(|current| current.collation);
        let current = current.or(session.database_collation).or(session.server_collation);
        Settings { session, database, current, makes_keys: true, is_script: false }
    }

    fn named(&self, (database, table): Name) -> TableName {
        let database = database.unwrap_or_else(|| self.ddl.database.clone());
        self.folded(TableName { database, table })
    }

    fn folded(&self, name: TableName) -> TableName {
        TableName {
            database: self.catalog.folded(&name.database),
            table: self.catalog.folded(&name.table),
        }
    }

    fn database_name(&mut self) -> Result<String> {
        let name = self.cursor.name()?;
        Ok(self.catalog.folded(&name))
    }
}
