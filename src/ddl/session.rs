//! The settings of a session that change the meaning of its statements.

use super::server::SqlServer;
use super::token::QuoteMode;
use crate::binlog::{FormatDescription, Query, StatusVariable};
use crate::charset::{Charset, Collation};

/// The settings on which the meaning of a DDL statement depends, besides its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DdlSession {
    /// The server that wrote the log.
    pub server: SqlServer,
    /// Bits of `sql_mode`.
    pub sql_mode: u64,
    /// The client's character set, as the id of a collation. The text was converted to UTF-8.
    pub client: Option<Collation>,
    /// `collation_server`: the default of CREATE DATABASE.
    pub server_collation: Option<Collation>,
    /// The collation of the default database, if the event contains it.
    pub database_collation: Option<Collation>,
    /// `default_collation_for_utf8mb4`
    pub utf8mb4_collation: Option<Collation>,
    /// `explicit_defaults_for_timestamp`
    pub explicit_timestamp_defaults: Option<bool>,
    /// MariaDB's `character_set_collations`: a collation of each character set, and its default collation.
    pub charset_collations: Vec<(Collation, Collation)>,
}

impl DdlSession {
    /// A session on a server, with the defaults of all other settings.
    pub fn new(server: SqlServer) -> Self {
        Self {
            server,
            sql_mode: 0,
            client: None,
            server_collation: None,
            database_collation: None,
            utf8mb4_collation: None,
            explicit_timestamp_defaults: None,
            charset_collations: Vec::new(),
        }
    }

    /// The session of a Query event.
    pub fn of(query: &Query<'_>, format: &FormatDescription) -> Self {
        let mut session = Self::new(SqlServer::from(format));
        let collation = |id: u16| Some(Collation(u32::from(id)));
        for variable in query.status_variables(format.is_mariadb) {
            match variable {
                StatusVariable::SqlMode(bits) => session.sql_mode = bits,
                StatusVariable::Charset { client, server, .. } => {
                    session.client = collation(client);
                    session.server_collation = collation(server);
                }
                StatusVariable::CharsetDatabase(id) => session.database_collation = collation(id),
                StatusVariable::DefaultCollationForUtf8mb4(id) => {
                    session.utf8mb4_collation = collation(id);
                }
                StatusVariable::ExplicitDefaultsForTimestamp(is_explicit) => {
                    session.explicit_timestamp_defaults = Some(is_explicit);
                }
                StatusVariable::Flags2(bits) if format.is_mariadb => {
                    session.explicit_timestamp_defaults = Some(bits & EXPLICIT_TIMESTAMPS != 0);
                }
                StatusVariable::MariadbCharsetCollations(pairs) => {
                    let id = |bytes: &[u8]| bytes.try_into().map(u16::from_le_bytes).ok();
                    let pair = |pair: &[u8]| {
                        let (charset, default) = pair.split_at_checked(2)?;
                        Some((collation(id(charset)?)?, collation(id(default)?)?))
                    };
                    session.charset_collations = pairs.chunks_exact(4).filter_map(pair).collect();
                    session.complete_collations();
                }
                _ => {}
            }
        }
        session
    }

    /// If the log contains the variable, a character set without an entry has the default that MariaDB was built with.
    fn complete_collations(&mut self) {
        use Charset::{Ucs2, Utf8mb3, Utf8mb4, Utf16, Utf32};
        let own = &mut self.charset_collations;
        for charset in [Utf8mb3, Utf8mb4, Ucs2, Utf16, Utf32] {
            if let Some(built) = charset.default_collation(true, (10, 0, 0))
                && !own.iter().any(|(of, _)| of.charset() == charset)
            {
                own.push((built, built));
            }
        }
    }

    /// True if a value that does not fit is an error of the statement.
    pub fn is_strict(&self) -> bool {
        self.sql_mode & (STRICT_TRANS_TABLES | STRICT_ALL_TABLES) != 0
    }

    /// Returns the session without a strict `sql_mode`, as for INSERT IGNORE.
    #[must_use]
    pub fn lenient(&self) -> Self {
        let sql_mode = self.sql_mode & !(STRICT_TRANS_TABLES | STRICT_ALL_TABLES);
        Self { sql_mode, ..self.clone() }
    }

    /// The meaning of quotes in its statements.
    pub fn quote_mode(&self) -> QuoteMode {
        QuoteMode {
            ansi_quotes: self.sql_mode & ANSI_QUOTES != 0,
            no_backslash_escapes: self.sql_mode & NO_BACKSLASH_ESCAPES != 0,
            server: Some(self.server).filter(|server| server.version != (0, 0, 0)),
        }
    }
}

/// Bits of `sql_mode`, of either server.
const ANSI_QUOTES: u64 = 1 << 2;
const NO_BACKSLASH_ESCAPES: u64 = 1 << 20;
const STRICT_TRANS_TABLES: u64 = 1 << 21;
const STRICT_ALL_TABLES: u64 = 1 << 22;

/// MariaDB's `OPTION_EXPLICIT_DEF_TIMESTAMP`, a bit of the flags.
const EXPLICIT_TIMESTAMPS: u32 = 1 << 24;
