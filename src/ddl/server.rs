//! The server that reads a statement.

use crate::binlog::FormatDescription;

/// The kind and the version of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqlServer {
    /// True for MariaDB.
    pub is_mariadb: bool,
    /// The numbers of its version.
    pub version: (u16, u16, u16),
}

impl From<&FormatDescription> for SqlServer {
    fn from(format: &FormatDescription) -> Self {
        Self { is_mariadb: format.is_mariadb, version: format.version }
    }
}
