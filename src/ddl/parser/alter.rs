//! ALTER statements.

use super::Parser;
use crate::ddl::alter_action::Action;
use crate::ddl::alter_table;
use crate::ddl::body::{AlterTable, Body};
use crate::ddl::charset_clause::CharsetClause;
use crate::ddl::row_changes::{is_any, is_object, skip_attributes};
use crate::ddl::table_name::TableName;
use crate::ddl::token::{Result, Token};

impl Parser<'_> {
    pub(super) fn alter(&mut self) -> Result<Body> {
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
                    match action {
                        Action::Rename(name) => alter.renamed = Some(self.named(name.clone())),
                        Action::Exchange(name)
                        | Action::PartitionToTable(name)
                        | Action::TableToPartition(name) => {
                            alter.others.push(self.named(name.clone()));
                        }
                        _ => {}
                    }
                }
                alter.only_renames = clauses.only_renames;
            }
            // The names of its tables can still be read.
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
        self.cursor.skip_wait()?;
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
        // Without a name it is the session's database.
        let name = match is_any(cursor, &DATABASE_OPTIONS) {
            true => self.database.to_owned(),
            false => cursor.name()?,
        };
        Ok(Body::AlterDatabase { name, charset: CharsetClause::of_database(cursor) })
    }

    /// Reads `ALTER SEQUENCE s AS type`, which changes the columns of a sequence.
    fn alter_sequence(&mut self) -> Result<Body> {
        self.cursor.bump()?;
        self.cursor.accept_all(&["IF", "EXISTS"])?;
        let table = self.table()?;
        Ok(match self.sequence_type()? {
            Some(number) => Body::Sequence { table, if_not_exists: false, number },
            None => Body::Other,
        })
    }
}

/// The words that may follow ALTER DATABASE instead of a name.
const DATABASE_OPTIONS: [&str; 8] =
    ["CHARACTER", "CHARSET", "DEFAULT", "COLLATE", "ENCRYPTION", "READ", "COMMENT", "UPGRADE"];
