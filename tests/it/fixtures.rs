//! The binlogs in `tests/fixtures` and `examples`.

use binarrow::source::{InputFile, InputSource, SpooledInput};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files of one log, in order.
#[derive(Debug, Clone)]
pub(crate) struct Fixture {
    pub(crate) name: String,
    pub(crate) files: Vec<PathBuf>,
}

/// The kind of input for the bytes of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Via {
    Path,
    Bytes,
    Stream,
}

impl Fixture {
    pub(crate) fn paths(&self) -> Vec<InputFile> {
        self.inputs(Via::Path)
    }

    pub(crate) fn inputs(&self, via: Via) -> Vec<InputFile> {
        self.files.iter().zip(1..).map(|(file, place)| open(file, place, via)).collect()
    }

    /// Returns the name and the bytes of the file `index`.
    pub(crate) fn bytes(&self, index: usize) -> (String, Vec<u8>) {
        let file = &self.files[index];
        (file.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(file).unwrap())
    }

    /// The number of bytes of all its files.
    pub(crate) fn size(&self) -> u64 {
        self.files.iter().map(|file| file.metadata().unwrap().len()).sum()
    }

    /// The result of `SELECT` at the end of the log.
    pub(crate) fn expected(&self) -> Option<serde_json::Value> {
        let path = self.files[0].with_file_name("expected.json");
        let text = std::fs::read_to_string(path).ok()?;
        Some(serde_json::from_str(&text).unwrap())
    }
}

fn open(file: &Path, place: u64, via: Via) -> InputFile {
    let name = file.to_str().unwrap();
    let source = match via {
        Via::Path => InputSource::Path(file.to_owned()),
        Via::Bytes => InputSource::Bytes(Arc::new(std::fs::read(file).unwrap())),
        Via::Stream => {
            let stream = Dribble(std::fs::File::open(file).unwrap(), 0);
            InputSource::Open(Some(Box::new(SpooledInput::try_new(stream).unwrap())))
        }
    };
    InputFile::new(name, place, source)
}

/// A stream that cannot seek and returns its bytes in uneven pieces.
struct Dribble<R>(R, usize);

impl<R: Read> Read for Dribble<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        const SIZES: [usize; 5] = [1, 4093, 20, 65_537, 300_000];
        self.1 += 1;
        let len = buffer.len().min(SIZES[self.1 % SIZES.len()]);
        self.0.read(&mut buffer[..len])
    }
}

/// The logs that servers wrote for the tests, each file at most 32 KiB.
pub(crate) fn recorded() -> Vec<Fixture> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("binlog.000001").is_file())
        .collect();
    folders.sort();
    let fixtures: Vec<_> = folders.iter().map(|folder| of_folder(folder)).collect();
    assert!(fixtures.len() > 15, "{folders:?}");
    fixtures
}

/// Returns one of them.
pub(crate) fn recorded_as(name: &str) -> Fixture {
    of_folder(&folder().join(name))
}

/// `examples/shop`
pub(crate) fn shop() -> Fixture {
    of_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/shop"))
}

/// `tests/fixtures`
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn of_folder(folder: &Path) -> Fixture {
    let files = binarrow::source::expand(folder.to_str().unwrap()).unwrap().logs;
    Fixture { name: folder.file_name().unwrap().to_str().unwrap().to_owned(), files }
}
