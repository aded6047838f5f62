//! A history with the cursor of one object of Python.

use super::ddl_session::MYSQL_OF_TODAY;
use crate::change::TableFilter;
use crate::ddl::SqlServer;
use crate::error::{Error, Result};
use crate::history::{Baseline, Catalog, HistoryView, SchemaHistory, Scope};
use crate::position::{Place, Position};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A history with a cursor, on which threads work.
pub(super) struct HistoryCursor {
    history: Arc<SchemaHistory>,
    /// The cursor; `None` if it is at the end of the history.
    view: Mutex<Option<HistoryView>>,
}

impl HistoryCursor {
    /// A cursor at the end of a history.
    pub(super) fn new(history: Arc<SchemaHistory>) -> Self {
        Self { history, view: Mutex::new(None) }
    }

    pub(super) fn history(&self) -> &Arc<SchemaHistory> {
        &self.history
    }

    pub(super) fn view(&self) -> MutexGuard<'_, Option<HistoryView>> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place as a position.
    pub(super) fn resolve(&self, place: Place) -> Result<Position> {
        match place {
            Place::Position(position) => Ok(*position),
            Place::Gtids(gtids) => Ok(Position { gtid_set: Some(gtids), ..Position::default() }),
            Place::Time(time) => self.history.position_at(time),
            Place::Earliest | Place::Latest => Err(Error::config(
                "a place in a history is a Position, 'file:offset', a GTID set or a time",
            )),
        }
    }

    /// The tables at a place, or at the cursor.
    pub(super) fn catalog(&self, place: Option<Place>) -> Result<Arc<Catalog>> {
        if let Some(place) = place {
            return self.history.catalog_at(&self.resolve(place)?);
        }
        match &*self.view() {
            Some(view) => Ok(Arc::clone(view.catalog())),
            None => {
                let end = self.history.end()?.ok_or_else(|| {
                    Error::schema(
                        "the table history is empty: take a baseline first, ⟦history.baseline=server⟧",
                    )
                })?;
                self.history.catalog_at(&end)
            }
        }
    }

    /// Checks that each pattern matches a table, in a baseline or in the history.
    pub(super) fn check_matched(&self, filter: &TableFilter, baseline: &Baseline) -> Result<()> {
        let (own, before) = (baseline.catalog()?, self.catalog(None).unwrap_or_default());
        let tables = own.tables().chain(before.tables());
        let names: Vec<_> = tables.map(|(database, table, _)| (database, table)).collect();
        match filter.unmatched(names.iter().copied()).first() {
            None => Ok(()),
            Some(pattern) => Err(Error::config(format!(
                "no table matches {pattern:?}, neither in the baseline nor in the history: check the pattern in ⟦tables⟧"
            ))),
        }
    }

    /// Adds a baseline: of all tables, or of those that match.
    pub(super) fn begin(
        &self,
        mut baseline: Baseline,
        position: &Position,
        timestamp: i64,
        filter: Option<&TableFilter>,
    ) -> Result<()> {
        if let Some(filter) = filter.filter(|_| self.history.is_empty().is_ok_and(|empty| !empty)) {
            let (own, before) = (baseline.catalog()?, self.history.catalog_at(position));
            let before = before.unwrap_or_default();
            let names =
                own.tables().chain(before.tables()).map(|(database, table, _)| (database, table));
            let mut names: Vec<_> = names
                .filter(|(database, table)| filter.accepts(database, table))
                .map(|(database, table)| (database.to_owned(), table.to_owned()))
                .collect();
            names.sort_unstable();
            names.dedup();
            baseline.scope = Scope::Tables(names);
        }
        self.history.baseline(baseline, position, timestamp)?;
        Ok(())
    }

    /// The server of the tables at the cursor.
    pub(super) fn server(&self) -> Result<SqlServer> {
        Ok(self.catalog(None)?.server().unwrap_or(MYSQL_OF_TODAY))
    }
}
