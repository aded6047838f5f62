//! The source of the structures of tables.

use crate::history::{Catalog, HistoryView, SchemaHistory};
use crate::position::Xid;
use std::sync::Arc;

/// The source of the structures of tables.
#[derive(Debug, Clone)]
pub enum TableHistory {
    /// A history; the read begins at its own start position.
    Shared(Arc<SchemaHistory>),
    /// A place in a history, at which the read begins.
    View(Box<HistoryView>),
    /// Like `View`, and also the structures in force at the places where XA transactions were
    /// prepared before, if they differ.
    Part(Box<HistoryView>, Vec<(Xid, Arc<Catalog>)>),
}
