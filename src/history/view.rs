//! A reader's place in a history: the catalog there, and the way on.

use super::catalog::{Catalog, Followed};
use super::catalog_text::CatalogText;
use super::entry::{Entry, EntryBody};
use super::epoch::{Epoch, stored_position};
use super::ledger::{Ledger, PAGE, SnapshotAge};
use super::logged_ddl::{LoggedDdl, ParsedDdl};
use super::part::HistoryPart;
use super::schema_history::SchemaHistory;
use super::secrets::without_secrets;
use super::store::{EntryKey, EntryRange};
use crate::error::{Error, Result};
use crate::position::{Position, file_number};
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

/// The tables where a reader is, which follow the statements that it meets.
///
/// Inside what the history covers, the log must be the one that the history was made from: [`apply`](Self::apply) compares,
/// and [`reach`](Self::reach) notices what was passed over. Beyond it, the view continues the history: in the store, or, if
/// another process is the writer, in the memory of this process.
#[derive(Debug, Clone)]
pub struct HistoryView {
    catalog: Arc<Catalog>,
    /// `None` for a view without a history behind it.
    place: Option<Place>,
}

/// Where a view is in its history.
#[derive(Debug, Clone)]
struct Place {
    history: Arc<SchemaHistory>,
    epoch: Epoch,
    position: Position,
    /// All that stands up to here is in force.
    at: EntryKey,
    /// All entries of the history before this position have been read.
    taken: EntryKey,
    /// What the history has next.
    next: VecDeque<Entry>,
    /// Up to here, `next` is all that the history has.
    horizon: EntryKey,
    /// Before here, the history has no structures ahead that do not come from the log.
    given: EntryKey,
    age: SnapshotAge,
    generation: u64,
    /// The file that is read, and when it was begun.
    file: Option<(Arc<str>, u32)>,
}

impl HistoryView {
    /// A view without a history behind it: of a range of the log whose first catalog is known.
    pub fn detached(catalog: Arc<Catalog>) -> Self {
        Self { catalog, place: None }
    }

    /// A view of what a part of a history begins with, without the history.
    pub fn of_part(part: &HistoryPart) -> Result<Self> {
        Ok(Self::detached(Arc::new(part.catalog()?)))
    }

    /// The view of a place that is known to be covered.
    pub(super) fn load(
        history: &Arc<SchemaHistory>,
        ledger: &mut Ledger,
        epoch: u64,
        until: EntryKey,
        position: &Position,
    ) -> Result<Self> {
        let loaded = ledger.load(epoch, until)?;
        let place = Place {
            history: Arc::clone(history),
            epoch: ledger.epoch(epoch)?.clone(),
            position: stored_position(position),
            at: until,
            taken: until,
            next: VecDeque::new(),
            horizon: EntryKey::FIRST,
            given: EntryKey::FIRST,
            age: loaded.age,
            generation: ledger.generation,
            file: None,
        };
        Ok(Self { catalog: loaded.catalog, place: Some(place) })
    }

    /// The tables where the reader is.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Where it is: the last position that it was told; `None` without a history.
    pub fn position(&self) -> Option<&Position> {
        self.place.as_ref().map(|place| &place.position)
    }

    /// The history behind it.
    pub fn history(&self) -> Option<&Arc<SchemaHistory>> {
        self.place.as_ref().map(|place| &place.history)
    }

    /// Takes the next statement of the log in. Where the history does not cover the log so far, it is stored first. One that
    /// is before the view's position, and that the history has, changes nothing.
    ///
    /// # Errors
    /// The history has another statement there, or none: an [`ErrorKind::Schema`](crate::ErrorKind::Schema) that names
    /// both. Another process writes the history: an [`ErrorKind::Config`](crate::ErrorKind::Config) that names it.
    pub fn apply(&mut self, ddl: &LoggedDdl) -> Result<Followed> {
        self.apply_as(&ParsedDdl::from(ddl.clone()), Ledger::become_writer)
    }

