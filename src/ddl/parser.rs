//! Reads a statement, token by token: the grammar of the statements that change tables.

use super::alter_table;
use super::body::{AlterTable, Body, TableSource};
use super::column::CharsetClause;
use super::create_table::{CreateTable, Head};
use super::cursor::Cursor;
use super::key::KeyKind;
use super::row_changes::{is_any, is_harmless, is_maintenance, is_object, skip_attributes};
use super::table_name::TableName;
use super::token::{Result, Token};
use super::trigger::TriggerStatement;

pub(super) struct Parser<'t> {
    cursor: Cursor<'t>,
    /// The session's database.
    database: &'t str,
    known: Known,
}

/// The facts that are known as soon as the first words are read, even if the rest is not understood.
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

    fn create(&mut self) -> Result<Body> {
        let cursor = &mut self.cursor;
        cursor.bump()?;
        let or_replace = cursor.accept_all(&["OR", "REPLACE"])?;
        if skip_attributes(cursor).is_err() {
            return Ok(Body::Other);
        }
        if cursor.is("TABLE") {
            self.known.changes_structures = Some(true);
            return self.filled_table(|parser| parser.create_table(or_replace));
        }
        if cursor.is("TEMPORARY") {
            cursor.bump()?;
            if cursor.is("TABLE") {
                let body = self.filled_table(|parser| {
                    parser.cursor.accept_all(&["IF", "NOT", "EXISTS"])?;
                    Ok(Body::CreateTemporary(parser.table()?))
                });
                return Ok(body.unwrap_or(Body::Other));
            }
            self.known.changes_no_rows = cursor.is("SEQUENCE");
            return Ok(Body::Other);
        }
        self.known.changes_no_rows = is_object(cursor);
        if is_any(cursor, &["DATABASE", "SCHEMA"]) {
            self.known.changes_structures = Some(true);
            return self.create_database(or_replace);
        }
        if cursor.is("SEQUENCE") {
            self.known.changes_structures = Some(true);
            return Ok(self.create_sequence().unwrap_or(Body::Other));
        }
        if cursor.accept("TRIGGER")? {
            let trigger = TriggerStatement::parse_create(cursor, self.database);
            return Ok(trigger.ok().flatten().map_or(Body::Other, Body::Trigger));
        }
        let mut kind = KeyKind::Index;
        loop {
            kind = match () {
                () if cursor.accept_any(&["ONLINE", "OFFLINE"])? => kind,
                () if cursor.accept("UNIQUE")? => KeyKind::Unique,
                () if cursor.accept("FULLTEXT")? => KeyKind::Fulltext,
                () if cursor.accept("SPATIAL")? => KeyKind::Spatial,
                () if cursor.accept("VECTOR")? => KeyKind::Vector,
                () => break,
            };
        }
        if !cursor.is("INDEX") {
            return Ok(Body::Other);
        }
        self.known.changes_structures = Some(true);
        cursor.bump()?;
        let (table, key) = alter_table::create_index(cursor, kind)?;
        Ok(Body::CreateIndex { table: self.named(table), or_replace, key })
    }

    /// Reads a CREATE TABLE from TABLE on, to the end of the text: a query may fill the table.
    fn filled_table(&mut self, parse: impl FnOnce(&mut Self) -> Result<Body>) -> Result<Body> {
        self.cursor.bump()?;
        self.cursor.watch_for_query();
        let body = parse(self);
        self.known.changes_no_rows = self.cursor.ends_without_query().unwrap_or(false);
        body
    }

    fn create_table(&mut self, or_replace: bool) -> Result<Body> {
        let mut head = Head::parse(&mut self.cursor)?;
        let table = self.named((head.database.take(), head.table.clone()));
        let if_not_exists = head.if_not_exists;
        let source = match self.table_source(head) {
            Ok(source) => source,
            Err(error) => TableSource::NotUnderstood(error.message),
        };
        Ok(Body::CreateTable { table, or_replace, if_not_exists, source })
    }

    fn table_source(&mut self, head: Head) -> Result<TableSource> {
        let cursor = &mut self.cursor;
        let mut in_parens = cursor.clone();
        let mut is_like = cursor.accept("LIKE")?;
        if !is_like && in_parens.accept_sign('(')? && in_parens.accept("LIKE")? {
            *cursor = in_parens;
            is_like = true;
        }
        if is_like {
            return Ok(TableSource::Like(self.table()?));
        }
        let mut create = CreateTable::parse_body(cursor, head)?;
        // A statement contains everything, whatever its quotes are.
        create.is_abridged = false;
        Ok(TableSource::Columns(Box::new(create)))
    }

    fn create_database(&mut self, or_replace: bool) -> Result<Body> {
        let cursor = &mut self.cursor;
        cursor.bump()?;
        let if_not_exists = cursor.accept_all(&["IF", "NOT", "EXISTS"])?;
        let name = cursor.name()?;
        let charset = database_charset(cursor);
        Ok(Body::CreateDatabase { name, or_replace, if_not_exists, charset })
    }

    fn create_sequence(&mut self) -> Result<Body> {
        self.cursor.bump()?;
        let if_not_exists = self.cursor.accept_all(&["IF", "NOT", "EXISTS"])?;
        let table = self.table()?;
        let number = self.sequence_type()?.unwrap_or_else(|| "bigint(21)".to_owned());
        Ok(Body::Sequence { table, if_not_exists, number })
    }

    /// `AS type`
    fn sequence_type(&mut self) -> Result<Option<String>> {
        if !self.cursor.accept("AS")? {
            return Ok(None);
        }
        let mut number = self.cursor.name()?;
        if self.cursor.accept("UNSIGNED")? {
            number.push_str(" unsigned");
        }
        Ok(Some(number))
    }

    fn alter(&mut self) -> Result<Body> {
        let cursor = &mut self.cursor;
        cursor.bump()?;
        let mut has_ignore = false;
        loop {
            if cursor.accept("IGNORE")? {
                has_ignore = true;
            } else if !cursor.accept_any(&["ONLINE", "OFFLINE"])? {
                break;
            }
        }
        if skip_attributes(cursor).is_err() {
            return Ok(Body::Other);
        }
        self.known.changes_no_rows = is_any(cursor, &["TABLE", "INSTANCE"]) || is_object(cursor);
        if is_any(cursor, &["DATABASE", "SCHEMA"]) {
            self.known.changes_structures = Some(true);
            return self.alter_database();
        }
        if cursor.is("SEQUENCE") {
            self.known.changes_structures = Some(true);
            return Ok(self.alter_sequence().unwrap_or(Body::Other));
        }
        if !cursor.is("TABLE") {
            return Ok(Body::Other);
        }
        self.known.changes_structures = Some(true);
        cursor.bump()?;
        let if_exists = cursor.accept_all(&["IF", "EXISTS"])?;
        let table = self.table()?;
        let mut alter = AlterTable {
            table,
            if_exists,
            has_ignore,
            clauses: Err(self.cursor.error("")),
            others: Vec::new(),
            renamed: None,
            only_renames: false,
        };
        let before = self.cursor.clone();
        alter.clauses = alter_table::clauses(&mut self.cursor);
        match &alter.clauses {
            Ok(clauses) => {
                for action in &clauses.actions {
                    use alter_table::Action::{
                        Exchange, PartitionToTable, Rename, TableToPartition,
                    };
                    match action {
                        Rename(name) => alter.renamed = Some(self.named(name.clone())),
                        Exchange(name) | PartitionToTable(name) | TableToPartition(name) => {
                            alter.others.push(self.named(name.clone()));
                        }
                        _ => {}
                    }
                }
                alter.only_renames = clauses.only_renames;
            }
            // Its tables are known nevertheless.
            Err(_) => {
                self.cursor = before;
                let mut has_others = false;
                let renamed = self.clauses_not_understood(&mut alter.others, &mut has_others);
                alter.renamed = renamed.ok().flatten();
                alter.only_renames = alter.renamed.is_some() && !has_others;
            }
        }
        Ok(Body::AlterTable(Box::new(alter)))
    }

    /// Reads the names of other tables in an ALTER TABLE with clauses that are not known. Returns the new name of the table,
    /// if it gets one.
    fn clauses_not_understood(
        &mut self,
        others: &mut Vec<TableName>,
        has_others: &mut bool,
    ) -> Result<Option<TableName>> {
        alter_table::wait(&mut self.cursor)?;
        let mut renamed = None;
        loop {
            let cursor = &mut self.cursor;
            if cursor.accept("RENAME")? {
                if is_any(cursor, &["COLUMN", "INDEX", "KEY"]) {
                    *has_others = true;
                } else {
                    let _ = cursor.accept_any(&["TO", "AS"])? || cursor.accept_sign('=')?;
                    renamed = Some(self.table()?);
                }
            } else if !is_any(cursor, &["ALGORITHM", "LOCK"]) {
                *has_others = true;
                // EXCHANGE PARTITION p WITH TABLE t; MariaDB's CONVERT PARTITION p TO TABLE t, and CONVERT TABLE t TO ...
                let is_of_tables = is_any(cursor, &["EXCHANGE", "CONVERT"]);
                while is_of_tables && !self.is_clause_end() && !self.cursor.is("TABLE") {
                    self.cursor.bump()?;
                }
                if is_of_tables && self.cursor.accept("TABLE")? {
                    others.push(self.table()?);
                }
            }
            while !self.is_clause_end() {
                if !self.cursor.accept_parens()? {
                    self.cursor.bump()?;
                }
            }
            if !self.cursor.accept_sign(',')? {
                return Ok(renamed);
            }
        }
    }

    fn is_clause_end(&self) -> bool {
        matches!(self.cursor.peek(), Token::Sign(',' | ';') | Token::End)
    }

    fn alter_database(&mut self) -> Result<Body> {
        let cursor = &mut self.cursor;
        cursor.bump()?;
        // Without a name it is the session's.
        let name = match is_any(cursor, &DATABASE_OPTIONS) {
            true => self.database.to_owned(),
            false => cursor.name()?,
        };
        Ok(Body::AlterDatabase { name, charset: database_charset(cursor) })
    }

    /// `ALTER SEQUENCE s AS type` changes its columns.
    fn alter_sequence(&mut self) -> Result<Body> {
        self.cursor.bump()?;
        self.cursor.accept_all(&["IF", "EXISTS"])?;
        let table = self.table()?;
        Ok(match self.sequence_type()? {
            Some(number) => Body::Sequence { table, if_not_exists: false, number },
            None => Body::Other,
        })
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

    /// `TABLE [IF EXISTS] t, u`
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
            alter_table::wait(&mut self.cursor)?;
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

    fn named(&self, (database, table): alter_table::Name) -> TableName {
        TableName { database: database.unwrap_or_else(|| self.database.to_owned()), table }
    }
}

/// The character set that the options of a database name; `None` if they name none.
fn database_charset(cursor: &mut Cursor<'_>) -> Result<Option<CharsetClause>> {
    let mut clause = CharsetClause::default();
    let mut is_there = false;
    while !matches!(cursor.peek(), Token::End | Token::Sign(';')) {
        if clause.named(cursor)? {
            is_there = true;
        } else if cursor.accept("CHARSET_UNKNOWN")? {
            (clause.is_unknown, is_there) = (true, true);
        } else {
            cursor.bump()?;
        }
    }
    Ok(is_there.then_some(clause))
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

/// The words that may follow ALTER DATABASE instead of a name.
const DATABASE_OPTIONS: [&str; 8] =
    ["CHARACTER", "CHARSET", "DEFAULT", "COLLATE", "ENCRYPTION", "READ", "COMMENT", "UPGRADE"];
