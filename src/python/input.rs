//! Inputs from Python: paths, URIs, globs, directories, bytes, file objects, and lists of them.

use super::errors::warn;
use super::file_object::{Stream, input_of};
use super::storage::{Found, Storage};
use crate::error::{Error, Result};
use crate::position::file_number;
use crate::source::{InputFile, InputSource, check_folders, expand, folder};
use crate::url::{base_name, is_uri};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyMapping, PyString, PyTuple};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Returns the inputs of a `source` argument, in log order.
pub(super) fn inputs(source: &Bound<'_, PyAny>, storage: &Storage) -> PyResult<Vec<InputFile>> {
    inputs_with(source, storage, Rules { stream: Stream::Spooled, is_one_log: true })
}

/// Returns the inputs for a reader that reads them once, from the front: streams are not stored.
pub(super) fn inputs_read_once(
    source: &Bound<'_, PyAny>,
    storage: &Storage,
) -> PyResult<Vec<InputFile>> {
    inputs_with(source, storage, Rules { stream: Stream::Forward, is_one_log: true })
}

/// The rules for finding and reading inputs.
#[derive(Clone, Copy)]
struct Rules {
    stream: Stream,
    /// True if the matches of a glob must be files of one log.
    is_one_log: bool,
}

fn inputs_with(
    source: &Bound<'_, PyAny>,
    storage: &Storage,
    rules: Rules,
) -> PyResult<Vec<InputFile>> {
    let mut files = Vec::new();
    if let Ok(named) = source.cast::<PyMapping>() {
        for pair in named.items()? {
            let (name, item): (String, Bound<'_, PyAny>) = pair.extract()?;
            add_named(&name, &item, storage, rules, &mut files)?;
        }
    } else if source.is_instance_of::<PyList>() || source.is_instance_of::<PyTuple>() {
        for item in source.try_iter()? {
            add(&item?, storage, rules, &mut files)?;
        }
    } else {
        add(source, storage, rules, &mut files)?;
    }
    match files.is_empty() {
        true => Err(Error::config("no input: the list of files is empty").into()),
        false => Ok(files),
    }
}

/// Returns the paths and URIs of a `source` argument, which are files of one log.
pub(super) fn paths(source: &Bound<'_, PyAny>, storage: &Storage) -> PyResult<Vec<String>> {
    paths_with(source, storage, Rules { stream: Stream::Spooled, is_one_log: true })
}

/// Returns the paths and URIs of a `source` argument by folder.
pub(super) fn paths_by_folder(
    source: &Bound<'_, PyAny>,
    storage: &Storage,
) -> PyResult<BTreeMap<String, Vec<String>>> {
    let rules = Rules { stream: Stream::Spooled, is_one_log: false };
    let mut folders = BTreeMap::<String, Vec<String>>::new();
    for path in paths_with(source, storage, rules)? {
        folders.entry(folder(&path)).or_default().push(path);
    }
    Ok(folders)
}

fn paths_with(source: &Bound<'_, PyAny>, storage: &Storage, rules: Rules) -> PyResult<Vec<String>> {
    let mut paths = Vec::new();
    if source.cast::<PyMapping>().is_ok() {
        let message = "names of files can only be given to functions that read the files: pass a list of paths";
        return Err(PyTypeError::new_err(message));
    }
    for file in inputs_with(source, storage, rules)? {
        match file.source {
            InputSource::Path(path) => paths.push(path.to_string_lossy().into_owned()),
            InputSource::Stored(file) => paths.push(file.uri().to_owned()),
            _ => {
                return Err(PyTypeError::new_err(
                    "a path, a URI, a glob, a directory or a list of them is needed",
                ));
            }
        }
    }
    Ok(paths)
}

/// Adds one file under the name in the server's log that the caller gives.
fn add_named(
    name: &str,
    item: &Bound<'_, PyAny>,
    storage: &Storage,
    rules: Rules,
    files: &mut Vec<InputFile>,
) -> PyResult<()> {
    let before = files.len();
    add(item, storage, rules, files)?;
    if file_number(name).is_none() || base_name(name) != name {
        let message =
            format!("{name:?} is not a name in a server's log: use a name such as binlog.000001");
        return Err(Error::config(message).into());
    }
    match files.pop() {
        Some(file) if files.len() == before => {
            files.push(file.named(name));
            Ok(())
        }
        _ => {
            let message =
                format!("{name:?} is the name of one file: pass that file, not a folder or a glob");
            Err(Error::config(message).into())
        }
    }
}

fn add(
    item: &Bound<'_, PyAny>,
    storage: &Storage,
    rules: Rules,
    files: &mut Vec<InputFile>,
) -> PyResult<()> {
    let place = files.len() as u64 + 1;
    if item.is_instance_of::<PyString>() || item.hasattr("__fspath__")? {
        let path: PathBuf = item.extract()?;
        let text = path.to_str().ok_or_else(|| Error::config("the path is not UTF-8"))?;
        let local = match is_uri(text) {
            true => match storage.find(item.py(), text)? {
                Found::Path(path) => path,
                Found::Files(found) => {
                    if rules.is_one_log {
                        let names: Vec<_> = found.iter().map(|(uri, _)| uri.as_str()).collect();
                        check_folders(text, &names)?;
                    }
                    files.extend((place..).zip(found).map(|(place, (uri, len))| {
                        InputFile::stored(Arc::new(storage.file(uri, len)), place)
                    }));
                    return Ok(());
                }
            },
            false => text.to_owned(),
        };
        let listing = expand(&local)?;
        listing.warning.iter().try_for_each(|message| warn(item.py(), message))?;
        if rules.is_one_log {
            let names: Vec<_> = listing.logs.iter().map(|path| path.to_string_lossy()).collect();
            check_folders(&local, &names.iter().map(|name| &**name).collect::<Vec<_>>())?;
        }
        for (place, path) in (place..).zip(listing.logs) {
            let metadata = std::fs::metadata(&path)
                .map_err(|error| Error::io(format!("cannot open {}", path.display()), error))?;
            if !metadata.is_file() {
                return Err(Error::config(format!(
                    "{} is not a regular file: open it, and pass the file object",
                    path.display()
                ))
                .into());
            }
            files.push(InputFile::at_path(path, place));
        }
        return Ok(());
    }
    if item.is_instance_of::<PyBytes>() || item.is_instance_of::<PyByteArray>() {
        let bytes: PyBackedBytes = item.extract()?;
        files.push(InputFile::of_bytes(Arc::new(bytes), place));
        return Ok(());
    }
    if item.hasattr("read")? {
        let name =
            item.getattr("name").and_then(|name| name.extract::<String>()).unwrap_or_default();
        let input = input_of(item, None, rules.stream)?;
        files.push(InputFile::new(&name, place, InputSource::Open(Some(input))));
        return Ok(());
    }
    if let Ok(buffer) = PyBuffer::<u8>::get(item) {
        let bytes = buffer.to_vec(item.py())?;
        files.push(InputFile::of_bytes(Arc::new(bytes), place));
        return Ok(());
    }
    Err(PyTypeError::new_err(format!(
        "a path, a URI, a glob, bytes or a binary file object is needed, not {}",
        item.get_type().name()?
    )))
}

/// The name and table of `database.table`.
pub(super) fn table_name(name: &str) -> Result<(&str, &str)> {
    name.split_once('.')
        .filter(|(database, table)| !database.is_empty() && !table.is_empty())
        .ok_or_else(|| Error::config(format!("{name:?} is not a table: write database.table")))
}
