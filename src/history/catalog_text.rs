//! The stored form of a catalog.

use super::catalog::{Catalog, TableState};
use super::encoding::{of_json, to_json};
use crate::ddl::{DdlSession, SqlServer};
use crate::error::{Result, check_stored_version};
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
        Self { v: CATALOG_VERSION, script: catalog.to_script(), unknown: unknown.collect() }
    }

    /// Reads the catalog.
    ///
    /// # Errors
    /// It is damaged: an [`ErrorKind::Malformed`](crate::ErrorKind::Malformed).
    pub fn catalog(&self) -> Result<Catalog> {
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
        let StoredVersion { v } = of_json(text)?;
        check_stored_version("the catalog of a table history", v, CATALOG_VERSION.into())?;
        of_json(text)
    }
}

#[derive(Deserialize)]
struct StoredVersion {
    v: u64,
}

/// The version of the text.
const CATALOG_VERSION: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn versions() {
        let kind = |text: &str| CatalogText::of_json(text).unwrap_err().kind();
        assert_eq!(kind(r#"{"v":2,"tables":[]}"#), ErrorKind::LaterVersion);
        assert_eq!(kind(r#"{"v":1,"tables":[]}"#), ErrorKind::Malformed);
        CatalogText::of_json(r#"{"v":1,"script":"","unknown":[]}"#).unwrap();
    }
}
