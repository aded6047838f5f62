//! The authentication plugins, one file per plugin. Input: password and nonce. Output: the bytes
//! that prove the password to the server.
//!
//! | plugin | file | needs |
//! |---|---|---|
//! | `mysql_native_password` | `native.rs` | |
//! | `caching_sha2_password` | `caching_sha2.rs` | if the user is not in the server's cache: a secure transport, or the server's RSA key |
//! | `sha256_password` | `rsa_key.rs` | always a secure transport, or the server's RSA key |
//! | `client_ed25519` (MariaDB) | `ed25519.rs` | |
//! | `parsec` (MariaDB 11.6) | `parsec.rs` | |
//! | `mysql_clear_password` | | a secure transport, and permission by the caller |

mod caching_sha2;
mod ed25519;
mod native;
mod parsec;
mod rsa_key;

use super::secret::Secret;

pub(super) use caching_sha2::fast_answer;
pub(super) use ed25519::signature as ed25519_signature;
pub(super) use native::answer as native_answer;
pub(super) use parsec::{ExtendedSalt, signed_answer as parsec_answer};
pub(super) use rsa_key::encrypt as encrypt_password;

/// An authentication plugin that this client supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plugin {
    Native,
    CachingSha2,
    Sha256,
    Ed25519,
    Parsec,
    Clear,
}

impl Plugin {
    const ALL: [Self; 6] =
        [Self::Native, Self::CachingSha2, Self::Sha256, Self::Ed25519, Self::Parsec, Self::Clear];

    /// The names of all supported plugins, for a message.
    pub(super) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    pub(super) fn by_name(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|plugin| plugin.name().as_bytes() == name)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Sha256 => "sha256_password",
            Self::Ed25519 => "client_ed25519",
            Self::Parsec => "parsec",
            Self::Clear => "mysql_clear_password",
        }
    }

    /// Returns the nonce from the data of a switch to this plugin: the older plugins append a NUL;
    /// the nonces of the newer ones may end with a NUL of their own.
    pub(super) fn nonce(self, data: &[u8]) -> &[u8] {
        match self {
            Self::Ed25519 | Self::Parsec => data,
            _ => data.strip_suffix(&[0]).filter(|nonce| nonce.len() == NONCE_LEN).unwrap_or(data),
        }
    }
}

/// The number of bytes of the nonce of MySQL's plugins.
const NONCE_LEN: usize = 20;

fn xor(bytes: &mut [u8], other: &[u8]) {
    for (byte, other) in bytes.iter_mut().zip(other) {
        *byte ^= other;
    }
}

/// Returns an empty answer for an empty password, otherwise the result of `hash`.
fn unless_empty(password: &Secret, hash: impl FnOnce(&[u8]) -> Vec<u8>) -> Vec<u8> {
    if password.is_empty() { Vec::new() } else { hash(password.as_bytes()) }
}

#[cfg(test)]
pub(super) fn from_hex(text: &str) -> Vec<u8> {
    crate::wire::from_hex(text.as_bytes()).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_by_name() {
        for plugin in Plugin::ALL {
            assert_eq!(Plugin::by_name(plugin.name().as_bytes()), Some(plugin));
        }
        assert_eq!(Plugin::by_name(b"mysql_old_password"), None);
    }

    #[test]
    fn only_the_older_plugins_have_a_nul_after_the_nonce() {
        let mut data = [7; 21];
        data[20] = 0;
        assert_eq!(Plugin::Native.nonce(&data), [7; 20]);
        assert_eq!(Plugin::CachingSha2.nonce(&[0; 20]), [0; 20]);
        assert_eq!(Plugin::Ed25519.nonce(&[0; 32]), [0; 32]);
        assert_eq!(Plugin::Parsec.nonce(&data), data);
    }
}
