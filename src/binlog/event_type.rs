//! The event type codes of MySQL and MariaDB.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/namespacemysql_1_1binlog_1_1event.html>

use std::fmt;

/// The type code of an event. Any byte is allowed: other vendors' servers use codes of their own.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct EventType(pub u8);

/// The operation of a rows event.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
pub enum RowsKind {
    /// After images only.
    Write,
    /// A before and an after image for each row.
    Update,
    /// Before images only.
    Delete,
}

/// The type codes.
#[allow(missing_docs)] // the constants have the documented names, which need no explanation
impl EventType {
    pub const UNKNOWN: Self = Self(0);
    pub const START_V3: Self = Self(1);
    pub const QUERY: Self = Self(2);
    pub const STOP: Self = Self(3);
    pub const ROTATE: Self = Self(4);
    pub const INTVAR: Self = Self(5);
    pub const LOAD: Self = Self(6);
    pub const SLAVE: Self = Self(7);
    pub const CREATE_FILE: Self = Self(8);
    pub const APPEND_BLOCK: Self = Self(9);
    pub const EXEC_LOAD: Self = Self(10);
    pub const DELETE_FILE: Self = Self(11);
    pub const NEW_LOAD: Self = Self(12);
    pub const RAND: Self = Self(13);
    pub const USER_VAR: Self = Self(14);
    pub const FORMAT_DESCRIPTION: Self = Self(15);
    pub const XID: Self = Self(16);
    pub const BEGIN_LOAD_QUERY: Self = Self(17);
    pub const EXECUTE_LOAD_QUERY: Self = Self(18);
    pub const TABLE_MAP: Self = Self(19);
    pub const PRE_GA_WRITE_ROWS: Self = Self(20);
    pub const PRE_GA_UPDATE_ROWS: Self = Self(21);
    pub const PRE_GA_DELETE_ROWS: Self = Self(22);
    pub const WRITE_ROWS_V1: Self = Self(23);
    pub const UPDATE_ROWS_V1: Self = Self(24);
    pub const DELETE_ROWS_V1: Self = Self(25);
    pub const INCIDENT: Self = Self(26);
    pub const HEARTBEAT: Self = Self(27);
    pub const IGNORABLE: Self = Self(28);
    pub const ROWS_QUERY: Self = Self(29);
    pub const WRITE_ROWS: Self = Self(30);
    pub const UPDATE_ROWS: Self = Self(31);
    pub const DELETE_ROWS: Self = Self(32);
    pub const GTID: Self = Self(33);
    pub const ANONYMOUS_GTID: Self = Self(34);
    pub const PREVIOUS_GTIDS: Self = Self(35);
    pub const TRANSACTION_CONTEXT: Self = Self(36);
    pub const VIEW_CHANGE: Self = Self(37);
    pub const XA_PREPARE: Self = Self(38);
    pub const PARTIAL_UPDATE_ROWS: Self = Self(39);
    pub const TRANSACTION_PAYLOAD: Self = Self(40);
    pub const HEARTBEAT_V2: Self = Self(41);
    pub const GTID_TAGGED: Self = Self(42);

    pub const MARIADB_ANNOTATE_ROWS: Self = Self(160);
    pub const MARIADB_BINLOG_CHECKPOINT: Self = Self(161);
    pub const MARIADB_GTID: Self = Self(162);
    pub const MARIADB_GTID_LIST: Self = Self(163);
    pub const MARIADB_START_ENCRYPTION: Self = Self(164);
    pub const MARIADB_QUERY_COMPRESSED: Self = Self(165);
    pub const MARIADB_WRITE_ROWS_COMPRESSED_V1: Self = Self(166);
    pub const MARIADB_UPDATE_ROWS_COMPRESSED_V1: Self = Self(167);
    pub const MARIADB_DELETE_ROWS_COMPRESSED_V1: Self = Self(168);
    pub const MARIADB_WRITE_ROWS_COMPRESSED: Self = Self(169);
    pub const MARIADB_UPDATE_ROWS_COMPRESSED: Self = Self(170);
    pub const MARIADB_DELETE_ROWS_COMPRESSED: Self = Self(171);
    pub const MARIADB_PARTIAL_ROW_DATA: Self = Self(172);
}

