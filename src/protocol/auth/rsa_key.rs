//! Encrypts the password with the server's RSA key: `RSA-OAEP(SHA-1)((password + NUL) xor nonce,
//! repeated)`.
//!
//! Only the public key is used here: the known timing attacks on private-key operations do not
//! apply.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html>

use super::{Secret, xor};
use rsa::pkcs1::DecodeRsaPublicKey;
use rsa::pkcs8::DecodePublicKey;
use rsa::rand_core::OsRng;
use rsa::traits::PublicKeyParts;
use rsa::{Oaep, RsaPublicKey};
use sha1::Sha1;

/// Encrypts the password for the server whose public key is `pem`; `None` if `pem` is not a key, or
/// if the key is too small.
pub(in super::super) fn encrypt(password: &Secret, nonce: &[u8], pem: &[u8]) -> Option<Vec<u8>> {
    let pem = std::str::from_utf8(pem).ok()?.trim_end_matches('\0');
    let key = RsaPublicKey::from_public_key_pem(pem)
        .or_else(|_| RsaPublicKey::from_pkcs1_pem(pem).map_err(|_| ()))
        .ok()
        .filter(|key| key.n().bits() >= MIN_KEY_BITS)?;
    if nonce.is_empty() {
        return None;
    }
    let mut plain = password.with_nul();
    for part in plain.chunks_mut(nonce.len()) {
        xor(part, nonce);
    }
    key.encrypt(&mut OsRng, Oaep::new::<Sha1>(), &plain).ok()
}

/// Smaller keys can be factored.
const MIN_KEY_BITS: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use rsa::RsaPrivateKey;
    use rsa::pkcs1::EncodeRsaPublicKey;
    use rsa::pkcs8::{EncodePublicKey, LineEnding};

    #[test]
    fn the_server_can_read_it() {
        let private = RsaPrivateKey::new(&mut OsRng, 1024).unwrap();
        let nonce: Vec<u8> = (1..=20).collect();
        let public = private.to_public_key();
        for pem in [
            public.to_public_key_pem(LineEnding::LF).unwrap(),
            public.to_pkcs1_pem(LineEnding::LF).unwrap(),
        ] {
            let sent = encrypt(&Secret::new("secret"), &nonce, pem.as_bytes()).unwrap();
            let plain = private.decrypt(Oaep::new::<Sha1>(), &sent).unwrap();
            assert_eq!(plain, super::super::from_hex("72676076607207"));
            let long = Secret::new(vec![b'x'; 200]);
            assert_eq!(encrypt(&long, &nonce, pem.as_bytes()), None);
            assert_eq!(encrypt(&long, &[], pem.as_bytes()), None);
        }
    }

    #[test]
    fn no_key_and_small_keys() {
        let small = RsaPrivateKey::new(&mut OsRng, 512).unwrap().to_public_key();
        let small = small.to_public_key_pem(LineEnding::LF).unwrap();
        for pem in [small.as_bytes(), b"", b"\xff", b"-----BEGIN PUBLIC KEY-----\n"] {
            assert_eq!(encrypt(&Secret::new("secret"), &[1; 20], pem), None);
        }
    }
}
