//! CREATE statements.

use super::Parser;
use crate::ddl::body::{Body, TableSource};
use crate::ddl::charset_clause::CharsetClause;
use crate::ddl::create_table::{CreateTable, Head};
use crate::ddl::key::{Key, KeyKind};
use crate::ddl::row_changes::{is_any, is_object, skip_attributes};
use crate::ddl::token::Result;
use crate::ddl::trigger::TriggerStatement;

impl Parser<'_> {
    pub(super) fn create(&mut self) -> Result<Body> {
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
        let mut key = Key::new(kind);
        key.if_not_exists = cursor.accept_all(&["IF", "NOT", "EXISTS"])?;
        key.name = Some(cursor.name()?);
        if cursor.accept_any(&["USING", "TYPE"])? {
            key.is_hash = cursor.is("HASH");
            cursor.name()?;
        }
        cursor.expect("ON")?;
        let table = self.table()?;
        let key = self.key_columns(key);
        Ok(Body::CreateIndex { table, or_replace, key })
    }

    /// Reads the columns and options of a CREATE INDEX.
    fn key_columns(&mut self, mut key: Key) -> Result<Key> {
        self.cursor.skip_wait()?;
        key.columns(&mut self.cursor)?;
        key.options(&mut self.cursor)?;
        Ok(key)
    }

    /// Reads a CREATE TABLE from the word TABLE to the end of the text, because a query may fill the table.
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
        // A logged statement contains all properties, with any quotes.
        create.is_abridged = false;
        Ok(TableSource::Columns(Box::new(create)))
    }

    fn create_database(&mut self, or_replace: bool) -> Result<Body> {
        let cursor = &mut self.cursor;
        cursor.bump()?;
        let if_not_exists = cursor.accept_all(&["IF", "NOT", "EXISTS"])?;
        let name = cursor.name()?;
        let charset = CharsetClause::of_database(cursor);
        Ok(Body::CreateDatabase { name, or_replace, if_not_exists, charset })
    }

    fn create_sequence(&mut self) -> Result<Body> {
        self.cursor.bump()?;
        let if_not_exists = self.cursor.accept_all(&["IF", "NOT", "EXISTS"])?;
        let table = self.table()?;
        let number = self.sequence_type()?.unwrap_or_else(|| "bigint(21)".to_owned());
        Ok(Body::Sequence { table, if_not_exists, number })
    }

    /// Reads `AS type`, if it is there.
    pub(super) fn sequence_type(&mut self) -> Result<Option<String>> {
        if !self.cursor.accept("AS")? {
            return Ok(None);
        }
        let mut number = self.cursor.name()?;
        if self.cursor.accept("UNSIGNED")? {
            number.push_str(" unsigned");
        }
        Ok(Some(number))
    }
}