    /// The same for a reader of the log: if another process writes the history, this one follows the log in its own memory.
    ///
    /// # Errors
    /// Those of [`Self::apply`], except the error for another writer.
    pub fn follow(&mut self, ddl: &ParsedDdl) -> Result<Followed> {
        self.apply_as(ddl, Ledger::lead_or_follow)
    }

    fn apply_as(
        &mut self,
        ddl: &ParsedDdl,
        lead: impl Fn(&mut Ledger) -> Result<()>,
    ) -> Result<Followed> {
        let Self { catalog, place } = self;
        let Some(place) = place else { return Ok(ddl.apply_to(Arc::make_mut(catalog))) };
        if !ddl.parsed.changes_structures() {
            return Ok(Followed::default());
        }
        let history = Arc::clone(&place.history);
        history.with(|ledger| place.apply(ledger, catalog, ddl, lead))
    }

    /// All of the log up to `position` has been read, and had no other statements than those that were applied.
    ///
    /// # Errors
    /// The history has a statement there that was not applied: an [`ErrorKind::Schema`](crate::ErrorKind::Schema).
    pub fn reach(&mut self, position: &Position) -> Result<()> {
        let Self { catalog, place } = self;
        let Some(place) = place else { return Ok(()) };
        let until = EntryKey::end_of(position);
        if place.epoch.fits(position) {
            if until <= place.at {
                return Ok(());
            }
            let is_known = until <= place.horizon
                && place.generation == place.history.generation()
                && place.next.front().is_none_or(|next| next.key > until);
            if is_known {
                place.move_to(position, until);
                return Ok(());
            }
        }
        let history = Arc::clone(&place.history);
        history.with(|ledger| place.reach(ledger, catalog, position))
    }

    /// Whether the history may have structures for the view, up to a place in its log, that come from no statement: a baseline in
    /// the middle. [`Self::reach`] takes them in. To ask costs little.
    pub fn is_due(&self, file: &str, offset: u64) -> bool {
        self.place.as_ref().is_some_and(|place| {
            let file = file_number(file).unwrap_or_default();
            place.given <= EntryKey { file, offset, ordinal: u32::MAX }
                || place.generation != place.history.generation()
        })
    }

    /// The reader is in a file that was begun at `timestamp`, in seconds since 1970 UTC.
    ///
    /// # Errors
    /// The history was made from another file of the same name: an [`ErrorKind::Schema`](crate::ErrorKind::Schema).
    pub fn enter_file(&mut self, name: &Arc<str>, timestamp: u32) -> Result<()> {
        let Some(place) = &mut self.place else { return Ok(()) };
        place.file = Some((Arc::clone(name), timestamp));
        let history = Arc::clone(&place.history);
        history.with(|ledger| place.check_file(ledger))
    }

    /// The reader goes on in another server's log, where `position` is the same place as that which was reached in the first's.
    /// What the history covers of that log already it goes on with; else a new range begins, with the tables as they are.
    ///
    /// # Errors
    /// Another process writes the history: an [`ErrorKind::Config`](crate::ErrorKind::Config) that names it.
    pub fn move_to(&mut self, position: &Position) -> Result<()> {
        let Self { catalog, place } = self;
        let Some(place) = place else { return Ok(()) };
        if place.epoch.fits(position) {
            return self.reach(position);
        }
        let history = Arc::clone(&place.history);
        *self = history.with(|ledger| {
            ledger.refresh()?;
            let known = ledger.epochs().iter().rev().find(|epoch| epoch.contains(position));
            let id = match known.map(|epoch| epoch.id) {
                Some(id) => id,
                None => {
                    ledger.lead_or_follow()?;
                    let timestamp = ledger.time_at(ledger.current_id(place.epoch.id), place.at)?;
                    let text = EntryBody::Checkpoint(CatalogText::of(catalog));
                    ledger.begin_epoch(position, timestamp, text)?
                }
            };
            Self::load(&history, ledger, id, EntryKey::end_of(position), position)
        })?;
        Ok(())
    }
}

