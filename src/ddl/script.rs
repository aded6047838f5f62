//! What stands between the statements of a script.

use super::cursor::Cursor;
use super::token::{Result, Token};

/// Steps over a `;`, a client's command or what a client prints around a statement, if the token at hand begins one. `USE`
/// tells `database`.
pub(crate) fn between_statements(
    cursor: &mut Cursor<'_>,
    database: &mut Option<String>,
) -> Result<bool> {
    if cursor.accept_sign(';')? {
        return Ok(true);
    }
    if cursor.is("DELIMITER") {
        let line = cursor.rest_of_line()?;
        // What stands under another delimiter are programs.
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

/// Whether a CREATE TABLE stands there, a temporary one too.
pub(crate) fn is_create_table(cursor: &Cursor<'_>) -> bool {
    [&["CREATE", "TABLE"][..], &["CREATE", "TEMPORARY"], &["CREATE", "OR", "REPLACE", "TABLE"]]
        .iter()
        .any(|words| cursor.are(words))
}
