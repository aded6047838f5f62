//! The client's answer to the greeting: its user, its capabilities, and the proof of the password.
//!
//! ```text
//! capabilities u32 | largest packet u32 | charset u8 | 23 zeros
//! user NUL | answer lenenc (or with its length in a byte) | [database NUL] | [plugin NUL] | [attributes lenenc] | [zstd level u8]
//! ```
//!
//! A packet that consists of the first line only is the request for TLS.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_response.html>

use super::capabilities::Capabilities;

/// The parts of the answer.
pub(super) struct HandshakeResponse<'a> {
    pub(super) capabilities: Capabilities,
    pub(super) user: &'a [u8],
    pub(super) answer: &'a [u8],
    pub(super) database: Option<&'a str>,
    pub(super) plugin: &'a str,
    pub(super) attributes: &'a [(String, String)],
    pub(super) zstd_level: u8,
}

impl HandshakeResponse<'_> {
    /// The request for TLS.
    pub(super) fn ssl_request(capabilities: Capabilities) -> Vec<u8> {
        let mut out = Vec::with_capacity(32);
        out.extend(capabilities.0.to_le_bytes());
        out.extend(MAX_PACKET.to_le_bytes());
        out.push(UTF8MB4_GENERAL_CI);
        out.extend([0; 23]);
        out
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Self::ssl_request(self.capabilities);
        push_nul(&mut out, self.user);
        if self.capabilities.has(Capabilities::PLUGIN_AUTH_LENENC) {
            push_lenenc(&mut out, self.answer);
        } else {
            out.push(self.answer.len().min(255) as u8);
            out.extend(self.answer.iter().take(255));
        }
        if let Some(database) = self.database {
            push_nul(&mut out, database.as_bytes());
        }
        if self.capabilities.has(Capabilities::PLUGIN_AUTH) {
            push_nul(&mut out, self.plugin.as_bytes());
        }
        if self.capabilities.has(Capabilities::CONNECT_ATTRS) {
            let mut block = Vec::new();
            for (name, value) in self.attributes {
                push_lenenc(&mut block, name.as_bytes());
                push_lenenc(&mut block, value.as_bytes());
            }
            push_lenenc(&mut out, &block);
        }
        if self.capabilities.has(Capabilities::ZSTD_COMPRESSION) {
            out.push(self.zstd_level);
        }
        out
    }
}

/// The largest packet that the client accepts: that of the largest event.
const MAX_PACKET: u32 = 1 << 30;

/// Every server has this collation.
const UTF8MB4_GENERAL_CI: u8 = 45;

fn push_nul(out: &mut Vec<u8>, text: &[u8]) {
    out.extend(text);
    out.push(0);
}

fn push_lenenc(out: &mut Vec<u8>, bytes: &[u8]) {
    match bytes.len() {
        len @ 0..=250 => out.push(len as u8),
        len => {
            out.push(0xfd);
            out.extend((len as u32).to_le_bytes().iter().take(3));
        }
    }
    out.extend(bytes);
}
