//! A PEM text for a connection: the path of a file, or its content if the caller has the file
//! elsewhere.

use std::fmt;
use std::path::PathBuf;

/// A PEM text.
#[derive(Clone, PartialEq, Eq)]
pub enum Pem {
    /// The path of the file, which is read for each connection.
    File(PathBuf),
    /// The text itself.
    Text(Vec<u8>),
}

/// A name for messages: the text itself may be a key.
impl fmt::Display for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Text(_) => f.write_str("the PEM text"),
        }
    }
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::Pem;

    #[test]
    fn a_text_is_not_shown() {
        let text = Pem::Text(b"secret".to_vec());
        assert_eq!(format!("{text} {text:?}"), "the PEM text the PEM text");
        let file = Pem::File("/no/such.pem".into());
        assert_eq!(format!("{file:?}"), "/no/such.pem");
    }
}