impl Place {
    fn apply(
        &mut self,
        ledger: &mut Ledger,
        catalog: &mut Arc<Catalog>,
        met: &ParsedDdl,
        lead: impl Fn(&mut Ledger) -> Result<()>,
    ) -> Result<Followed> {
        let ddl = &met.logged;
        self.check_log(&ddl.position)?;
        self.renew(ledger, catalog)?;
        let first = EntryKey::of(&ddl.position, 0);
        self.cross(ledger, catalog, first.previous().unwrap_or(first))?;
        let end = EntryKey::end_of(&ddl.position);
        if end <= self.at {
            return self.compare_past(ledger, ddl);
        }
        // Not yet the writer, this may not know yet what another wrote.
        for _ in 0..2 {
            if let Some(followed) = self.take(ledger, catalog, end, Some(met))? {
                return Ok(followed);
            }
            if ledger.is_writer() {
                break;
            }
            let reached = EntryKey::of(&ledger.epoch(self.epoch.id)?.reached, 0);
            if first < reached {
                break;
            }
            lead(ledger)?;
            // Entries that were stored meanwhile, by this process or another.
            self.renew(ledger, catalog)?;
            self.horizon = EntryKey::FIRST;
        }
        let reached = ledger.epoch(self.epoch.id)?.reached.clone();
        let is_covered = match first.cmp(&EntryKey::of(&reached, 0)) {
            Ordering::Less => true,
            // More than one may end with a transaction.
            Ordering::Equal => ledger.next_key(self.epoch.id, &reached)?.ordinal == 0,
            Ordering::Greater => false,
        };
        if is_covered {
            return Err(self.foreign(&format!(
                "it has a statement at {} ({}) where the history, which reaches to {reached}, has none",
                ddl.position,
                summary(ddl)
            )));
        }
        self.write(ledger, catalog, met)
    }

    /// Stores a statement behind all that the history has, then takes it in.
    fn write(
        &mut self,
        ledger: &mut Ledger,
        catalog: &mut Arc<Catalog>,
        met: &ParsedDdl,
    ) -> Result<Followed> {
        let ddl = &met.logged;
        let position = stored_position(&ddl.position);
        let key = ledger.next_key(self.epoch.id, &position)?;
        let body = EntryBody::Ddl(LoggedDdl { position: position.clone(), ..ddl.clone() });
        let timestamp = ddl.timestamp;
        let mut entry = Entry { epoch: self.epoch.id, key, position, timestamp, body };
        ledger.append(&entry)?;
        let followed = met.apply_to(Arc::make_mut(catalog));
        self.move_to(&ddl.position, key);
        self.horizon = key;
        self.age.take(&entry);
        if self.age.is_old(timestamp) {
            entry.key.ordinal = key.ordinal.saturating_add(1);
            entry.body = EntryBody::Checkpoint(CatalogText::of(catalog));
            ledger.append(&entry)?;
            self.age = SnapshotAge { statements: 0, timestamp };
        }
        Ok(followed)
    }

    fn reach(
        &mut self,
        ledger: &mut Ledger,
        catalog: &mut Arc<Catalog>,
        position: &Position,
    ) -> Result<()> {
        self.check_log(position)?;
        self.renew(ledger, catalog)?;
        let end = EntryKey::end_of(position);
        self.cross(ledger, catalog, end)?;
        if end <= self.at {
            return Ok(());
        }
        let is_beyond = |ledger: &Ledger, place: &Self| {
            let reached = &ledger.epoch(place.epoch.id)?.reached;
            Ok::<_, Error>(EntryKey::of(position, 0) > EntryKey::of(reached, 0))
        };
        if is_beyond(ledger, self)? && !ledger.is_writer() {
            ledger.lead_or_follow()?;
            self.renew(ledger, catalog)?;
        }
        self.take(ledger, catalog, end, None)?;
        let is_beyond = is_beyond(ledger, self)?;
        self.move_to(position, end);
        if is_beyond {
            ledger.reach(self.epoch.id, position)?;
            self.check_file(ledger)?;
            self.horizon = end;
        }
        Ok(())
    }

    fn move_to(&mut self, position: &Position, at: EntryKey) {
        self.position.server.clone_from(&position.server);
        self.position.file.clone_from(&position.file);
        self.position.offset = position.offset;
        self.position.gtid_set.clone_from(&position.gtid_set);
        self.at = at;
        self.taken = at;
    }

