//! The keyword `schemas`: SQL text as table structures.

use super::input::table_name;
use crate::error::Result;
use crate::history::Schemas;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// CREATE TABLE text: that of a dump, of several, or one statement for each table.
#[derive(FromPyObject)]
pub(super) enum SchemasKeyword {
    ByTable(BTreeMap<String, String>),
    Text(String),
    Several(Vec<String>),
}

impl SchemasKeyword {
    /// The structures.
    pub(super) fn schemas(given: Option<Self>) -> Result<Arc<Schemas>> {
        let mut schemas = Schemas::default();
        match given {
            None => {}
            Some(Self::Text(text)) => schemas.add_text(&text)?,
            Some(Self::Several(texts)) => {
                texts.iter().try_for_each(|text| schemas.add_text(text))?;
            }
            Some(Self::ByTable(texts)) => {
                for (name, text) in &texts {
                    let (database, table) = table_name(name)?;
                    schemas.add_table(database, table, text)?;
                }
            }
        }
        Ok(Arc::new(schemas))
    }
}
