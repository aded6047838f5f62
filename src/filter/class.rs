//! The comparison that the type of a column determines.

use crate::schema::{Column, ColumnType};
use arrow_schema::DataType;

/// The kind of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Exact numbers with this many digits after the point.
    Number { scale: u8 },
    /// FLOAT and DOUBLE.
    Float,
    /// Text in UTF-8.
    Text,
    /// Bytes.
    Bytes,
    /// DATE, DATETIME and TIMESTAMP, in microseconds since 1970.
    Moment,
    /// Dates and times as text: zero dates have no number of microseconds.
    MomentText,
    /// TIME, in microseconds.
    Time,
    /// Values that are only compared with NULL.
    Other,
}

impl Class {
    /// The class of a column whose array has this type.
    pub(super) fn of(column: &Column, data_type: &DataType) -> Self {
        use ColumnType as T;
        let is_time = matches!(column.column_type, T::Time2 { .. } | T::TimeOld { .. });
        let is_binary = column.collation.is_none_or(|collation| collation.charset().is_binary());
        match data_type {
            DataType::Duration(_) | DataType::Int64 if is_time => Self::Time,
            DataType::Boolean => Self::Number { scale: 0 },
            data_type if data_type.is_integer() => Self::Number { scale: 0 },
            DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => {
                Self::Number { scale: u8::try_from(*scale).unwrap_or(0) }
            }
            DataType::Float32 | DataType::Float64 => Self::Float,
            DataType::Date32 | DataType::Timestamp(..) => Self::Moment,
            DataType::Binary if column.column_type.is_character() && is_binary => Self::Bytes,
            DataType::Utf8 => match column.column_type {
                T::Json { .. } | T::JsonText { .. } => Self::Other,
                T::Decimal { scale, .. } => Self::Number { scale },
                T::Date
                | T::DateTime2 { .. }
                | T::DateTimeOld { .. }
                | T::Timestamp2 { .. }
                | T::TimestampOld { .. } => Self::MomentText,
                _ if is_time => Self::Time,
                _ => Self::Text,
            },
            DataType::Dictionary(..) => Self::Text,
            _ => Self::Other,
        }
    }

    /// The constants that such a column is compared with, in a message.
    pub(super) const fn wanted(self) -> &'static str {
        match self {
            Self::Number { .. } | Self::Float => "compare it with a number",
            Self::Text => "compare it with a string in quotes",
            Self::Bytes => "compare it with a hexadecimal literal or a string",
            Self::Moment | Self::MomentText => {
                "compare it with a date and time such as '2026-11-22 10:42:00'"
            }
            Self::Time => "compare it with a time such as '10:42:00'",
            Self::Other => "only IS NULL and IS NOT NULL are possible",
        }
    }
}
