//! MariaDB's `client_ed25519`: a signature of the nonce with a key that is derived from the
//! password only.
//!
//! It is Ed25519, but with the SHA-512 of the password, which may have any length, instead of the
//! SHA-512 of the seed.
//!
//! <https://mariadb.com/docs/server/reference/plugins/authentication-plugins/authentication-plugin-ed25519>,
//! <https://www.rfc-editor.org/rfc/rfc8032#section-5.1.6>

use super::Secret;
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use ed25519_dalek::{Sha512, VerifyingKey};
use ring::digest::{SHA512, digest};

/// Returns the signature of the nonce.
pub(in super::super) fn signature(password: &Secret, nonce: &[u8]) -> Vec<u8> {
    let hash = digest(&SHA512, password.as_bytes());
    let mut expanded = [0; 64];
    expanded.copy_from_slice(hash.as_ref());
    let key = ExpandedSecretKey::from_bytes(&expanded);
    raw_sign::<Sha512>(&key, nonce, &VerifyingKey::from(&key)).to_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::super::from_hex;
    use super::*;

    #[test]
    fn a_known_signature() {
        let nonce: Vec<u8> = (1..=32).collect();
        let expected = "60a0f4f8bcb6396043e44b2a25521af16f0815ff6369cc541c281e2c4455c823\
                        2b79b21ee5bb933507725db2f2919ea09e676f6abee19c5c7b98b40a627a9707";
        assert_eq!(signature(&Secret::new("secret"), &nonce), from_hex(expected));
    }
}
