//! A dump: the events of a server's log as it sends them to a replica.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication.html>,
//! <https://mariadb.com/docs/server/reference/clientserver-protocol/replication-protocol>

use super::connection::{ACCESS_DENIED, Connection};
use super::options::ConnectOptions;
use super::server::{ACCESS_DENIED_FOR_OPERATION, Flavor, Identity, Server};
use crate::binlog::FIRST_EVENT_AT;
use crate::error::{Error, ErrorKind, Result};
use crate::position::{GtidSet, MariadbGtidPosition};
use crate::protocol::{DumpPacket, ServerRefusal, TextRow, command};
use ring::rand::{SecureRandom, SystemRandom};
use std::time::Duration;

/// The start of a dump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DumpStart {
    /// At an event of a file.
    File {
        /// The file's name.
        file: String,
        /// The event's offset. Offsets of 4 GiB or more require [`Server::takes_large_offsets`].
        offset: u64,
    },
    /// After all transactions of a set: MySQL.
    Gtids(GtidSet),
    /// After the last transaction of each domain: MariaDB.
    MariadbGtids(MariadbGtidPosition),
}

/// The options of a dump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DumpOptions {
    /// The server id of this reader. No other replica or reader may have it.
    pub server_id: u32,
    /// The time without events after which the server sends a heartbeat.
    pub heartbeat: Duration,
    /// True if the dump ends at the current end of the log, instead of waiting for more.
    pub ends: bool,
}

impl std::fmt::Display for DumpStart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File { file, offset } => write!(f, "{file}:{offset}"),
            Self::Gtids(set) => write!(f, "after GTID set '{set}'"),
            Self::MariadbGtids(position) => write!(f, "after GTID position '{position}'"),
        }
    }
}

/// A dump in progress.
pub struct Dump {
    connection: Connection,
    /// Bytes of a packet before its event.
    before: usize,
    ends: bool,
    identity: Identity,
    /// True if the server has ended the dump.
    ended: bool,
}

impl Dump {
    /// Requests the dump. The connection cannot be used for queries afterwards: the server does not
    /// read from it any more.
    pub fn start(server: Server, start: &DumpStart, options: &DumpOptions) -> Result<Self> {
        let (mut connection, identity) = server.into_parts();
        for statement in setup(&identity, start, options) {
            connection.query(&statement)?;
        }
        connection
            .command(&command::register_replica(options.server_id, "binarrow", 0))
            .map_err(needs_privilege)?;
        let mut flags = if options.ends { command::dump_flag::NON_BLOCK } else { 0 };
        flags |= match identity.flavor {
            Flavor::Mysql if identity.version >= (8, 0, 26) => command::dump_flag::HEARTBEAT_V2,
            Flavor::Mysql => 0,
            Flavor::Mariadb => command::dump_flag::SEND_ANNOTATE_ROWS,
        };
        let id = options.server_id;
        let request = match start {
            DumpStart::File { file, offset } => match u32::try_from(*offset) {
                Ok(offset) => command::binlog_dump(file, offset, flags, id),
                Err(_) => command::binlog_dump_gtid(file, *offset, &no_gtids(), flags, id),
            },
            DumpStart::Gtids(set) => {
                let mut bytes = Vec::new();
                set.encode(&mut bytes);
                command::binlog_dump_gtid("", FIRST_EVENT_AT, &bytes, flags, id)
            }
            DumpStart::MariadbGtids(_) => {
                command::binlog_dump("", FIRST_EVENT_AT as u32, flags, id)
            }
        };
        connection.send(&request)?;
        connection.expect_events(options.heartbeat * HEARTBEATS_MISSED);
        connection.set_reset(true);
        Ok(Self { connection, before: 1, ends: options.ends, identity, ended: false })
    }

    /// Returns the bytes of the next event; `None` at the end of the log, for a dump that ends
    /// there.
    pub fn next_event(&mut self) -> Result<Option<&[u8]>> {
        Ok(self.advance()?.then(|| self.event()))
    }

