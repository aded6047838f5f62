//! The tables to read: `database.table` patterns with `*` and `?`.

use super::{OnlineSchemaChange, OnlineTool};
use crate::ddl::TableName;
use crate::error::Error;
use crate::schema::folded;

/// Patterns of tables to include, and patterns of tables to exclude from them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableFilter {
    include: Vec<TablePattern>,
    exclude: Vec<TablePattern>,
    online: OnlineSchemaChange,
    is_folded: bool,
}

/// `database.table`, with `*` and `?` as wildcards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TablePattern {
    text: String,
    database: String,
    table: String,
}

impl TableFilter {
    /// Creates a filter from patterns; without `include`, all tables are included.
    pub fn try_new<S: AsRef<str>>(include: &[S], exclude: &[S]) -> Result<Self, Error> {
        let parse = |patterns: &[S]| -> Result<Vec<TablePattern>, Error> {
            patterns.iter().map(|text| TablePattern::parse(text.as_ref())).collect()
        };
        Ok(Self {
            include: parse(include)?,
            exclude: parse(exclude)?,
            online: OnlineSchemaChange::default(),
            is_folded: false,
        })
    }

    /// Returns the same patterns in lower case, for a server whose names of tables are in lower
    /// case.
    #[must_use]
    pub fn folded(mut self) -> Self {
        for pattern in self.include.iter_mut().chain(&mut self.exclude) {
            (pattern.database, pattern.table) = (folded(&pattern.database), folded(&pattern.table));
        }
        Self { is_folded: true, ..self }
    }

    /// The first pattern that can match no name in lower case.
    pub fn not_folded(&self) -> Option<&str> {
        let is_plain = |pattern: &&TablePattern| {
            folded(&pattern.database) == pattern.database && folded(&pattern.table) == pattern.table
        };
        let mut patterns = self.include.iter().chain(&self.exclude);
        patterns.find(|pattern| !is_plain(pattern)).map(TablePattern::text)
    }

    /// Returns this filter for one table, whose name is not a pattern.
    #[must_use]
    pub fn of_table(&self, database: &str, table: &str) -> Self {
        let one = Self::exactly(database, table).with_online(self.online);
        if self.is_folded { one.folded() } else { one }
    }

    /// Returns the same patterns with this way of recognizing swaps. With
    /// [`OnlineSchemaChange::Trust`], tables with names of online schema-change tools are left out
    /// unless a pattern without wildcards names them.
    #[must_use]
    pub fn with_online(self, online: OnlineSchemaChange) -> Self {
        Self { online, ..self }
    }

    /// The way in which swaps of tables are recognized.
    pub fn online(&self) -> OnlineSchemaChange {
        self.online
    }

    /// Returns the same patterns without these tables, but keeps tables that a pattern names
    /// without wildcards.
    #[must_use]
    pub fn without(mut self, tables: &[TableName]) -> Self {
        for TableName { database, table } in tables {
            let is_named =
                |pattern: &TablePattern| pattern.is_exact() && pattern.matches(database, table);
            if !self.include.iter().any(is_named) {
                self.exclude.extend(Self::exactly(database, table).include);
            }
        }
        self
    }

    /// Creates a filter for one table, whose name is not a pattern.
    pub fn exactly(database: &str, table: &str) -> Self {
        let pattern = TablePattern {
            text: format!("{database}.{table}"),
            database: database.into(),
            table: table.into(),
        };
        Self { include: vec![pattern], ..Self::default() }
    }

    /// The tables, if all patterns to include are names without wildcards.
    pub fn exact_tables(&self) -> Option<Vec<TableName>> {
        let name = |pattern: &TablePattern| {
            let (database, table) = (pattern.database.clone(), pattern.table.clone());
            pattern.is_exact().then_some(TableName { database, table })
        };
        let names = self.include.iter().map(name).collect::<Option<Vec<_>>>()?;
        (!names.is_empty()).then_some(names)
    }

