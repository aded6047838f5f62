//! `mysql_native_password`: `SHA1(password) xor SHA1(nonce + SHA1(SHA1(password)))`.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_authentication_methods_native_password_authentication.html>

use super::{Secret, unless_empty, xor};
use ring::digest::{Context, Digest, SHA1_FOR_LEGACY_USE_ONLY, digest};

/// Returns the answer that proves the password; empty if there is no password.
pub(in super::super) fn answer(password: &Secret, nonce: &[u8]) -> Vec<u8> {
    unless_empty(password, |password| {
        let once = sha1(password);
        let mut both = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
        both.update(nonce);
        both.update(sha1(once.as_ref()).as_ref());
        let mut answer = once.as_ref().to_vec();
        xor(&mut answer, both.finish().as_ref());
        answer
    })
}

fn sha1(bytes: &[u8]) -> Digest {
    digest(&SHA1_FOR_LEGACY_USE_ONLY, bytes)
}

#[cfg(test)]
mod tests {
    use super::super::from_hex;
    use super::*;

    #[test]
    fn a_known_answer() {
        let nonce: Vec<u8> = (1..=20).collect();
        let expected = from_hex("b32bb3a583e1340c0a1108d58b1be49781ad8c2f");
        assert_eq!(answer(&Secret::new("secret"), &nonce), expected);
        assert!(answer(&Secret::default(), &nonce).is_empty());
    }
}
