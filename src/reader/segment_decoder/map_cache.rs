//! A cache of table maps by their bytes: the same bytes are not parsed twice.

use super::parent::Parent;
use crate::binlog::{FormatDescription, TableMap};
use crate::change::TableFilter;
use crate::columnar::{PlanOptions, TablePlan};
use crate::error::Result;
use crate::history::{Catalog, ForeignKeys, TableState};
use crate::reader::options::DecodeOptions;
use crate::reader::stats::GhostTable;
use crate::schema::full_name;
use std::collections::HashMap;
use std::sync::Arc;

/// A table map that was read.
pub(super) struct KnownMap {
    /// Its body after the table id.
    content: Box<[u8]>,
    /// True if the table's rows are selected.
    pub(super) wanted: bool,
    /// The table's name, if it is left out because it belongs to a tool; returned once.
    ghost: Option<GhostTable>,
    /// The plan for its rows, created with the first rows.
    plan: Option<Planned>,
    /// The effects of its deletes and updates on other tables, and the catalog in which these were looked up.
    parent: Option<(u64, Arc<Parent>)>,
}

/// A plan, and the state from which it was created.
struct Planned {
    plan: Arc<TablePlan>,
    /// The structure from the history.
    state: Option<TableState>,
    /// The catalog of the last lookup.
    catalog: u64,
}

/// Table maps by content, and those in force by id.
#[derive(Default)]
pub(super) struct MapCache {
    known: Vec<KnownMap>,
    by_content: HashMap<Box<[u8]>, usize>,
    in_force: HashMap<u64, (usize, u64), ahash::RandomState>,
    /// The map that was used last: most rows events follow their own map.
    last: Option<(u64, usize)>,
    transaction: u64,
    /// The current structures of tables, if a history is given, and the number of previous
    /// catalogs.
    catalog: Option<Arc<Catalog>>,
    catalogs: u64,
    /// The foreign keys of the catalog, and the number of the catalog.
    foreign_keys: Option<(u64, Arc<ForeignKeys>)>,
    /// The server version of the file that the maps are from: it determines the meaning of the
    /// bytes.
    server_version: String,
}

impl MapCache {
    /// Removes the maps of the previous transaction from those in force.
    pub(super) fn begin_transaction(&mut self) {
        self.transaction += 1;
        self.last = None;
    }

    /// True if there are so many maps that the cache should be cleared.
    pub(super) fn are_too_many(&self) -> bool {
        self.known.len() > MAX_KNOWN_MAPS
    }

    /// Removes all maps if the current file is of another server version, or if there are too many
    /// maps.
    pub(super) fn begin_file(&mut self, format: &FormatDescription) {
        if self.server_version != format.server_version || self.are_too_many() {
            let (transaction, catalogs) = (self.transaction, self.catalogs);
            let catalog = self.catalog.take();
            *self = Self { transaction, catalog, catalogs, ..Self::default() };
            self.server_version.clone_from(&format.server_version);
        }
    }

    /// Sets the structures of tables from here on; `None` if no history is given.
    pub(super) fn begin_catalog(&mut self, catalog: Option<Arc<Catalog>>) {
        let is_same = match (&self.catalog, &catalog) {
            (Some(before), Some(now)) => Arc::ptr_eq(before, now),
            (before, now) => before.is_none() && now.is_none(),
        };
        if !is_same {
            self.catalog = catalog;
            self.catalogs += 1;
        }
    }

    /// Adds a Table_map event. Returns the number of the map.
    pub(super) fn define(
        &mut self,
        body: &[u8],
        id_width: usize,
        tables: &TableFilter,
    ) -> Result<Option<usize>> {
        let Some((id, content)) = body.split_at_checked(id_width) else {
            TableMap::decode(body, id_width)?;
            return Ok(None);
        };
        let id = id.iter().rev().fold(0, |id, byte| id << 8 | u64::from(*byte));
        if let Some((index, transaction)) = self.in_force.get_mut(&id)
            && self.known.get(*index).is_some_and(|map| *map.content == *content)
        {
            *transaction = self.transaction;
            self.last = Some((id, *index));
            return Ok(Some(*index));
        }
        let index = match self.by_content.get(content).copied() {
            Some(index) => index,
            None => self.learn(body, content, id_width, tables)?,
        };
        self.in_force.insert(id, (index, self.transaction));
        self.last = Some((id, index));
        Ok(Some(index))
    }

    /// The table map to which a rows event refers; `None` if it is not in force.
    pub(super) fn find(&mut self, id: u64) -> Option<usize> {
        if let Some((last, index)) = self.last.filter(|(last, _)| *last == id) {
            self.last = Some((last, index));
            return Some(index);
        }
        let (index, transaction) = self.in_force.get(&id).copied()?;
        (transaction == self.transaction).then_some(index)
    }

    /// True if the rows of map `index` are selected.
    pub(super) fn is_wanted(&self, index: usize) -> bool {
        self.known.get(index).is_some_and(|map| map.wanted)
    }

