//! The login, packet by packet. Input: the packets of the server. Output: the next step. No I/O.
//!
//! ```text
//! greeting ─ [SSLRequest, TLS] ─ handshake response ─┬─ OK
//!                                                    ├─ ERR
//!                                                    ├─ switch to another plugin ─ answer ─┐
//!                                                    └─ more data ─ answer ────────────────┴─ …
//! ```
//!
//! The password is sent in the clear over a secure transport only, and a server cannot disable TLS.
//!
//! | file | contains |
//! |---|---|
//! | `options.rs` | the user, and the permitted methods |
//! | `full_authentication.rs` | the password itself, if the server has no cached hash of it |
//! | `error.rs` | the reasons why a login fails |
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html>

mod error;
mod full_authentication;
mod options;

use super::auth::{
    ExtendedSalt, Plugin, ed25519_signature, fast_answer, native_answer, parsec_answer,
};
use super::capabilities::Capabilities;
use super::greeting::{Greeting, until_nul};
use super::handshake_response::HandshakeResponse;
use super::response::{EOF, ERR, OK, ServerRefusal, is_ok, printable};
use crate::error::DecodeError;
use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

pub use error::LoginError;
pub use options::{Compression, LoginOptions, TlsWish};

/// The next step of the login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Send this packet, then read the next.
    Send(Zeroizing<Vec<u8>>),
    /// Send this packet, then start TLS on the connection, then call [`Login::tls_started`].
    StartTls(Vec<u8>),
    /// Read the next packet.
    Read,
    /// The login is complete.
    Done,
}

type Result<T> = std::result::Result<T, LoginError>;

/// A login in progress.
#[derive(Debug)]
pub struct Login<'a> {
    options: &'a LoginOptions,
    state: State,
    greeting: Option<Greeting>,
    capabilities: Capabilities,
    nonce: Vec<u8>,
    is_tls: bool,
    switched: bool,
    rounds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Greeting,
    Tls,
    /// The client has answered the plugin; the server's decision follows.
    Answered(Plugin),
    /// The server's RSA key was requested.
    PublicKey,
    /// The salt was requested.
    Salt,
    Done,
}

impl<'a> Login<'a> {
    /// Creates a login that waits for the greeting.
    pub fn new(options: &'a LoginOptions) -> Self {
        Self {
            options,
            state: State::Greeting,
            greeting: None,
            capabilities: Capabilities::default(),
            nonce: Vec::new(),
            is_tls: false,
            switched: false,
            rounds: 0,
        }
    }

    /// The greeting, after it was received.
    pub fn greeting(&self) -> Option<&Greeting> {
        self.greeting.as_ref()
    }

    /// The capabilities that both sides agreed on.
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Processes the payload of the server's next packet.
    pub fn on_packet(&mut self, payload: &[u8]) -> Result<Step> {
        self.rounds += 1;
        if self.rounds > MAX_ROUNDS {
            return Err(LoginError::TooManyRounds);
        }
        if let Some(refusal) = ServerRefusal::decode(payload) {
            return Err(LoginError::Refused(refusal));
        }
        match self.state {
            State::Greeting => self.on_greeting(payload),
            State::Tls | State::Done => Err(unexpected(payload)),
            State::Answered(plugin) => match payload.split_first() {
                Some((&OK, _)) => self.done(payload),
                Some((&EOF, rest)) => self.switch(rest),
                Some((&MORE_DATA, data)) => self.more_data(plugin, data),
                _ => Err(unexpected(payload)),
            },
            State::PublicKey => match payload.split_first() {
                Some((&MORE_DATA, pem)) => self.send_encrypted(pem),
                _ => Err(unexpected(payload)),
            },
            State::Salt => {
                let data = payload.strip_prefix(&[MORE_DATA]).unwrap_or(payload);
                let salt = ExtendedSalt::decode(data).ok_or_else(|| unexpected(payload))?;
                let mut own_nonce = [0; 32];
                SystemRandom::new()
                    .fill(&mut own_nonce)
                    .map_err(|_| LoginError::NoRandomNumbers)?;
                let answer = parsec_answer(&self.options.password, &self.nonce, salt, &own_nonce)
                    .ok_or_else(|| unexpected(payload))?;
                self.answered(Plugin::Parsec, answer)
            }
        }
    }

    /// Continues after the connection was changed to TLS.
    pub fn tls_started(&mut self) -> Result<Step> {
        if self.state != State::Tls {
            return Err(LoginError::Unexpected(0));
        }
        self.is_tls = true;
        self.respond()
    }

    fn on_greeting(&mut self, payload: &[u8]) -> Result<Step> {
        let greeting = Greeting::decode(payload)?;
        let offered = greeting.capabilities;
        let options = self.options;
        if !offered.has(Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION) {
            let what = "protocol of a server before MySQL 4.1";
            return Err(DecodeError::Unsupported { what, value: u64::from(offered.0) }.into());
        }
        let uses_tls = match options.tls {
            TlsWish::Never => false,
            TlsWish::IfOffered => offered.has(Capabilities::SSL),
            TlsWish::Always if !offered.has(Capabilities::SSL) => return Err(LoginError::NoTls),
            TlsWish::Always => true,
        };
        let mut wanted = Capabilities::LONG_PASSWORD
            | Capabilities::PROTOCOL_41
            | Capabilities::TRANSACTIONS
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::PLUGIN_AUTH_LENENC
            | Capabilities::CONNECT_ATTRS;
        if uses_tls {
            wanted = wanted | Capabilities::SSL;
        }
        if options.database.is_some() {
            wanted = wanted | Capabilities::CONNECT_WITH_DB;
        }
        let (compression, name) = match options.compression {
            Compression::None => (Capabilities::default(), ""),
            Compression::Zlib => (Capabilities::COMPRESS, "zlib"),
            Compression::Zstd => (Capabilities::ZSTD_COMPRESSION, "zstd"),
        };
        if !offered.has(compression) {
            return Err(LoginError::NoCompression(name));
        }
        self.capabilities = (offered | Capabilities::LONG_PASSWORD) & (wanted | compression);
        self.nonce.clone_from(&greeting.nonce);
        self.greeting = Some(greeting);
        if uses_tls {
            self.state = State::Tls;
            return Ok(Step::StartTls(HandshakeResponse::ssl_request(self.capabilities)));
        }
        self.respond()
    }

