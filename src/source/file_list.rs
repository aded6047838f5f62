//! The files to read, in log order.

use super::input::{BytesInput, FileInput, Input};
use super::uri::{base_name, shown};
use crate::error::{Error, ErrorKind, Result};
use crate::position::{compare_files, file_number};
use std::cmp::Ordering;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One input: its name, its number, where its bytes are.
pub struct InputFile {
    /// The name in positions and batches: the path's last part for a file.
    pub name: Arc<str>,
    /// The name in messages: the path as it was given, a URI without what may be secret.
    pub label: Arc<str>,
    /// What `_commit_version` counts from: the number at the end of the name, else the place in the list, from 1.
    pub number: u64,
    /// Whether the number stands in the name, so that gaps show.
    pub numbered: bool,
    /// Where the bytes are.
    pub source: InputSource,
}

/// Where the bytes of an input are.
pub enum InputSource {
    /// A file of the system, opened when its turn comes.
    Path(PathBuf),
    /// A file somewhere else, likewise.
    Stored(Arc<dyn StoredFile>),
    /// Bytes in memory.
    Bytes(Arc<dyn AsRef<[u8]> + Send + Sync>),
    /// An open input; taken when its turn comes and kept from then on.
    Open(Option<Box<dyn Input>>),
}

/// A file that is not of the system: what lies in an object store, say.
pub trait StoredFile: Send + Sync {
    /// The URI that names it.
    fn uri(&self) -> &str;

    /// Its size, where it was told with its name.
    fn known_len(&self) -> Option<u64>;

    /// Opens it. The input may be open several times at once.
    fn open(&self) -> io::Result<Box<dyn Input>>;
}

impl fmt::Debug for InputFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InputFile").field("name", &self.name).field("number", &self.number).finish()
    }
}

impl InputFile {
    /// An input at `place` (from 1) of the list. `name` is a path, a URI, a name, or empty.
    pub fn new(name: &str, place: u64, source: InputSource) -> Self {
        let base = base_name(name);
        let number = file_number(base);
        let unnamed = format!("<input {place}>");
        let or_unnamed = |name: &str| if name.is_empty() { (*unnamed).into() } else { name.into() };
        Self {
            name: or_unnamed(base),
            label: or_unnamed(&shown(name)),
            number: number.unwrap_or(place),
            numbered: number.is_some(),
            source,
        }
    }

    /// A file at `path`.
    pub fn at_path(path: impl Into<PathBuf>, place: u64) -> Self {
        let path = path.into();
        Self::new(&path.to_string_lossy(), place, InputSource::Path(path.clone()))
    }

    /// A file somewhere else.
    pub fn stored(file: Arc<dyn StoredFile>, place: u64) -> Self {
        Self::new(file.uri(), place, InputSource::Stored(Arc::clone(&file)))
    }

    /// Bytes in memory.
    pub fn of_bytes(bytes: Arc<dyn AsRef<[u8]> + Send + Sync>, place: u64) -> Self {
        Self::new("", place, InputSource::Bytes(bytes))
    }

    /// Opens the input.
    pub fn open(&mut self) -> Result<Box<dyn Input>> {
        match &mut self.source {
            InputSource::Path(path) => {
                let failed = |error| Error::io("cannot open the file", error).in_file(&self.label);
                // Opening a pipe would wait for its other end.
                let metadata = std::fs::metadata(&*path).map_err(failed)?;
                if metadata.is_dir() {
                    let message = format!("{} is a directory, not a file", path.display());
                    return Err(Error::config(message));
                }
                if !metadata.is_file() {
                    return Err(Error::config(format!(
                        "{} is not a regular file: open it, and give the file object",
                        path.display()
                    )));
                }
                let file = File::open(&*path).map_err(failed)?;
                Ok(Box::new(FileInput(file)))
            }
            InputSource::Stored(file) => file
                .open()
                .map_err(|error| Error::io("cannot open the file", error).in_file(&self.label)),
            InputSource::Bytes(bytes) => Ok(Box::new(BytesInput(SharedBytes(Arc::clone(bytes))))),
            InputSource::Open(input) => input.take().ok_or_else(|| {
                let message = "an input that is in use cannot be opened a second time";
                Error::new(ErrorKind::Internal, message)
            }),
        }
    }

    /// The size, where it is known without opening the input.
    pub fn known_len(&self) -> Option<u64> {
        match &self.source {
            InputSource::Path(path) => std::fs::metadata(path).ok().map(|metadata| metadata.len()),
            InputSource::Stored(file) => file.known_len(),
            InputSource::Bytes(bytes) => Some((**bytes).as_ref().len() as u64),
            InputSource::Open(_) => None,
        }
    }

