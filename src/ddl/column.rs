//! A column of a CREATE TABLE statement.

use super::charset_clause::CharsetClause;
use super::cursor::Cursor;
use super::data_type::{DataType, data_type};
use super::expression::skip_default;
use super::key::{Constraint, Key, KeyKind, skip_references};
use super::token::{Result, Token};
use std::sync::Arc;

/// The end of MariaDB's system period that a column contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowPeriod {
    Start,
    End,
}

/// A column as it is in the statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnDefinition {
    pub(crate) name: Arc<str>,
    pub(crate) data_type: DataType,
    pub(crate) charset: CharsetClause,
    /// M and D of FLOAT(M,D), DOUBLE(M,D), REAL(M,D).
    pub(crate) digits: Option<(u64, u64)>,
    pub(crate) unsigned: bool,
    pub(crate) zerofill: bool,
    pub(crate) not_null: bool,
    /// NULL as an attribute.
    pub(crate) null: bool,
    pub(crate) auto_increment: bool,
    /// The text after DEFAULT.
    pub(crate) default: Option<String>,
    /// The text after ON UPDATE.
    pub(crate) on_update: Option<String>,
    pub(crate) comment: Option<Arc<str>>,
    pub(crate) srid: Option<u64>,
    pub(crate) visible: bool,
    /// PRIMARY KEY as an attribute.
    pub(crate) primary: bool,
    /// UNIQUE as an attribute.
    pub(crate) unique: bool,
    /// True if the server computes it.
    pub(crate) is_generated: bool,
    /// The expression that computes it.
    pub(crate) expression: Option<String>,
    /// True if it is computed and not stored.
    pub(crate) is_virtual: bool,
    /// MariaDB's COMPRESSED.
    pub(crate) compressed: bool,
    pub(crate) row_period: Option<RowPeriod>,
    /// WITH SYSTEM VERSIONING as an attribute.
    pub(crate) versioned: bool,
    /// WITHOUT SYSTEM VERSIONING as an attribute.
    pub(crate) unversioned: bool,
    /// CHECK as an attribute.
    pub(crate) check: Option<Constraint>,
    /// REFERENCES as an attribute. Some servers ignore it.
    pub(crate) references: Option<Constraint>,
    /// Its line in the statement.
    pub(crate) line: usize,
}

