//! Work without the interpreter's lock, which Ctrl-C ends.

use crate::cancel::CancelToken;
use crate::error::{Error, ErrorKind};
use crossbeam_channel::RecvTimeoutError;
use pyo3::prelude::*;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Runs `work` in this thread, with a token that Ctrl-C cancels.
pub(super) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&CancelToken) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let (cancel, raised) = interrupted_by_signals();
    let result = py.detach(|| work(&cancel));
    match raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(interrupt) => Err(interrupt),
        None => Ok(result?),
    }
}

/// A token that Ctrl-C cancels, and the exception that it raised.
fn interrupted_by_signals() -> (CancelToken, Arc<Mutex<Option<PyErr>>>) {
    let interrupt = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&interrupt);
    let cancel = CancelToken::interrupted_by(move || {
        let raised = Python::try_attach(|py| py.check_signals()).and_then(Result::err);
        let is_interrupted = raised.is_some();
        if is_interrupted {
            *seen.lock().unwrap_or_else(PoisonError::into_inner) = raised;
        }
        is_interrupted
    });
    (cancel, interrupt)
}

/// Runs `work` in another thread and waits for it. Ctrl-C ends the wait and cancels the work, whose result is then dropped.
pub(super) fn cancellable<T: Send + 'static>(
    py: Python<'_>,
    cancel: &CancelToken,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    match waited(py, work) {
        Ok(Ok(value)) => Ok(value),
        // The error is a consequence: a connection that was closed, for example.
        Ok(Err(_)) if cancel.is_cancelled() => Err(Error::cancelled().into()),
        Ok(Err(error)) => {
            cancel.cancel();
            Err(error.into())
        }
        // The exception of a signal's handler, also if the handler has cancelled the work.
        Err(raised) => {
            cancel.cancel();
            Err(raised)
        }
    }
}

/// Runs `work` in another thread and waits for it. Ctrl-C ends the wait, not the work, whose result is then dropped.
pub(super) fn abandonable<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    Ok(waited(py, work)??)
}

/// Runs `work` in another thread and returns its result, or the exception that ends the wait.
pub(super) fn waited<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> PyResult<Result<T, Error>> {
    let result = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&result);
    let work = move || {
        let done = work();
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
    };
    wait_for(py, Box::new(work))?;
    let result = result.lock().unwrap_or_else(PoisonError::into_inner).take();
    // A thread that panicked has no result.
    result.ok_or_else(|| {
        Error::new(ErrorKind::Internal, "a defect of binarrow; please report it").into()
    })
}

/// Runs `work` in another thread until its end, or returns the exception that ends the wait. Threads and channels are compiled
/// once, not for each kind of result.
fn wait_for(py: Python<'_>, work: Box<dyn FnOnce() + Send>) -> PyResult<()> {
    let (running, ended) = crossbeam_channel::bounded::<Infallible>(0);
    std::thread::Builder::new()
        .name("binarrow-ask".into())
        .spawn(move || {
            let _running = running;
            work();
        })
        .map_err(|error| Error::io("cannot start a thread", error))?;
    while let Err(RecvTimeoutError::Timeout) = py.detach(|| ended.recv_timeout(SIGNAL_CHECK)) {
        py.check_signals()?;
    }
    Ok(())
}

/// Time between two checks for signals.
pub(super) const SIGNAL_CHECK: Duration = Duration::from_millis(50);
