//! The options of a table in an ALTER TABLE.

use super::Action;
use crate::ddl::charset_clause::CharsetClause;
use crate::ddl::cursor::Cursor;
use crate::ddl::token::{Result, Token};

/// Reads an option of the table: `ENGINE=InnoDB`, `ALGORITHM INSTANT`.
pub(super) fn parse(cursor: &mut Cursor<'_>, actions: &mut Vec<Action>) -> Result<()> {
    let start = cursor.clone();
    cursor.accept("DEFAULT")?;
    let mut clause = CharsetClause::default();
    if clause.named(cursor)? {
        loop {
            cursor.accept("DEFAULT")?;
            if !clause.named(cursor)? {
                break;
            }
        }
        actions.push(Action::DefaultCharset(clause));
        return Ok(());
    }
    *cursor = start;
    let unknown = cursor.error("a clause that is not known");
    let word = cursor.name()?.to_ascii_uppercase();
    let has_sign = cursor.accept_sign('=')?;
    match word.as_str() {
        "ENGINE" | "TYPE" => actions.push(Action::Engine(cursor.name_or_text()?)),
        "COMMENT" => actions.push(Action::Comment(cursor.text()?)),
        "UNION" => {
            cursor.skip_parens()?;
            actions.push(Action::OtherRows("the option UNION"));
        }
        "DATA" | "INDEX" if cursor.accept("DIRECTORY")? => {
            cursor.accept_sign('=')?;
            cursor.text()?;
        }
        "START" if cursor.accept("TRANSACTION")? => {}
        word if has_sign || OPTIONS.contains(&word) => {
            match word {
                "CONNECTION" => actions.push(Action::OtherRows("the option CONNECTION")),
                "SEQUENCE" => actions.push(Action::OtherRows("the option SEQUENCE")),
                _ if OPTIONS.contains(&word) => {}
                _ => actions.push(Action::OtherRows("an option that is not known")),
            }
            match cursor.peek() {
                Token::Sign('-' | '+') => {
                    cursor.bump()?;
                    cursor.bump()?;
                }
                Token::Sign(_) | Token::End => return Err(unknown),
                _ => drop(cursor.bump()?),
            }
        }
        _ => return Err(unknown),
    }
    Ok(())
}

/// The options of a table that do not need a `=`.
const OPTIONS: [&str; 37] = [
    "ALGORITHM",
    "LOCK",
    "AUTOEXTEND_SIZE",
    "AUTO_INCREMENT",
    "AVG_ROW_LENGTH",
    "CHECKSUM",
    "TABLE_CHECKSUM",
    "COMPRESSION",
    "CONNECTION",
    "DELAY_KEY_WRITE",
    "ENCRYPTION",
    "ENCRYPTED",
    "ENCRYPTION_KEY_ID",
    "ENGINE_ATTRIBUTE",
    "SECONDARY_ENGINE_ATTRIBUTE",
    "SECONDARY_ENGINE",
    "IETF_QUOTES",
    "INSERT_METHOD",
    "ITEF_QUOTES",
    "KEY_BLOCK_SIZE",
    "MAX_ROWS",
    "MIN_ROWS",
    "PACK_KEYS",
    "PAGE_CHECKSUM",
    "PAGE_COMPRESSED",
    "PAGE_COMPRESSION_LEVEL",
    "PASSWORD",
    "ROW_FORMAT",
    "SEQUENCE",
    "STATS_AUTO_RECALC",
    "STATS_PERSISTENT",
    "STATS_SAMPLE_PAGES",
    "STORAGE",
    "TABLESPACE",
    "TRANSACTIONAL",
    "NODEGROUP",
    "START_TRANSACTION",
];
