//! Steps over expressions. Their values do not matter here.

use super::cursor::Cursor;
use super::token::{Result, Token};

/// Steps over the default of a column, after DEFAULT: a literal, a call or an expression.
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
