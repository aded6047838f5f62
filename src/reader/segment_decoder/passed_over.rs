//! Rows events that are skipped without decoding because of their operation. They are counted only if a position needs it.

use super::map_cache::MapCache;
use crate::binlog::{EventType, FormatDescription, RowsEvent};
use crate::columnar::{PlanOptions, TablePlan};
use crate::error::Result;
use crate::reader::resume::TableKey;
use crate::wire::Inflater;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The skipped events of the current transaction, within its segment.
#[derive(Default)]
pub(super) struct PassedOver(Vec<Passed>);

/// One event.
struct Passed {
    /// The number of its table map.
    map: usize,
    event_type: EventType,
    rows: Rows,
}

/// The known facts about its rows.
#[derive(Clone)]
enum Rows {
    /// The place of its body.
    At(Range<usize>),
    /// The number of changes.
    Count(u64),
}

/// The context for counting.
pub(super) struct Counting<'c> {
    pub(super) maps: &'c mut MapCache,
    pub(super) inflater: &'c mut Inflater,
    pub(super) format: &'c FormatDescription,
    pub(super) options: &'c PlanOptions,
    /// The buffer that the places refer to.
    pub(super) buffer: &'c [u8],
}

impl PassedOver {
    /// Starts another transaction, or another part of the same one.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The number of events so far.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds an event that is in the buffer.
    pub(super) fn push_at(&mut self, map: usize, event_type: EventType, body: Range<usize>) {
        self.0.push(Passed { map, event_type, rows: Rows::At(body) });
    }

    /// Adds an event that is already counted.
    pub(super) fn push_counted(&mut self, map: usize, event_type: EventType, changes: u64) {
        self.0.push(Passed { map, event_type, rows: Rows::Count(changes) });
    }

    /// The changes of a table in the events from number `from` on.
    pub(super) fn count(
        &mut self,
        from: usize,
        table: &TableKey,
        counting: &mut Counting<'_>,
    ) -> Result<u64> {
        let mut changes = 0;
        for passed in self.0.get_mut(from..).unwrap_or_default() {
            let Some(plan) = counting.plan(passed.map)? else { continue };
            if plan.table.database == table.0 && plan.table.table == table.1 {
                changes += passed.count(&plan, counting)?;
            }
        }
        Ok(changes)
    }

    /// Counts the events while the buffer is available. Events of a table that cannot be decoded
    /// count as none.
    pub(super) fn freeze(&mut self, counting: &mut Counting<'_>) {
        for passed in &mut self.0 {
            let changes = match counting.plan(passed.map) {
                Ok(Some(plan)) => passed.count(&plan, counting).unwrap_or(0),
                Ok(None) | Err(_) => 0,
            };
            passed.rows = Rows::Count(changes);
        }
    }

    /// The changes of all tables. Those of a table that cannot be decoded are ignored: no row of it was returned.
    pub(super) fn count_all(&mut self, counting: &mut Counting<'_>) -> HashMap<TableKey, u64> {
        let mut all = HashMap::new();
        for passed in &mut self.0 {
            if let Ok(Some(plan)) = counting.plan(passed.map)
                && let Ok(changes) = passed.count(&plan, counting)
            {
                *all.entry(plan.key()).or_insert(0) += changes;
            }
        }
        all
    }
}

impl Passed {
    fn count(&mut self, plan: &TablePlan, counting: &mut Counting<'_>) -> Result<u64> {
        let changes = match &self.rows {
            Rows::Count(changes) => *changes,
            Rows::At(place) => {
                let body = counting.buffer.get(place.clone()).unwrap_or_default();
                counting.changes(plan, self.event_type, body)?
            }
        };
        self.rows = Rows::Count(changes);
        Ok(changes)
    }
}

impl Counting<'_> {
    pub(super) fn plan(&mut self, map: usize) -> Result<Option<Arc<TablePlan>>> {
        Ok(self.maps.plan(map, self.format, self.options)?.cloned())
    }

    /// The number of changes in the body of a rows event.
    pub(super) fn changes(
        &mut self,
        plan: &TablePlan,
        event_type: EventType,
        body: &[u8],
    ) -> Result<u64> {
        let id_width = self.format.table_id_width(event_type);
        let event = RowsEvent::decode(body, event_type, id_width)?;
        plan.count_changes(&event.inflate(event_type, self.inflater)?)
    }
}
