//! Character sets and collations in statements: of a column, a table, a database.

use super::cursor::Cursor;
use super::token::{Result, Token};
use crate::charset::Charset;

/// The character set and the collation of a column or a table, as the statement names them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CharsetClause {
    pub(crate) charset: Option<Charset>,
    /// Its name. Servers differ in the meaning of names.
    pub(crate) collation: Option<String>,
    /// True with the attribute BINARY: the `_bin` collation of the character set.
    pub(crate) binary: bool,
    /// True if the default was not known when the statement ran: no later default applies.
    pub(crate) is_unknown: bool,
}

impl CharsetClause {
    /// Reads one attribute of a column about its character set, if the current token begins one.
    pub(super) fn attribute(&mut self, cursor: &mut Cursor<'_>) -> Result<bool> {
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
            // `DEFAULT` cancels the names before it.
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

    /// Reads the options of a database, up to the end of the statement. `None` if they name no character set.
    pub(super) fn of_database(cursor: &mut Cursor<'_>) -> Result<Option<Self>> {
        let mut clause = Self::default();
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
}
