//! The parts of a filter.

use super::like::Pattern;
use std::cmp::Ordering;

/// A condition, over columns `C` and constants `V`.
#[derive(Debug, Clone)]
pub(super) enum Expression<C, V> {
    /// OR
    Any(Vec<Self>),
    /// AND
    All(Vec<Self>),
    /// NOT
    Not(Box<Self>),
    /// A column and a constant.
    Compare(C, Comparison, V),
    /// Two columns.
    CompareColumns(C, Comparison, C),
    /// IN
    In(C, Vec<V>),
    /// LIKE
    Like(C, Pattern),
    /// IS NULL
    IsNull(C),
}

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// The result for two values in this order.
    pub(super) fn accepts(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }

    /// The operator for the values in the other order.
    pub(super) fn swapped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            symmetric => symmetric,
        }
    }
}

/// The row of a change that a column is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Each of the two rows.
    Either,
    /// The row before the change.
    Old,
    /// The row after the change.
    New,
}

/// A column as the text names it.
#[derive(Debug, Clone)]
pub(super) struct ColumnName {
    pub(super) side: Side,
    pub(super) name: String,
}

/// A constant as the text contains it.
#[derive(Debug, Clone)]
pub(super) enum Literal {
    /// Digits, with a sign, a fraction and an exponent if they have them.
    Number(String),
    /// A string.
    Text(String),
    /// `0x41`, `x'41'`, `b'1000001'`.
    Bytes(Vec<u8>),
    /// TRUE or FALSE.
    Boolean(bool),
}

impl Literal {
    /// The kind of the constant in a message, which contains no values.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::Bytes(_) => "a hexadecimal literal",
            Self::Boolean(_) => "TRUE or FALSE",
        }
    }
}
