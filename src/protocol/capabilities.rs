//! The capabilities of client and server, as bits of the handshake.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/group__group__cs__capabilities__flags.html>,
//! <https://mariadb.com/docs/server/reference/clientserver-protocol/1-connecting/connection#capabilities>

use std::ops::{BitAnd, BitOr};

/// A set of capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities(pub u32);

impl Capabilities {
    /// The protocol of MySQL. A MariaDB server clears the bit when it has extended capabilities.
    pub const LONG_PASSWORD: Self = Self(1);
    /// The login names a database.
    pub const CONNECT_WITH_DB: Self = Self(1 << 3);
    /// Packets are in zlib frames after the login.
    pub const COMPRESS: Self = Self(1 << 5);
    /// The protocol of MySQL 4.1, the only one that this client supports.
    pub const PROTOCOL_41: Self = Self(1 << 9);
    /// TLS after an SSLRequest.
    pub const SSL: Self = Self(1 << 11);
    /// Packets contain status flags.
    pub const TRANSACTIONS: Self = Self(1 << 13);
    /// A scramble of 20 bytes.
    pub const SECURE_CONNECTION: Self = Self(1 << 15);
    /// Authentication plugins, and switches between them.
    pub const PLUGIN_AUTH: Self = Self(1 << 19);
    /// The client sends attributes of itself.
    pub const CONNECT_ATTRS: Self = Self(1 << 20);
    /// The answer to the scramble may be longer than 255 bytes.
    pub const PLUGIN_AUTH_LENENC: Self = Self(1 << 21);
    /// Result sets end with an OK packet, and contain no EOF packet after the column definitions.
    pub const DEPRECATE_EOF: Self = Self(1 << 24);
    /// Packets are in zstd frames after the login.
    pub const ZSTD_COMPRESSION: Self = Self(1 << 26);

    /// True if the set contains all of `other`.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Capabilities {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Capabilities {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}
