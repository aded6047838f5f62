//! `TypeOptions`: the mapping from MySQL's types to Arrow's.

use crate::columnar::{
    Enumeration, Geometry, InvalidText, Json, Profile, Time, TypeOptions, ZeroDates,
};
use crate::error::Error;
use crate::reader::RowsWriter;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyTuple};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

#[doc = include_str!("docs/TypeOptions.txt")]
#[pyclass(name = "TypeOptions", module = "binarrow", frozen, from_py_object)]
#[derive(Clone, Copy)]
pub(super) struct PyTypeOptions(pub(super) TypeOptions);

#[pymethods]
impl PyTypeOptions {
    #[new]
    #[pyo3(signature = (*, profile="native", zero_dates="null", json="text", time=None, geometry="ewkb", r#enum=None, invalid_text="error"))]
    fn new(
        profile: &str,
        zero_dates: &str,
        json: &str,
        time: Option<&str>,
        geometry: &str,
        r#enum: Option<&str>,
        invalid_text: &str,
    ) -> Result<Self, Error> {
        let mut options = TypeOptions::new(Profile::parse(profile)?);
        options.zero_dates = ZeroDates::parse(zero_dates)?;
        options.json = Json::parse(json)?;
        options.geometry = Geometry::parse(geometry)?;
        options.invalid_text = InvalidText::parse(invalid_text)?;
        if let Some(time) = time {
            options.time = Time::parse(time)?;
        }
        if let Some(enumeration) = r#enum {
            options.enumeration = Enumeration::parse(enumeration)?;
        }
        if options.is_spark() && options.enumeration == Enumeration::Dictionary {
            return Err(Error::config(
                "⟦profile=spark⟧ cannot have ⟦enum=dictionary⟧: Spark cannot read dictionaries",
            ));
        }
        Ok(Self(options))
    }

    /// The type table: ``"native"`` or ``"spark"``.
    #[getter]
    fn profile(&self) -> &'static str {
        self.0.profile.as_str()
    }

    /// The conversion of zero dates.
    #[getter]
    fn zero_dates(&self) -> &'static str {
        self.0.zero_dates.as_str()
    }

    /// The form of JSON values.
    #[getter]
    fn json(&self) -> &'static str {
        self.0.json.as_str()
    }

    /// The form of TIME values.
    #[getter]
    fn time(&self) -> &'static str {
        self.0.time.as_str()
    }

    /// The form of geometry values.
    #[getter]
    fn geometry(&self) -> &'static str {
        self.0.geometry.as_str()
    }

    /// The form of ENUM values.
    #[getter]
    fn r#enum(&self) -> &'static str {
        self.0.enumeration.as_str()
    }

    /// The treatment of text that is not valid in its character set.
    #[getter]
    fn invalid_text(&self) -> &'static str {
        self.0.invalid_text.as_str()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let words: Vec<_> =
            self.words().iter().map(|(name, word)| format!("{name}='{word}'")).collect();
        format!("TypeOptions({})", words.join(", "))
    }

    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        Ok((PyTuple::empty(py), self.words().into_py_dict(py)?))
    }
}

impl PyTypeOptions {
    fn words(&self) -> [(&'static str, &'static str); 7] {
        [
            ("profile", self.profile()),
            ("zero_dates", self.zero_dates()),
            ("json", self.json()),
            ("time", self.time()),
            ("geometry", self.geometry()),
            ("enum", self.r#enum()),
            ("invalid_text", self.invalid_text()),
        ]
    }
}

/// The form of rows that `UndoWriter` reads: SQL, and the types of rows that must be decoded before.
#[pyclass(name = "SqlRows", module = "binarrow._native", frozen, from_py_object)]
#[derive(Clone)]
pub(super) struct PySqlRows {
    pub(super) types: TypeOptions,
    pub(super) writer: Arc<dyn RowsWriter>,
}

/// The keyword `types`: the name of a profile, or the complete value.
#[derive(FromPyObject)]
pub(super) enum TypesKeyword {
    Options(PyTypeOptions),
    Sql(PySqlRows),
    Profile(String),
}

impl TypesKeyword {
    pub(super) fn options(&self) -> Result<TypeOptions, Error> {
        match self {
            Self::Options(options) => Ok(options.0),
            Self::Sql(rows) => Ok(rows.types),
            Self::Profile(profile) => Profile::parse(profile).map(TypeOptions::new),
        }
    }

    /// The writer of rows in another form than Arrow.
    pub(super) fn writer(&self) -> Option<Arc<dyn RowsWriter>> {
        match self {
            Self::Sql(rows) => Some(Arc::clone(&rows.writer)),
            Self::Options(_) | Self::Profile(_) => None,
        }
    }
}