    /// The names to include that have no wildcards.
    pub fn names_without_wildcards(&self) -> impl Iterator<Item = TableName> {
        self.include.iter().filter(|pattern| pattern.is_exact()).map(|pattern| TableName {
            database: pattern.database.clone(),
            table: pattern.table.clone(),
        })
    }

    /// True if rows of the table are selected.
    pub fn accepts(&self, database: &str, table: &str) -> bool {
        self.matches(database, table) && self.skips_as_ghost(database, table).is_none()
    }

    /// True if statements about a database are selected, because statements about some of its
    /// tables would be.
    pub fn accepts_database(&self, name: &str) -> bool {
        (self.include.is_empty() || self.include.iter().any(|pattern| pattern.of_database(name)))
            && !self.exclude.iter().any(|pattern| pattern.table == "*" && pattern.of_database(name))
    }

    /// True if a pattern to include names the database without a wildcard.
    pub fn names_database(&self, name: &str) -> bool {
        self.include.iter().any(|pattern| pattern.database.eq_ignore_ascii_case(name))
    }

    /// The tool of a table that is left out only because it belongs to a tool.
    pub fn skips_as_ghost(&self, database: &str, table: &str) -> Option<OnlineTool> {
        if self.online == OnlineSchemaChange::Evidence {
            return None;
        }
        let (tool, _) = OnlineTool::of_table(table)?;
        let is_named = self
            .include
            .iter()
            .any(|pattern| pattern.is_exact() && pattern.matches(database, table));
        (!is_named).then_some(tool)
    }

    fn matches(&self, database: &str, table: &str) -> bool {
        (self.include.is_empty()
            || self.include.iter().any(|pattern| pattern.matches(database, table)))
            && !self.exclude.iter().any(|pattern| pattern.matches(database, table))
    }

    /// Like [`Self::skips_as_ghost`], for a table that patterns include and do not exclude.
    pub fn ghost_left_out(&self, database: &str, table: &str) -> Option<OnlineTool> {
        self.skips_as_ghost(database, table).filter(|_| self.matches(database, table))
    }

    /// The patterns to include, each with true if it matches the table.
    pub fn matching(&self, database: &str, table: &str) -> impl Iterator<Item = (&str, bool)> {
        self.include
            .iter()
            .map(move |pattern| (pattern.text.as_str(), pattern.matches(database, table)))
    }

    /// The patterns to include that match none of `tables`.
    pub fn unmatched<'t>(
        &self,
        tables: impl Iterator<Item = (&'t str, &'t str)> + Clone,
    ) -> Vec<&str> {
        self.include
            .iter()
            .filter(|pattern| {
                !tables.clone().any(|(database, table)| pattern.matches(database, table))
            })
            .map(|pattern| pattern.text.as_str())
            .collect()
    }
}

impl TablePattern {
    /// Parses the text of a pattern.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        match text.split_once('.') {
            Some((database, table)) if !database.is_empty() && !table.is_empty() => {
                Ok(Self { text: text.into(), database: database.into(), table: table.into() })
            }
            _ => Err(Error::config(format!(
                "{text:?} is not a table pattern: write database.table, with * and ? as wildcards"
            ))),
        }
    }

    /// The text of the pattern.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn of_database(&self, database: &str) -> bool {
        matches_glob(self.database.as_bytes(), database.as_bytes())
    }

    fn is_exact(&self) -> bool {
        !self.text.contains(['*', '?'])
    }

    /// True if the pattern matches the table.
    pub(crate) fn matches(&self, database: &str, table: &str) -> bool {
        matches_glob(self.database.as_bytes(), database.as_bytes())
            && matches_glob(self.table.as_bytes(), table.as_bytes())
    }
}

