//! What the core logs, handed to Python's `logging`.

use log::{LevelFilter, Log, Metadata, Record};
use pyo3::prelude::*;
use pyo3_log::{Caching, Logger};

/// Hands records over for as long as there is an interpreter: threads of ours may outlive it for a moment.
struct WhileThereIsPython(Logger);

impl Log for WhileThereIsPython {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.0.enabled(metadata)
    }

    fn log(&self, record: &Record<'_>) {
        Python::try_attach(|_| self.0.log(record));
    }

    fn flush(&self) {}
}

/// Hands all that is logged from now on to Python. Levels are looked up anew each time: what is logged is rare.
pub(super) fn install(py: Python<'_>) -> PyResult<()> {
    let logger = WhileThereIsPython(Logger::new(py, Caching::Loggers)?);
    // A second import of the module, in another interpreter of the process, finds it installed.
    if log::set_boxed_logger(Box::new(logger)).is_ok() {
        log::set_max_level(LevelFilter::Debug);
    }
    Ok(())
}
