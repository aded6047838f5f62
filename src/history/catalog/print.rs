//! Prints a table as a CREATE TABLE. Reading it gives the same table.

use super::definition::TableDefinition;
use crate::charset::Charset;
use crate::ddl::charset_clause::CharsetClause;
use crate::ddl::column::{ColumnDefinition, RowPeriod};
use crate::ddl::data_type::DataType;
use crate::ddl::key::{Constraint, Key, KeyColumn, KeyKind};
use crate::schema::{quoted, quoted_name};
use std::fmt::Write;

const COMPRESSED: &str = " /*M!100301 COMPRESSED*/";

impl TableDefinition {
    /// The CREATE TABLE statement, with all character sets. Properties without a syntax are in versioned comments that no server
    /// reads.
    pub fn to_sql(&self, is_mariadb: bool) -> String {
        let create = &self.create;
        let mut lines: Vec<String> =
            create.columns.iter().map(|column| column.to_sql(is_mariadb)).collect();
        lines.extend(create.keys.iter().map(|key| key.to_sql(is_mariadb)));
        lines.extend(create.constraints.iter().map(Constraint::to_sql));
        lines.extend(create.periods.iter().map(|period| {
            let name = match period.name.eq_ignore_ascii_case("SYSTEM_TIME") {
                true => period.name.clone(),
                false => quoted_name(&period.name),
            };
            let (start, end) = (quoted_name(&period.start), quoted_name(&period.end));
            format!("PERIOD FOR {name} ({start}, {end})")
        }));
        let mut sql =
            format!("CREATE TABLE {} (\n  {}\n)", quoted_name(&create.table), lines.join(",\n  "));
        if let Some(engine) = &create.engine {
            let is_word = engine.bytes().all(|byte| byte.is_ascii_alphabetic());
            let engine = if is_word { engine.clone() } else { quoted(engine) };
            let _ = write!(sql, " ENGINE={engine}");
        }
        match &create.charset {
            CharsetClause { charset: Some(charset), collation: Some(collation), .. } => {
                let _ = write!(sql, " DEFAULT CHARSET={} COLLATE={collation}", charset.name());
            }
            _ => sql.push_str(" /*!99998 CHARSET_UNKNOWN */"),
        }
        if let Some(comment) = &create.comment {
            let _ = write!(sql, " COMMENT={}", quoted(comment));
        }
        if create.is_sequence {
            sql.push_str(" SEQUENCE=1");
        }
        if create.versioned {
            sql.push_str(" WITH SYSTEM VERSIONING");
        }
        sql
    }
}

impl ColumnDefinition {
    fn to_sql(&self, is_mariadb: bool) -> String {
        let mut sql = format!("{} {}", quoted_name(&self.name), self.number_sql());
        match &self.charset {
            // The names BINARY and BLOB imply the character set.
            CharsetClause { charset: Some(Charset::Binary), .. }
                if !matches!(self.data_type, DataType::Enum(_) | DataType::Set(_)) => {}
            CharsetClause { charset: Some(charset), collation: Some(collation), .. } => {
                let _ = write!(sql, " CHARACTER SET {} COLLATE {collation}", charset.name());
            }
            CharsetClause { is_unknown: true, .. } => sql.push_str(" /*!99998 CHARSET_UNKNOWN */"),
            _ => {}
        }
        if self.compressed {
            sql.push_str(COMPRESSED);
        }
        match (self.row_period, &self.expression) {
            (Some(RowPeriod::Start), _) => sql.push_str(" GENERATED ALWAYS AS ROW START"),
            (Some(RowPeriod::End), _) => sql.push_str(" GENERATED ALWAYS AS ROW END"),
            (None, Some(expression)) => {
                let kind = if self.is_virtual { "VIRTUAL" } else { "STORED" };
                let _ = write!(sql, " GENERATED ALWAYS AS {expression} {kind}");
            }
            (None, None) => {}
        }
        if self.not_null && self.row_period.is_none() {
            sql.push_str(" NOT NULL");
        } else if self.null {
            sql.push_str(" NULL");
        }
        if let Some(srid) = self.srid {
            let _ = match is_mariadb {
                true => write!(sql, " REF_SYSTEM_ID={srid}"),
                false => write!(sql, " /*!80003 SRID {srid} */"),
            };
        }
        if !self.visible {
            sql.push_str(if is_mariadb { " INVISIBLE" } else { " /*!80023 INVISIBLE */" });
        }
        if let Some(default) = &self.default {
            let _ = write!(sql, " DEFAULT {default}");
        }
        if let Some(on_update) = &self.on_update {
            let _ = write!(sql, " ON UPDATE {on_update}");
        }
        if self.auto_increment {
            sql.push_str(" AUTO_INCREMENT");
        }
        if let Some(comment) = &self.comment {
            let _ = write!(sql, " COMMENT {}", quoted(comment));
        }
        if self.versioned {
            sql.push_str(" WITH SYSTEM VERSIONING");
        }
        if self.unversioned {
            sql.push_str(" WITHOUT SYSTEM VERSIONING");
        }
        if let Some(check) = &self.check {
            let _ = write!(sql, " {}", check.to_sql());
        }
        sql
    }

