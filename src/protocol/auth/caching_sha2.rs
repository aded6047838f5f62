//! The fast authentication of `caching_sha2_password`: `SHA256(password) xor
//! SHA256(SHA256(SHA256(password)) + nonce)`.
//!
//! The full authentication, if the server has no cached hash, is in `login/mod.rs` and `rsa_key.rs`.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html>

use super::{Secret, unless_empty, xor};
use ring::digest::{Context, Digest, SHA256, digest};

/// Returns the answer that proves the password; empty if there is no password.
pub(in super::super) fn fast_answer(password: &Secret, nonce: &[u8]) -> Vec<u8> {
    unless_empty(password, |password| {
        let once = sha256(password);
        let mut both = Context::new(&SHA256);
        both.update(sha256(once.as_ref()).as_ref());
        both.update(nonce);
        let mut answer = once.as_ref().to_vec();
        xor(&mut answer, both.finish().as_ref());
        answer
    })
}

fn sha256(bytes: &[u8]) -> Digest {
    digest(&SHA256, bytes)
}

#[cfg(test)]
mod tests {
    use super::super::from_hex;
    use super::*;

    #[test]
    fn a_known_answer() {
        let nonce: Vec<u8> = (1..=20).collect();
        let expected = "746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9";
        assert_eq!(fast_answer(&Secret::new("secret"), &nonce), from_hex(expected));
        assert!(fast_answer(&Secret::default(), &nonce).is_empty());
    }
}
