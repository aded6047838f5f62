//! Reads the clauses of an ALTER TABLE as actions.
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/alter-table.html>, <https://mariadb.com/kb/en/alter-table/>

mod table_option;

use super::alter_action::{Action, Clauses, ColumnPlace};
use super::charset_clause::CharsetClause;
use super::column::ColumnDefinition;
use super::create_table::Period;
use super::cursor::Cursor;
use super::expression::skip_default;
use super::key::Element;
use super::token::{Result, Token};

/// Reads the clauses, after the table's name, up to the statement's end.
pub(crate) fn clauses(cursor: &mut Cursor<'_>) -> Result<Clauses> {
    let mut actions = Vec::new();
    let (mut renames, mut has_others, mut is_copy) = (false, false, None);
    cursor.skip_wait()?;
    while !is_statement_end(cursor) {
        let is_option = cursor.is("ALGORITHM") || cursor.is("LOCK");
        if cursor.is("ALGORITHM") {
            is_copy = algorithm(cursor.clone())?;
        }
        let before = actions.len();
        action(cursor, &mut actions)?;
        match actions.get(before..) {
            Some([Action::Rename(_)]) => renames = true,
            _ => has_others |= !is_option,
        }
        if actions.len() > MAX_ACTIONS {
            return Err(cursor.error(format!("more than {MAX_ACTIONS} actions")));
        }
        match cursor.peek() {
            Token::Sign(',') => drop(cursor.bump()?),
            Token::Sign(')') => return Err(cursor.error("a `)` too many")),
            _ => {}
        }
    }
    Ok(Clauses { actions, only_renames: renames && !has_others, is_copy })
}

/// True for ALGORITHM=COPY, false for the others; `None` for DEFAULT.
fn algorithm(mut cursor: Cursor<'_>) -> Result<Option<bool>> {
    cursor.bump()?;
    cursor.accept_sign('=')?;
    Ok(if cursor.is("DEFAULT") { None } else { Some(cursor.is("COPY")) })
}

/// A table cannot have as many columns and keys. This limits the time for a statement.
const MAX_ACTIONS: usize = 10_000;

fn is_statement_end(cursor: &Cursor<'_>) -> bool {
    matches!(cursor.peek(), Token::End | Token::Sign(';'))
}

fn action(cursor: &mut Cursor<'_>, actions: &mut Vec<Action>) -> Result<()> {
    let Token::Word(word) = *cursor.peek() else {
        return Err(cursor.error("a clause that is not known"));
    };
    match word.to_ascii_uppercase().as_str() {
        "ADD" => add(cursor, actions),
        "DROP" => drop_(cursor, actions),
        "MODIFY" => {
            cursor.bump()?;
            cursor.accept("COLUMN")?;
            let if_exists = cursor.accept_all(&["IF", "EXISTS"])?;
            let (column, place) = column(cursor)?;
            let from = column.name.to_string();
            actions.push(Action::Change { from, column: Box::new(column), place, if_exists });
            Ok(())
        }
        "CHANGE" => {
            cursor.bump()?;
            cursor.accept("COLUMN")?;
            let if_exists = cursor.accept_all(&["IF", "EXISTS"])?;
            let from = cursor.name()?;
            let (column, place) = column(cursor)?;
            actions.push(Action::Change { from, column: Box::new(column), place, if_exists });
            Ok(())
        }
        "ALTER" => alter(cursor, actions),
        "RENAME" => rename(cursor, actions),
        "CONVERT" => convert(cursor, actions),
        "ORDER" => {
            cursor.bump()?;
            cursor.expect("BY")?;
            loop {
                while !matches!(cursor.peek(), Token::Sign(',' | ';') | Token::End) {
                    if !cursor.accept_parens()? {
                        cursor.bump()?;
                    }
                }
                let mut ahead = cursor.clone();
                let has_more = ahead.accept_sign(',')? && !begins_action(&ahead);
                if !has_more {
                    return Ok(());
                }
                cursor.bump()?;
            }
        }
        // These are followed by nothing, or by names of partitions.
        word @ ("PARTITION" | "COALESCE" | "REORGANIZE" | "ANALYZE" | "CHECK" | "OPTIMIZE"
        | "REBUILD" | "REPAIR" | "TRUNCATE" | "DISCARD" | "IMPORT") => {
            actions.extend(other_rows(word).map(Action::OtherRows));
            skip_partitions(cursor)
        }
        "EXCHANGE" => {
            while !is_statement_end(cursor) && !cursor.is("TABLE") {
                cursor.bump()?;
            }
            cursor.expect("TABLE")?;
            actions.push(Action::Exchange(cursor.qualified_name()?));
            skip_partitions(cursor)
        }
        "REMOVE" => {
            cursor.bump()?;
            cursor.expect("PARTITIONING")
        }
        "FORCE" | "SECONDARY_LOAD" | "SECONDARY_UNLOAD" | "NOWAIT" => cursor.bump().map(drop),
        "WAIT" => cursor.skip_wait(),
        "ENABLE" | "DISABLE" => {
            cursor.bump()?;
            cursor.expect("KEYS")
        }
        "WITH" | "WITHOUT" => {
            cursor.bump()?;
            cursor.expect("VALIDATION")
        }
        _ => table_option::parse(cursor, actions),
    }
}

