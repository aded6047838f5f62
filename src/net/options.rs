//! Connection options: endpoint, credentials, TLS.

use super::socket::Endpoint;
use super::tls::{TlsFiles, TlsMode};
use crate::protocol::{Compression, Secret};
use std::time::Duration;

/// The options of a connection to one server.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// The address of the server.
    pub endpoint: Endpoint,
    /// The user's name.
    pub user: String,
    /// The password.
    pub password: Secret,
    /// The TLS mode. The default is the strictest one, except for servers on this machine: there it
    /// is [`TlsMode::Preferred`], or [`TlsMode::VerifyCa`] if a certificate authority is given.
    pub tls: Option<TlsMode>,
    /// The certificates.
    pub tls_files: TlsFiles,
    /// The compression of packets.
    pub compression: Compression,
    /// True if the client accepts the RSA key that a server without TLS sends.
    pub allow_public_key_retrieval: bool,
    /// The server's RSA key, as PEM.
    pub server_public_key: Option<Vec<u8>>,
    /// True if `mysql_clear_password` may be used, over TLS or a Unix socket.
    pub allow_clear_password: bool,
    /// The time limit for connecting, including the login.
    pub connect_timeout: Duration,
    /// The time limit for the answer to a query.
    pub read_timeout: Duration,
}

impl ConnectOptions {
    /// Creates options with their defaults.
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

    /// The TLS mode that is used.
    pub fn tls_mode(&self) -> TlsMode {
        self.tls.unwrap_or(match &self.endpoint {
            Endpoint::Unix(_) => TlsMode::Disabled,
            // A caller that gives a certificate authority wants the certificate verified.
            endpoint if endpoint.is_loopback() => match self.tls_files.ca {
                Some(_) => TlsMode::VerifyCa,
                None => TlsMode::Preferred,
            },
            Endpoint::Tcp { .. } => TlsMode::VerifyIdentity,
        })
    }
}
