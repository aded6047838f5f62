//! CREATE TRIGGER and DROP TRIGGER: the table of a trigger, and the tables that its body names.
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/create-trigger.html>, <https://mariadb.com/kb/en/create-trigger/>

use super::cursor::Cursor;
use super::table_name::TableName;
use super::token::{Result, Token};

/// The statement that activates a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerEvent {
    /// INSERT, and the rows of LOAD DATA and REPLACE.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE, and the rows that REPLACE deletes.
    Delete,
}

/// A statement about a trigger. A name without a database is in the session's database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TriggerStatement {
    /// CREATE TRIGGER.
    Create {
        /// The trigger, with its database.
        name: TableName,
        /// The statement that activates it.
        event: TriggerEvent,
        /// The table that it belongs to.
        table: TableName,
        /// The names in the body that have a database, with both parts in quotes.
        names: Vec<TableName>,
    },
    /// DROP TRIGGER.
    Drop {
        /// The trigger, with its database.
        name: TableName,
    },
}

impl TriggerStatement {
    /// Reads CREATE TRIGGER after the word TRIGGER; `None` for another order of words.
    pub(super) fn parse_create(cursor: &mut Cursor<'_>, database: &str) -> Result<Option<Self>> {
        cursor.accept_all(&["IF", "NOT", "EXISTS"])?;
        let trigger = TableName::parse(cursor, database)?;
        if !cursor.accept_any(&["BEFORE", "AFTER"])? {
            return Ok(None);
        }
        let event = if cursor.accept("INSERT")? {
            TriggerEvent::Insert
        } else if cursor.accept("UPDATE")? {
            TriggerEvent::Update
        } else if cursor.accept("DELETE")? {
            TriggerEvent::Delete
        } else {
            return Ok(None);
        };
        cursor.expect("ON")?;
        let table = TableName::parse(cursor, database)?;
        let names = names_in(cursor)?;
        Ok(Some(Self::Create { name: trigger, event, table, names }))
    }

    /// Reads DROP TRIGGER after the word TRIGGER.
    pub(super) fn parse_drop(cursor: &mut Cursor<'_>, database: &str) -> Result<Self> {
        cursor.accept_all(&["IF", "EXISTS"])?;
        Ok(Self::Drop { name: TableName::parse(cursor, database)? })
    }

    /// The statement with all names of tables in lower case, and of triggers, whose names have no case.
    #[must_use]
    pub fn folded(self) -> Self {
        match self {
            Self::Create { name, event, table, names } => Self::Create {
                name: name.folded(),
                event,
                table: table.folded(),
                names: names.iter().map(TableName::folded).collect(),
            },
            Self::Drop { name } => Self::Drop { name: name.folded() },
        }
    }
}

/// The qualified names in the rest of the statement, if both parts are in quotes.
fn names_in(cursor: &mut Cursor<'_>) -> Result<Vec<TableName>> {
    let mut names: Vec<TableName> = Vec::new();
    while *cursor.peek() != Token::End {
        let Token::Quoted(database) = cursor.bump()? else { continue };
        if !cursor.accept_sign('.')? {
            continue;
        }
        let Token::Quoted(table) = cursor.bump()? else { continue };
        let name = TableName { database: database.into_owned(), table: table.into_owned() };
        if !names.contains(&name) && names.len() < MAX_NAMES {
            names.push(name);
        }
    }
    Ok(names)
}

/// The maximum number of names. A body may be long, but the trigger of a tool names one table.
const MAX_NAMES: usize = 64;

#[cfg(test)]
mod tests {
    use super::{TriggerEvent, TriggerStatement};
    use crate::ddl::{ParsedStatement, QuoteMode};

    #[test]
    fn statements() {
        let shown =
            |sql| match ParsedStatement::parse(sql, "shop", QuoteMode::default()).trigger()? {
                TriggerStatement::Drop { name } => Some(format!("drop {name}")),
                TriggerStatement::Create { name, event, table, names } => {
                    let names: Vec<_> = names.iter().map(ToString::to_string).collect();
                    Some(format!("{name} {event:?} {table}: {}", names.join(" ")))
                }
            };
        for (sql, expected) in [
            ("DROP TRIGGER IF EXISTS `crm`.`x`", Some("drop crm.x")),
            ("drop trigger x", Some("drop shop.x")),
            ("DROP TABLE x", None),
            (
                "CREATE DEFINER=`root`@`localhost` TRIGGER `shop`.`x` AFTER DELETE ON `shop`.`t` FOR EACH ROW \
                 BEGIN DECLARE CONTINUE HANDLER FOR 1146 begin end; DELETE IGNORE FROM `shop`.`_t_new` WHERE \
                 `shop`.`_t_new`.`id` <=> OLD.`id`; END",
                Some("shop.x Delete shop.t: shop._t_new"),
            ),
            (
                "CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW SET @a = 1",
                Some("shop.x Insert shop.t: "),
            ),
            (
                "CREATE OR REPLACE DEFINER = CURRENT_USER() TRIGGER x AFTER UPDATE ON t FOR EACH ROW BEGIN END",
                Some("shop.x Update shop.t: "),
            ),
            ("CREATE DEFINER=`a`@`b` VIEW v AS SELECT 1", None),
            ("CREATE TABLE t (a INT)", None),
            ("CREATE TRIGGER", None),
            ("CREATE TRIGGER x AFTER INSERT ON t FOR EACH ROW SELECT 'not ended", None),
            ("", None),
        ] {
            assert_eq!(shown(sql).as_deref(), expected, "{sql}");
        }
        assert_ne!(TriggerEvent::Insert, TriggerEvent::Update);
    }
}