    /// Waits for the next event, which [`Self::event`] then returns. False if there is none.
    pub fn advance(&mut self) -> Result<bool> {
        self.connection.advance()?;
        let payload = self.connection.payload();
        match DumpPacket::decode(payload)? {
            DumpPacket::Event(event) => {
                self.before = payload.len() - event.len();
                Ok(true)
            }
            DumpPacket::End => {
                self.ended = true;
                self.connection.set_reset(false);
                if self.ends {
                    return Ok(false);
                }
                let reason = "the server ended a dump that should continue";
                Err(Error::new(ErrorKind::ConnectionLost, reason))
            }
            DumpPacket::Refused(refusal) => {
                self.ended = true;
                Err(needs_privilege(explain(refusal)))
            }
        }
    }

    /// The bytes of the last event.
    pub fn event(&self) -> &[u8] {
        self.connection.payload().get(self.before..).unwrap_or_default()
    }

    /// True if the next packet has arrived completely, so that [`Self::advance`] does not wait. False for a packet in several pieces.
    pub fn is_ready(&mut self) -> bool {
        self.connection.is_ready()
    }

    /// The connection of the dump.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Ends the dump from this side. A server that has nothing to send would notice this at its
    /// next heartbeat only, so it is informed over another connection; this waits for a moment
    /// only.
    pub fn leave(self) {
        // A dump that the server sends to its end notices the closed socket.
        if self.ended || self.ends {
            return;
        }
        let id = self.connection.greeting().connection_id;
        let (options, identity) = (self.connection.options().clone(), self.identity.clone());
        drop(self);
        let (done, wait) = crossbeam_channel::bounded::<()>(0);
        let started = std::thread::Builder::new().name("binarrow-leave".into()).spawn(move || {
            if let Err(error) = kill_dump(options, &identity, id) {
                log::debug!(target: "binarrow::live", "the server could not be informed of the end of the dump: {error}");
            }
            drop(done);
        });
        if started.is_ok() {
            // The wait ends with an error when the thread has ended or when the time is up.
            let _ = wait.recv_timeout(LONGEST_LEAVE);
        }
    }
}

/// Returns an id that other replicas are unlikely to have: not 0, and below 2³⁰, so that the id of
/// a second dump fits too.
pub fn random_id() -> Result<u32> {
    let mut bytes = [0; 4];
    let failed = |_| Error::new(ErrorKind::Internal, "the system provides no random numbers");
    SystemRandom::new().fill(&mut bytes).map_err(failed)?;
    Ok(u32::from_le_bytes(bytes) >> 2 | 1 << 28)
}

/// Ends the statement of the dump, if the connection id still belongs to it: ids start again when a
/// server is restarted.
fn kill_dump(mut options: ConnectOptions, identity: &Identity, id: u32) -> Result<()> {
    options.connect_timeout = options.connect_timeout.min(LONGEST_KILL);
    options.read_timeout = options.read_timeout.min(LONGEST_KILL);
    let mut server = Server::open(options)?;
    if server.identity().id != identity.id {
        return Ok(());
    }
    let text = id.to_string();
    let connection = server.connection();
    let threads = connection.query("SHOW PROCESSLIST")?;
    let is_ours = |row: &TextRow| {
        let cell = |index: usize| row.get(index).and_then(Option::as_deref);
        cell(PROCESS_ID) == Some(&text)
            && cell(PROCESS_COMMAND).is_some_and(|command| command.starts_with("Binlog Dump"))
    };
    if threads.iter().any(is_ours) {
        // KILL QUERY, not KILL CONNECTION: MySQL 5.7 would close its socket, and then continue to
        // write with TLS to the next connection that gets the same file descriptor.
        connection.query(&format!("KILL QUERY {id}"))?;
    }
    Ok(())
}

fn setup(identity: &Identity, start: &DumpStart, options: &DumpOptions) -> Vec<String> {
    let nanos = options.heartbeat.as_nanos();
    // Newer servers use the variables with `source` in their names, others use those with `master`.
    let mut statements = vec![
        "SET @master_binlog_checksum = @@global.binlog_checksum, @source_binlog_checksum = @@global.binlog_checksum".into(),
        format!("SET @master_heartbeat_period = {nanos}, @source_heartbeat_period = {nanos}"),
    ];
    match identity.flavor {
        Flavor::Mysql => {
            let uuid = uuid(options.server_id);
            statements.push(format!("SET @slave_uuid = '{uuid}', @replica_uuid = '{uuid}'"));
        }
        Flavor::Mariadb => {
            // Without this capability, GTIDs and annotations are replaced by dummies.
            statements.push("SET @mariadb_slave_capability = 4".into());
            if let DumpStart::MariadbGtids(position) = start {
                statements.push(format!("SET @slave_connect_state = '{position}'"));
                statements.push("SET @slave_gtid_strict_mode = 0".into());
                statements.push("SET @slave_gtid_ignore_duplicates = 0".into());
            }
        }
    }
    statements
}

