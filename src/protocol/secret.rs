//! Passwords, and salts of masks: they do not appear in messages and logs, and do not remain in
//! freed memory.

use std::fmt;
use zeroize::Zeroizing;

/// A password or a salt. It is never printed, and its memory is cleared when it is dropped.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Creates a secret from its bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(Zeroizing::new(bytes.into()))
    }

    /// True if there is no password.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its bytes.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The password followed by a NUL, as the server expects it in the clear.
    pub(super) fn with_nul(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(self.0.len() + 1));
        bytes.extend_from_slice(&self.0);
        bytes.push(0);
        bytes
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn a_password_is_not_printed() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        assert_eq!(secret.with_nul().as_slice(), b"hunter2\0");
        assert!(Secret::default().is_empty() && !secret.is_empty());
    }
}
