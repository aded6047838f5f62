//! TLS with rustls: the certificates that are accepted, and the messages about others.

use super::pem::Pem;
use super::read_ahead::ReadAhead;
use super::socket::Socket;
use crate::error::{Error, ErrorKind, Result};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore,
    SignatureScheme, StreamOwned,
};
use std::fmt;
use std::sync::Arc;

/// The use of TLS: `tls=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TlsMode {
    /// No TLS.
    Disabled,
    /// TLS if the server supports it; its certificate is not verified.
    Preferred,
    /// TLS always. The certificate is not verified, so an attacker between client and server can
    /// read the data.
    Required,
    /// TLS always, and the certificate must be signed by a certificate authority.
    VerifyCa,
    /// Like `VerifyCa`, and the certificate must be for the host of the connection.
    VerifyIdentity,
}

/// The files and names that TLS needs in addition to the mode.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificates of the authorities, as PEM; if not given, those of the system.
    pub ca: Option<Pem>,
    /// The client's certificate, as PEM, with the intermediate certificates.
    pub certificate: Option<Pem>,
    /// The key of the client's certificate, as PEM.
    pub key: Option<Pem>,
    /// The host in the certificate, if it is not the host of the connection.
    pub server_name: Option<String>,
}

/// A TLS connection over a socket.
pub(super) type TlsStream = StreamOwned<ClientConnection, ReadAhead>;

/// Starts TLS on the socket.
pub(super) fn start(
    socket: Socket,
    host: &str,
    mode: TlsMode,
    files: &TlsFiles,
) -> Result<TlsStream> {
    let config = config(mode, files)?;
    let name = files.server_name.as_deref().unwrap_or(host);
    let server_name = ServerName::try_from(name.to_owned())
        .map_err(|_| Error::config(format!("{name:?} is not the name of a host")))?;
    let failed = |error| explain(error, name, mode);
    let mut socket = ReadAhead::new(socket);
    let mut connection = ClientConnection::new(Arc::new(config), server_name).map_err(failed)?;
    while connection.is_handshaking() {
        connection.complete_io(&mut socket).map_err(|error| {
            match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                Some(error) => explain(error.clone(), name, mode),
                None => Error::lost("the TLS handshake was interrupted", error),
            }
        })?;
    }
    Ok(StreamOwned::new(connection, socket))
}

fn config(mode: TlsMode, files: &TlsFiles) -> Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match mode {
        TlsMode::Disabled | TlsMode::Preferred | TlsMode::Required => {
            Arc::new(AnyCertificate(Arc::clone(&provider)))
        }
        TlsMode::VerifyCa | TlsMode::VerifyIdentity => {
            let roots = Arc::new(roots(files)?);
            let verifier =
                WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
                    .build()
                    .map_err(|error| {
                    Error::new(
                        ErrorKind::Tls,
                        format!("no certificate of a certificate authority: {error}"),
                    )
                })?;
            match mode {
                TlsMode::VerifyCa => Arc::new(AnyName(verifier)),
                _ => verifier,
            }
        }
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(ErrorKind::Tls, error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    match (&files.certificate, &files.key) {
        (None, None) => Ok(builder.with_no_client_auth()),
        (Some(certificate), Some(key_file)) => {
            let chain = certificates(certificate, "tls_cert")?;
            let key = match key_file {
                Pem::File(path) => PrivateKeyDer::from_pem_file(path),
                Pem::Text(text) => PrivateKeyDer::from_pem_slice(text),
            };
            let key = key.map_err(|error| {
                Error::config(format!("tls_key: no private key in {key_file}: {error}"))
            })?;
            builder.with_client_auth_cert(chain, key).map_err(|error| {
                Error::config(format!("tls_cert and tls_key do not match: {error}"))
            })
        }
        _ => Err(Error::config("tls_cert and tls_key must be given together")),
    }
}

fn roots(files: &TlsFiles) -> Result<RootCertStore> {
    let mut store = RootCertStore::empty();
    match &files.ca {
        Some(file) => {
            for certificate in certificates(file, "tls_ca")? {
                store.add(certificate).map_err(|error| {
                    Error::config(format!(
                        "tls_ca: {file} contains an invalid certificate: {error}"
                    ))
                })?;
            }
        }
        None => {
            // An unreadable certificate is no reason to refuse the others.
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if store.is_empty() {
                return Err(Error::new(
                    ErrorKind::Tls,
                    "this system has no certificates of authorities: pass that of the server with ⟦tls_ca⟧",
                ));
            }
        }
    }
    Ok(store)
}

fn certificates(file: &Pem, keyword: &str) -> Result<Vec<CertificateDer<'static>>> {
    let failed = |error: String| Error::config(format!("{keyword}: {file}: {error}"));
    let found: std::result::Result<Vec<_>, _> = match file {
        Pem::File(path) => CertificateDer::pem_file_iter(path).and_then(Iterator::collect),
        Pem::Text(text) => CertificateDer::pem_slice_iter(text).collect(),
    };
    let found = found.map_err(|error| failed(error.to_string()))?;
    if found.is_empty() {
        return Err(failed("it contains no certificate".into()));
    }
    Ok(found)
}

