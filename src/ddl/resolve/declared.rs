//! The attributes of a column that only CREATE TABLE contains, as SHOW CREATE TABLE writes them.
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/numeric-type-attributes.html>

use super::super::column::ColumnDefinition;
use super::super::data_type::DataType;
use super::super::server::SqlServer;
use crate::schema::{Column, ColumnType, DeclaredAttributes, GeometryType};
use std::sync::Arc;

impl ColumnDefinition {
    /// The attributes of this column, which is `column` on `server`.
    pub(super) fn declared(&self, column: &Column, server: SqlServer) -> DeclaredAttributes {
        let default = self.default.as_deref().filter(|text| !text.eq_ignore_ascii_case("NULL"));
        DeclaredAttributes {
            sql_type: self.declared_type(column, server).map(Into::into),
            default: default.map(Into::into),
            auto_increment: self.auto_increment,
            on_update: self.on_update.as_deref().map(current_timestamp),
        }
    }

    /// The type, if it contains more than [`Column::sql_type`].
    fn declared_type(&self, column: &Column, server: SqlServer) -> Option<String> {
        use ColumnType as T;
        let shows_widths = server.is_mariadb || server.version < (8, 0, 19);
        let is_unsigned = column.unsigned == Some(true);
        let zerofill = self.zerofill && is_unsigned;
        let size = match (&column.column_type, self.digits) {
            (T::Float | T::Double, Some((digits, scale))) => format!("({digits},{scale})"),
            (T::Year, _) if shows_widths => "(4)".into(),
            (integer, _) if integer.is_integer() => {
                let width = match self.data_type {
                    DataType::Integer { width, .. } if width > 0 => width,
                    _ => default_width(integer, is_unsigned),
                };
                // Connectors read TINYINT(1) as BOOLEAN.
                let is_bool = *integer == T::Tiny && width == 1 && !is_unsigned;
                match shows_widths || zerofill || is_bool {
                    true => format!("({width})"),
                    false => String::new(),
                }
            }
            _ => String::new(),
        };
        match &column.column_type {
            T::VarCharCompressed { .. } | T::BlobCompressed { .. } => {
                let sql = column.sql_type();
                let plain = sql.strip_suffix(" compressed").unwrap_or(&sql);
                Some(format!("{plain} /*M!100301 COMPRESSED*/"))
            }
            T::Geometry { .. }
                if column.geometry_type == Some(GeometryType::GeometryCollection)
                    && !server.is_mariadb
                    && server.version >= (8, 0, 11) =>
            {
                Some("geomcollection".into())
            }
            number if number.is_numeric() && (zerofill || !size.is_empty()) => {
                let name = Column { unsigned: None, ..column.clone() }.sql_type();
                let sign = match (zerofill, is_unsigned) {
                    (true, _) => " unsigned zerofill",
                    (false, true) => " unsigned",
                    (false, false) => "",
                };
                Some(format!("{name}{size}{sign}"))
            }
            _ => None,
        }
    }
}

/// The display width of an integer without one: the digits of its largest number, and a sign.
fn default_width(integer: &ColumnType, is_unsigned: bool) -> u64 {
    let digits = match integer {
        ColumnType::Tiny => 3,
        ColumnType::Short => 5,
        ColumnType::Int24 => 8,
        ColumnType::Long => 10,
        _ => return 20,
    };
    if is_unsigned { digits } else { digits + 1 }
}

/// The value of ON UPDATE in one form: servers accept NOW(), LOCALTIME and others too.
fn current_timestamp(text: &str) -> Arc<str> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    match digits.trim_start_matches('0') {
        "" => "CURRENT_TIMESTAMP".into(),
        digits => format!("CURRENT_TIMESTAMP({digits})").into(),
    }
}