/// True if the current token begins an action; otherwise it is another name of a list.
fn begins_action(cursor: &Cursor<'_>) -> bool {
    let words = [
        "ADD",
        "DROP",
        "MODIFY",
        "CHANGE",
        "ALTER",
        "RENAME",
        "CONVERT",
        "ORDER",
        "FORCE",
        "ENGINE",
        "ALGORITHM",
        "LOCK",
        "COMMENT",
        "DEFAULT",
        "CHARACTER",
        "CHARSET",
        "COLLATE",
    ];
    words.iter().any(|word| cursor.is(word))
}

/// The name of the clause that begins with a word, if it removes or replaces rows.
fn other_rows(word: &str) -> Option<&'static str> {
    Some(match word {
        "REPAIR" => "REPAIR PARTITION",
        "TRUNCATE" => "TRUNCATE PARTITION",
        "DISCARD" => "DISCARD TABLESPACE",
        "IMPORT" => "IMPORT TABLESPACE",
        _ => return None,
    })
}

/// Steps over a partition clause. Only REMOVE PARTITIONING can follow it.
fn skip_partitions(cursor: &mut Cursor<'_>) -> Result<()> {
    while !is_statement_end(cursor) && !cursor.are(&["REMOVE", "PARTITIONING"]) {
        if !cursor.accept_parens()? {
            cursor.bump()?;
        }
    }
    Ok(())
}

/// Reads a column and its place.
fn column(cursor: &mut Cursor<'_>) -> Result<(ColumnDefinition, Option<ColumnPlace>)> {
    let line = cursor.line();
    let name = cursor.name()?;
    let column = ColumnDefinition::parse_named(cursor, name, line, &|cursor| {
        matches!(cursor.peek(), Token::Sign(',' | ')' | ';') | Token::End)
            || cursor.is("FIRST")
            || cursor.is("AFTER")
            || is_option(cursor)
    })?;
    let place = if cursor.accept("FIRST")? {
        Some(ColumnPlace::First)
    } else if cursor.accept("AFTER")? {
        Some(ColumnPlace::After(cursor.name()?))
    } else {
        None
    };
    Ok((column, place))
}

/// True for an option of the statement that may follow an action without a comma.
fn is_option(cursor: &Cursor<'_>) -> bool {
    ["ALGORITHM", "LOCK"].iter().any(|word| cursor.is(word))
        || cursor.are(&["PARTITION", "BY"])
        || cursor.are(&["REMOVE", "PARTITIONING"])
}

fn add(cursor: &mut Cursor<'_>, actions: &mut Vec<Action>) -> Result<()> {
    cursor.bump()?;
    if cursor.accept_all(&["SYSTEM", "VERSIONING"])? {
        actions.push(Action::Versioning(true));
        return Ok(());
    }
    if cursor.is("PARTITION") {
        return skip_partitions(cursor);
    }
    if cursor.is("PERIOD") {
        let mut ahead = cursor.clone();
        ahead.bump()?;
        let if_not_exists = ahead.accept_all(&["IF", "NOT", "EXISTS"])?;
        if ahead.accept("FOR")? || if_not_exists {
            ahead.accept("FOR")?;
            *cursor = ahead;
            actions.push(Action::AddPeriod(Period::parse(cursor)?));
            return Ok(());
        }
    }
    if Element::begins(cursor) {
        actions.push(match Element::parse(cursor)? {
            Element::Key(key) => Action::AddKey(key),
            Element::Check(check) => Action::AddCheck(check),
        });
        return Ok(());
    }
    cursor.accept("COLUMN")?;
    let if_not_exists = cursor.accept_all(&["IF", "NOT", "EXISTS"])?;
    if !cursor.accept_sign('(')? {
        let (column, place) = column(cursor)?;
        actions.push(Action::AddColumn { column: Box::new(column), place, if_not_exists });
        return Ok(());
    }
    loop {
        if Element::begins(cursor) {
            actions.push(match Element::parse(cursor)? {
                Element::Key(key) => Action::AddKey(key),
                Element::Check(check) => Action::AddCheck(check),
            });
        } else if cursor.accept_all(&["PERIOD", "FOR"])? {
            actions.push(Action::AddPeriod(Period::parse(cursor)?));
        } else {
            let (column, place) = column(cursor)?;
            actions.push(Action::AddColumn { column: Box::new(column), place, if_not_exists });
        }
        if !cursor.accept_sign(',')? {
            return cursor.expect_sign(')');
        }
    }
}