    /// The type with the attributes that SHOW CREATE TABLE writes after it, without the character set.
    pub(super) fn full_type(&self) -> String {
        let mut sql = self.number_sql();
        if self.compressed {
            sql.push_str(COMPRESSED);
        }
        sql
    }

    /// The type with the attributes of numbers.
    fn number_sql(&self) -> String {
        let mut sql = self.type_sql();
        if let Some((precision, scale)) = self.digits {
            let _ = write!(sql, "({precision},{scale})");
        }
        if self.zerofill {
            sql.push_str(" unsigned zerofill");
        } else if self.unsigned {
            sql.push_str(" unsigned");
        }
        sql
    }

    fn type_sql(&self) -> String {
        let is_binary = self.charset.charset == Some(Charset::Binary);
        let members = |name: &str, members: &[String]| {
            let members: Vec<_> = members.iter().map(|member| quoted(member)).collect();
            format!("{name}({})", members.join(","))
        };
        match &self.data_type {
            DataType::Plain(column_type) => column_type.sql(false, None, None, None, None),
            DataType::Integer { column_type, width } => {
                format!("{}({width})", column_type.sql(false, None, None, None, None))
            }
            DataType::Real => "real".into(),
            DataType::Char { length, varying } => {
                let name = match (varying, is_binary) {
                    (true, true) => "varbinary",
                    (true, false) => "varchar",
                    (false, true) => "binary",
                    (false, false) => "char",
                };
                format!("{name}({length})")
            }
            DataType::Text { length_bytes, length } => {
                let kind = if is_binary { "blob" } else { "text" };
                match length_bytes {
                    0 => format!("{kind}({length})"),
                    1 => format!("tiny{kind}"),
                    2 => kind.into(),
                    3 => format!("medium{kind}"),
                    _ => format!("long{kind}"),
                }
            }
            DataType::Enum(all) => members("enum", all),
            DataType::Set(all) => members("set", all),
            DataType::Json => "json".into(),
            DataType::Geometry(kind) => kind.sql().into(),
            DataType::Vector { dimension } => format!("vector({dimension})"),
            DataType::Uuid => "uuid".into(),
            DataType::Inet4 => "inet4".into(),
            DataType::Inet6 => "inet6".into(),
        }
    }
}

impl Key {
    fn to_sql(&self, is_mariadb: bool) -> String {
        let kind = match self.kind {
            KeyKind::Primary => "PRIMARY KEY",
            KeyKind::Unique => "UNIQUE KEY",
            KeyKind::Index | KeyKind::Foreign => "KEY",
            KeyKind::Fulltext => "FULLTEXT KEY",
            KeyKind::Spatial => "SPATIAL KEY",
            KeyKind::Vector => "VECTOR KEY",
        };
        let name = self.name.as_deref().map(|name| format!(" {}", quoted_name(name)));
        let parts: Vec<_> = self.parts.iter().map(KeyColumn::to_sql).collect();
        let mut sql = format!("{kind}{} ({})", name.unwrap_or_default(), parts.join(","));
        if self.is_hash {
            sql.push_str(" USING HASH");
        }
        if !self.visible {
            sql.push_str(if is_mariadb { " IGNORED" } else { " /*!80000 INVISIBLE */" });
        }
        if self.is_implicit {
            sql.push_str(" /*!99998 IMPLICIT */");
        }
        sql
    }
}

impl Constraint {
    fn to_sql(&self) -> String {
        let name = self.name.as_ref().map(|name| format!("CONSTRAINT {} ", quoted_name(name)));
        let columns: Vec<_> = self.columns.iter().map(|column| quoted_name(column)).collect();
        let foreign = match columns.is_empty() {
            true => String::new(),
            false => format!("FOREIGN KEY ({}) ", columns.join(",")),
        };
        format!("{}{foreign}{}", name.unwrap_or_default(), self.text)
    }
}
