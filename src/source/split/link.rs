//! Links the ranges of several files: the names of the files, their order, and XA transactions that are prepared in one file and
//! decided in another.

use super::{OpenXa, Split};
use crate::error::{Error, Result};
use crate::source::file_list::InputFile;
use crate::source::log_name::{NameEvidence, names};

/// Sets the names that the files of `splits` have if they are read together: each was scanned
/// alone.
fn name_files(splits: &mut [Split]) -> Result<()> {
    let mut files: Vec<&mut [Split]> = splits.chunk_by_mut(|a, b| a.path == b.path).collect();
    let own: Vec<_> = files
        .iter()
        .filter_map(|ranges| ranges.first())
        .map(|first| InputFile::at_path(&first.path, first.place))
        .collect();
    if own.iter().all(|file| file.numbered) {
        return Ok(());
    }
    let evidence: Vec<_> = own
        .iter()
        .zip(&files)
        .map(|(file, ranges)| NameEvidence {
            own: file.numbered.then(|| file.name.to_string()),
            successor: ranges.last().and_then(|last| last.successor.clone()),
        })
        .collect();
    let names = names(&evidence);
    for (index, (ranges, file)) in files.iter_mut().zip(&own).enumerate() {
        if file.numbered {
            continue;
        }
        let name = names.as_ref().and_then(|names| names.get(index));
        let name = name.map_or(&*file.name, String::as_str);
        ranges.iter_mut().try_for_each(|range| range.rename(name))?;
    }
    Ok(())
}

/// Adds to each range the XA transactions of earlier files that are open at its start. `splits` are in log order; a file that names
/// another file as the next one is an error, unless gaps are allowed.
pub fn link_splits(splits: &mut [Split], allow_gaps: bool) -> Result<()> {
    name_files(splits)?;
    let mut open: Vec<OpenXa> = Vec::new();
    let mut before: Option<(String, String)> = None;
    for split in splits {
        let file = InputFile::at_path(&split.path, split.place).named(&split.file()?);
        if let Some((path, successor)) = before.take()
            && path != split.path
            && !allow_gaps
            && file.numbered
            && *file.name != *successor
        {
            return Err(Error::config(format!(
                "{path} continues in {successor}, not in {}: files are missing or out of order; \
                 ⟦gaps=allow⟧ continues",
                file.name
            )));
        }
        before = split.successor.clone().map(|successor| (split.path.clone(), successor));
        split.inherited = open.clone();
        open.retain(|xa| !split.foreign.contains(&xa.xid));
        if let Some(unknown) =
            split.open.iter().find(|xa| open.iter().any(|other| other.xid == xa.xid))
        {
            return Err(Error::malformed(format!(
                "XA transaction {} is prepared twice",
                unknown.xid
            )));
        }
        open.extend(split.open.iter().cloned());
    }
    Ok(())
}
