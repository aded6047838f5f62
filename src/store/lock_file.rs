//! A lock file that names the process that writes a history: the system releases the lock when the
//! process ends in any way.

use crate::error::{Error, Result};
use crate::platform;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The lock of one source.
#[derive(Debug)]
pub(super) struct LockFile {
    file: File,
    /// The process that has the lock. A forked child has the same open file.
    process: u32,
}

impl LockFile {
    /// Takes the lock of a source of a store at `store`, or returns the text about its holder.
    ///
    /// # Errors
    /// The folder is not writable: an [`ErrorKind::Config`](crate::ErrorKind::Config).
    pub(super) fn take(store: &Path, source: &str) -> Result<std::result::Result<Self, String>> {
        let path = path_of(store, source);
        let opened = platform::for_owner_alone(OpenOptions::new().read(true).write(true))
            .create(true)
            .truncate(false)
            .open(&path);
        let mut file = opened.map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                Error::config(format!("{}: the history is read-only here: {error}", path.display()))
            }
            _ => Error::io(format!("{}: cannot open", path.display()), error),
        })?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // If the name of the holder cannot be read, the lock is still taken.
                let _ = (&mut file).take(MAX_HOLDER).read_to_string(&mut holder);
                let holder = holder.trim();
                let holder = if holder.is_empty() { "another process" } else { holder };
                return Ok(Err(holder.to_owned()));
            }
            Err(TryLockError::Error(error)) => {
                return Err(Error::io(format!("{}: cannot lock", path.display()), error));
            }
        }
        let text = format!("{}\n", holder());
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(text.as_bytes()));
        written.map_err(|error| Error::io(format!("{}: cannot write", path.display()), error))?;
        Ok(Ok(Self { file, process: std::process::id() }))
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // Without this, a forked child would keep the lock; in the child, this would release the parent's lock.
        if self.process == std::process::id() {
            let _ = self.file.unlock();
        }
    }
}

/// Describes this process, for processes that try to take the lock later.
pub(super) fn holder() -> String {
    let host = platform::host_name().unwrap_or_default();
    let host = if host.trim().is_empty() { "this host" } else { host.trim() };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("process {} on {host}, since {}", std::process::id(), utc(now.as_secs()))
}

pub(super) fn refused(source: &str, holder: &str) -> Error {
    Error::config(format!(
        "the table history (source {source:?}) is written by {holder}: only one process writes a source, all others can read \
         what it covers; stop that process, or use a different source"
    ))
}

/// `2026-11-22 02:40:05 UTC`
pub(super) fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Howard Hinnant's civil_from_days: years begin in March, in eras of 400 years.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// The path of the lock file, next to the store.
fn path_of(store: &Path, source: &str) -> PathBuf {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let name = match source.len() <= 64 && source.chars().all(is_plain) {
        true => source.to_owned(),
        // The name may contain any characters. Two names with the same number would only share a
        // lock.
        false => format!("~{:08x}", crc32fast::hash(source.as_bytes())),
    };
    let mut path = store.as_os_str().to_owned();
    path.push(format!(".{name}.lock"));
    path.into()
}

/// The largest number of bytes that are read of the holder's text.
const MAX_HOLDER: u64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_399), "2000-02-28 23:59:59 UTC");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_795_315_205), "2026-11-22 02:40:05 UTC");
    }

    #[test]
    fn one_holder_a_source() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("history.db");
        let lock = LockFile::take(&store, "shop").unwrap().unwrap();
        let other = LockFile::take(&store, "a/b é").unwrap().unwrap();
        let holder = LockFile::take(&store, "shop").unwrap().unwrap_err();
        assert!(holder.contains(&format!("process {}", std::process::id())), "{holder}");
        drop(lock);
        LockFile::take(&store, "shop").unwrap().unwrap();
        drop(other);
    }
}
