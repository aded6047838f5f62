//! The commands of a client that reads the log.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication.html>

/// `COM_QUIT`: ends the connection.
pub fn quit() -> Vec<u8> {
    vec![0x01]
}

/// `COM_QUERY`: one SQL statement.
pub fn query(sql: &str) -> Vec<u8> {
    [&[0x03], sql.as_bytes()].concat()
}

/// `COM_REGISTER_SLAVE`: the entry of this reader in `SHOW REPLICAS`. Texts longer than 255 bytes
/// are cut.
pub fn register_replica(server_id: u32, host: &str, port: u16) -> Vec<u8> {
    let mut out = vec![0x15];
    out.extend(server_id.to_le_bytes());
    for text in [host, "", ""] {
        let text = text.as_bytes().get(..255).unwrap_or(text.as_bytes());
        out.push(text.len() as u8);
        out.extend(text);
    }
    out.extend(port.to_le_bytes());
    out.extend([0; 8]); // rank, the source's id
    out
}

/// `COM_BINLOG_DUMP`: requests the log from a position on. The offset must be below 4 GiB.
pub fn binlog_dump(file: &str, offset: u32, flags: u16, server_id: u32) -> Vec<u8> {
    let mut out = vec![0x12];
    out.extend(offset.to_le_bytes());
    out.extend(flags.to_le_bytes());
    out.extend(server_id.to_le_bytes());
    out.extend(file.as_bytes());
    out
}

/// `COM_BINLOG_DUMP_GTID`: requests all transactions that are not in a set, which is in its binary
/// form. With an empty `file`, the server finds the start itself. With a file, it starts there and
/// skips the transactions before it, so the set should be empty then.
pub fn binlog_dump_gtid(
    file: &str,
    offset: u64,
    gtid_set: &[u8],
    flags: u16,
    server_id: u32,
) -> Vec<u8> {
    let mut out = vec![0x1e];
    out.extend(flags.to_le_bytes());
    out.extend(server_id.to_le_bytes());
    out.extend((file.len() as u32).to_le_bytes());
    out.extend(file.as_bytes());
    out.extend(offset.to_le_bytes());
    out.extend((gtid_set.len() as u32).to_le_bytes());
    out.extend(gtid_set);
    out
}

/// Flags of a dump.
pub mod dump_flag {
    /// The stream ends at the current end of the log.
    pub const NON_BLOCK: u16 = 1;
    /// MySQL from 8.0.26 on: heartbeats of version 2, whose offsets have 64 bits.
    pub const HEARTBEAT_V2: u16 = 2;
    /// MariaDB: the stream contains Annotate_rows events.
    pub const SEND_ANNOTATE_ROWS: u16 = 2;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_manual_lays_them_out() {
        assert_eq!(query("SELECT 1"), b"\x03SELECT 1");
        assert_eq!(binlog_dump("b.1", 4, 1, 9), b"\x12\x04\0\0\0\x01\0\x09\0\0\0b.1");
        assert_eq!(
            register_replica(7, "host", 3306),
            b"\x15\x07\0\0\0\x04host\0\0\xea\x0c\0\0\0\0\0\0\0\0"
        );
        assert_eq!(
            binlog_dump_gtid("", 4, &[0; 8], 0, 1),
            b"\x1e\0\0\x01\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0"
        );
        assert_eq!(
            binlog_dump_gtid("b.1", 1 << 32, &[], 2, 1),
            b"\x1e\x02\0\x01\0\0\0\x03\0\0\0b.1\0\0\0\0\x01\0\0\0\0\0\0\0"
        );
    }
}
