//! What others see of a live read, and how they end it.

use crate::net::SocketHandle;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// What others see of a live read, and how they end it.
#[derive(Debug, Default)]
pub struct LiveControl {
    stopping: AtomicBool,
    reconnects: AtomicU64,
    events: AtomicU64,
    bytes: AtomicU64,
    /// When something came last, in microseconds since 1970 UTC.
    received_at: AtomicI64,
    /// Its connections.
    handles: Mutex<[Option<SocketHandle>; SLOTS]>,
}

impl LiveControl {
    /// Ends the read, whatever it waits for.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        let handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        handles.iter().flatten().for_each(SocketHandle::shutdown);
    }

    /// Whether nobody wants more.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Connections that were lost and made anew.
    pub fn reconnects(&self) -> u64 {
        self.reconnects.load(Ordering::Relaxed)
    }

    /// Events that the server sent, heartbeats included.
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// Bytes of these events.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// When the server sent something last, in microseconds since 1970 UTC.
    pub fn received_at(&self) -> Option<i64> {
        Some(self.received_at.load(Ordering::Relaxed)).filter(|at| *at != 0)
    }

    pub(super) fn reconnected(&self) {
        self.reconnects.fetch_add(1, Ordering::Relaxed);
    }

    /// An event of `len` bytes came.
    pub(super) fn received(&self, len: usize) {
        self.bytes.fetch_add(len as u64, Ordering::Relaxed);
        self.events.fetch_add(1, Ordering::Relaxed);
    }

    /// Something has just come. Not called for each event: asking for the time costs more than counting.
    pub(super) fn heard(&self) {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        self.received_at.store(now.as_micros() as i64, Ordering::Relaxed);
    }

    pub(super) fn set_handle(&self, slot: usize, handle: Option<SocketHandle>) {
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        // It may have been told to stop while there was none.
        if let Some(handle) = handle.as_ref().filter(|_| self.is_stopping()) {
            handle.shutdown();
        }
        if let Some(place) = handles.get_mut(slot) {
            *place = handle;
        }
    }
}

/// The dump, and a second one for what is read again.
const SLOTS: usize = 2;