impl EventType {
    /// The name that `SHOW BINLOG EVENTS` prints; `Unknown` for a code without one.
    pub const fn name(self) -> &'static str {
        match self {
            Self::START_V3 => "Start_v3",
            Self::QUERY => "Query",
            Self::STOP => "Stop",
            Self::ROTATE => "Rotate",
            Self::INTVAR => "Intvar",
            Self::LOAD => "Load",
            Self::SLAVE => "Slave",
            Self::CREATE_FILE => "Create_file",
            Self::APPEND_BLOCK => "Append_block",
            Self::EXEC_LOAD => "Exec_load",
            Self::DELETE_FILE => "Delete_file",
            Self::NEW_LOAD => "New_load",
            Self::RAND => "RAND",
            Self::USER_VAR => "User var",
            Self::FORMAT_DESCRIPTION => "Format_desc",
            Self::XID => "Xid",
            Self::BEGIN_LOAD_QUERY => "Begin_load_query",
            Self::EXECUTE_LOAD_QUERY => "Execute_load_query",
            Self::TABLE_MAP => "Table_map",
            Self::PRE_GA_WRITE_ROWS => "Write_rows_event_old",
            Self::PRE_GA_UPDATE_ROWS => "Update_rows_event_old",
            Self::PRE_GA_DELETE_ROWS => "Delete_rows_event_old",
            Self::WRITE_ROWS_V1 => "Write_rows_v1",
            Self::UPDATE_ROWS_V1 => "Update_rows_v1",
            Self::DELETE_ROWS_V1 => "Delete_rows_v1",
            Self::INCIDENT => "Incident",
            Self::HEARTBEAT | Self::HEARTBEAT_V2 => "Heartbeat",
            Self::IGNORABLE => "Ignorable",
            Self::ROWS_QUERY => "Rows_query",
            Self::WRITE_ROWS => "Write_rows",
            Self::UPDATE_ROWS => "Update_rows",
            Self::DELETE_ROWS => "Delete_rows",
            Self::GTID | Self::MARIADB_GTID => "Gtid",
            Self::ANONYMOUS_GTID => "Anonymous_Gtid",
            Self::PREVIOUS_GTIDS => "Previous_gtids",
            Self::TRANSACTION_CONTEXT => "Transaction_context",
            Self::VIEW_CHANGE => "View_change",
            Self::XA_PREPARE => "XA_prepare",
            Self::PARTIAL_UPDATE_ROWS => "Update_rows_partial",
            Self::TRANSACTION_PAYLOAD => "Transaction_payload",
            Self::GTID_TAGGED => "Gtid_tagged_log_event",
            Self::MARIADB_ANNOTATE_ROWS => "Annotate_rows",
            Self::MARIADB_BINLOG_CHECKPOINT => "Binlog_checkpoint",
            Self::MARIADB_GTID_LIST => "Gtid_list",
            Self::MARIADB_START_ENCRYPTION => "Start_encryption",
            Self::MARIADB_QUERY_COMPRESSED => "Query_compressed",
            Self::MARIADB_WRITE_ROWS_COMPRESSED_V1 => "Write_rows_compressed_v1",
            Self::MARIADB_UPDATE_ROWS_COMPRESSED_V1 => "Update_rows_compressed_v1",
            Self::MARIADB_DELETE_ROWS_COMPRESSED_V1 => "Delete_rows_compressed_v1",
            Self::MARIADB_WRITE_ROWS_COMPRESSED => "Write_rows_compressed",
            Self::MARIADB_UPDATE_ROWS_COMPRESSED => "Update_rows_compressed",
            Self::MARIADB_DELETE_ROWS_COMPRESSED => "Delete_rows_compressed",
            Self::MARIADB_PARTIAL_ROW_DATA => "Partial_row_data",
            _ => "Unknown",
        }
    }

    /// True if the event only reports that the server is alive, and its position in the log.
    pub const fn is_heartbeat(self) -> bool {
        matches!(self, Self::HEARTBEAT | Self::HEARTBEAT_V2)
    }

    /// True if the event contains rows, in any version of the format. (Versions before 5.1.18 are
    /// never decoded.)
    pub const fn is_rows(self) -> bool {
        self.rows_kind().is_some()
    }

    /// The operation of a rows event; `None` for any other event.
    pub const fn rows_kind(self) -> Option<RowsKind> {
        Some(match self.0 {
            20 | 23 | 30 | 166 | 169 => RowsKind::Write,
            21 | 24 | 31 | 39 | 167 | 170 => RowsKind::Update,
            22 | 25 | 32 | 168 | 171 => RowsKind::Delete,
            _ => return None,
        })
    }

    /// True for rows in the format of MySQL 5.1.5 to 5.1.17, which were not releases.
    pub const fn is_pre_ga(self) -> bool {
        matches!(self.0, 20..=22)
    }

    /// True if a rows event has the second version of the header, with space for extra row info.
    pub const fn is_rows_v2(self) -> bool {
        matches!(self.0, 30..=32 | 39 | 169..=171)
    }

    /// True if the event contains rows, or is a fragment of an event that does.
    pub const fn carries_rows(self) -> bool {
        self.is_rows() || matches!(self, Self::MARIADB_PARTIAL_ROW_DATA)
    }

    /// True if the rows, or the text of a query, are compressed with MariaDB's `log_bin_compress`.
    pub const fn is_mariadb_compressed(self) -> bool {
        matches!(self.0, 165..=171)
    }
}

impl fmt::Debug for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows() {
        let rows: Vec<u8> = (0..=255).filter(|code| EventType(*code).is_rows()).collect();
        let expected: Vec<u8> = (20..=25).chain(30..=32).chain([39]).chain(166..=171).collect();
        assert_eq!(rows, expected);
        assert_eq!(EventType::PARTIAL_UPDATE_ROWS.rows_kind(), Some(RowsKind::Update));
        assert_eq!(EventType::DELETE_ROWS_V1.rows_kind(), Some(RowsKind::Delete));
        assert_eq!(EventType::TABLE_MAP.rows_kind(), None);
    }

    #[test]
    fn names() {
        assert_eq!(EventType::WRITE_ROWS.name(), "Write_rows");
        for code in [0, 43, 100, 159, 173, 255] {
            assert_eq!(EventType(code).name(), "Unknown");
        }
        assert_eq!(format!("{:?}", EventType::XID), "Xid(16)");
    }
}
