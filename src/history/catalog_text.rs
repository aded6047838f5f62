//! The stored form of a catalog.

use super::catalog::Catalog;
use super::entry::{of_json, to_json};
use super::logged_ddl::{DdlSession, LoggedDdl};
use crate::error::{Error, Result};
use crate::position::Position;
use serde::{Deserialize, Serialize};

/// A catalog as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogText {
    v: u32,
}

impl CatalogText {
    /// Prints a catalog.
    pub fn of(_catalog: &Catalog) -> Result<Self> {
        Err(Error::unsupported("a catalog cannot be printed yet"))
    }

    /// Reads what was printed.
    pub fn catalog(&self) -> Result<Catalog> {
        Err(Error::unsupported("a catalog cannot be printed yet"))
    }

    pub(super) fn to_json(&self) -> Result<String> {
        to_json(self)
    }

    pub(super) fn of_json(text: &str) -> Result<Self> {
        of_json(text)
    }

    pub(super) fn catalog_of_script(script: &str, session: &DdlSession) -> Result<Catalog> {
        let mut catalog = Catalog::default();
        let mut database = String::new();
        for statement in script.split(";\n").map(str::trim) {
            let statement = statement.trim_end_matches(';');
            if let Some(name) = statement.strip_prefix("USE ") {
                database = name.trim_matches('`').to_owned();
                continue;
            }
            catalog.apply(&LoggedDdl {
                position: Position::default(),
                timestamp: 0,
                database: database.clone(),
                statement: statement.to_owned(),
                session: session.clone(),
            });
        }
        Ok(catalog)
    }
}