    /// True if two tables have the same columns, as far as their maps contain them.
    pub(super) fn have_same_columns(&self, one: usize, other: usize) -> bool {
        let map = |index: usize| TableMap::decode(&self.known.get(index)?.content, 0).ok();
        match (map(one), map(other)) {
            (Some(one), Some(other)) => one.types == other.types && one.metadata == other.metadata,
            _ => false,
        }
    }

    /// Returns the table of map `index`, once, if it is left out because it belongs to an online
    /// schema-change tool.
    pub(super) fn take_ghost(&mut self, index: usize) -> Option<GhostTable> {
        self.known.get_mut(index).and_then(|map| map.ghost.take())
    }

    /// True if structures of tables are known from a history.
    pub(super) fn has_catalog(&self) -> bool {
        self.catalog.is_some()
    }

    /// The database and the table of map `index`.
    pub(super) fn table(&self, index: usize) -> Result<Option<(Arc<str>, Arc<str>)>> {
        let Some(map) = self.known.get(index) else { return Ok(None) };
        let map = TableMap::decode(&map.content, 0)?;
        let name = |bytes| String::from_utf8_lossy(bytes).into();
        Ok(Some((name(map.database), name(map.table))))
    }

    /// The plan for the rows of map `index`.
    pub(super) fn plan(
        &mut self,
        index: usize,
        format: &FormatDescription,
        options: &PlanOptions,
    ) -> Result<Option<&Arc<TablePlan>>> {
        let Some(map) = self.known.get_mut(index) else { return Ok(None) };
        let catalogs = self.catalogs;
        if map.plan.as_ref().is_none_or(|planned| planned.catalog != catalogs) {
            let table = TableMap::decode(&map.content, 0)?;
            let catalog = self.catalog.as_deref();
            let state = catalog.and_then(|catalog| {
                let name = |bytes| String::from_utf8_lossy(bytes);
                catalog.find(&name(table.database), &name(table.table))
            });
            match &mut map.plan {
                Some(planned) if is_same(planned.state.as_ref(), state) => {
                    planned.catalog = catalogs;
                }
                _ => {
                    let plan = Arc::new(TablePlan::of(&table, format, options, catalog)?);
                    let state = state.cloned();
                    map.plan = Some(Planned { plan, state, catalog: catalogs });
                }
            }
        }
        Ok(map.plan.as_ref().map(|planned| &planned.plan))
    }

    /// The known foreign keys: of the current catalog, of `schemas=`, or of the server.
    pub(super) fn foreign_keys(&mut self, options: &DecodeOptions) -> Option<Arc<ForeignKeys>> {
        let Some(catalog) = &self.catalog else {
            return options.unlogged.foreign_keys.get().cloned();
        };
        let catalogs = self.catalogs;
        let held = self.foreign_keys.take().filter(|(of, _)| *of == catalogs);
        let keys = match held {
            Some((_, keys)) => keys,
            None => Arc::new(ForeignKeys::of_catalog(catalog)),
        };
        self.foreign_keys = Some((catalogs, Arc::clone(&keys)));
        Some(keys)
    }

    /// The table of map `index` as a parent of others.
    pub(super) fn parent(
        &mut self,
        index: usize,
        format: &FormatDescription,
        options: &DecodeOptions,
    ) -> Result<Option<Arc<Parent>>> {
        let catalogs = self.catalogs;
        let Some(map) = self.known.get(index) else { return Ok(None) };
        if let Some((_, parent)) = map.parent.as_ref().filter(|(of, _)| *of == catalogs) {
            return Ok(Some(Arc::clone(parent)));
        }
        // Most tables are not parents, and collecting the keys of a catalog takes time.
        let may_be_parent = Parent::may_be(TableMap::decode(&map.content, 0)?.flags, format);
        let keys = if may_be_parent { self.foreign_keys(options) } else { None };
        let Some(map) = self.known.get_mut(index) else { return Ok(None) };
        let table = TableMap::decode(&map.content, 0)?;
        let catalog = self.catalog.as_deref();
        let parent = Arc::new(Parent::of(&table, format, options, catalog, keys.as_deref())?);
        map.parent = Some((catalogs, Arc::clone(&parent)));
        Ok(Some(parent))
    }

    fn learn(
        &mut self,
        body: &[u8],
        content: &[u8],
        id_width: usize,
        tables: &TableFilter,
    ) -> Result<usize> {
        let map = TableMap::decode(body, id_width)?;
        let database = String::from_utf8_lossy(map.database);
        let table = String::from_utf8_lossy(map.table);
        let wanted = tables.accepts(&database, &table);
        let tool = tables.ghost_left_out(&database, &table);
        let ghost = tool.map(|tool| (full_name(&database, &table), tool.name()));
        let index = self.known.len();
        let content_of = content.into();
        self.known.push(KnownMap { content: content_of, wanted, ghost, plan: None, parent: None });
        self.by_content.insert(content.into(), index);
        Ok(index)
    }
}

/// True if the structure of a table has not changed.
fn is_same(before: Option<&TableState>, now: Option<&TableState>) -> bool {
    match (before, now) {
        (Some(TableState::Known(before)), Some(TableState::Known(now))) => Arc::ptr_eq(before, now),
        (before, now) => before == now,
    }
}

/// The maximum number of different table maps; then all are dropped.
const MAX_KNOWN_MAPS: usize = 65_536;
