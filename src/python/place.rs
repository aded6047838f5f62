//! Places in the log, from Python's values: the keywords `start` and `stop`, and the places in a history.

use super::position::PyPosition;
use crate::error::{Error, Result};
use crate::position::{Position, Time};
use crate::source::{LiveStart, Start, Stop};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDateTime, PyTzInfo, PyTzInfoAccess};

pub(super) use crate::position::Place;

impl<'py> FromPyObject<'_, 'py> for Place {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(position) = value.cast::<PyPosition>() {
            return Ok(Self::Position(Box::new(position.get().0.clone())));
        }
        if let Ok(time) = value.cast::<PyDateTime>() {
            return match moment(&time)? {
                Time::Micros(micros) => Ok(Self::Time(micros)),
                Time::WithoutZone => {
                    let message =
                        "a datetime needs a time zone: datetime(..., tzinfo=timezone.utc)";
                    Err(Error::config(message).into())
                }
            };
        }
        let Ok(text) = value.extract::<String>() else {
            let message = "a place in the log is a Position, a datetime or text, such as 'file:offset' or a GTID set";
            return Err(PyTypeError::new_err(message));
        };
        Ok(Self::parse(&text, |text| time_of_text(value.py(), text, false))?)
    }
}

#[doc = include_str!("docs/parse_place.txt")]
#[pyfunction]
#[pyo3(signature = (text, *, local_time = false))]
pub(super) fn parse_place<'py>(
    py: Python<'py>,
    text: &str,
    local_time: bool,
) -> PyResult<Bound<'py, PyAny>> {
    match Place::parse(text, |text| time_of_text(py, text, local_time))? {
        Place::Earliest => "earliest".into_bound_py_any(py),
        Place::Latest => "latest".into_bound_py_any(py),
        Place::Position(position) => PyPosition(*position).into_bound_py_any(py),
        Place::Gtids(gtids) => PyPosition(Position::after_gtids(gtids)).into_bound_py_any(py),
        Place::Time(micros) => {
            let utc = PyTzInfo::utc(py)?;
            PyDateTime::from_timestamp(py, micros as f64 / 1e6, Some(&utc))?.into_bound_py_any(py)
        }
    }
}

/// Parses a time in ISO 8601, as Python does. A time without a zone is local time if that is allowed.
fn time_of_text(py: Python<'_>, text: &str, local_time: bool) -> Option<Time> {
    // A number is an offset without its file, and not a date without dashes.
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let parsed = py.get_type::<PyDateTime>().call_method1("fromisoformat", (text,)).ok()?;
    let time = match local_time {
        true => parsed.call_method0("astimezone").ok()?,
        false => parsed,
    };
    moment(time.cast::<PyDateTime>().ok()?).ok()
}

/// The time of a datetime.
fn moment(time: &Bound<'_, PyDateTime>) -> PyResult<Time> {
    if time.get_tzinfo().is_none() {
        return Ok(Time::WithoutZone);
    }
    let seconds: f64 = time.call_method0("timestamp")?.extract()?;
    Ok(Time::Micros((seconds * 1e6).round() as i64))
}

/// The start of a read of files.
pub(super) fn file_start(place: Place) -> Result<Start> {
    Ok(match place {
        Place::Earliest => Start::Earliest,
        Place::Latest => {
            let message =
                "⟦start=latest⟧ is for the log of a server: start at a place in the files";
            return Err(Error::config(message));
        }
        Place::Position(position) => match position.gtids_alone() {
            Some(gtids) => Start::Gtids(gtids.clone()),
            None => Start::Position(Box::new(outside_load(*position)?)),
        },
        Place::Gtids(gtids) => Start::Gtids(gtids),
        Place::Time(time) => Start::Time(time),
    })
}

/// A position from which the log alone can be read.
pub(super) fn outside_load(position: Position) -> Result<Position> {
    match position.load {
        None => Ok(position),
        Some(_) => Err(Error::config(format!(
            "{position} is inside an initial load, so rows are missing that are not in the log: continue with Server.stream(position)"
        ))),
    }
}

/// The end of a read.
pub(super) fn file_stop(place: Place) -> Result<Stop> {
    Ok(match place {
        Place::Earliest => {
            let message = "⟦stop=earliest⟧: a read cannot end at the start of the log";
            return Err(Error::config(message));
        }
        Place::Latest => Stop::End,
        Place::Position(position) => match position.gtids_alone() {
            Some(gtids) => Stop::Gtids(gtids.clone()),
            None => Stop::Position(position),
        },
        Place::Gtids(gtids) => Stop::Gtids(gtids),
        Place::Time(time) => Stop::Time(time),
    })
}

/// The start of a read from a server.
pub(super) fn live_start(place: Place) -> LiveStart {
    match place {
        Place::Earliest => LiveStart::Earliest,
        Place::Latest => LiveStart::Latest,
        Place::Position(position) => LiveStart::Position(position),
        Place::Gtids(gtids) => LiveStart::Gtids(gtids),
        Place::Time(time) => LiveStart::Time(time),
    }
}
