//! Members of ENUM and SET columns that SHOW CREATE TABLE does not show.
//!
//! The server prints `?` for characters above U+FFFF in members. Such a member is read from a row that has it; a
//! member that no row has is not needed to read the rows.
//!
//! <https://dev.mysql.com/doc/refman/en/charset-unicode-utf8mb3.html>

use crate::error::Result;
use crate::net::Server;
use crate::schema::{Column, ColumnType, TableSchema, quoted_name};
use std::sync::Arc;

/// Completes the members of the table's columns from its rows. Most tables need no query.
pub(super) fn complete(server: &mut Server, table: &mut TableSchema) -> Result<()> {
    let from = format!("{}.{}", quoted_name(&table.database), quoted_name(&table.table));
    for column in &mut table.columns {
        if let Some(members) = of_rows(server, &from, column)? {
            column.members = Some(members.into());
        }
    }
    Ok(())
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
            "SELECT CONVERT({name} USING utf8mb4), {number} FROM {from} WHERE {condition} LIMIT 1"
        );
        let row = server.connection().query(&sql)?.into_iter().next();
        let Some([Some(text), Some(number)]) = row.and_then(|row| <[_; 2]>::try_from(row).ok())
        else {
            continue;
        };
        let Ok(number) = number.parse::<u64>() else { continue };
        *member = match is_set {
            true => {
                member_of_set(&text, number, index).map_or_else(|| Arc::clone(member), Arc::from)
            }
            false => text.into(),
        };
    }
    Ok(Some(found))
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
