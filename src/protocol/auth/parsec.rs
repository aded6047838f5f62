//! MariaDB's `parsec`: a signature of the nonces of both sides, with a key that PBKDF2 derives from
//! the password and its salt.
//!
//! ```text
//! server: nonce[32] | client: empty | server: 'P', iterations as log2 of thousands u8, salt[18] | client: nonce[32], signature[64]
//! ```
//!
//! <https://mariadb.com/docs/server/reference/plugins/authentication-plugins/authentication-plugin-parsec>

use super::Secret;
use ring::pbkdf2::{PBKDF2_HMAC_SHA512, derive};
use ring::signature::Ed25519KeyPair;
use std::num::NonZeroU32;
use zeroize::Zeroizing;

/// The parameters with which the server's key was derived from the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct ExtendedSalt<'a> {
    iterations: NonZeroU32,
    salt: &'a [u8],
}

impl<'a> ExtendedSalt<'a> {
    /// Decodes the salt from a packet of the server; `None` for any other packet, or if the
    /// calculation would cost more than servers request.
    pub(in super::super) fn decode(data: &'a [u8]) -> Option<Self> {
        let (&[b'P', factor], salt) = data.split_first_chunk()? else { return None };
        let iterations = NonZeroU32::new(1024 << factor.min(MAX_FACTOR))?;
        (factor <= MAX_FACTOR && !salt.is_empty()).then_some(Self { iterations, salt })
    }
}

/// The limit of MariaDB's own client.
const MAX_FACTOR: u8 = 3;

/// Returns our nonce, and the signature of the server's nonce and ours.
pub(in super::super) fn signed_answer(
    password: &Secret,
    server_nonce: &[u8],
    salt: ExtendedSalt<'_>,
    own_nonce: &[u8; 32],
) -> Option<Vec<u8>> {
    let mut seed = Zeroizing::new([0; 32]);
    derive(PBKDF2_HMAC_SHA512, salt.iterations, salt.salt, password.as_bytes(), seed.as_mut());
    let key = Ed25519KeyPair::from_seed_unchecked(seed.as_ref()).ok()?;
    let signature = key.sign(&[server_nonce, own_nonce].concat());
    Some([own_nonce, signature.as_ref()].concat())
}

#[cfg(test)]
mod tests {
    use super::super::from_hex;
    use super::*;

    #[test]
    fn a_known_signature() {
        let server: Vec<u8> = (1..=32).collect();
        let own: Vec<u8> = (0x21..=0x40).collect();
        let mut salt = vec![b'P', 0];
        salt.extend(1..=18);
        let salt = ExtendedSalt::decode(&salt).unwrap();
        let own = own.try_into().unwrap();
        let answer = signed_answer(&Secret::new("secret"), &server, salt, &own).unwrap();
        let expected = "5abdd26ad76f0608905756d34c73e256f7a98dc900620ea5a6c8b5fdcf779825\
                        a26c03e84772c1de252a2ad4cad9d6f547794a180e2ba389eccbc8b83af2c506";
        assert_eq!(answer, [&own[..], &from_hex(expected)].concat());
    }

    #[test]
    fn salts_that_are_none() {
        for data in [&b""[..], b"P", b"P\0", b"Q\0salt", b"P\x04salt", b"P\xffsalt"] {
            assert_eq!(ExtendedSalt::decode(data), None, "{data:?}");
        }
    }
}