    /// Takes in what the history has up to `until`: structures; and a statement, if it is the one that was met.
    fn take(
        &mut self,
        ledger: &mut Ledger,
        catalog: &mut Arc<Catalog>,
        until: EntryKey,
        met: Option<&ParsedDdl>,
    ) -> Result<Option<Followed>> {
        let reached = EntryKey::end_of(&ledger.epoch(self.epoch.id)?.reached);
        loop {
            if self.next.is_empty() && self.horizon < until.min(reached) {
                self.look_ahead(ledger)?;
            }
            if self.next.front().is_none_or(|entry| entry.key > until) {
                return Ok(None);
            }
            let Some(entry) = self.next.pop_front() else { return Ok(None) };
            self.taken = entry.key;
            match &entry.body {
                EntryBody::Ddl(stored) => {
                    self.age.take(&entry);
                    match met {
                        Some(met) if is_same(stored, &met.logged) => {
                            let followed = met.apply_to(Arc::make_mut(catalog));
                            self.move_to(&met.logged.position, entry.key);
                            return Ok(Some(followed));
                        }
                        _ if !stored.parse().changes_structures() => {}
                        met => {
                            return Err(self.contradiction(stored, met.map(|met| &met.logged)));
                        }
                    }
                }
                _ => {
                    entry.enter(Arc::make_mut(catalog))?;
                    self.given = EntryKey::FIRST;
                }
            }
        }
    }

    /// Gets the next page of what the history has.
    fn look_ahead(&mut self, ledger: &mut Ledger) -> Result<()> {
        let epoch = self.epoch.id;
        let range = EntryRange { epoch, after: Some(self.taken), until: EntryKey::LAST };
        let page = ledger.changes(range)?;
        let is_full = page.len() == PAGE;
        self.horizon = match page.last() {
            Some(last) if is_full => last.key,
            last => {
                let reached = EntryKey::end_of(&ledger.epoch(epoch)?.reached);
                last.map_or(reached, |last| reached.max(last.key))
            }
        };
        let given = page.iter().find(|entry| !matches!(entry.body, EntryBody::Ddl(_)));
        self.given = match given {
            Some(given) => given.key,
            None if is_full => self.horizon,
            None => EntryKey::LAST,
        };
        // There it goes on with other structures.
        if let Some(next) = ledger.next_epoch(&self.epoch, self.at) {
            let from = EntryKey::of(&next.from, 0);
            self.given = self.given.min(from);
            self.horizon = self.horizon.min(from.previous().unwrap_or_default());
        }
        self.next = page.into();
        Ok(())
    }

    /// Goes over to the ranges of the same log that begin behind the view, up to `until`: they were begun later, and know
    /// better.
    fn cross(
        &mut self,
        ledger: &mut Ledger,
        catalog: &mut Arc<Catalog>,
        until: EntryKey,
    ) -> Result<()> {
        while let Some(next) = ledger.next_epoch(&self.epoch, self.at).cloned() {
            let from = EntryKey::end_of(&next.from);
            if EntryKey::of(&next.from, 0) > until {
                break;
            }
            self.take(ledger, catalog, from, None)?;
            let loaded = ledger.load(next.id, from)?;
            *catalog = loaded.catalog;
            self.age = loaded.age;
            self.move_to(&next.from, from);
            self.epoch = next;
            self.next.clear();
            self.horizon = EntryKey::FIRST;
            self.check_file(ledger)?;
            self.given = EntryKey::FIRST;
        }
        Ok(())
    }

    /// Takes in what was changed in the history behind the view's back.
    fn renew(&mut self, ledger: &mut Ledger, catalog: &mut Arc<Catalog>) -> Result<()> {
        if self.generation == ledger.generation {
            return Ok(());
        }
        self.epoch = ledger.epoch(ledger.current_id(self.epoch.id))?.clone();
        self.next.clear();
        self.horizon = EntryKey::FIRST;
        self.given = EntryKey::FIRST;
        let loaded = ledger.load(self.epoch.id, self.at)?;
        *catalog = loaded.catalog;
        self.age = loaded.age;
        self.generation = ledger.generation;
        Ok(())
    }

