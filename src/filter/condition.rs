//! A condition in SQL that is true for all rows that a filter selects, and perhaps for others.
//!
//! The server then sends fewer rows, with its index if there is one. Only comparisons are used that mean the same on the server, or
//! are true for more rows there: integers, and text that is equal by its characters and so in each collation too.

use super::Filter;
use super::expression::{ColumnName, Comparison, Expression, Literal};
use crate::columnar::TablePlan;
use crate::schema::ColumnType;
use arrow_schema::DataType;

type Condition = Expression<ColumnName, Literal>;

impl Filter {
    /// Returns the condition; `None` if the server must return all rows.
    pub fn condition(&self, plan: &TablePlan) -> Option<String> {
        sql(&self.0, plan)
    }
}

fn sql(expression: &Condition, plan: &TablePlan) -> Option<String> {
    match expression {
        Expression::All(parts) => {
            let parts: Vec<String> = parts.iter().filter_map(|part| sql(part, plan)).collect();
            (!parts.is_empty()).then(|| format!("({})", parts.join(" AND ")))
        }
        Expression::Any(parts) => {
            let parts: Option<Vec<String>> = parts.iter().map(|part| sql(part, plan)).collect();
            parts.map(|parts| format!("({})", parts.join(" OR ")))
        }
        Expression::Compare(name, comparison, literal) => {
            let (column, kind) = column(name, plan)?;
            let operator = match (comparison, kind) {
                (Comparison::Equal, _) => "=",
                (_, Kind::Text) => return None,
                (Comparison::NotEqual, Kind::Integer) => "<>",
                (Comparison::Less, Kind::Integer) => "<",
                (Comparison::LessOrEqual, Kind::Integer) => "<=",
                (Comparison::Greater, Kind::Integer) => ">",
                (Comparison::GreaterOrEqual, Kind::Integer) => ">=",
            };
            Some(format!("{column} {operator} {}", constant(literal, kind)?))
        }
        Expression::In(name, literals) => {
            let (column, kind) = column(name, plan)?;
            let literals = literals.iter().map(|literal| constant(literal, kind));
            let literals: Vec<String> = literals.collect::<Option<_>>()?;
            Some(format!("{column} IN ({})", literals.join(", ")))
        }
        Expression::Not(_)
        | Expression::CompareColumns(..)
        | Expression::Like(..)
        | Expression::IsNull(_) => None,
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Integer,
    Text,
}

/// The name of a column in backquotes, and the kind of its values.
fn column(wanted: &ColumnName, plan: &TablePlan) -> Option<(String, Kind)> {
    let lower = wanted.name.to_lowercase();
    let mut selected = plan.selected_columns().zip(plan.fields.iter());
    let ((_, column), field) = selected.find(|(_, field)| field.name().to_lowercase() == lower)?;
    let kind = match (&column.column_type, field.data_type()) {
        (ColumnType::VarChar { .. } | ColumnType::Char { .. }, DataType::Utf8) => Kind::Text,
        // TINYINT(1) may be a boolean, which has fewer values.
        (_, data_type) if data_type.is_integer() && is_integer(&column.column_type) => {
            Kind::Integer
        }
        _ => return None,
    };
    Some((format!("`{}`", field.name().replace('`', "``")), kind))
}

const fn is_integer(column: &ColumnType) -> bool {
    use ColumnType as T;
    matches!(column, T::Tiny | T::Short | T::Int24 | T::Long | T::LongLong)
}

/// A constant as SQL, if it is written in the same way in each character set.
fn constant(literal: &Literal, kind: Kind) -> Option<String> {
    match (literal, kind) {
        (Literal::Number(digits), Kind::Integer) => {
            let unsigned = digits.strip_prefix('-').unwrap_or(digits);
            let is_plain = (1..=18).contains(&unsigned.len())
                && unsigned.bytes().all(|byte| byte.is_ascii_digit());
            is_plain.then(|| digits.clone())
        }
        (Literal::Text(text), Kind::Text) => {
            let is_plain =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            text.bytes().all(is_plain).then(|| format!("'{text}'"))
        }
        _ => None,
    }
}
