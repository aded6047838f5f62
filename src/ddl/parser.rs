//! Reads a statement, token by token: the grammar of the statements that change tables. CREATE and ALTER are in files of
//! their own.

mod alter;
mod create;

use super::alter_action::Name;
use super::body::Body;
use super::cursor::Cursor;
use super::row_changes::{is_any, is_harmless, is_maintenance, is_object};
use super::table_name::TableName;
use super::token::{Result, Token};
use super::trigger::TriggerStatement;

/// The reader of one statement.
pub(super) struct Parser<'t> {
    cursor: Cursor<'t>,
    /// The session's database.
    database: &'t str,
    known: Known,
}

/// The facts that are known as soon as the first words are read, even if the rest cannot be parsed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known {
    pub(super) changes_no_rows: bool,
    /// `None` until it is known.
    pub(super) changes_structures: Option<bool>,
}

impl<'t> Parser<'t> {
    pub(super) fn read(cursor: Cursor<'t>, database: &'t str) -> (Result<Body>, Known) {
        let mut parser = Self { cursor, database, known: Known::default() };
        let body = parser.statement();
        (body, parser.known)
    }

    fn statement(&mut self) -> Result<Body> {
        let mut is_first = true;
        while self.cursor.are(&["SET", "STATEMENT"]) {
            if !skip_set_statement(&mut self.cursor)? {
                return Ok(Body::Other);
            }
            is_first = false;
        }
        let Token::Word(word) = *self.cursor.peek() else {
            // An event that contains only a comment replaces an event that was removed.
            self.known.changes_no_rows = *self.cursor.peek() == Token::End;
            return Ok(Body::Other);
        };
        let word = word.to_ascii_uppercase();
        match word.as_str() {
            "CREATE" => self.create(),
            "ALTER" => self.alter(),
            "DROP" => self.drop_(),
            "RENAME" => self.rename(),
            "TRUNCATE" => {
                self.known.changes_structures = Some(false);
                self.cursor.bump()?;
                self.known.changes_no_rows = true;
                self.cursor.accept("TABLE")?;
                Ok(Body::Truncate(self.table()?))
            }
            "DELETE" if is_first => Ok(self.delete().ok().flatten().unwrap_or(Body::Other)),
            "REPAIR" => Ok(self.repair().unwrap_or(Body::Other)),
            word => {
                let cursor = &mut self.cursor;
                let is_harmless = cursor.bump().and_then(|_| is_harmless(word, cursor));
                self.known.changes_no_rows = is_harmless.unwrap_or(false);
                Ok(Body::Other)
            }
        }
    }

    fn drop_(&mut self) -> Result<Body> {
        let cursor = &mut self.cursor;
        cursor.bump()?;
        if cursor.accept("TEMPORARY")? {
            let is_tables = is_any(cursor, &["TABLE", "TABLES"]);
            self.known.changes_no_rows = is_tables || is_object(cursor);
            let tables = if is_tables { self.dropped_tables().ok() } else { None };
            return Ok(tables.map_or(Body::Other, Body::DropTemporary));
        }
        self.known.changes_no_rows = is_any(cursor, &["TABLE", "TABLES"]) || is_object(cursor);
        if is_any(cursor, &["TABLE", "TABLES"]) {
            self.known.changes_structures = Some(true);
            return self.dropped_tables().map(Body::DropTables);
        }
        if cursor.is("SEQUENCE") {
            self.known.changes_structures = Some(true);
            return Ok(self.dropped_tables().map_or(Body::Other, Body::DropSequences));
        }
        if is_any(cursor, &["DATABASE", "SCHEMA"]) {
            self.known.changes_structures = Some(true);
            cursor.bump()?;
            cursor.accept_all(&["IF", "EXISTS"])?;
            return cursor.name().map(Body::DropDatabase);
        }
        if cursor.accept("TRIGGER")? {
            let trigger = TriggerStatement::parse_drop(cursor, self.database);
            return Ok(trigger.map_or(Body::Other, Body::Trigger));
        }
        while cursor.accept_any(&["ONLINE", "OFFLINE"])? {}
        if !cursor.is("INDEX") {
            return Ok(Body::Other);
        }
        self.known.changes_structures = Some(true);
        cursor.bump()?;
        let if_exists = cursor.accept_all(&["IF", "EXISTS"])?;
        let name = cursor.name()?;
        if cursor.accept_any(&["USING", "TYPE"])? {
            cursor.name()?;
        }
        cursor.expect("ON")?;
        Ok(Body::DropIndex { table: self.table()?, name, if_exists })
    }

    /// Reads `TABLE [IF EXISTS] t, u`.
    fn dropped_tables(&mut self) -> Result<Vec<TableName>> {
        self.cursor.bump()?;
        self.cursor.accept_all(&["IF", "EXISTS"])?;
        self.tables()
    }

    fn rename(&mut self) -> Result<Body> {
        let cursor = &mut self.cursor;
        cursor.bump()?;
        self.known.changes_no_rows = is_any(cursor, &["TABLE", "TABLES", "USER"]);
        if !is_any(cursor, &["TABLE", "TABLES"]) {
            return Ok(Body::Other);
        }
        self.known.changes_structures = Some(true);
        cursor.bump()?;
        let if_exists = cursor.accept_all(&["IF", "EXISTS"])?;
        let mut renames = Vec::new();
        loop {
            let from = self.table()?;
            self.cursor.skip_wait()?;
            self.cursor.expect("TO")?;
            renames.push((from, self.table()?));
            if !self.cursor.accept_sign(',')? {
                return Ok(Body::Rename { renames, if_exists });
            }
        }
    }

    fn delete(&mut self) -> Result<Option<Body>> {
        let cursor = &mut self.cursor;
        cursor.bump()?;
        if !cursor.accept("FROM")? {
            return Ok(None);
        }
        let Token::Quoted(database) = cursor.bump()? else { return Ok(None) };
        if !cursor.accept_sign('.')? {
            return Ok(None);
        }
        let Token::Quoted(table) = cursor.bump()? else { return Ok(None) };
        let table = TableName { database: database.into_owned(), table: table.into_owned() };
        Ok((*cursor.peek() == Token::End).then_some(Body::DeleteAll(table)))
    }

    fn repair(&mut self) -> Result<Body> {
        let cursor = &mut self.cursor;
        cursor.bump()?;
        self.known.changes_no_rows = is_maintenance(cursor)?;
        match cursor.accept_any(&["TABLE", "TABLES"])? {
            true => self.tables().map(Body::Repair),
            false => Ok(Body::Other),
        }
    }

    fn tables(&mut self) -> Result<Vec<TableName>> {
        let mut tables = vec![self.table()?];
        while self.cursor.accept_sign(',')? {
            tables.push(self.table()?);
        }
        Ok(tables)
    }

    fn table(&mut self) -> Result<TableName> {
        TableName::parse(&mut self.cursor, self.database)
    }

    fn named(&self, (database, table): Name) -> TableName {
        TableName { database: database.unwrap_or_else(|| self.database.to_owned()), table }
    }
}

/// Steps over MariaDB's `SET STATEMENT max_statement_time=1 FOR` before a statement. Returns true if a statement follows.
fn skip_set_statement(cursor: &mut Cursor<'_>) -> Result<bool> {
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