    /// A statement that ends before the view's position: the history must have it.
    fn compare_past(&self, ledger: &mut Ledger, ddl: &LoggedDdl) -> Result<Followed> {
        let first = EntryKey::of(&ddl.position, 0);
        let mut range = EntryRange {
            epoch: self.epoch.id,
            after: first.previous(),
            until: EntryKey::end_of(&ddl.position),
        };
        let mut other = None;
        loop {
            let page = ledger.changes(range)?;
            for entry in &page {
                match &entry.body {
                    EntryBody::Ddl(stored) if is_same(stored, ddl) => {
                        return Ok(Followed::default());
                    }
                    EntryBody::Ddl(stored) => other = Some(stored.clone()),
                    _ => {}
                }
            }
            match page.last() {
                Some(last) if page.len() == PAGE => range.after = Some(last.key),
                _ => break,
            }
        }
        let epoch = ledger.epoch(self.epoch.id)?;
        Err(match other {
            Some(stored) => self.contradiction(&stored, Some(ddl)),
            None if !epoch.contains(&ddl.position) => Error::schema(format!(
                "the statement at {} is before all that the history covers, from {} on",
                ddl.position, epoch.from
            )),
            None => self.foreign(&format!(
                "it has a statement at {} ({}), before {}, where the history has none",
                ddl.position,
                summary(ddl),
                self.position
            )),
        })
    }

    fn check_log(&self, position: &Position) -> Result<()> {
        if self.epoch.fits(position) {
            return Ok(());
        }
        let server = |id: &Option<String>| {
            id.as_ref().map(|id| format!(" of server {id}")).unwrap_or_default()
        };
        Err(Error::schema(format!(
            "{position}{} is not of the log that the table history follows here, which is {} to {}{}: begin a new range \
             there with a baseline",
            server(&position.server),
            self.epoch.from,
            self.epoch.reached,
            server(&self.epoch.server)
        )))
    }

    /// A log that was reset has other files of the same names.
    fn check_file(&self, ledger: &mut Ledger) -> Result<()> {
        let Some((name, timestamp)) = &self.file else { return Ok(()) };
        ledger.note_file(self.epoch.id, name, *timestamp).map_err(|known| {
            self.foreign(&format!(
                "its {name} was begun at {timestamp} and that of the history at {known} (seconds since 1970): the log was \
                 reset since, or is another server's"
            ))
        })
    }

    fn contradiction(&self, stored: &LoggedDdl, met: Option<&LoggedDdl>) -> Error {
        self.foreign(&match met {
            None => format!(
                "the history has a statement at {} ({}) that the log has not",
                stored.position,
                summary(stored)
            ),
            Some(met) if stored.position.compare(&met.position) == Some(Ordering::Equal) => {
                format!(
                    "at {} the history has another statement ({}) than the log at {} ({})",
                    stored.position,
                    summary(stored),
                    met.position,
                    summary(met)
                )
            }
            Some(met) => format!(
                "the history's next statement is at {} ({}), the log's at {} ({})",
                stored.position,
                summary(stored),
                met.position,
                summary(met)
            ),
        })
    }

    fn foreign(&self, what: &str) -> Error {
        Error::schema(format!(
            "the log is not the one that the table history (source {:?}) was made from: {what}; give this log a \
             source of its own (source=), or begin a new history",
            self.history.source()
        ))
    }
}

/// Whether two statements are the same one of a log.
fn is_same(stored: &LoggedDdl, met: &LoggedDdl) -> bool {
    let LoggedDdl { position, timestamp: _, database, statement, session } = stored;
    EntryKey::of(position, 0) == EntryKey::of(&met.position, 0)
        && *database == met.database
        && *statement == without_secrets(&met.statement, met.session.quote_mode())
        && *session == met.session
}

/// What a statement does to which tables.
fn summary(ddl: &LoggedDdl) -> String {
    match ddl.parse().ddl() {
        Ok(Some(parsed)) => parsed.to_string(),
        _ => "a statement that is not understood".into(),
    }
}
