//! Text between the statements of a script.

use super::cursor::Cursor;
use super::token::{Result, Token};

/// Steps over a `;`, a client's command or the text that a client prints around a statement, if the current token begins
/// one. `USE` sets `database`.
pub(crate) fn between_statements(
    cursor: &mut Cursor<'_>,
    database: &mut Option<String>,
) -> Result<bool> {
    if cursor.accept_sign(';')? {
        return Ok(true);
    }
    if cursor.is("DELIMITER") {
        let line = cursor.rest_of_line()?;
        // Statements with another delimiter are programs.
        if line.split_whitespace().nth(1) != Some(";") {
            cursor.skip_to_line("DELIMITER")?;
        }
        return Ok(true);
    }
    if cursor.is_sign('*') {
        // The client's \G: *** 1. row ***, Table: name, Create Table: CREATE TABLE ...
        while !cursor.are(&["CREATE", "TABLE"]) && *cursor.peek() != Token::End {
            cursor.bump()?;
        }
        cursor.accept_all(&["CREATE", "TABLE"])?;
        cursor.accept_sign(':')?;
        return Ok(true);
    }
    if cursor.accept("USE")? {
        *database = Some(cursor.name()?);
        cursor.skip_statement()?;
        return Ok(true);
    }
    Ok(false)
}

/// True if a CREATE TABLE begins here, or a CREATE TEMPORARY TABLE.
pub(crate) fn is_create_table(cursor: &Cursor<'_>) -> bool {
    [&["CREATE", "TABLE"][..], &["CREATE", "TEMPORARY"], &["CREATE", "OR", "REPLACE", "TABLE"]]
        .iter()
        .any(|words| cursor.are(words))
}
