//! The reasons why a login fails.

use super::MAX_ROUNDS;
use crate::error::DecodeError;
use crate::protocol::auth::Plugin;
use crate::protocol::response::ServerRefusal;

/// The reason why a login fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The server refuses the login.
    #[error("{}", .0.message)]
    Refused(ServerRefusal),
    /// The server's bytes are not a login packet.
    #[error(
        "the server's login packet is invalid ({0}): connect to the port of a MySQL or MariaDB server"
    )]
    Malformed(#[from] DecodeError),
    /// TLS is required, but the server does not support it.
    #[error("the server offers no TLS, which ⟦tls⟧ asks for")]
    NoTls,
    /// A packet that is not expected in this state.
    #[error("the server sent an unexpected packet during the login (first byte {0:#04x})")]
    Unexpected(u8),
    /// The compression was requested, but the server does not support it.
    #[error("the server offers no {0} compression")]
    NoCompression(&'static str),
    /// A plugin that this client does not support.
    #[error(
        "the server asks for the authentication plugin {0:?}, which is not supported; use an account with one of {names}",
        names = Plugin::names()
    )]
    UnknownPlugin(String),
    /// The server requests the password itself, which the caller does not permit.
    #[error("the server asks for the password itself (mysql_clear_password)")]
    ClearNotAllowed,
    /// The password would be sent in the clear.
    #[error("{0} needs a secure transport for this user: use TLS")]
    NeedsSecureTransport(&'static str),
    /// The server's RSA key is invalid, or too small for the password.
    #[error("the server's RSA key cannot be used to send the password: use TLS")]
    BadPublicKey,
    /// A nonce cannot be created.
    #[error("the system provides no random numbers")]
    NoRandomNumbers,
    /// The server sends one request after another.
    #[error("the server asks for more than {MAX_ROUNDS} packets during the login")]
    TooManyRounds,
}
