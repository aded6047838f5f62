//! Cancellation: one token for all work that can be ended early.
//!
//! Work gets a token and checks it from time to time. Work that waits at a place where it cannot
//! check, for example in a read of a socket, registers a function that ends the wait.

use crate::error::{Error, Result};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A token that cancels work. Clones are the same token.
#[derive(Clone, Default)]
pub struct CancelToken(Arc<State>);

#[derive(Default)]
struct State {
    cancelled: AtomicBool,
    /// Functions to call at cancellation, each with its number.
    wakers: Mutex<Wakers>,
    is_interrupted: Option<Box<dyn Fn() -> bool + Send + Sync>>,
    /// The registration at the parent's token.
    parent: Option<OnCancel>,
}

#[derive(Default)]
struct Wakers {
    next: u64,
    list: Vec<(u64, Box<dyn FnOnce() + Send>)>,
}

impl CancelToken {
    /// Creates a token that [`Self::check`] cancels when `is_interrupted` returns true.
    pub fn interrupted_by(is_interrupted: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let is_interrupted = Some(Box::new(is_interrupted) as Box<_>);
        Self(Arc::new(State { is_interrupted, ..State::default() }))
    }

    /// Creates a token that is cancelled together with this one.
    #[must_use]
    pub fn child(&self) -> Self {
        let child = Self(Arc::new_cyclic(|child: &Weak<State>| {
            let child = Weak::clone(child);
            let parent = self.on_cancel(move || {
                if let Some(child) = child.upgrade() {
                    Self(child).cancel();
                }
            });
            State { parent: Some(parent), ..State::default() }
        }));
        // The parent may already be cancelled.
        if self.0.cancelled.load(Ordering::SeqCst) {
            child.cancel();
        }
        child
    }

    /// Cancels the work, and ends its waits.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        let wakers = std::mem::take(&mut self.wakers().list);
        wakers.into_iter().for_each(|(_, wake)| wake());
    }

    /// True if the work is cancelled. This is one load: it can be called often.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }

    /// Returns an error if the work is cancelled. It also checks for an interrupt, so it should be
    /// called at most every few milliseconds.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    pub fn check(&self) -> Result<()> {
        let is_interrupted = self.0.is_interrupted.as_ref();
        let parent = self.0.parent.as_ref().map(|registration| &registration.token);
        if is_interrupted.is_some_and(|is_interrupted| is_interrupted())
            || parent.is_some_and(|parent| parent.check().is_err())
        {
            self.cancel();
        }
        match self.is_cancelled() {
            true => Err(Error::cancelled()),
            false => Ok(()),
        }
    }

    /// Calls `wake` at cancellation, or immediately if the work is already cancelled. Dropping the
    /// result unregisters `wake`.
    pub fn on_cancel(&self, wake: impl FnOnce() + Send + 'static) -> OnCancel {
        let mut wakers = self.wakers();
        let number = wakers.next;
        wakers.next += 1;
        // Read with the lock: a cancellation either sees the function in the list, or is seen here.
        if self.0.cancelled.load(Ordering::SeqCst) {
            drop(wakers);
            wake();
        } else {
            wakers.list.push((number, Box::new(wake)));
        }
        OnCancel { token: self.clone(), number }
    }

    fn wakers(&self) -> MutexGuard<'_, Wakers> {
        // The list is never left in an inconsistent state.
        self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken").field("is_cancelled", &self.is_cancelled()).finish()
    }
}

/// A function that a token calls at cancellation, for as long as this value lives.
#[derive(Debug)]
#[must_use = "dropping it unregisters the function"]
pub struct OnCancel {
    token: CancelToken,
    number: u64,
}

impl Drop for OnCancel {
    fn drop(&mut self) {
        let mut wakers = self.token.wakers();
        let index = wakers.list.iter().position(|(number, _)| *number == self.number);
        let withdrawn = index.map(|index| wakers.list.swap_remove(index));
        // The function may own values whose drop takes time.
        drop(wakers);
        drop(withdrawn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use std::sync::atomic::AtomicU32;

    fn counter() -> (Arc<AtomicU32>, impl Fn() + Clone + Send + Sync) {
        let count = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&count);
        (count, move || _ = counted.fetch_add(1, Ordering::Relaxed))
    }

    #[test]
    fn functions_are_called_once_unless_withdrawn() {
        let token = CancelToken::default();
        let (count, wake) = counter();
        let _kept = token.on_cancel(wake.clone());
        drop(token.on_cancel(wake.clone()));
        assert!(token.check().is_ok());
        token.clone().cancel();
        token.cancel();
        assert_eq!(count.load(Ordering::Relaxed), 1);
        let _late = token.on_cancel(wake);
        assert_eq!(count.load(Ordering::Relaxed), 2);
        assert_eq!(token.check().unwrap_err().kind(), ErrorKind::Cancelled);
    }

    #[test]
    fn a_child_is_cancelled_with_its_parent_and_not_the_other_way_round() {
        let parent = CancelToken::default();
        let (first, second) = (parent.child(), parent.child());
        let (count, wake) = counter();
        let _woken = second.on_cancel(wake);
        first.cancel();
        assert!(!parent.is_cancelled() && !second.is_cancelled());
        drop(first);
        parent.cancel();
        assert!(second.is_cancelled() && parent.child().is_cancelled());
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn an_interrupt_cancels_at_the_next_check() {
        let interrupted = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&interrupted);
        let token = CancelToken::interrupted_by(move || seen.load(Ordering::Relaxed));
        assert!(token.check().is_ok());
        interrupted.store(true, Ordering::Relaxed);
        assert!(!token.is_cancelled());
        assert!(token.check().is_err());
        assert!(token.is_cancelled());
    }
}
