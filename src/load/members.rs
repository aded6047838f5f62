//! Members of ENUM and SET columns that SHOW CREATE TABLE does not show.
//!
//! The server prints `?` for characters above U+FFFF in members. Such a member is read from a row that has it; a
//! member that no row has is not needed to read the rows.
//!
//! <https://dev.mysql.com/doc/refman/en/charset-unicode-utf8mb3.html>

use crate::columnar::TablePlan;
use crate::error::Result;
use crate::net::Server;
use crate::protocol::BinaryRow;
use crate::schema::{Column, ColumnType, TableSchema, quoted_name};
use std::sync::Arc;

/// Completes the members of the columns that the plan returns. Returns true if members were read; most tables need no
/// query.
pub(super) fn complete(
    server: &mut Server,
    table: &mut TableSchema,
    plan: &TablePlan,
) -> Result<bool> {
    let from = format!("{}.{}", quoted_name(&table.database), quoted_name(&table.table));
    let mut is_changed = false;
    for (index, _) in plan.selected_columns().filter(|(index, _)| !plan.is_nulled(*index)) {
        let Some(column) = table.columns.get_mut(index) else { continue };
        if let Some(members) = of_rows(server, &from, column)? {
            column.members = Some(members.into());
            is_changed = true;
        }
    }
    Ok(is_changed)
}

/// The members of a column; `None` if those of the statement are right.
fn of_rows(server: &mut Server, from: &str, column: &Column) -> Result<Option<Vec<Arc<str>>>> {
    let (Some(members), Some(name)) = (&column.members, &column.name) else { return Ok(None) };
    if !members.iter().any(|member| member.contains('?')) {
        return Ok(None);
    }
    let (is_set, name) = (matches!(column.column_type, ColumnType::Set { .. }), quoted_name(name));
    let mut found = members.to_vec();
    for (index, member) in found.iter_mut().enumerate().filter(|(_, member)| member.contains('?')) {
        let number = format!("CAST({name} AS UNSIGNED)");
        let condition = match is_set {
            true => format!("{number} & {} <> 0", 1_u64 << (index % 64)),
            false => format!("{number} = {}", index + 1),
        };
        let sql = format!(
            "SELECT CONCAT({number}, ':', CONVERT({name} USING utf8mb4)) FROM {from} WHERE {condition} LIMIT 1"
        );
        let Some(found) = first_text(server, &sql)? else { continue };
        let Some((number, text)) = found.split_once(':') else { continue };
        let Ok(number) = number.parse::<u64>() else { continue };
        *member = match is_set {
            true => {
                member_of_set(text, number, index).map_or_else(|| Arc::clone(member), Arc::from)
            }
            false => text.into(),
        };
    }
    Ok(Some(found))
}

/// The text that a query of one column returns first. The query may search the table for any time.
fn first_text(server: &mut Server, sql: &str) -> Result<Option<String>> {
    let connection = server.connection();
    connection.select(sql)?;
    let mut first = None;
    while let Some(payload) = connection.next_row()? {
        let row = BinaryRow::decode(payload, 1)?;
        if !row.is_null(0) {
            let text = row.values().lenenc_str("text")?;
            first.get_or_insert_with(|| String::from_utf8_lossy(text).into_owned());
        }
    }
    Ok(first)
}

/// The member with this index in the text of a SET value, which lists its members in order.
fn member_of_set(text: &str, number: u64, index: usize) -> Option<&str> {
    let before = number & ((1 << (index % 64)) - 1);
    text.split(',').nth(before.count_ones() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_sets() {
        assert_eq!(member_of_set("a,c,🎉", 0b1101, 0), Some("a"));
        assert_eq!(member_of_set("a,c,🎉", 0b1101, 2), Some("c"));
        assert_eq!(member_of_set("a,c,🎉", 0b1101, 3), Some("🎉"));
        assert_eq!(member_of_set("a", 1, 5), None);
    }
}
