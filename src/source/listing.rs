//! Finds the binary logs among the files in a folder or the matches of a glob, and their order.
//!
//! A log's name ends with its number, which a suffix of a compressed file may follow. Servers write other files next to their logs
//! (`binlog.index`; MariaDB's `binlog.state` and `binlog.000001.idx`). A file without a number is not read, and a warning names it
//! unless it is one of those.
//!
//! The matches of a glob are one log. If they are in several folders and their numbers are not consecutive, they may be the logs of
//! several servers: this is an error.

use super::packed_input::unpacked_name;
use crate::error::{Error, ErrorKind, Result};
use crate::index::INDEX_SUFFIX;
use crate::position::{compare_files, file_number};
use crate::url::{base_name, shown};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Files in log order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing<F> {
    /// The logs.
    pub logs: Vec<F>,
    /// A warning about files that may be logs and are not read.
    pub warning: Option<String>,
}

/// The kind of path that is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// All files of a folder.
    Folder,
    /// The files that match a glob.
    Glob,
}

/// The files that a local path denotes: the file itself, the matches of a glob, or the logs in a folder.
pub fn expand(path: &str) -> Result<Listing<PathBuf>> {
    let plain = Path::new(path);
    let (listed, pattern) = if plain.is_dir() {
        let escaped = glob::Pattern::escape(path.trim_end_matches('/'));
        (Listed::Folder, format!("{escaped}/*"))
    } else if path.contains(['*', '?', '[']) && !plain.exists() {
        (Listed::Glob, path.to_owned())
    } else {
        return Ok(Listing { logs: vec![plain.to_owned()], warning: None });
    };
    let files = glob::glob(&pattern)
        .map_err(|error| Error::config(format!("{path:?} is not a glob: {error}")))?
        .filter_map(std::result::Result::ok)
        .filter(|path| path.is_file());
    let named = files.map(|path| (path.to_string_lossy().into_owned(), path)).collect();
    let Listing { logs, warning } = keep_logs(path, listed, named)?;
    Ok(Listing { logs: logs.into_iter().map(|(_, path)| path).collect(), warning })
}

/// The logs among `files`, which were found at `place` and have names or URIs, in log order. An error if there is none.
pub fn keep_logs<F>(
    place: &str,
    listed: Listed,
    files: Vec<(String, F)>,
) -> Result<Listing<(String, F)>> {
    let count = files.len();
    let (mut logs, others): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|(name, _)| is_log(base_name(name)));
    if logs.is_empty() {
        let place = shown(place);
        let message = match (listed, count) {
            (Listed::Folder, _) => {
                format!("the directory {place} contains no binary log (name.000001)")
            }
            (Listed::Glob, 0) => format!("no file matches {place:?}"),
            (Listed::Glob, _) => format!(
                "no binary log matches {place:?}: the name of a log ends with a number (name.000001), but {}; \
                 list files with other names one by one, without wildcards",
                if count == 1 {
                    "that of the file does not".to_owned()
                } else {
                    format!("those of the {count} files do not")
                }
            ),
        };
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(Error::new(ErrorKind::Io, message).with_source(missing));
    }
    logs.sort_by(|(a, _), (b, _)| in_log_order(a, b));
    let unexpected = others.iter().map(|(name, _)| base_name(name));
    let mut unexpected: Vec<_> = unexpected
        .filter(|name| !is_expected(name, listed))
        .map(|name| format!("{name:?}"))
        .collect();
    unexpected.sort_unstable();
    let warning = (!unexpected.is_empty()).then(|| warning(&shown(place), &unexpected));
    Ok(Listing { logs, warning })
}

