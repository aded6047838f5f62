//! Where the structures of tables come from.

use crate::history::{Catalog, HistoryView, SchemaHistory};
use crate::position::Xid;
use std::sync::Arc;

/// Where the structures of tables come from.
#[derive(Debug, Clone)]
pub enum TableHistory {
    /// From a history, at the place where the read begins.
    Shared(Arc<SchemaHistory>),
    /// From a place in a history: the place where the read begins.
    View(Box<HistoryView>),
    /// Like `View`, with the structures in force where XA transactions were prepared before, if they differ.
    Part(Box<HistoryView>, Vec<(Xid, Arc<Catalog>)>),
}
