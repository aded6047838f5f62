//! The effect of a statement on the rows of its tables.

/// The effect of a statement on the rows of its tables, and the statement that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowEffect {
    /// The rows stay, or the tables have none.
    #[default]
    None,
    /// All rows are removed.
    All(&'static str),
    /// Some rows are removed, added, or have other values.
    Some(&'static str),
    /// Values may be converted with loss, unless a strict `sql_mode` makes this an error.
    UnlessStrict(&'static str),
}

impl RowEffect {
    /// The worse effect of two.
    pub(super) fn or(self, other: Self) -> Self {
        let rank = |rows: &Self| match rows {
            Self::None => 0,
            Self::UnlessStrict(_) => 1,
            Self::Some(_) => 2,
            Self::All(_) => 3,
        };
        if rank(&other) > rank(&self) { other } else { self }
    }

    /// The effect under a `sql_mode`.
    pub fn under(self, is_strict: bool) -> Self {
        match self {
            Self::UnlessStrict(_) if is_strict => Self::None,
            Self::UnlessStrict(by) => Self::Some(by),
            rows => rows,
        }
    }
}
