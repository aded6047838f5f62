//! The input of a table reader: batches and items, with the progress before each of them.

use super::locked;
use crate::error::Error;
use crate::python::running::{Running, Source, drop_detached};
use crate::python::summary::Summary;
use crate::reader::{Poll, Progress, ReadOptions};
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The input of a table reader.
pub(super) struct Input(Mutex<State>);

struct State {
    /// `None` after `close()`.
    running: Option<Box<Running>>,
    /// The summary at the time of `close()`.
    summary: Option<Summary>,
    /// True after the end or an error.
    is_consumed: bool,
}

impl Input {
    pub(super) fn start(py: Python<'_>, source: Source, options: ReadOptions) -> PyResult<Self> {
        let running = Some(Box::new(Running::start_table(py, source, options)?));
        Ok(Self(Mutex::new(State { running, summary: None, is_consumed: false })))
    }

    /// Waits once, for `longest` at most. Returns the progress before the result too.
    pub(super) fn step(
        &self,
        py: Python<'_>,
        longest: Duration,
    ) -> PyResult<(Poll, Option<Progress>)> {
        let (step, before) = match &mut locked(&self.0, py).running {
            Some(running) => {
                let before = running.progress();
                (running.step(py), before)
            }
            None => return Err(closed()),
        };
        let keep = |polled| {
            if let Some(running) = &mut locked(&self.0, py).running {
                running.keep(polled);
            }
        };
        let is_failure = step.is_failure();
        let settled = step.settle(py, longest, keep);
        if is_failure || matches!(settled, Ok(Poll::End)) {
            locked(&self.0, py).is_consumed = true;
        }
        Ok((settled?, before))
    }

    pub(super) fn close(&self, py: Python<'_>) {
        let running = {
            let mut state = locked(&self.0, py);
            state.summary = state.summary();
            state.running.take()
        };
        // Its threads may wait for the interpreter's lock.
        py.detach(|| drop(running));
    }

    /// Returns an error if the input is closed.
    pub(super) fn check_open(&self, py: Python<'_>) -> PyResult<()> {
        match self.is_closed(py) {
            true => Err(closed()),
            false => Ok(()),
        }
    }

    pub(super) fn is_closed(&self, py: Python<'_>) -> bool {
        locked(&self.0, py).running.is_none()
    }

    /// True after the end or an error.
    pub(super) fn is_consumed(&self, py: Python<'_>) -> bool {
        locked(&self.0, py).is_consumed
    }

    pub(super) fn summary(&self, py: Python<'_>) -> Option<Summary> {
        locked(&self.0, py).summary()
    }
}

impl State {
    fn summary(&self) -> Option<Summary> {
        self.running.as_ref().map(|running| running.summary()).or_else(|| self.summary.clone())
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        let state = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = state.running.take() {
            drop_detached(running);
        }
    }
}

fn closed() -> PyErr {
    Error::config("the reader is closed").into()
}