/// Returns a UUID for a server id: the server distinguishes replicas by their UUIDs.
fn uuid(server_id: u32) -> String {
    format!(
        "b1a44044-{:04x}-4{:03x}-8000-{server_id:012x}",
        std::process::id() & 0xffff,
        server_id & 0xfff
    )
}

/// The empty set, in the form that a dump by GTID expects.
fn no_gtids() -> Vec<u8> {
    let mut bytes = Vec::new();
    GtidSet::default().encode(&mut bytes);
    bytes
}

/// Adds advice to the server's error at the end of a dump.
fn explain(refusal: ServerRefusal) -> Error {
    let text = refusal.message.to_ascii_lowercase();
    let has = |part: &str| text.contains(part);
    let is_id_clash = refusal.code == ID_CLASH_MARIADB
        || has("same server_uuid/server_id")
        || has("same server id")
        || has("same server_id");
    let (kind, advice) = if is_id_clash {
        (
            ErrorKind::ServerIdentity,
            "another reader or replica uses the same server id, so the server disconnected the older one: give each its own id with ⟦server_id⟧",
        )
    } else if has("more gtids than")
        || has("not in the master's binlog")
        || has("diverged")
        || has("has gtids with higher")
    {
        (
            ErrorKind::ServerIdentity,
            "this server lacks transactions that were read from another server: it lags, or it has different transactions",
        )
    } else if has("purged") || has("could not find first log file name") {
        (
            ErrorKind::PositionPurged,
            "the server no longer has the log after this position, so changes are lost: start again from a snapshot, and keep the log for \
             longer (binlog_expire_logs_seconds)",
        )
    } else if has("impossible position")
        || has("> file size")
        || has("bogus data")
        || has("position < 4")
    {
        (
            ErrorKind::Config,
            "no event begins at the position: it belongs to another server, or the log was reset since",
        )
    } else if has("max_allowed_packet") {
        (
            ErrorKind::Server,
            "either the position is inside an event, or max_allowed_packet on the server is smaller than its largest event",
        )
    } else if has("truncated in the middle of event") {
        (
            ErrorKind::Server,
            "the position is not the end of a transaction on this server, or the server's file is damaged",
        )
    } else if has("error reading log event") || has("could not find next log") {
        (
            ErrorKind::Server,
            "the server cannot continue to read its own log: the log was reset while it was read, or a file is damaged or missing; start \
             again from a snapshot",
        )
    } else if has("configured to log") {
        (
            ErrorKind::Server,
            "the server's binlog_checksum was changed while connecting: connect again",
        )
    } else {
        (ErrorKind::Server, "")
    };
    let error = Error::refused(refusal).of_kind(kind);
    if advice.is_empty() { error } else { error.advise(advice) }
}

/// Reports a missing privilege: servers send the same error for it as for a wrong password,
/// although the login succeeded.
fn needs_privilege(error: Error) -> Error {
    match error.server_code() {
        Some(ACCESS_DENIED | ACCESS_DENIED_FOR_OPERATION) => error.of_kind(ErrorKind::Server).advise(
            "the log is sent only to a user with the privilege REPLICATION SLAVE: GRANT REPLICATION SLAVE ON *.* TO the user",
        ),
        _ => error,
    }
}

/// The number of missed heartbeats after which the connection is considered lost.
const HEARTBEATS_MISSED: u32 = 3;

/// The maximum time that the end of a dump waits until the server is informed.
const LONGEST_LEAVE: Duration = Duration::from_millis(250);

/// The time limit for the connection that informs the server, and for each answer.
const LONGEST_KILL: Duration = Duration::from_secs(5);

/// Columns of SHOW PROCESSLIST.
const PROCESS_ID: usize = 0;
const PROCESS_COMMAND: usize = 4;

/// The error number of MariaDB for two replicas with the same id.
const ID_CLASH_MARIADB: u16 = 4052;
