//! Masks: values that must not be returned unchanged.
//!
//! Input: patterns of columns, each with a mask, and a salt. Output: the mask of each column of a
//! table. Called by [`TablePlan`](super::TablePlan); the values are masked when their cells are
//! read, before they become Arrow (`builder/masked.rs`).

use crate::change::matches_glob;
use crate::charset::Collation;
use crate::error::Error;
use crate::protocol::Secret;
use crate::schema::{Column, ColumnType, TableSchema};
use ring::hmac;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The replacement for the values of a masked column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mask {
    /// NULL, in a column of the same type.
    Null,
    /// HMAC-SHA256 with the salt as its key, as 64 hexadecimal digits; NULL remains NULL.
    Sha256,
}

impl Mask {
    /// Parses the name of a mask.
    pub fn parse(word: &str) -> Result<Self, Error> {
        match word {
            "null" => Ok(Self::Null),
            "sha256" => Ok(Self::Sha256),
            // The message does not contain the invalid text: it may be a value that is here by
            // mistake.
            _ => Err(Error::config("a mask is 'sha256' or 'null'")),
        }
    }

    /// The name of the mask.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Sha256 => "sha256",
        }
    }
}

impl Mask {
    /// Returns a masked column as readers see it: its type determines the conversion of its values.
    pub(super) fn shown(self, column: &Column) -> Column {
        match self {
            Self::Null => Column { nullable: true, ..column.clone() },
            Self::Sha256 => Column {
                nullable: column.nullable,
                collation: Some(ASCII_BIN),
                visible: column.visible,
                ..Column::new(column.name.clone(), ColumnType::Char { max_bytes: 64 })
            },
        }
    }
}

const ASCII_BIN: Collation = Collation(65);

/// The columns that are masked, and the salt of those that are hashed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Masks {
    rules: Vec<(ColumnPattern, Mask)>,
    salt: Secret,
}

impl Masks {
    /// Creates masks from patterns `database.table.column`. If several patterns match a column, the
    /// first one applies.
    pub fn try_new<I, S>(rules: I, salt: Option<Secret>) -> Result<Self, Error>
    where
        I: IntoIterator<Item = (S, Mask)>,
        S: AsRef<str>,
    {
        let rules = rules
            .into_iter()
            .map(|(pattern, mask)| Ok((ColumnPattern::parse(pattern.as_ref())?, mask)))
            .collect::<Result<Vec<_>, Error>>()?;
        let hashes = rules.iter().any(|(_, mask)| *mask == Mask::Sha256);
        match &salt {
            None if hashes => {
                return Err(Error::config(
                    "mask: 'sha256' needs mask_salt: without a secret, guessed values are found by their hashes",
                ));
            }
            Some(salt) if salt.is_empty() => {
                return Err(Error::config("mask_salt is empty: pass a secret text"));
            }
            Some(_) if rules.is_empty() => {
                return Err(Error::config("mask_salt is given, but mask contains no columns"));
            }
            _ => {}
        }
        Ok(Self { rules, salt: salt.unwrap_or_default() })
    }

    /// True if any column may be masked.
    pub fn is_any(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Returns the patterns that match a column of the table. `names`: the names of all its
    /// columns.
    pub(super) fn matched(&self, table: &TableSchema, names: &[Arc<str>]) -> Vec<Arc<str>> {
        let is_matched = |pattern: &&ColumnPattern| {
            names.iter().any(|name| pattern.matches(&table.database, &table.table, name))
        };
        let patterns = self.rules.iter().map(|(pattern, _)| pattern);
        patterns.filter(is_matched).map(|pattern| Arc::clone(&pattern.text)).collect()
    }

    /// Returns the patterns that are not in `matched`.
    pub fn unmatched(&self, matched: &BTreeSet<Arc<str>>) -> impl Iterator<Item = &str> {
        let patterns = self.rules.iter().map(|(pattern, _)| &*pattern.text);
        patterns.filter(|pattern| !matched.contains(*pattern))
    }

    /// Returns the mask of each column. `names`: the names of all columns of the table.
    pub(super) fn of(
        &self,
        table: &TableSchema,
        names: &[Arc<str>],
    ) -> Result<Vec<Option<Mask>>, Error> {
        for (pattern, _) in &self.rules {
            let matches = |name: &Arc<str>| pattern.matches(&table.database, &table.table, name);
            if pattern.names(&table.database, &table.table) && !names.iter().any(matches) {
                return Err(Error::schema(format!(
                    "mask names {:?}, a column that the table does not have here: its columns are {}; with a wildcard \
                     in the database or table, as \"*.{}\", a pattern may match none",
                    pattern.text,
                    names.join(", "),
                    pattern.text.split_once('.').map_or("", |(_, rest)| rest),
                )));
            }
        }
        let mask = |name: &Arc<str>| {
            let rule = |(pattern, _): &&(ColumnPattern, Mask)| {
                pattern.matches(&table.database, &table.table, name)
            };
            self.rules.iter().find(rule).map(|(_, mask)| *mask)
        };
        Ok(names.iter().map(mask).collect())
    }

    /// The key of the hashes.
    pub(super) fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, self.salt.as_bytes())
    }
}

