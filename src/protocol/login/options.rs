//! The user who logs in, and the permitted methods.

use crate::protocol::secret::Secret;

/// The user who logs in, and the permitted methods.
#[derive(Debug, Clone, Default)]
pub struct LoginOptions {
    /// The user's name.
    pub user: String,
    /// The password; empty for none.
    pub password: Secret,
    /// The database to use, if any.
    pub database: Option<String>,
    /// The use of TLS.
    pub tls: TlsWish,
    /// True if no one else can read the data even without TLS: a Unix socket.
    pub is_local: bool,
    /// The compression of packets after the login.
    pub compression: Compression,
    /// True if the client accepts the RSA key that a server without TLS sends. An attacker between
    /// client and server can then send a different key.
    pub allow_public_key_retrieval: bool,
    /// The server's RSA key as PEM, if it is known.
    pub server_public_key: Option<Vec<u8>>,
    /// True if `mysql_clear_password` may be used, over a secure transport.
    pub allow_clear_password: bool,
    /// Attributes of the client: `performance_schema.session_connect_attrs`.
    pub attributes: Vec<(String, String)>,
}

/// The use of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TlsWish {
    /// No TLS.
    #[default]
    Never,
    /// TLS if the server supports it.
    IfOffered,
    /// TLS is required; otherwise the login fails.
    Always,
}

/// The compression of packets after the login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// No compression.
    #[default]
    None,
    /// zlib.
    Zlib,
    /// zstd, which MySQL supports from 8.0.18 on, and MariaDB does not.
    Zstd,
}