fn drop_(cursor: &mut Cursor<'_>, actions: &mut Vec<Action>) -> Result<()> {
    cursor.bump()?;
    if cursor.is("PARTITION") {
        actions.push(Action::OtherRows("DROP PARTITION"));
        return skip_partitions(cursor);
    }
    let if_exists =
        |cursor: &mut Cursor<'_>| -> Result<bool> { cursor.accept_all(&["IF", "EXISTS"]) };
    if cursor.accept_all(&["SYSTEM", "VERSIONING"])? {
        actions.push(Action::Versioning(false));
    } else if cursor.are(&["PERIOD", "FOR"]) || cursor.are(&["PERIOD", "IF", "EXISTS", "FOR"]) {
        cursor.bump()?;
        if_exists(cursor)?;
        cursor.expect("FOR")?;
        actions.push(Action::DropPeriod(cursor.name()?));
    } else if cursor.accept("PRIMARY")? {
        cursor.expect("KEY")?;
        let if_exists = if_exists(cursor)?;
        actions.push(Action::DropPrimary { if_exists });
    } else if cursor.accept_any(&["KEY", "INDEX"])? {
        let if_exists = if_exists(cursor)?;
        let name = cursor.name()?;
        actions.push(match name.eq_ignore_ascii_case("PRIMARY") {
            true => Action::DropPrimary { if_exists },
            false => Action::DropKey { name, if_exists },
        });
    } else if cursor.accept_all(&["FOREIGN", "KEY"])? || cursor.accept("CHECK")? {
        if_exists(cursor)?;
        actions.push(Action::DropConstraint { name: cursor.name()?, may_be_key: false });
    } else if cursor.accept("CONSTRAINT")? {
        if_exists(cursor)?;
        actions.push(Action::DropConstraint { name: cursor.name()?, may_be_key: true });
    } else {
        cursor.accept("COLUMN")?;
        let if_exists = if_exists(cursor)?;
        actions.push(Action::DropColumn { name: cursor.name()?, if_exists });
        cursor.accept_any(&["RESTRICT", "CASCADE"])?;
    }
    Ok(())
}

fn alter(cursor: &mut Cursor<'_>, actions: &mut Vec<Action>) -> Result<()> {
    cursor.bump()?;
    if cursor.accept_any(&["INDEX", "KEY"])? {
        cursor.accept_all(&["IF", "EXISTS"])?;
        let name = cursor.name()?;
        let is_not = cursor.accept("NOT")?;
        let visible = is_not || cursor.is("VISIBLE");
        if !cursor.accept_any(&["VISIBLE", "INVISIBLE", "IGNORED"])? {
            return Err(cursor.error("VISIBLE or INVISIBLE is missing"));
        }
        actions.push(Action::KeyVisible { name, visible });
        return Ok(());
    }
    if cursor.accept_any(&["CHECK", "CONSTRAINT"])? {
        cursor.name()?;
        cursor.accept("NOT")?;
        return cursor.expect("ENFORCED");
    }
    cursor.accept("COLUMN")?;
    let if_exists = cursor.accept_all(&["IF", "EXISTS"])?;
    let name = cursor.name()?;
    if cursor.accept("SET")? {
        if cursor.accept("DEFAULT")? {
            let default = Some(cursor.text_of(skip_default)?);
            actions.push(Action::Default { name, default, if_exists });
            return Ok(());
        }
        let visible = cursor.is("VISIBLE");
        if !cursor.accept_any(&["VISIBLE", "INVISIBLE"])? {
            return Err(cursor.error("DEFAULT is missing"));
        }
        actions.push(Action::ColumnVisible { name, visible });
        return Ok(());
    }
    cursor.expect("DROP")?;
    cursor.expect("DEFAULT")?;
    actions.push(Action::Default { name, default: None, if_exists });
    Ok(())
}

fn rename(cursor: &mut Cursor<'_>, actions: &mut Vec<Action>) -> Result<()> {
    cursor.bump()?;
    let is_column = cursor.accept("COLUMN")?;
    if is_column || cursor.accept_any(&["INDEX", "KEY"])? {
        let if_exists = cursor.accept_all(&["IF", "EXISTS"])?;
        let from = cursor.name()?;
        cursor.expect("TO")?;
        let to = cursor.name()?;
        actions.push(match is_column {
            true => Action::RenameColumn { from, to, if_exists },
            false => Action::RenameKey { from, to, if_exists },
        });
        return Ok(());
    }
    let _ = cursor.accept_any(&["TO", "AS"])? || cursor.accept_sign('=')?;
    actions.push(Action::Rename(cursor.qualified_name()?));
    Ok(())
}

fn convert(cursor: &mut Cursor<'_>, actions: &mut Vec<Action>) -> Result<()> {
    cursor.bump()?;
    if cursor.accept("PARTITION")? {
        cursor.name()?;
        cursor.expect("TO")?;
        cursor.expect("TABLE")?;
        actions.push(Action::PartitionToTable(cursor.qualified_name()?));
        return skip_partitions(cursor);
    }
    if cursor.accept("TABLE")? {
        actions.push(Action::TableToPartition(cursor.qualified_name()?));
        return skip_partitions(cursor);
    }
    cursor.expect("TO")?;
    let mut clause = CharsetClause::default();
    if !clause.named(cursor)? {
        return Err(cursor.error("CHARACTER SET is missing"));
    }
    clause.named(cursor)?;
    actions.push(Action::Convert(clause));
    Ok(())
}
