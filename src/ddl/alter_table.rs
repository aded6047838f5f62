//! The clauses of an ALTER TABLE, as actions.
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/alter-table.html>, <https://mariadb.com/kb/en/alter-table/>

mod table_option;

use super::column::{CharsetClause, ColumnDefinition, skip_default};
use super::create_table::Period;
use super::cursor::Cursor;
use super::key::{Constraint, Element, Key, KeyKind};
use super::token::{Result, Token};

/// The place of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    First,
    After(String),
}

/// A table's name, with the database where the statement names it.
pub(crate) type Name = (Option<String>, String);

/// One change that an ALTER TABLE makes to the structure or to the rows. A clause that changes neither has no action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    AddColumn {
        column: Box<ColumnDefinition>,
        place: Option<Place>,
        if_not_exists: bool,
    },
    /// CHANGE, and MODIFY, where the name stays.
    Change {
        from: String,
        column: Box<ColumnDefinition>,
        place: Option<Place>,
        if_exists: bool,
    },
    DropColumn {
        name: String,
        if_exists: bool,
    },
    RenameColumn {
        from: String,
        to: String,
        if_exists: bool,
    },
    /// ALTER COLUMN SET DEFAULT, DROP DEFAULT.
    Default {
        name: String,
        default: Option<String>,
        if_exists: bool,
    },
    ColumnVisible {
        name: String,
        visible: bool,
    },
    AddKey(Key),
    AddCheck(Constraint),
    DropPrimary {
        if_exists: bool,
    },
    DropKey {
        name: String,
        if_exists: bool,
    },
    /// DROP CONSTRAINT, DROP CHECK, DROP FOREIGN KEY: whether it may be a key.
    DropConstraint {
        name: String,
        may_be_key: bool,
    },
    RenameKey {
        from: String,
        to: String,
        if_exists: bool,
    },
    KeyVisible {
        name: String,
        visible: bool,
    },
    Rename(Name),
    Convert(CharsetClause),
    DefaultCharset(CharsetClause),
    Comment(String),
    Engine(String),
    Versioning(bool),
    AddPeriod(Period),
    DropPeriod(String),
    /// MariaDB's CONVERT PARTITION p TO TABLE t.
    PartitionToTable(Name),
    /// MariaDB's CONVERT TABLE t TO PARTITION p.
    TableToPartition(Name),
    /// EXCHANGE PARTITION p WITH TABLE t.
    Exchange(Name),
    /// The structure does not change, but the table has other or fewer rows afterwards.
    OtherRows(&'static str),
}

/// The clauses of an ALTER TABLE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clauses {
    pub(crate) actions: Vec<Action>,
    /// True if the statement gives the table another name, and does nothing else.
    pub(crate) only_renames: bool,
}

/// Reads the clauses, after the table's name, up to the statement's end.
pub(crate) fn clauses(cursor: &mut Cursor<'_>) -> Result<Clauses> {
    let mut actions = Vec::new();
    let (mut renames, mut has_others) = (false, false);
    wait(cursor)?;
    while !is_statement_end(cursor) {
        let is_option = cursor.is("ALGORITHM") || cursor.is("LOCK");
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
    Ok(Clauses { actions, only_renames: renames && !has_others })
}

/// More than a table can have columns and keys: the time that a statement takes is bounded by it.
const MAX_ACTIONS: usize = 10_000;

fn is_statement_end(cursor: &Cursor<'_>) -> bool {
    matches!(cursor.peek(), Token::End | Token::Sign(';'))
}

/// MariaDB's `WAIT 5` and `NOWAIT`.
pub(crate) fn wait(cursor: &mut Cursor<'_>) -> Result<()> {
    if cursor.accept("WAIT")? {
        cursor.bump()?;
    } else {
        cursor.accept("NOWAIT")?;
    }
    Ok(())
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
                let goes_on = ahead.accept_sign(',')? && !begins_action(&ahead);
                if !goes_on {
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
        "WAIT" => wait(cursor),
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

/// The clause that begins with a word, if it removes or replaces rows.
fn other_rows(word: &str) -> Option<&'static str> {
    Some(match word {
        "REPAIR" => "REPAIR PARTITION",
        "TRUNCATE" => "TRUNCATE PARTITION",
        "DISCARD" => "DISCARD TABLESPACE",
        "IMPORT" => "IMPORT TABLESPACE",
        _ => return None,
    })
}

/// Steps over a partition clause, which ends the statement but for a second one.
fn skip_partitions(cursor: &mut Cursor<'_>) -> Result<()> {
    while !is_statement_end(cursor) && !cursor.are(&["REMOVE", "PARTITIONING"]) {
        if !cursor.accept_parens()? {
            cursor.bump()?;
        }
    }
    Ok(())
}

/// A column, and where it goes.
fn column(cursor: &mut Cursor<'_>) -> Result<(ColumnDefinition, Option<Place>)> {
    let line = cursor.line();
    let name = cursor.name()?;
    let column = ColumnDefinition::parse_named(cursor, name, line, &|cursor| {
        matches!(cursor.peek(), Token::Sign(',' | ')' | ';') | Token::End)
            || cursor.is("FIRST")
            || cursor.is("AFTER")
            || is_option_behind(cursor)
    })?;
    let place = if cursor.accept("FIRST")? {
        Some(Place::First)
    } else if cursor.accept("AFTER")? {
        Some(Place::After(cursor.name()?))
    } else {
        None
    };
    Ok((column, place))
}

/// Options of the statement that may follow an action without a comma.
fn is_option_behind(cursor: &Cursor<'_>) -> bool {
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

/// Reads what follows INDEX in CREATE INDEX: `name [USING BTREE] ON table (columns)`. The outer error is one before the columns.
pub(crate) fn create_index(cursor: &mut Cursor<'_>, kind: KeyKind) -> Result<(Name, Result<Key>)> {
    let mut key = Key::new(kind);
    key.if_not_exists = cursor.accept_all(&["IF", "NOT", "EXISTS"])?;
    key.name = Some(cursor.name()?);
    if cursor.accept_any(&["USING", "TYPE"])? {
        key.is_hash = cursor.is("HASH");
        cursor.name()?;
    }
    cursor.expect("ON")?;
    let table = cursor.qualified_name()?;
    let key = wait(cursor)
        .and_then(|()| key.columns(cursor))
        .and_then(|()| key.options(cursor))
        .map(|()| key);
    Ok((table, key))
}
