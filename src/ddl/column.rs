//! A column of a CREATE TABLE statement.

use super::create_table::skip_value;
use super::cursor::Cursor;
use super::data_type::{DataType, data_type};
use super::key::{Constraint, Key, KeyKind};
use super::token::{Result, Token};
use crate::charset::Charset;
use std::sync::Arc;

/// The character set and the collation of a column or a table, as the statement names them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CharsetClause {
    pub(crate) charset: Option<Charset>,
    /// By its name, which has another meaning on each server.
    pub(crate) collation: Option<String>,
    /// The attribute BINARY: the character set's `_bin` collation.
    pub(crate) binary: bool,
    /// True if the default was not known when the statement ran: no later default applies.
    pub(crate) is_unknown: bool,
}

/// Which end of MariaDB's system period a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowPeriod {
    Start,
    End,
}

/// A column as the statement says it.
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
    /// The expression that it is computed by.
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
    /// REFERENCES as an attribute: whether it counts differs by server.
    pub(crate) references: Option<Constraint>,
    /// The line of the statement that it is in.
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

    /// Reads what follows a column's name, up to where `is_end` says that it ends.
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

    /// `constraint`: the name that CONSTRAINT has given to what follows.
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
        if self.charset.attribute(cursor)? {
            return Ok(());
        }
        match word.to_ascii_uppercase().as_str() {
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
            "SRID" | "REF_SYSTEM_ID" => {
                cursor.bump()?;
                cursor.accept_sign('=')?;
                self.srid = Some(cursor.number()?);
            }
            "COMPRESSED" => {
                cursor.bump()?;
                if cursor.accept_sign('=')? {
                    cursor.name_or_text()?;
                }
                self.compressed = true;
            }
            "GENERATED" => {
                cursor.bump()?;
                cursor.expect("ALWAYS")?;
                self.generated(cursor)?;
            }
            "AS" => self.generated(cursor)?,
            "CONSTRAINT" => {
                cursor.bump()?;
                if !cursor.is("CHECK") && !cursor.is("REFERENCES") {
                    *constraint = Some(cursor.name()?);
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
                self.check = Some(Constraint::new(constraint.take(), text));
            }
            "REFERENCES" => {
                let text = cursor.text_of(skip_references)?;
                self.references = Some(Constraint::new(constraint.take(), text));
            }
            "WITH" if cursor.accept_all(&["WITH", "SYSTEM", "VERSIONING"])? => {
                self.versioned = true;
            }
            "WITHOUT" if cursor.accept_all(&["WITHOUT", "SYSTEM", "VERSIONING"])? => {
                self.unversioned = true;
            }
            _ => {
                // An engine's own attribute: `ENCRYPTED=YES`. None of them changes what a column is.
                cursor.bump()?;
                let needs_no_sign = word.to_ascii_uppercase().ends_with("ENGINE_ATTRIBUTE");
                if !cursor.accept_sign('=')? && !needs_no_sign {
                    return Err(unknown);
                }
                skip_value(cursor)?;
            }
        }
        Ok(())
    }

    /// The keys that its attributes make.
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

    /// `AS (expression)`, or MariaDB's `AS ROW START`.
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

impl CharsetClause {
    /// Reads one word about the column's character set, if the current token is one.
    fn attribute(&mut self, cursor: &mut Cursor<'_>) -> Result<bool> {
        if cursor.accept("ASCII")? {
            self.charset = Some(Charset::Latin1);
        } else if cursor.accept("UNICODE")? {
            self.charset = Some(Charset::Ucs2);
        } else if cursor.accept("BYTE")? {
            self.charset = Some(Charset::Binary);
        } else if cursor.accept("BINARY")? {
            self.binary = true;
        } else if cursor.accept("CHARSET_UNKNOWN")? {
            self.is_unknown = true;
        } else {
            return self.named(cursor);
        }
        Ok(true)
    }

    /// Reads `CHARACTER SET name` or `COLLATE name`, if the current token begins one.
    pub(crate) fn named(&mut self, cursor: &mut Cursor<'_>) -> Result<bool> {
        if cursor.accept("CHARSET")?
            || cursor.accept_all(&["CHARACTER", "SET"])?
            || cursor.accept_all(&["CHAR", "SET"])?
        {
            cursor.accept_sign('=')?;
            let unknown = cursor.error("a character set that is not known");
            let name = cursor.name_or_text()?;
            // `DEFAULT` takes back what was said.
            self.charset = match name.eq_ignore_ascii_case("DEFAULT") {
                true => None,
                false => Some(Charset::from_name(&name).ok_or(unknown)?),
            };
            return Ok(true);
        }
        if cursor.accept("COLLATE")? {
            cursor.accept_sign('=')?;
            let name = cursor.name_or_text()?;
            self.collation = (!name.eq_ignore_ascii_case("DEFAULT")).then_some(name);
            return Ok(true);
        }
        Ok(false)
    }
}

/// Steps over what follows DEFAULT: a literal, a call, an expression.
pub(crate) fn skip_default(cursor: &mut Cursor<'_>) -> Result<()> {
    if cursor.accept_all(&["NEXT", "VALUE", "FOR"])? {
        return cursor.qualified_name().map(drop);
    }
    loop {
        while let Token::Sign('+' | '-' | '~' | '!') = cursor.peek() {
            cursor.bump()?;
        }
        match cursor.peek() {
            Token::Sign('(') => cursor.skip_parens()?,
            Token::Sign('.') => {} // of .5
            Token::Sign(_) | Token::End => return Err(cursor.error("a value is missing")),
            _ if cursor.is("CASE") => skip_case(cursor)?,
            _ => drop(cursor.bump()?),
        }
        loop {
            match cursor.peek() {
                Token::Sign('(') => cursor.skip_parens()?,
                Token::Sign('.') => {
                    cursor.bump()?;
                    cursor.bump()?;
                }
                // After a character set: _utf8mb4'a', DATE'2020-02-02'.
                Token::Text(_) | Token::DoubleQuoted(_) | Token::Bytes(_) => drop(cursor.bump()?),
                _ => break,
            }
        }
        match cursor.peek() {
            Token::Sign('+' | '-' | '*' | '/' | '%' | '|' | '&' | '^') => drop(cursor.bump()?),
            _ => return Ok(()),
        }
    }
}

/// Steps over `CASE ... END`.
fn skip_case(cursor: &mut Cursor<'_>) -> Result<()> {
    let mut depth = 0_usize;
    loop {
        if cursor.is("CASE") {
            depth += 1;
        } else if cursor.is("END") {
            depth -= 1;
        } else if *cursor.peek() == Token::End {
            return Err(cursor.error("END is missing"));
        }
        cursor.bump()?;
        if depth == 0 {
            return Ok(());
        }
    }
}

/// Steps over `REFERENCES table (columns)` and what is to happen.
pub(crate) fn skip_references(cursor: &mut Cursor<'_>) -> Result<()> {
    cursor.expect("REFERENCES")?;
    cursor.qualified_name()?;
    cursor.accept_parens()?;
    if cursor.accept("MATCH")? {
        cursor.name()?;
    }
    while cursor.are(&["ON", "DELETE"]) || cursor.are(&["ON", "UPDATE"]) {
        cursor.bump()?;
        cursor.bump()?;
        if cursor.accept("SET")? {
            if !cursor.accept_any(&["NULL", "DEFAULT"])? {
                return Err(cursor.error("NULL is missing after SET"));
            }
        } else if cursor.accept("NO")? {
            cursor.expect("ACTION")?;
        } else {
            cursor.name()?;
        }
    }
    Ok(())
}
