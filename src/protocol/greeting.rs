//! The first packet of the server: its version, its capabilities, and a nonce for the hash of the
//! password.
//!
//! ```text
//! 0a | version NUL | connection id u32 | nonce[8] | 00 | capabilities u16
//! charset u8 | status u16 | capabilities u16 | nonce length u8 | reserved[10] | nonce[max(13, length − 8)] | plugin NUL
//! ```
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_v10.html>

use super::capabilities::Capabilities;
use super::response::printable;
use crate::error::DecodeError;
use crate::wire::{Reader, Result};

/// The server's description of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// Its version, without the `5.5.5-` that MariaDB puts before its own.
    pub server_version: String,
    /// The number of the connection, as `SHOW PROCESSLIST` prints it.
    pub connection_id: u32,
    /// Its capabilities.
    pub capabilities: Capabilities,
    /// The bytes with which the password is hashed.
    pub nonce: Vec<u8>,
    /// The authentication plugin that the server suggests.
    pub plugin: Vec<u8>,
}

impl Greeting {
    /// Decodes the payload, which must not be an ERR packet.
    pub fn decode(payload: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(payload);
        let protocol = reader.u8("protocol version")?;
        if protocol != 10 {
            let value = u64::from(protocol);
            return Err(DecodeError::Unsupported { what: "version of the client protocol", value });
        }
        let version = printable(reader.nul_str("server version")?, MAX_VERSION);
        let connection_id = reader.u32("connection id")?;
        let mut nonce = reader.take(8, "nonce")?.to_vec();
        reader.u8("filler of the greeting")?;
        let mut capabilities = u32::from(reader.u16("capabilities")?);
        let mut plugin = Vec::new();
        if !reader.is_empty() {
            reader.u8("character set of the server")?;
            reader.u16("status of the server")?;
            capabilities |= u32::from(reader.u16("capabilities")?) << 16;
            let nonce_len = usize::from(reader.u8("nonce length")?);
            reader.take(10, "reserved bytes of the greeting")?;
            let rest = nonce_len.saturating_sub(8).max(13);
            let rest = reader.take(rest.min(reader.left()), "nonce")?;
            nonce.extend_from_slice(rest.strip_suffix(&[0]).unwrap_or(rest));
            plugin = until_nul(reader.rest()).to_vec();
        }
        let server_version = match version.strip_prefix("5.5.5-") {
            Some(own) if own.contains("MariaDB") => own.to_owned(),
            _ => version,
        };
        let capabilities = Capabilities(capabilities);
        Ok(Self { server_version, connection_id, capabilities, nonce, plugin })
    }
}

/// The number of bytes of a version that are shown.
const MAX_VERSION: usize = 256;

/// Returns the bytes before the first NUL, or all bytes if there is none.
pub(super) fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting(version: &str, plugin: &[u8]) -> Vec<u8> {
        let mut bytes = vec![10];
        bytes.extend(version.bytes());
        bytes.extend([0, 7, 0, 0, 0]);
        bytes.extend(1..=8);
        bytes.extend([0, 0xff, 0xf7, 45, 2, 0, 0xff, 0xdf, 21]);
        bytes.extend([0; 10]);
        bytes.extend(9..=20);
        bytes.push(0);
        bytes.extend(plugin);
        bytes
    }

    #[test]
    fn of_both_servers() {
        for (version, own) in
            [("9.7.0", "9.7.0"), ("5.5.5-10.11.19-MariaDB-log", "10.11.19-MariaDB-log")]
        {
            for plugin in [&b"caching_sha2_password\0"[..], b"caching_sha2_password"] {
                let greeting = Greeting::decode(&greeting(version, plugin)).unwrap();
                assert_eq!(greeting.server_version, own);
                assert_eq!(greeting.connection_id, 7);
                assert_eq!(greeting.nonce, (1..=20).collect::<Vec<u8>>());
                assert_eq!(greeting.plugin, b"caching_sha2_password");
                assert_eq!(greeting.capabilities.0, 0xdfff_f7ff);
            }
        }
    }

    #[test]
    fn cut_anywhere_it_is_an_error_or_a_short_one() {
        let complete = greeting("9.7.0", b"x\0");
        for len in 0..complete.len() {
            let _ = Greeting::decode(&complete[..len]);
        }
        let short = Greeting::decode(&complete[..22]).unwrap();
        assert_eq!((short.nonce.len(), short.plugin.len()), (8, 0));
        assert!(Greeting::decode(&[9]).is_err());
    }
}