/// Checks that the files found at `place`, in log order, are those of one log.
pub fn check_folders(place: &str, names: &[&str]) -> Result<()> {
    if is_one_log(names) {
        return Ok(());
    }
    let folders: BTreeSet<String> = names.iter().map(|name| folder(name)).collect();
    let named: Vec<&str> = folders.iter().take(MOST_SHOWN).map(String::as_str).collect();
    let more = if folders.len() > MOST_SHOWN { ", …" } else { "" };
    Err(Error::config(format!(
        "the logs that match {:?} are in {} folders ({}{more}), which may contain the logs of several servers: read one folder at a \
         time (find_logs() returns the files of each folder); if they are one log, list its files one by one, in log order",
        shown(place),
        folders.len(),
        named.join(", ")
    )))
}

/// True if files are those of one log: they are in one folder, or they have one name and consecutive numbers, as in an archive with
/// a folder for each day.
pub fn is_one_log<S: AsRef<str>>(names: &[S]) -> bool {
    names.windows(2).all(|pair| match pair {
        [a, b] => folder(a.as_ref()) == folder(b.as_ref()),
        _ => true,
    }) || names.windows(2).all(|pair| match pair {
        [a, b] => is_next(log_name(a.as_ref()), log_name(b.as_ref())),
        _ => true,
    })
}

/// The name of a log in a file, without the suffix of its compression.
fn log_name(name: &str) -> &str {
    unpacked_name(base_name(name))
}

/// True if `b` is the name of the file after `a`.
fn is_next(a: &str, b: &str) -> bool {
    let is_same_base = compare_files(a, b).is_some();
    is_same_base && file_number(a).and_then(|number| number.checked_add(1)) == file_number(b)
}

/// The folder of a file, from its path or URI.
pub fn folder(name: &str) -> String {
    let shown = shown(name);
    let end = shown.rfind(base_name(name)).unwrap_or(shown.len());
    shown.get(..end).unwrap_or_default().trim_end_matches('/').to_owned()
}

fn warning(place: &str, names: &[String]) -> String {
    let shown = names.get(..MOST_SHOWN).unwrap_or(names).join(", ");
    let more = match names.len().saturating_sub(MOST_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{place}: not read, because a log's name ends with a number (name.000001): {shown}{more}; if one of them is a log, \
         list the files one by one"
    )
}

/// True if a file is read: one with a number, or such a file compressed, which the reader decompresses or refuses.
fn is_log(name: &str) -> bool {
    let unpacked = name.rsplit_once('.').filter(|(_, suffix)| PACKED.contains(suffix));
    file_number(unpacked.map_or(name, |(stem, _)| stem)).is_some() && !is_aria_log(name)
}

/// True for MariaDB's log of the storage engine Aria, which has a number too. Its name cannot be changed.
fn is_aria_log(name: &str) -> bool {
    name.strip_prefix("aria_log.").is_some_and(|number| number.len() == 8)
}

/// True if servers write such a file next to logs. A folder may contain other files too; but the
/// user of a glob expects logs.
fn is_expected(name: &str, listed: Listed) -> bool {
    if is_aria_log(name) {
        return true;
    }
    let Some((stem, suffix)) = name.rsplit_once('.') else { return listed == Listed::Folder };
    let is_index = INDEX_SUFFIX.strip_prefix('.') == Some(suffix);
    let stem = if is_index { unpacked_name(stem) } else { stem };
    match file_number(stem) {
        Some(_) => suffix == "idx" || is_index,
        None => listed == Listed::Folder || BESIDE_LOGS.contains(&suffix),
    }
}

/// Log order: by the number at the end of the name if both have the same base, otherwise by name.
fn in_log_order(a: &str, b: &str) -> Ordering {
    let by_number = compare_files(log_name(a), log_name(b));
    by_number.filter(|order| *order != Ordering::Equal).unwrap_or_else(|| a.cmp(b))
}

/// Suffixes of compressed files.
const PACKED: [&str; 6] = ["gz", "zst", "xz", "bz2", "lz4", "zip"];

/// Suffixes of files that servers write next to their logs, instead of a number.
const BESIDE_LOGS: [&str; 4] = ["index", "state", "index_crash_safe", "~rec~"];