    /// Gives an input back that can be opened once only.
    pub fn put_back(&mut self, input: Box<dyn Input>) {
        if let InputSource::Open(slot) = &mut self.source {
            *slot = Some(input);
        }
    }
}

struct SharedBytes(Arc<dyn AsRef<[u8]> + Send + Sync>);

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

/// The files that a path stands for: itself, the matches of a glob, the binary logs of a directory. Globs and directories
/// leave `*.index` and files without a number out, and are sorted by number.
pub fn expand(path: &str) -> Result<Vec<PathBuf>> {
    let plain = Path::new(path);
    if plain.is_dir() {
        let pattern = format!("{}/*", glob::Pattern::escape(path.trim_end_matches('/')));
        let files = matches(&pattern)?.into_iter().filter(|path| has_number(path)).collect();
        return found(files, || format!("the directory {path} holds no binary log (name.000001)"));
    }
    if !path.contains(['*', '?', '[']) || plain.exists() {
        return Ok(vec![plain.to_owned()]);
    }
    found(matches(path)?, || format!("no file matches {path:?}"))
}

fn found(mut files: Vec<PathBuf>, message: impl Fn() -> String) -> Result<Vec<PathBuf>> {
    if files.is_empty() {
        let not_found = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(Error::io(message(), not_found));
    }
    sort_by_number(&mut files);
    Ok(files)
}

/// Those of the names in a folder, or of the matches of a glob, that are binary logs, in log order: the same files as
/// [`expand`] finds in a folder of the system.
pub fn keep_logs<T>(found: Vec<(String, T)>, in_folder: bool) -> Vec<(String, T)> {
    let mut kept: Vec<_> = found
        .into_iter()
        .filter(|(name, _)| {
            let path = Path::new(base_name(name));
            path.extension().is_none_or(|extension| extension != "index")
                && (!in_folder || has_number(path))
        })
        .collect();
    kept.sort_by(|(a, _), (b, _)| in_log_order(Path::new(a), Path::new(b)));
    kept
}

fn matches(pattern: &str) -> Result<Vec<PathBuf>> {
    let paths = glob::glob(pattern)
        .map_err(|error| Error::config(format!("{pattern:?} is not a glob: {error}")))?;
    Ok(paths
        .filter_map(std::result::Result::ok)
        .filter(|path| path.is_file() && path.extension().is_none_or(|ext| ext != "index"))
        .collect())
}

fn has_number(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| file_number(name).is_some())
}

/// Sorts paths by [`in_log_order`].
pub fn sort_by_number(files: &mut [PathBuf]) {
    files.sort_by(|a, b| in_log_order(a, b));
}

/// Log order: by the number at the end of the name where both have one of the same base, else by name.
fn in_log_order(a: &Path, b: &Path) -> Ordering {
    let by_number = match (a.to_str(), b.to_str()) {
        (Some(a), Some(b)) => compare_files(base_name(a), base_name(b)),
        _ => None,
    };
    by_number.filter(|order| *order != Ordering::Equal).unwrap_or_else(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_as_numbers() {
        let mut files: Vec<PathBuf> =
            ["b.1000000", "b.999999", "b.000002"].iter().map(PathBuf::from).collect();
        sort_by_number(&mut files);
        assert_eq!(files, ["b.000002", "b.999999", "b.1000000"].map(PathBuf::from));
    }

    #[test]
    fn a_name_without_a_number_takes_its_place() {
        let file = InputFile::at_path("/tmp/archive.bin", 7);
        assert_eq!((file.number, file.numbered, &*file.name), (7, false, "archive.bin"));
        assert_eq!(InputFile::at_path("/x/binlog.000042", 1).number, 42);
    }

    #[test]
    fn logs_are_told_from_other_names() {
        let names = ["s3://b/l.000010", "s3://b/l.index", "s3://b/l.000002", "s3://b/notes.txt"];
        let found = || names.map(|name| (name.to_owned(), ())).to_vec();
        let kept = |in_folder| {
            keep_logs(found(), in_folder).into_iter().map(|(name, ())| name).collect::<Vec<_>>()
        };
        assert_eq!(kept(true), ["s3://b/l.000002", "s3://b/l.000010"]);
        assert_eq!(kept(false), ["s3://b/l.000002", "s3://b/l.000010", "s3://b/notes.txt"]);
    }
}