impl ColumnDefinition {
    /// Reads a column: name, type, attributes, up to the `,` or `)` after it.
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        let line = cursor.line();
        let name = cursor.name()?;
        Self::parse_named(cursor, name, line, &|cursor| {
            matches!(cursor.peek(), Token::Sign(',' | ')'))
        })
    }

    /// Reads the rest of a column after its name, up to the token for which `is_end` returns true.
    pub(crate) fn parse_named(
        cursor: &mut Cursor<'_>,
        name: String,
        line: usize,
        is_end: &dyn Fn(&Cursor<'_>) -> bool,
    ) -> Result<Self> {
        let parsed = data_type(cursor)?;
        let mut column = Self {
            name: name.into(),
            data_type: parsed.data_type,
            charset: parsed.charset,
            digits: parsed.digits,
            unsigned: parsed.is_serial,
            zerofill: false,
            not_null: parsed.is_serial,
            null: false,
            auto_increment: parsed.is_serial,
            default: None,
            on_update: None,
            comment: None,
            srid: None,
            visible: true,
            primary: false,
            unique: parsed.is_serial,
            is_generated: false,
            expression: None,
            is_virtual: false,
            compressed: false,
            row_period: None,
            versioned: false,
            unversioned: false,
            check: None,
            references: None,
            line,
        };
        let mut constraint = None;
        while !is_end(cursor) {
            column.attribute(cursor, &mut constraint)?;
        }
        Ok(column)
    }

    /// Reads one attribute. `constraint`: the name after CONSTRAINT, for the next constraint.
    fn attribute(
        &mut self,
        cursor: &mut Cursor<'_>,
        constraint: &mut Option<String>,
    ) -> Result<()> {
        let unknown = match cursor.peek() {
            Token::End => cursor.error("`)` is missing"),
            _ => cursor.error("an attribute that is not known"),
        };
        let Token::Word(word) = *cursor.peek() else { return Err(unknown) };
        let word = word.to_ascii_uppercase();
        if self.charset.attribute(cursor)?
            || self.constraint(cursor, &word, constraint)?
            || self.storage(cursor, &word)?
        {
            return Ok(());
        }
        match word.as_str() {
            "UNSIGNED" | "ZEROFILL" => {
                self.zerofill |= cursor.accept("ZEROFILL")?;
                cursor.accept("UNSIGNED")?;
                self.unsigned = true;
            }
            "SIGNED" => drop(cursor.bump()?),
            "NULL" => {
                cursor.bump()?;
                (self.null, self.not_null) = (true, false);
            }
            "NOT" => {
                cursor.bump()?;
                if cursor.accept("NULL")? {
                    (self.null, self.not_null) = (false, true);
                } else if !cursor.accept_any(&["ENFORCED", "SECONDARY"])? {
                    return Err(cursor.error("NULL is missing after NOT"));
                }
            }
            "ENFORCED" | "VISIBLE" | "VIRTUAL" => drop(cursor.bump()?),
            "STORED" | "PERSISTENT" => {
                cursor.bump()?;
                self.is_virtual = false;
            }
            "INVISIBLE" => {
                cursor.bump()?;
                self.visible = false;
            }
            "AUTO_INCREMENT" => {
                cursor.bump()?;
                (self.auto_increment, self.not_null) = (true, true);
            }
            "DEFAULT" => {
                cursor.bump()?;
                self.default = Some(cursor.text_of(skip_default)?);
            }
            "ON" => {
                cursor.bump()?;
                cursor.expect("UPDATE")?;
                self.on_update = Some(cursor.text_of(|cursor| {
                    cursor.name()?;
                    cursor.accept_parens().map(drop)
                })?);
            }
            "COMMENT" => {
                cursor.bump()?;
                cursor.accept_sign('=')?;
                self.comment = Some(cursor.text()?).filter(|text| !text.is_empty()).map(Into::into);
            }
            "SRID" | "REF_SYSTEM_ID" => {
                cursor.bump()?;
                cursor.accept_sign('=')?;
                self.srid = Some(cursor.number()?);
            }
            "GENERATED" => {
                cursor.bump()?;
                cursor.expect("ALWAYS")?;
                self.generated(cursor)?;
            }
            "AS" => self.generated(cursor)?,
            "WITH" if cursor.accept_all(&["WITH", "SYSTEM", "VERSIONING"])? => {
                self.versioned = true;
            }
            "WITHOUT" if cursor.accept_all(&["WITHOUT", "SYSTEM", "VERSIONING"])? => {
                self.unversioned = true;
            }
            _ => {
                // An attribute of an engine: `ENCRYPTED=YES`. None of them changes the structure.
                cursor.bump()?;
                let needs_no_sign = word.ends_with("ENGINE_ATTRIBUTE");
                if !cursor.accept_sign('=')? && !needs_no_sign {
                    return Err(unknown);
                }
                cursor.skip_value()?;
            }
        }
        Ok(())
    }

    /// Reads an attribute that creates a key or another constraint. Returns false for another attribute.
    fn constraint(
        &mut self,
        cursor: &mut Cursor<'_>,
        word: &str,
        name: &mut Option<String>,
    ) -> Result<bool> {
        match word {
            "SERIAL" => {
                cursor.bump()?;
                cursor.expect("DEFAULT")?;
                cursor.expect("VALUE")?;
                (self.not_null, self.unique, self.auto_increment) = (true, true, true);
            }
            "PRIMARY" | "KEY" => {
                cursor.accept("PRIMARY")?;
                cursor.accept("KEY")?;
                self.primary = true;
            }
            "UNIQUE" => {
                cursor.bump()?;
                cursor.accept("KEY")?;
                self.unique = true;
            }
            "CONSTRAINT" => {
                cursor.bump()?;
                if !cursor.is("CHECK") && !cursor.is("REFERENCES") {
                    *name = Some(cursor.name()?);
                }
                if !["CHECK", "REFERENCES", "PRIMARY", "UNIQUE", "NOT", "NULL"]
                    .iter()
                    .any(|w| cursor.is(w))
                {
                    return Err(cursor.error("CHECK is missing"));
                }
            }
            "CHECK" => {
                let text = cursor.text_of(|cursor| {
                    cursor.bump()?;
                    cursor.skip_parens()
                })?;
                self.check = Some(Constraint::new(name.take(), text));
            }
            "REFERENCES" => {
                let text = cursor.text_of(skip_references)?;
                self.references = Some(Constraint::new(name.take(), text));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads an attribute about the storage of values. Returns false for another attribute.
    fn storage(&mut self, cursor: &mut Cursor<'_>, word: &str) -> Result<bool> {
        match word {
            "COLUMN_FORMAT" => {
                cursor.bump()?;
                cursor.name()?;
                if cursor.accept_all(&["WITH", "COMPRESSION_DICTIONARY"])? {
                    cursor.name()?;
                }
            }
            "STORAGE" => {
                cursor.bump()?;
                cursor.name()?;
            }
            "COMPRESSED" => {
                cursor.bump()?;
                if cursor.accept_sign('=')? {
                    cursor.name_or_text()?;
                }
                self.compressed = true;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The keys that its attributes create.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        let key = |is_there: bool, kind| is_there.then(|| Key::inline(kind, &self.name));
        let foreign = self.references.as_ref().map(|Constraint { name, text, .. }| Key {
            constraint: name.clone(),
            references: text.clone(),
            ..Key::inline(KeyKind::Foreign, &self.name)
        });
        let primary = key(self.primary, KeyKind::Primary);
        primary.into_iter().chain(key(self.unique, KeyKind::Unique)).chain(foreign)
    }

    /// Reads `AS (expression)`, or MariaDB's `AS ROW START`.
    fn generated(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        cursor.expect("AS")?;
        self.is_generated = true;
        if cursor.accept("ROW")? {
            self.row_period = Some(match cursor.accept("START")? {
                true => RowPeriod::Start,
                false => cursor.expect("END").map(|()| RowPeriod::End)?,
            });
            self.not_null = true;
            return Ok(());
        }
        self.is_virtual = true;
        self.expression = Some(cursor.text_of(Cursor::skip_parens)?);
        Ok(())
    }
}