/// Adds advice about a certificate that is not accepted.
fn explain(error: rustls::Error, host: &str, mode: TlsMode) -> Error {
    let text = match &error {
        rustls::Error::InvalidCertificate(problem) => match problem {
            CertificateError::UnknownIssuer => {
                // Adding the authority of such a certificate would only lead to the next error.
                let nameless = match mode {
                    TlsMode::VerifyIdentity => ", and needs ⟦tls=verify_ca⟧, because such certificates contain no host name",
                    _ => "",
                };
                format!(
                    "the authority that signed the server's certificate is not known here: pass the certificate of the authority \
                     with ⟦tls_ca⟧ (a MySQL server that created its own has it in its data folder, ca.pem{nameless}); \
                     ⟦tls=required⟧ encrypts without verifying the server"
                )
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!(
                    "the server's certificate is not for {host:?}: connect with a host name that the certificate contains, or pass that name with \
                     ⟦tls_server_name⟧; certificates that MySQL created itself contain no host name, for them \
                     ⟦tls=verify_ca⟧ with ⟦tls_ca⟧ verifies the signature"
                )
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the server's certificate has expired".to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "the server's certificate is not valid yet".to_owned()
            }
            other if format!("{other:?}").contains("UnsupportedCertVersion") => {
                "the server's certificate is of X.509 version 1, which no ⟦tls⟧ mode accepts: create a certificate of version 3 for it"
                    .to_owned()
            }
            other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
                "the server uses the certificate of an authority as its own, which only ⟦tls=required⟧ accepts: create a certificate \
                 for the server, signed by that authority"
                    .to_owned()
            }
            other => format!("the server's certificate is not accepted: {other}"),
        },
        rustls::Error::InvalidMessage(_) => {
            "the server's answer is not TLS: a device between client and server may have changed it".to_owned()
        }
        rustls::Error::AlertReceived(alert) => {
            format!(
                "the server refuses the TLS connection ({alert:?}): it may require a certificate (⟦tls_cert⟧, ⟦tls_key⟧), or not support \
                 TLS 1.2 and 1.3"
            )
        }
        other => format!("TLS fails: {other}"),
    };
    Error::new(ErrorKind::Tls, text).with_source(error)
}

/// Accepts every certificate; signatures must still be made with its key.
struct AnyCertificate(Arc<CryptoProvider>);

/// Accepts a certificate for any host, if an authority signed it.
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        match self.0.verify_server_cert(certificate, between, name, ocsp, now) {
            // The name is checked last, after everything else was valid.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

impl fmt::Debug for AnyCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyCertificate")
    }
}

impl fmt::Debug for AnyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyName")
    }
}
