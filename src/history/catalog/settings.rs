//! The settings of the session and the database, which complete a statement.

use crate::charset::{Charset, Collation};
use crate::ddl::DdlSession;
use crate::ddl::charset_clause::CharsetClause;
use crate::ddl::column::ColumnDefinition;
use crate::ddl::data_type::DataType;
use crate::ddl::resolve::length_bytes;
use crate::schema::ColumnType;

/// An error message without the name of the table.
pub(super) type Result<T, E = String> = std::result::Result<T, E>;

/// The settings for the parts that a statement leaves out.
pub(super) struct Settings<'s> {
    pub(super) session: &'s DdlSession,
    /// The collation of the table's database, if it is known.
    pub(super) database: Option<Collation>,
    /// True if foreign keys create keys. They do not if the text contains these keys already.
    pub(super) makes_keys: bool,
    /// True if the text is a script, whose keys are in the order of the server.
    pub(super) is_script: bool,
    /// The collation of the session's default database, for `CHARACTER SET DEFAULT`.
    pub(super) current: Option<Collation>,
}

impl Settings<'_> {
    /// The collation that a clause names; `None` if it names none.
    pub(super) fn clause(
        &self,
        clause: &CharsetClause,
        inherited: Option<Collation>,
    ) -> Result<Option<Collation>> {
        clause.resolve(inherited, self.is_mariadb(), &|charset| self.default_of(charset))
    }

    pub(super) fn is_mariadb(&self) -> bool {
        self.session.server.is_mariadb
    }

    /// The default collation of a character set.
    fn default_of(&self, charset: Charset) -> Option<Collation> {
        let session = self.session;
        let own = session.charset_collations.iter().find(|(of, _)| of.charset() == charset);
        match (own, session.utf8mb4_collation) {
            (Some((_, collation)), _) => Some(*collation),
            (None, Some(collation)) if charset == Charset::Utf8mb4 => Some(collation),
            _ => charset.default_collation(session.server.is_mariadb, session.server.version),
        }
    }

    /// The collation of `CHARACTER SET DEFAULT`. MariaDB uses only the character set, with its built-in default collation.
    pub(super) fn default_charset(&self) -> Option<Collation> {
        match self.is_mariadb() {
            true => self.current?.charset().default_collation(true, (10, 0, 0)),
            false => self.current,
        }
    }

    /// The clause that names a collation.
    pub(super) fn written_out(&self, collation: Option<Collation>) -> Result<CharsetClause> {
        let Some(collation) = collation else {
            return Ok(CharsetClause { is_unknown: true, ..CharsetClause::default() });
        };
        let name = collation.name(self.is_mariadb());
        let name = name.ok_or_else(|| format!("the collation {} is not known", collation.0))?;
        Ok(CharsetClause {
            charset: Some(collation.charset()),
            collation: Some(name),
            ..CharsetClause::default()
        })
    }

    /// The collation of a column whose clause names it.
    pub(super) fn collation_of(&self, column: &ColumnDefinition) -> Option<Collation> {
        self.clause(&column.charset, None).ok().flatten()
    }

    /// Changes a column as the server does. `default`: the collation of the table.
    pub(super) fn settle(
        &self,
        column: &mut ColumnDefinition,
        default: Option<Collation>,
    ) -> Result<()> {
        (column.primary, column.unique, column.references, column.line) = (false, false, None, 0);
        let name = std::sync::Arc::clone(&column.name);
        self.settle_dialect(column);
        self.settle_type(column, default)
            .map_err(|message| format!("column `{name}`: {message}"))?;
        if column.row_period.is_some() {
            (column.not_null, column.is_virtual, column.expression) = (true, false, None);
        }
        column.not_null |= column.auto_increment;
        column.unsigned &= match &column.data_type {
            DataType::Plain(column_type) | DataType::Integer { column_type, .. } => {
                column_type.is_numeric() && *column_type != ColumnType::Year
            }
            _ => false,
        };
        column.zerofill &= column.unsigned;
        let is_timestamp =
            matches!(column.data_type, DataType::Plain(ColumnType::Timestamp2 { .. }));
        if is_timestamp && !column.null && !column.is_generated && !self.explicit_timestamps() {
            column.not_null = true;
        }
        column.null = is_timestamp && !column.not_null && !column.is_generated;
        Ok(())
    }

    /// Adds the defaults that the server gives to TIMESTAMP columns: the first one of the table is the time of the last change.
    /// The output of SHOW CREATE TABLE contains them.
    pub(super) fn settle_timestamps(&self, columns: &mut [ColumnDefinition]) {
        if self.is_script || self.explicit_timestamps() {
            return;
        }
        let mut is_first = true;
        for column in columns {
            let DataType::Plain(ColumnType::Timestamp2 { fsp }) = column.data_type else {
                continue;
            };
            if column.not_null && !column.is_generated && column.default.is_none() {
                let is_now = is_first && column.on_update.is_none();
                let default = match (is_now, fsp) {
                    (false, _) => "'0000-00-00 00:00:00'".to_owned(),
                    (true, 0) => "CURRENT_TIMESTAMP".to_owned(),
                    (true, fsp) => format!("CURRENT_TIMESTAMP({fsp})"),
                };
                column.on_update =
                    column.on_update.take().or_else(|| is_now.then(|| default.clone()));
                column.default = Some(default);
            }
            is_first = false;
        }
    }

    fn settle_type(&self, column: &mut ColumnDefinition, default: Option<Collation>) -> Result<()> {
        match &mut column.data_type {
            DataType::Real => {
                let is_float = self.session.sql_mode & REAL_AS_FLOAT != 0;
                column.data_type =
                    DataType::Plain(if is_float { ColumnType::Float } else { ColumnType::Double });
            }
            DataType::Json if self.is_mariadb() => {
                column.data_type = DataType::Text { length_bytes: 4, length: 0 };
                return self.written_out(Charset::Utf8mb4.binary_collation()).map(|clause| {
                    column.charset = clause;
                });
            }
            DataType::Char { .. }
            | DataType::Text { .. }
            | DataType::Enum(_)
            | DataType::Set(_) => {
                let own = match column.charset.is_unknown {
                    true => None,
                    false => self.clause(&column.charset, default)?.or(default),
                };
                column.charset = self.written_out(own)?;
                return self.settle_size(column);
            }
            DataType::Uuid | DataType::Inet4 | DataType::Inet6 if !self.is_mariadb() => {
                return Err("a type of MariaDB, and the log is MySQL's".into());
            }
            _ => {}
        }
        column.charset = CharsetClause::default();
        Ok(())
    }

    /// Applies a `sql_mode` in which types have the meaning of another database.
    fn settle_dialect(&self, column: &mut ColumnDefinition) {
        let has = |mode| self.session.sql_mode & mode != 0;
        let is_oracle = self.is_mariadb() && has(ORACLE);
        let is_maxdb = has(MAXDB) && (self.is_mariadb() || self.session.server.version < (8, 0, 0));
        let is_binary = column.charset.charset == Some(Charset::Binary);
        match &mut column.data_type {
            DataType::Plain(column_type @ ColumnType::Date) if is_oracle => {
                *column_type = ColumnType::DateTime2 { fsp: 0 };
            }
            DataType::Text { length_bytes: length_bytes @ 2, .. } if is_oracle && is_binary => {
                *length_bytes = 4;
            }
            DataType::Plain(ColumnType::Timestamp2 { fsp }) if is_maxdb => {
                column.data_type = DataType::Plain(ColumnType::DateTime2 { fsp: *fsp });
            }
            _ => {}
        }
    }

    /// Sets the size of a TEXT with a length, and makes a TEXT of a VARCHAR that is too long.
    pub(super) fn settle_size(&self, column: &mut ColumnDefinition) -> Result<()> {
        let Some(collation) = self.collation_of(column) else { return Ok(()) };
        let width = collation.charset().max_char_bytes() as u64;
        match &mut column.data_type {
            DataType::Char { length, varying: true }
                if length.saturating_mul(width) > u64::from(u16::MAX) =>
            {
                let length_bytes = length_bytes(length.saturating_mul(width));
                column.data_type = DataType::Text { length_bytes, length: 0 };
            }
            DataType::Text { length_bytes: size @ 0, length } => {
                *size = length_bytes(length.saturating_mul(width));
                *length = 0;
            }
            DataType::Text { length, .. } => *length = 0,
            _ => {}
        }
        Ok(())
    }

    /// Applies CONVERT TO CHARACTER SET: a TEXT becomes large enough for as many characters. A column that the same statement
    /// defines keeps its size.
    pub(super) fn convert(
        &self,
        column: &mut ColumnDefinition,
        to: Collation,
        is_stated: bool,
    ) -> Result<()> {
        let is_text = matches!(
            column.data_type,
            DataType::Char { .. } | DataType::Text { .. } | DataType::Enum(_) | DataType::Set(_)
        );
        let from = self.collation_of(column);
        if !is_text || from == Some(Collation::BINARY) {
            return Ok(());
        }
        if is_stated {
            column.charset = self.written_out(Some(to))?;
            return self.settle_size(column);
        }
        let width = |collation: Collation| collation.charset().max_char_bytes().max(1) as u64;
        if let DataType::Text { length_bytes: size @ 1..=3, .. } = &mut column.data_type {
            let from = from.ok_or_else(|| {
                format!("column `{}`: the character set that it had is not known", column.name)
            })?;
            let bytes = (1_u64 << (8 * u32::from(*size))) - 1;
            *size = length_bytes(bytes / width(from) * width(to));
        }
        if let DataType::Enum(members) | DataType::Set(members) = &mut column.data_type {
            let from = from.map(Collation::charset);
            let read = members.iter().map(|member| converted_member(member, from, to.charset()));
            *members = read.collect::<Option<_>>().ok_or_else(|| {
                format!(
                    "column `{}`: servers keep the bytes of its members, which are no text in {}",
                    column.name,
                    to.charset().name()
                )
            })?;
        }
        column.charset = self.written_out(Some(to))?;
        self.settle_size(column)
    }

    /// `explicit_defaults_for_timestamp`
    fn explicit_timestamps(&self) -> bool {
        let server = self.session.server;
        self.session.explicit_timestamp_defaults.unwrap_or(match server.is_mariadb {
            true => server.version >= (10, 10, 0),
            false => server.version >= (8, 0, 0),
        })
    }
}

/// A member of an ENUM or SET after CONVERT TO CHARACTER SET: servers do not convert its bytes, but read them in the new
/// character set. `None` if this is not possible, or not known.
fn converted_member(member: &str, from: Option<Charset>, to: Charset) -> Option<String> {
    let from = from?;
    let is_utf8 = matches!(from, Charset::Utf8mb3 | Charset::Utf8mb4 | Charset::Ascii);
    let is_wide =
        matches!(from, Charset::Ucs2 | Charset::Utf16 | Charset::Utf16le | Charset::Utf32);
    let is_known = is_utf8 || member.is_ascii() && !is_wide && from != Charset::Swe7;
    match from == to {
        true => Some(member.to_owned()),
        false if is_known => to.decode(member.as_bytes(), "a member").ok(),
        false => None,
    }
}

/// Bits of `sql_mode`.
const REAL_AS_FLOAT: u64 = 1;
/// MariaDB's.
const ORACLE: u64 = 1 << 9;
/// MariaDB's, and MySQL's before 8.0.
const MAXDB: u64 = 1 << 12;
