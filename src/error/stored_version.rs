//! The version of something stored: it is checked before anything else of it is read.

use super::{Error, ErrorKind, Result};
use std::fmt::Display;

/// Checks the version of something stored: versions from 1 to `known` can be read.
///
/// # Errors
/// A later version of this library has stored it: an [`ErrorKind::LaterVersion`]. Version 0: an [`ErrorKind::Config`].
pub fn check_stored_version(what: impl Display, version: u64, known: u64) -> Result<()> {
    match version {
        0 => Err(Error::config(format!("{what} has the format version 0, which does not exist"))),
        version if version <= known => Ok(()),
        _ => Err(Error::new(
            ErrorKind::LaterVersion,
            format!(
                "{what} has the format version {version}, and this binarrow reads versions up to {known}: install the version of \
                 binarrow that wrote it, or a later one"
            ),
        )),
    }
}

impl Error {
    /// The error of something stored that contains a part with this error: the thing is damaged, or of a later version like the part.
    #[must_use]
    pub(crate) fn in_stored(self, what: impl Display) -> Self {
        match self.kind() {
            ErrorKind::LaterVersion => self.context(what),
            _ => Self::malformed(format!("{what} is damaged: {}", self.message())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_named() {
        check_stored_version("the index", 2, 2).unwrap();
        let error = check_stored_version("the index", 0, 2).unwrap_err();
        assert_eq!(error.message(), "the index has the format version 0, which does not exist");
        let error = check_stored_version("the index", 3, 2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LaterVersion);
        assert_eq!(
            error.in_stored("binlog.000001").message(),
            "binlog.000001: the index has the format version 3, and this binarrow reads versions up to 2: install the version of \
             binarrow that wrote it, or a later one"
        );
        let error = Error::config("it is empty").in_stored("binlog.000001");
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert_eq!(error.message(), "binlog.000001 is damaged: it is empty");
    }
}
