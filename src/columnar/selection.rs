//! The selection of columns, per table.
//!
//! Input: table patterns, each with the names of columns. Output: for each column of a table, true
//! if it is selected. Called by [`TablePlan`](super::TablePlan); columns that are not selected are
//! skipped in the row images, and are in no schema.

use crate::change::TablePattern;
use crate::error::Error;
use crate::schema::TableSchema;
use std::sync::Arc;

/// The columns to keep, by table; tables that no pattern matches keep all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    rules: Vec<(TablePattern, Vec<String>)>,
    /// True if a table may lack a selected column.
    may_lack: bool,
}

impl Selection {
    /// Creates a selection from patterns of tables and the columns that each keeps.
    pub fn try_new<I, S>(tables: I) -> Result<Self, Error>
    where
        I: IntoIterator<Item = (S, Vec<String>)>,
        S: AsRef<str>,
    {
        let rule = |(pattern, columns): (S, Vec<String>)| {
            let pattern = pattern.as_ref();
            match columns.is_empty() {
                true => Err(Error::config(format!(
                    "columns: the list for {pattern:?} is empty; exclude tables with exclude_tables"
                ))),
                false => Ok((TablePattern::parse(pattern)?, columns)),
            }
        };
        let rules = tables.into_iter().map(rule).collect::<Result<_, _>>()?;
        Ok(Self { rules, may_lack: false })
    }

    /// Allows that columns are missing: when batches are converted to one schema, these columns are
    /// NULL.
    pub fn allow_missing(&mut self) {
        self.may_lack = true;
    }

    /// Returns the patterns that match none of `tables`.
    pub fn unmatched<'t>(
        &self,
        tables: impl Iterator<Item = (&'t str, &'t str)> + Clone,
    ) -> impl Iterator<Item = &str> {
        let patterns = self.rules.iter().map(|(pattern, _)| pattern);
        patterns
            .filter(move |pattern| {
                !tables.clone().any(|(database, table)| pattern.matches(database, table))
            })
            .map(TablePattern::text)
    }

    /// For each column, true if it is kept. `names`: the names of all columns of the table. If
    /// several patterns match, each adds its columns. A column that the table lacks is an error;
    /// letter case is ignored, as on the server.
    pub(super) fn of(&self, table: &TableSchema, names: &[Arc<str>]) -> Result<Vec<bool>, Error> {
        let mut kept: Option<Vec<bool>> = None;
        for (_, columns) in
            self.rules.iter().filter(|(pattern, _)| pattern.matches(&table.database, &table.table))
        {
            let kept = kept.get_or_insert_with(|| vec![false; names.len()]);
            for column in columns {
                let found = names.iter().position(|name| same_name(name, column));
                match found.and_then(|index| kept.get_mut(index)) {
                    Some(kept) => *kept = true,
                    None if self.may_lack => {}
                    None => {
                        return Err(Error::schema(format!(
                            "columns contains {column:?}, which the table does not have at this position: its columns are {}",
                            names.join(", ")
                        )));
                    }
                }
            }
        }
        Ok(kept.unwrap_or_else(|| vec![true; names.len()]))
    }
}

/// True if both are names of the same column.
fn same_name(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn table() -> (TableSchema, Vec<Arc<str>>) {
        let table = TableSchema {
            database: "shop".into(),
            table: "orders".into(),
            columns: Vec::new(),
            primary_key: Vec::new(),
            indexes: Vec::new(),
            comment: None,
        };
        (table, ["id", "Größe", "total"].map(Arc::from).into())
    }

    fn kept(rules: &[(&str, &[&str])]) -> Result<Vec<bool>, Error> {
        let rules = rules.iter().map(|(pattern, columns)| {
            (*pattern, columns.iter().map(|name| (*name).to_owned()).collect())
        });
        let (table, names) = table();
        Selection::try_new(rules)?.of(&table, &names)
    }

    #[test]
    fn patterns_add_up_and_other_tables_keep_all() {
        assert_eq!(kept(&[]).unwrap(), [true; 3]);
        assert_eq!(kept(&[("shop.people", &["x"])]).unwrap(), [true; 3]);
        assert_eq!(kept(&[("shop.orders", &["total"])]).unwrap(), [false, false, true]);
        let several = kept(&[("*.*", &["ID"]), ("shop.o*", &["GRÖSSE".to_owned().as_str()])]);
        assert_eq!(several.unwrap_err().kind(), ErrorKind::Schema);
        let several = kept(&[("*.*", &["ID"]), ("shop.o*", &["gröSSe"])]);
        assert!(several.is_err(), "ß is one letter");
        let several = kept(&[("*.*", &["ID"]), ("shop.o*", &["GRÖßE"])]);
        assert_eq!(several.unwrap(), [true, true, false]);
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        assert_eq!(kept(&[("shop.orders", &[])]).unwrap_err().kind(), ErrorKind::Config);
        assert_eq!(kept(&[("orders", &["id"])]).unwrap_err().kind(), ErrorKind::Config);
        let error = kept(&[("shop.orders", &["id", "price"])]).unwrap_err();
        assert!(error.to_string().contains("\"price\""), "{error}");
        let rules = [("shop.orders", vec!["price".to_owned(), "id".to_owned()])];
        let mut selection = Selection::try_new(rules).unwrap();
        selection.allow_missing();
        let (table, names) = table();
        assert_eq!(selection.of(&table, &names).unwrap(), [true, false, false]);
    }
}
