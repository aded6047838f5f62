//! Letter case in the names of databases and tables: the variable `lower_case_table_names`.
//!
//! With 1 or 2, `Orders` and `orders` are one table. Row events then have the names in lower case, and statements have them
//! as they were typed. The log does not contain the variable.
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/identifier-case-sensitivity.html>

/// The meaning of letter case in the names of databases and tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NameCase {
    /// Not known.
    #[default]
    Unknown,
    /// Names that differ by case are different names (`lower_case_table_names=0`).
    Exact,
    /// Names that differ by case are one name (`lower_case_table_names=1` and `2`).
    Folded,
}

impl NameCase {
    /// Converts the value of `lower_case_table_names`.
    pub const fn of(lower_case_table_names: u8) -> Self {
        match lower_case_table_names {
            0 => Self::Exact,
            _ => Self::Folded,
        }
    }
}

/// The name in lower case, letter by letter like a server.
pub fn folded(name: &str) -> String {
    let lower = |letter: char| {
        let mut lower = letter.to_lowercase();
        match (lower.next(), lower.next()) {
            (Some(one), None) => one,
            _ => letter,
        }
    };
    name.chars().map(lower).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters() {
        for (name, expected) in [
            ("Orders", "orders"),
            ("ORDERS_2024", "orders_2024"),
            ("GRÖSSE", "grösse"),
            ("ΟΔΟΣ", "οδοσ"),
            ("İ", "İ"),
        ] {
            assert_eq!(folded(name), expected);
        }
    }
}