    fn respond(&mut self) -> Result<Step> {
        let name = self.greeting.as_ref().map_or(&b""[..], |greeting| &greeting.plugin);
        // If the suggested plugin cannot be used, the server sends a switch to another one.
        let plugin = match Plugin::by_name(name) {
            Some(plugin @ (Plugin::Native | Plugin::CachingSha2)) => plugin,
            _ if self.capabilities.has(Capabilities::PLUGIN_AUTH) => Plugin::CachingSha2,
            _ => Plugin::Native,
        };
        let answer = match plugin {
            Plugin::Native => native_answer(&self.options.password, &self.nonce),
            _ => fast_answer(&self.options.password, &self.nonce),
        };
        let response = HandshakeResponse {
            capabilities: self.capabilities,
            user: until_nul(self.options.user.as_bytes()),
            answer: &answer,
            database: self.options.database.as_deref(),
            plugin: plugin.name(),
            attributes: &self.options.attributes,
            zstd_level: ZSTD_LEVEL,
        };
        self.answered(plugin, response.encode())
    }

    fn switch(&mut self, request: &[u8]) -> Result<Step> {
        if request.is_empty() {
            return Err(LoginError::UnknownPlugin("mysql_old_password".into()));
        }
        if std::mem::replace(&mut self.switched, true) {
            return Err(LoginError::Unexpected(EOF));
        }
        let name = until_nul(request);
        let data = request.get(name.len() + 1..).unwrap_or_default();
        let plugin = Plugin::by_name(name)
            .ok_or_else(|| LoginError::UnknownPlugin(printable(name, MAX_PLUGIN_NAME)))?;
        self.nonce = plugin.nonce(data).to_vec();
        let password = &self.options.password;
        match plugin {
            Plugin::Native => {
                let answer = native_answer(password, &self.nonce);
                self.answered(plugin, answer)
            }
            Plugin::CachingSha2 => {
                let answer = fast_answer(password, &self.nonce);
                self.answered(plugin, answer)
            }
            Plugin::Ed25519 => {
                let answer = ed25519_signature(password, &self.nonce);
                self.answered(plugin, answer)
            }
            Plugin::Parsec => {
                self.state = State::Salt;
                Ok(Step::Send(Zeroizing::default()))
            }
            Plugin::Sha256 if password.is_empty() => self.answered(plugin, vec![0]),
            Plugin::Sha256 => self.full_authentication(plugin),
            Plugin::Clear if !self.options.allow_clear_password => Err(LoginError::ClearNotAllowed),
            Plugin::Clear if !self.is_secure() => {
                Err(LoginError::NeedsSecureTransport(plugin.name()))
            }
            Plugin::Clear => self.send_plain(plugin),
        }
    }

    fn more_data(&mut self, plugin: Plugin, data: &[u8]) -> Result<Step> {
        match (plugin, data) {
            (Plugin::CachingSha2, [FAST_AUTH_SUCCESS]) => Ok(Step::Read),
            (Plugin::CachingSha2, [PERFORM_FULL_AUTH]) => self.full_authentication(plugin),
            _ => Err(LoginError::Unexpected(MORE_DATA)),
        }
    }

    fn answered(&mut self, plugin: Plugin, answer: Vec<u8>) -> Result<Step> {
        self.state = State::Answered(plugin);
        Ok(Step::Send(Zeroizing::new(answer)))
    }

    fn done(&mut self, payload: &[u8]) -> Result<Step> {
        if !is_ok(payload) {
            let (what, needed, left) = ("OK packet", 7, payload.len());
            return Err(DecodeError::UnexpectedEnd { what, needed, left }.into());
        }
        self.state = State::Done;
        Ok(Step::Done)
    }

    /// True if no one else can read what is sent.
    fn is_secure(&self) -> bool {
        self.is_tls || self.options.is_local
    }
}

fn unexpected(payload: &[u8]) -> LoginError {
    debug_assert_ne!(payload.first(), Some(&ERR));
    LoginError::Unexpected(payload.first().copied().unwrap_or_default())
}

const MORE_DATA: u8 = 1;
const FAST_AUTH_SUCCESS: u8 = 3;
const PERFORM_FULL_AUTH: u8 = 4;
const ZSTD_LEVEL: u8 = 3;

/// The number of bytes of a plugin's name that are shown; the names of servers have at most 64.
const MAX_PLUGIN_NAME: usize = 64;

/// The largest number of packets of the server in one login: the greeting, a switch, and a few
/// packets of data.
const MAX_ROUNDS: u32 = 16;

#[cfg(test)]
mod tests;