/// `database.table.column`, with `*` and `?` as wildcards.
///
/// Names may contain points, so a pattern with more than two points can be read in several ways.
/// All of them apply, and letter case is ignored: it is better that a mask covers too much than too
/// little.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ColumnPattern {
    text: Arc<str>,
    readings: Vec<[String; 3]>,
}

impl ColumnPattern {
    fn parse(text: &str) -> Result<Self, Error> {
        let folded = text.to_lowercase();
        let points: Vec<usize> = folded.match_indices('.').map(|(at, _)| at).collect();
        let mut readings = Vec::new();
        for (number, first) in points.iter().enumerate() {
            for second in points.iter().skip(number + 1) {
                let parts = (
                    folded.get(..*first),
                    folded.get(first + 1..*second),
                    folded.get(second + 1..),
                );
                if let (Some(database), Some(table), Some(column)) = parts
                    && [database, table, column].iter().all(|part| !part.is_empty())
                {
                    readings.push([database, table, column].map(str::to_owned));
                }
            }
        }
        match readings.is_empty() || points.len() > MAX_POINTS {
            true => Err(Error::config(format!(
                "mask: {text:?} is not a column pattern: write database.table.column, with * and ? as wildcards"
            ))),
            false => Ok(Self { text: text.into(), readings }),
        }
    }

    fn matches(&self, database: &str, table: &str, column: &str) -> bool {
        let names = [database, table, column].map(str::to_lowercase);
        self.readings.iter().any(|reading| {
            let mut parts = reading.iter().zip(&names);
            parts.all(|(pattern, name)| matches_glob(pattern.as_bytes(), name.as_bytes()))
        })
    }

    /// True if the pattern contains the name of the table, without wildcards.
    fn names(&self, database: &str, table: &str) -> bool {
        let names = [database, table].map(str::to_lowercase);
        self.readings
            .iter()
            .any(|reading| reading.iter().zip(&names).all(|(part, name)| part == name))
    }
}

/// The maximum number of points: more than names with points need.
const MAX_POINTS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn table() -> TableSchema {
        TableSchema {
            database: "shop".into(),
            table: "customers".into(),
            columns: Vec::new(),
            primary_key: Vec::new(),
            indexes: Vec::new(),
            comment: None,
        }
    }

    fn masks(rules: &[(&str, Mask)]) -> Result<Vec<Option<Mask>>, Error> {
        let names = ["id", "email", "e.mail"].map(Arc::from);
        Masks::try_new(rules.iter().copied(), Some(Secret::new("pepper")))?.of(&table(), &names)
    }

    #[test]
    fn the_first_pattern_counts() {
        use Mask::{Null, Sha256};
        let both = [("shop.*.email", Sha256), ("shop.customers.e*", Null)];
        assert_eq!(masks(&both).unwrap(), [None, Some(Sha256), Some(Null)]);
        assert_eq!(masks(&[("x.y.z", Null)]).unwrap(), [None; 3]);
        assert_eq!(masks(&[("Shop.CUSTOMERS.Email", Null)]).unwrap(), [None, Some(Null), None]);
        assert_eq!(masks(&[("shop.customers.e.mail", Null)]).unwrap(), [None, None, Some(Null)]);
    }

    #[test]
    fn patterns_that_match_no_column() {
        let rules = ["shop.*.email", "*.*.emial", "shop.custmers.email", "*.*.e*"];
        let masks = Masks::try_new(rules.map(|rule| (rule, Mask::Null)), None).unwrap();
        let names = ["id", "email"].map(Arc::from);
        let matched = masks.matched(&table(), &names).into_iter().collect();
        let unmatched: Vec<_> = masks.unmatched(&matched).collect();
        assert_eq!(
            unmatched,
            ["*.*.emial", "shop.custmers.email"],
            "a pattern that comes after one for the same column counts as matched"
        );
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        let kind = |rules: &[(&str, Mask)]| masks(rules).unwrap_err().kind();
        assert_eq!(kind(&[("shop.customers.phone", Mask::Null)]), ErrorKind::Schema);
        assert!(masks(&[("shop.*.phone", Mask::Null)]).is_ok(), "it names no table");
        for text in ["shop.customers", "email", "..", "shop..email", "a.b."] {
            assert_eq!(kind(&[(text, Mask::Null)]), ErrorKind::Config, "{text}");
        }
        assert_eq!(kind(&[]), ErrorKind::Config, "a salt for nothing");
        let hashed = [("shop.customers.email", Mask::Sha256)];
        assert_eq!(Masks::try_new(hashed, None).unwrap_err().kind(), ErrorKind::Config);
        let empty = Masks::try_new(hashed, Some(Secret::new("")));
        assert_eq!(empty.unwrap_err().kind(), ErrorKind::Config);
    }

    #[test]
    fn the_salt_is_not_printed() {
        let salt = Some(Secret::new("pepper"));
        let masks = Masks::try_new([("shop.customers.email", Mask::Sha256)], salt).unwrap();
        assert!(!format!("{masks:?} {:?}", masks.key()).contains("pepper"));
    }
}
