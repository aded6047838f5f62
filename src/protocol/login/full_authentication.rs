//! The full authentication of `caching_sha2_password`, if the server has no cached hash of the password, and of
//! `sha256_password`: the server gets the password itself.
//!
//! ```text
//! TLS, or a Unix socket ─────────────────────────── the password ─┐
//! a key in the options ───────────────── the encrypted password ──┼─ OK
//! otherwise ─ request of the key ─ key ─ the encrypted password ──┘
//! ```
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html>

use super::{Login, LoginError, Result, State, Step};
use crate::protocol::auth::{Plugin, encrypt_password};
use zeroize::Zeroizing;

impl Login<'_> {
    /// Sends the password over a secure transport, or encrypted with the server's RSA key.
    pub(super) fn full_authentication(&mut self, plugin: Plugin) -> Result<Step> {
        // sha256_password does not accept the password in the clear over a Unix socket; an RSA key
        // that comes over this socket is the server's.
        if self.is_tls || self.options.is_local && plugin != Plugin::Sha256 {
            return self.send_plain(plugin);
        }
        if let Some(pem) = &self.options.server_public_key {
            return self.send_encrypted(pem);
        }
        if !self.options.allow_public_key_retrieval && !self.options.is_local {
            return Err(LoginError::NeedsSecureTransport(plugin.name()));
        }
        self.state = State::PublicKey;
        let request =
            if plugin == Plugin::Sha256 { ASK_KEY_OF_SHA256 } else { ASK_KEY_OF_CACHING_SHA2 };
        Ok(Step::Send(Zeroizing::new(vec![request])))
    }

    /// Sends the password in the clear.
    pub(super) fn send_plain(&mut self, plugin: Plugin) -> Result<Step> {
        self.state = State::Answered(plugin);
        Ok(Step::Send(self.options.password.with_nul()))
    }

    /// Sends the password, encrypted with the server's RSA key.
    pub(super) fn send_encrypted(&mut self, pem: &[u8]) -> Result<Step> {
        let sent = encrypt_password(&self.options.password, &self.nonce, pem)
            .ok_or(LoginError::BadPublicKey)?;
        self.answered(Plugin::Sha256, sent)
    }
}

const ASK_KEY_OF_CACHING_SHA2: u8 = 2;
const ASK_KEY_OF_SHA256: u8 = 1;