/// The maximum number of names in a warning.
const MOST_SHOWN: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(listed: Listed, names: &[&str]) -> Result<Listing<(String, ())>> {
        keep_logs("s3://b/l*", listed, names.iter().map(|name| ((*name).to_owned(), ())).collect())
    }

    fn names(listing: &Listing<(String, ())>) -> Vec<&str> {
        listing.logs.iter().map(|(name, ())| &**name).collect()
    }

    #[test]
    fn numbers_sort_as_numbers() {
        let found = listed(Listed::Glob, &["b.1000000", "b.999999", "b.000002"]).unwrap();
        assert_eq!(names(&found), ["b.000002", "b.999999", "b.1000000"]);
    }

    #[test]
    fn what_servers_write_beside_logs_is_passed_over() {
        let uris =
            ["l.000010", "l.index", "l.000002", "l.000002.idx", "l.state", "aria_log.00000001"]
                .map(|name| format!("s3://b/{name}"));
        let all: Vec<_> = uris.iter().map(AsRef::as_ref).collect();
        for place in [Listed::Folder, Listed::Glob] {
            let found = listed(place, &all).unwrap();
            assert_eq!(names(&found), ["s3://b/l.000002", "s3://b/l.000010"]);
            assert_eq!(found.warning, None);
        }
    }

    #[test]
    fn other_names_are_warned_of() {
        for (name, in_folder, in_glob) in [
            ("notes.txt", false, true),
            ("README", false, true),
            ("l.000003.bak", true, true),
            ("l.000003~", false, true),
        ] {
            for (place, expected) in [(Listed::Folder, in_folder), (Listed::Glob, in_glob)] {
                let found = listed(place, &["l.000001", name]).unwrap();
                assert_eq!(names(&found), ["l.000001"]);
                assert_eq!(
                    found.warning.is_some_and(|text| text.contains(name)),
                    expected,
                    "{name}"
                );
            }
        }
        let many: Vec<_> = (0..9).map(|n| format!("l{n}.log")).chain(["l.000001".into()]).collect();
        let many: Vec<_> = many.iter().map(AsRef::as_ref).collect();
        let warning = listed(Listed::Glob, &many).unwrap().warning.unwrap();
        assert!(warning.contains("\"l4.log\" and 4 more;"), "{warning}");
    }

    #[test]
    fn compressed_logs_have_their_places() {
        let found =
            ["l.1000000", "l.000002", "l.000001.gz", "notes.gz", "l.999999.zst", "l.000003.xz"];
        let found = listed(Listed::Folder, &found).unwrap();
        let expected = ["l.000001.gz", "l.000002", "l.000003.xz", "l.999999.zst", "l.1000000"];
        assert_eq!(names(&found), expected);
    }

    #[test]
    fn logs_of_several_folders_are_not_one_log() {
        for (a, b) in [
            ("a/l.000001", "b/l.000001"),
            ("a/l.000001", "b/l.000003"),
            ("a/l.000001", "b/m.000002"),
            ("s3://b/x/l.000001", "s3://b/y/m.000001.gz"),
        ] {
            let error = check_folders("l*", &[a, b]).unwrap_err().to_string();
            assert!(error.contains("are in 2 folders"), "{error}");
            assert!(error.contains(a.rsplit_once('/').unwrap().0), "{error}");
        }
    }

    #[test]
    fn consecutive_files_are_one_log() {
        for names in [
            &["1/l.000001", "1/l.000002.gz", "2/l.000003.zst"][..],
            &["1/l.999999", "2/l.1000000"],
            &["1/l.000001", "1/l.000009", "1/m.000001"],
            &["l.000001"],
            &[],
        ] {
            assert!(check_folders("l*", names).is_ok(), "{names:?}");
        }
    }

    #[test]
    fn no_log_is_an_error() {
        for (place, names, message) in [
            (Listed::Folder, &["notes.txt"][..], "contains no binary log"),
            (Listed::Glob, &[], "no file matches"),
            (Listed::Glob, &["l.state"], "that of the file does not"),
            (Listed::Glob, &["a.log", "b.log"], "those of the 2 files do not"),
        ] {
            let error = listed(place, names).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
        }
    }
}
