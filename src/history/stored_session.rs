//! The stored form of a session.

use crate::charset::Collation;
use crate::ddl::{DdlSession, SqlServer};
use serde::{Deserialize, Serialize};

/// The stored form of a [`DdlSession`], without unknown settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredSession {
    mariadb: bool,
    version: (u16, u16, u16),
    sql_mode: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server_collation: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    database_collation: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    utf8mb4_collation: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    explicit_timestamp_defaults: Option<bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    charset_collations: Vec<(u32, u32)>,
}

impl From<&DdlSession> for StoredSession {
    fn from(session: &DdlSession) -> Self {
        let DdlSession {
            server,
            sql_mode,
            client,
            server_collation,
            database_collation,
            utf8mb4_collation,
            explicit_timestamp_defaults,
            charset_collations,
        } = session;
        let id = |collation: &Option<Collation>| collation.map(|collation| collation.0);
        Self {
            mariadb: server.is_mariadb,
            version: server.version,
            sql_mode: *sql_mode,
            client: id(client),
            server_collation: id(server_collation),
            database_collation: id(database_collation),
            utf8mb4_collation: id(utf8mb4_collation),
            explicit_timestamp_defaults: *explicit_timestamp_defaults,
            charset_collations: charset_collations
                .iter()
                .map(|(from, to)| (from.0, to.0))
                .collect(),
        }
    }
}

impl From<StoredSession> for DdlSession {
    fn from(stored: StoredSession) -> Self {
        let pairs = stored.charset_collations.into_iter();
        let collation = |id: Option<u32>| id.map(Collation);
        Self {
            server: SqlServer { is_mariadb: stored.mariadb, version: stored.version },
            sql_mode: stored.sql_mode,
            client: collation(stored.client),
            server_collation: collation(stored.server_collation),
            database_collation: collation(stored.database_collation),
            utf8mb4_collation: collation(stored.utf8mb4_collation),
            explicit_timestamp_defaults: stored.explicit_timestamp_defaults,
            charset_collations: pairs.map(|(from, to)| (Collation(from), Collation(to))).collect(),
        }
    }
}
