//! The stored form of a catalog.

use super::catalog::{Catalog, TableState};
use super::encoding::{of_json, to_json};
use crate::ddl::{DdlSession, SqlServer};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// A catalog as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogText {
    v: u32,
    /// The tables that are known, as [`Catalog::to_script`] prints them.
    script: String,
    /// The others: database, table, reason.
    unknown: Vec<(String, String, String)>,
}

impl CatalogText {
    /// Prints a catalog.
    pub fn of(catalog: &Catalog) -> Self {
        let unknown = catalog.tables().filter_map(|(database, table, state)| match state {
            TableState::Unknown(why) => Some((database.into(), table.into(), why.to_string())),
            TableState::Known(_) => None,
        });
        Self { v: VERSION, script: catalog.to_script(), unknown: unknown.collect() }
    }

    /// Reads the catalog.
    ///
    /// # Errors
    /// Another version of binarrow printed it, or it is damaged: an [`ErrorKind::Malformed`](crate::ErrorKind::Malformed).
    pub fn catalog(&self) -> Result<Catalog> {
        if self.v != VERSION {
            return Err(Error::malformed(format!(
                "the tables of the history are written as version {}, and this binarrow reads version {VERSION}",
                self.v
            )));
        }
        let session = DdlSession::new(SqlServer { is_mariadb: false, version: (0, 0, 0) });
        let mut catalog = Catalog::from_script(&self.script, None, &session)?;
        for (database, table, why) in &self.unknown {
            catalog.set_unknown(database, table, why.as_str().into());
        }
        Ok(catalog)
    }

    pub(super) fn to_json(&self) -> Result<String> {
        to_json(self)
    }

    pub(super) fn of_json(text: &str) -> Result<Self> {
        of_json(text)
    }
}

/// The version of the text.
const VERSION: u32 = 1;
