//! MariaDB's sequences: tables of one row.
//!
//! <https://mariadb.com/kb/en/create-sequence/>

use super::definition::TableDefinition;
use super::settings::{Result, Settings};
use crate::ddl::create_table::CreateTable;
use crate::ddl::cursor::Cursor;
use crate::ddl::token;

/// The table of a sequence, whose numbers have the type `number`.
pub(super) fn sequence_table(
    table: &str,
    number: &str,
    settings: &Settings<'_>,
) -> Result<TableDefinition> {
    let text = format!(
        "TABLE s (next_not_cached_value {number} NOT NULL, minimum_value {number} NOT NULL, \
         maximum_value {number} NOT NULL, start_value {number} NOT NULL COMMENT 'start value when sequences is \
         created or value if RESTART is used', increment bigint(21) NOT NULL COMMENT 'increment value', \
         cache_size bigint(21) unsigned NOT NULL, \
         cycle_option tinyint(1) unsigned NOT NULL COMMENT '0 if no cycles are allowed, 1 if the sequence should \
         begin a new cycle when maximum_value is passed', cycle_count bigint(21) NOT NULL COMMENT 'How many cycles have \
         been done') SEQUENCE=1"
    );
    let create = || -> token::Result<CreateTable> {
        let mut cursor = Cursor::new(&text)?;
        let mut head = CreateTable::parse_head(&mut cursor)?;
        table.clone_into(&mut head.table);
        CreateTable::parse_body(&mut cursor, head)
    };
    TableDefinition::of(create().map_err(|error| error.message)?, settings)
}
