//! The index of a history, shared by threads: by the history, and by its views.

use super::history_index::HistoryIndex;
use super::store::Store;
use crate::error::{Error, ErrorKind, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The index of a history. It is closed when the history and all its views are dropped.
pub(super) struct SharedIndex {
    source: String,
    place: String,
    /// The process that opened it.
    process: u32,
    /// Incremented when catalogs that were returned may be outdated.
    generation: AtomicU64,
    /// `None` after [`Self::close`].
    index: Mutex<Option<HistoryIndex>>,
}

impl SharedIndex {
    /// Opens the index of a source in a store.
    pub(super) fn open(store: Box<dyn Store>, source: &str) -> Result<Arc<Self>> {
        let place = store.place();
        let index = HistoryIndex::open(store, source).map_err(|error| error.context(&place))?;
        Ok(Arc::new(Self {
            source: source.to_owned(),
            place,
            process: std::process::id(),
            generation: AtomicU64::new(index.generation),
            index: Mutex::new(Some(index)),
        }))
    }

    /// The name of the source.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// The place of the store, for messages.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// The number of times that returned catalogs became outdated.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Works on the index. Errors name the place of the store.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut HistoryIndex) -> Result<T>) -> Result<T> {
        if self.process != std::process::id() {
            return Err(Error::config(
                "the table history was opened before a fork, and its store is the parent process's: open it here",
            ));
        }
        let mut guard = self.guard()?;
        let index = guard.as_mut().ok_or_else(|| Error::config("the table history is closed"))?;
        let done = work(index);
        self.generation.store(index.generation, Ordering::Release);
        done.map_err(|error| match error.kind() {
            ErrorKind::Schema | ErrorKind::Config => error,
            _ => error.context(&self.place),
        })
    }

    /// Stores how far the log was read, and closes the store.
    pub(super) fn close(&self) -> Result<()> {
        if self.process != std::process::id() {
            self.abandon();
            return Ok(());
        }
        let index = self.guard()?.take();
        index.map_or(Ok(()), |mut index| index.flush()).map_err(|e| e.context(&self.place))
    }

    fn guard(&self) -> Result<MutexGuard<'_, Option<HistoryIndex>>> {
        self.index.lock().map_err(|_| {
            Error::new(ErrorKind::Internal, "the table history broke off in another thread")
        })
    }

    /// Does not touch the files and connections of the store, which belong to another process.
    fn abandon(&self) {
        if let Ok(mut guard) = self.index.try_lock() {
            std::mem::forget(guard.take());
        }
    }
}

impl Drop for SharedIndex {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // A thread of the parent may have held the mutex at the fork: it is never released in this process.
            let index = self.index.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(index.take());
        } else if let Err(error) = self.close() {
            log::warn!("how far the log was read is not stored: {error}");
        }
    }
}

impl std::fmt::Debug for SharedIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SharedIndex({:?} in {})", self.source, self.place)
    }
}
