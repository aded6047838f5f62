//! How to connect: where, as whom, under what cover.

use super::socket::Endpoint;
use super::tls::{TlsFiles, TlsMode};
use crate::protocol::{Compression, Secret};
use std::time::Duration;

/// How to connect to one server.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// Where it listens.
    pub endpoint: Endpoint,
    /// The user's name.
    pub user: String,
    /// The password.
    pub password: Secret,
    /// TLS or not; by default the strictest, but for this machine, where it is
    /// [`TlsMode::Preferred`], and [`TlsMode::VerifyCa`] where an authority is given.
    pub tls: Option<TlsMode>,
    /// Certificates.
    pub tls_files: TlsFiles,
    /// Compression of packets.
    pub compression: Compression,
    /// Whether a server without TLS may tell its RSA key itself.
    pub allow_public_key_retrieval: bool,
    /// The server's RSA key, PEM.
    pub server_public_key: Option<Vec<u8>>,
    /// Whether `mysql_clear_password` may be used, over TLS or a Unix socket.
    pub allow_clear_password: bool,
    /// How long connecting may take, the login included.
    pub connect_timeout: Duration,
    /// How long the answer to a query may take.
    pub read_timeout: Duration,
}

impl ConnectOptions {
    /// Options with their defaults.
    pub fn new(endpoint: Endpoint, user: impl Into<String>, password: Secret) -> Self {
        Self {
            endpoint,
            user: user.into(),
            password,
            tls: None,
            tls_files: TlsFiles::default(),
            compression: Compression::None,
            allow_public_key_retrieval: false,
            server_public_key: None,
            allow_clear_password: false,
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(60),
        }
    }

    /// The mode in force.
    pub fn tls_mode(&self) -> TlsMode {
        self.tls.unwrap_or(match &self.endpoint {
            Endpoint::Unix(_) => TlsMode::Disabled,
            // Who names an authority wants it asked.
            endpoint if endpoint.is_loopback() => match self.tls_files.ca {
                Some(_) => TlsMode::VerifyCa,
                None => TlsMode::Preferred,
            },
            Endpoint::Tcp { .. } => TlsMode::VerifyIdentity,
        })
    }
}
