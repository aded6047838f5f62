//! Work without the interpreter's lock, which Ctrl-C ends.

use crate::cancel::CancelToken;
use crate::error::{Error, ErrorKind};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Runs `work` in this thread, with a token that Ctrl-C cancels.
pub(super) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&CancelToken) -> Result<T, Error> + Send,
) -> PyResult<T> {
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
    let result = py.detach(|| work(&cancel));
    let interrupt = interrupt.lock().unwrap_or_else(PoisonError::into_inner).take();
    match interrupt {
        Some(interrupt) => Err(interrupt),
        None => Ok(result?),
    }
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
    let (sender, receiver) = crossbeam_channel::bounded(1);
    std::thread::Builder::new()
        .name("binarrow-ask".into())
        .spawn(move || {
            // The wait may have ended.
            let _ = sender.send(work());
        })
        .map_err(|error| Error::io("cannot start a thread", error))?;
    loop {
        match py.detach(|| receiver.recv_timeout(SIGNAL_CHECK)) {
            Ok(result) => return Ok(result),
            Err(crossbeam_channel::RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(crossbeam_channel::RecvTimeoutError::Disconnected) => {
                let message = "a defect of binarrow; please report it";
                return Err(Error::new(ErrorKind::Internal, message).into());
            }
        }
    }
}

/// Time between two checks for signals.
pub(super) const SIGNAL_CHECK: Duration = Duration::from_millis(50);
