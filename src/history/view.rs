//! A reader's place in a history: the catalog there, and the way on.

use super::catalog::{Catalog, Followed};
use super::logged_ddl::LoggedDdl;
use crate::error::Result;
use crate::position::Position;
use std::sync::Arc;

/// The tables where a reader is, which follow the statements that it meets.
#[derive(Debug, Clone)]
pub struct HistoryView {
    catalog: Arc<Catalog>,
}

impl HistoryView {
    /// A view without a history behind it: of a range of the log whose first catalog is known.
    pub fn detached(catalog: Arc<Catalog>) -> Self {
        Self { catalog }
    }

    /// The tables where the reader is.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Takes the next statement of the log in.
    pub fn apply(&mut self, ddl: &LoggedDdl) -> Result<Followed> {
        Ok(Arc::make_mut(&mut self.catalog).apply(ddl))
    }

    /// All of the log up to `position` has been read, and had no other statements than those that were applied.
    pub fn reach(&mut self, _position: &Position) -> Result<()> {
        Ok(())
    }
}
