//! Passes the log messages of the core to Python's `logging`.

use log::{LevelFilter, Log, Metadata, Record};
use pyo3::prelude::*;
use pyo3_log::{Caching, Logger};

/// Passes messages as long as the interpreter exists: threads of this module may run a moment
/// longer.
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

/// Passes all later log messages to Python. The levels are looked up each time, because messages
/// are rare.
pub(super) fn install(py: Python<'_>) -> PyResult<()> {
    let logger = WhileThereIsPython(Logger::new(py, Caching::Loggers)?);
    // If the module is imported again, in another interpreter of the process, the logger is already
    // installed.
    if log::set_boxed_logger(Box::new(logger)).is_ok() {
        log::set_max_level(LevelFilter::Debug);
    }
    Ok(())
}
