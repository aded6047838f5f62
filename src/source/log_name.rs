//! The names of files in their server's log.
//!
//! Positions, versions and histories use the server's name of a file: `binlog.000004`. A file with such a name keeps it. A file
//! with another name (`txns.binlog`, bytes in memory) gets the server's name: the Rotate event at the end of the previous file
//! contains it, and its own Rotate event contains the name of the next file, whose number is one higher; or the caller gives
//! the name. If the files are then not consecutive files of one log, those with other names keep their own, and are numbered by
//! their place in the list.

use super::event_source::EventSource;
use super::file_head::{check_magic, read_format};
use super::file_list::{InputFile, InputSource};
use super::window::Window;
use crate::binlog::{EventHeader, EventType, FIRST_EVENT_AT, Rotate};
use crate::limits::MAX_FILE_NAME_BYTES;
use crate::position::file_number;
use std::sync::Arc;

/// The sources of a file's name in the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NameEvidence {
    /// Its own name, if it has a number, or the name that the caller gave.
    pub(super) own: Option<String>,
    /// The name of the next file in the Rotate event at its end.
    pub(super) successor: Option<String>,
}

/// Gives files without a number in their names the names that they have in the log, if the files contain these.
pub(crate) fn name_logs(files: &mut [InputFile]) {
    let is_undecided = |file: &InputFile| !file.numbered && !file.is_named;
    if !files.iter().any(is_undecided) || files.iter().any(|file| file.is_named && !file.numbered) {
        return;
    }
    let evidence: Vec<_> = files
        .iter_mut()
        .map(|file| NameEvidence {
            own: file.numbered.then(|| file.name.to_string()),
            successor: successor(file),
        })
        .collect();
    let Some(names) = names(&evidence) else { return };
    for (file, name) in files.iter_mut().zip(names).filter(|(file, _)| !file.numbered) {
        file.take_name(&name);
    }
}

/// The names of files that are consecutive files of one log; `None` if they are not, or if this is not known.
pub(super) fn names(files: &[NameEvidence]) -> Option<Vec<String>> {
    let mut names: Vec<String> = Vec::with_capacity(files.len());
    let mut named_before = None;
    for file in files {
        let by_own_end = || neighbour(file.successor.as_ref()?, |number| number.checked_sub(1));
        let name = file.own.clone().or_else(by_own_end).or(named_before)?;
        file_number(&name)?;
        if let Some(before) = names.last()
            && neighbour(before, |number| number.checked_add(1)).as_ref() != Some(&name)
        {
            return None;
        }
        named_before = file.successor.clone();
        names.push(name);
    }
    Some(names)
}

/// The name of a file of the same log with another number, of six digits or more.
pub(super) fn neighbour(name: &str, number: impl Fn(u64) -> Option<u64>) -> Option<String> {
    let (base, _) = name.rsplit_once('.')?;
    let number = number(file_number(name)?).filter(|number| *number > 0)?;
    Some(format!("{base}.{number:06}"))
}

/// The content of the Rotate event at the end of a file. An input that can be read only once is not read; errors are left to
/// the reader to report.
fn successor(file: &mut InputFile) -> Option<String> {
    if matches!(file.source, InputSource::Open(_) | InputSource::Live(_)) {
        return None;
    }
    let label = Arc::clone(&file.label);
    let EventSource::Bytes(mut input) = file.open().ok()? else { return None };
    let mut window = Window::new(label, 0, HEAD_BYTES);
    check_magic(&mut window, &mut *input).ok()?;
    let first = window.read(&mut *input).ok()?;
    let (format, _) = read_format(&mut window, first, true).ok()?;
    let size = input.size().ok()??;
    let from = size.saturating_sub(TAIL_BYTES).max(FIRST_EVENT_AT);
    let mut tail = vec![0; usize::try_from(size.checked_sub(from)?).ok()?];
    let mut filled = 0;
    while let Some(room) = tail.get_mut(filled..).filter(|room| !room.is_empty()) {
        match input.read_at(from + filled as u64, room).ok()? {
            0 => return None,
            count => filled += count,
        }
    }
    let rotate = |event: &[u8]| -> Option<String> {
        let header = EventHeader::decode(event).ok()?;
        // The offset has 32 bits in the header.
        let is_last = header.event_size as usize == event.len() && header.log_pos == size as u32;
        if header.event_type != EventType::ROTATE || !is_last || header.has(EventHeader::ARTIFICIAL)
        {
            return None;
        }
        format.checksum.check(event).ok()?;
        let rotate = Rotate::decode(format.checksum.body(event).ok()?).ok()?;
        (rotate.position == FIRST_EVENT_AT).then(|| rotate.file.to_owned())
    };
    (0..tail.len()).rev().find_map(|at| rotate(tail.get(at..)?))
}

/// Enough for a format description.
const HEAD_BYTES: usize = 4096;

/// Enough for a Rotate event: a header, an offset, a name, a checksum.
const TAIL_BYTES: u64 = (19 + 8 + MAX_FILE_NAME_BYTES + 4) as u64;

#[cfg(test)]
mod tests {
    use super::*;

    fn named(files: &[(Option<&str>, Option<&str>)]) -> Option<Vec<String>> {
        let text = |name: &Option<&str>| name.map(ToOwned::to_owned);
        let of =
            |(own, successor): &(_, _)| NameEvidence { own: text(own), successor: text(successor) };
        names(&files.iter().map(of).collect::<Vec<_>>())
    }

    #[test]
    fn a_run_of_a_log_is_named() {
        let rotates = |name| (None, Some(name));
        for (files, expected) in [
            (&[rotates("b.000005")][..], &["b.000004"][..]),
            (&[rotates("b.1000000"), (None, None)], &["b.999999", "b.1000000"]),
            (&[rotates("b.000005"), rotates("b.000006")], &["b.000004", "b.000005"]),
            (&[(Some("b.000004"), Some("b.000005")), (None, None)], &["b.000004", "b.000005"]),
            // A server that was stopped writes no Rotate event.
            (&[(Some("b.000004"), None), rotates("b.000006")], &["b.000004", "b.000005"]),
        ] {
            assert_eq!(named(files).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_no_run_of_a_log_is_not() {
        let rotates = |name| (None, Some(name));
        for files in [
            &[(None, None)][..],
            &[(None, None), rotates("b.000005")],
            &[rotates("b.000006"), rotates("b.000005")],
            &[rotates("b.000005"), rotates("b.000007")],
            &[rotates("b.000005"), rotates("c.000006")],
            &[rotates("b.000005"), rotates("b.000005")],
            &[rotates("b.000001")],
            &[rotates("b")],
            &[rotates("b.000005"), (None, None), (None, None)],
            &[(Some("copy.000004"), Some("b.000005")), (None, None)],
        ] {
            assert_eq!(named(files), None, "{files:?}");
        }
    }
}