/// `*` matches any bytes, `?` matches one.
pub(crate) fn matches_glob(mut pattern: &[u8], mut text: &[u8]) -> bool {
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        match (pattern.split_first(), text.split_first()) {
            (Some((b'*', rest)), _) => {
                retry = Some((rest, text));
                pattern = rest;
            }
            (Some((p, p_rest)), Some((t, t_rest))) if p == t || *p == b'?' => {
                (pattern, text) = (p_rest, t_rest);
            }
            (None, None) => return true,
            _ => match retry
                .and_then(|(after, from)| from.split_first().map(|(_, rest)| (after, rest)))
            {
                Some((after, rest)) => {
                    (pattern, text) = (after, rest);
                    retry = Some((after, rest));
                }
                None => return false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (pattern, text, expected) in [
            ("orders", "orders", true),
            ("orders", "order", false),
            ("order*", "orders", true),
            ("*", "", true),
            ("*_2024_*", "log_2023_2024_01", true),
            ("?rders", "orders", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
        ] {
            assert_eq!(
                matches_glob(pattern.as_bytes(), text.as_bytes()),
                expected,
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn include_and_exclude() {
        let filter = TableFilter::try_new(&["shop.*", "hr.people"], &["shop.tmp_*"]).unwrap();
        assert!(filter.accepts("shop", "orders") && !filter.accepts("shop", "tmp_1"));
        assert!(!filter.accepts("hr", "pay"));
        assert_eq!(filter.unmatched([("shop", "orders")].into_iter()), ["hr.people"]);
        assert!(TableFilter::try_new(&["orders"], &[]).is_err());
    }

    #[test]
    fn patterns_in_lower_case() {
        let filter = TableFilter::try_new(&["Shop.Orders*", "HR.*"], &["SHOP.Orders_?"]).unwrap();
        assert!(!filter.accepts("shop", "orders"));
        assert_eq!(filter.not_folded(), Some("Shop.Orders*"));
        let filter = filter.folded();
        assert_eq!(filter.not_folded(), None);
        assert!(filter.accepts("shop", "orders") && filter.accepts("hr", "pay"));
        assert!(!filter.accepts("shop", "orders_1"));
        assert_eq!(filter.unmatched([("hr", "pay")].into_iter()), ["Shop.Orders*"]);
        assert!(filter.of_table("Shop", "T").accepts("shop", "t"));
    }

    #[test]
    fn tables_that_are_left_out_unless_they_are_named() {
        let own = ["a", "b"].map(|table| TableName { database: "own".into(), table: table.into() });
        let filter =
            TableFilter::try_new(&["own.a", "own.*", "shop.*"], &[]).unwrap().without(&own);
        assert!(
            filter.accepts("own", "a") && filter.accepts("own", "c") && filter.accepts("shop", "b")
        );
        assert!(!filter.accepts("own", "b"));
        assert!(!TableFilter::default().without(&own).accepts("own", "a"));
    }

    #[test]
    fn tables_of_tools() {
        let filter = TableFilter::try_new(&["shop.*", "shop._a_gho"], &["shop.b*"]).unwrap();
        assert!(filter.accepts("shop", "_t_gho"));
        let filter = filter.with_online(OnlineSchemaChange::Trust);
        assert!(filter.accepts("shop", "t") && filter.accepts("shop", "_a_gho"));
        assert!(!filter.accepts("shop", "_t_gho"));
        assert_eq!(filter.ghost_left_out("shop", "_t_gho"), Some(OnlineTool::GhOst));
        assert_eq!(filter.ghost_left_out("crm", "_t_gho"), None);
        assert_eq!(filter.ghost_left_out("shop", "b_new"), None);
    }

    #[test]
    fn databases() {
        let filter = TableFilter::try_new(&["shop.t", "c*.*"], &["crm.*", "cd.x"]).unwrap();
        for (name, expected) in [("shop", true), ("crm", false), ("cd", true), ("hr", false)] {
            assert_eq!(filter.accepts_database(name), expected, "{name}");
        }
        assert!(TableFilter::default().accepts_database("hr"));
    }
}
