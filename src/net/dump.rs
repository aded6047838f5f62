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

/// Where a dump begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DumpStart {
    /// At an event of a file.
    File {
        /// The file's name.
        file: String,
        /// The event's offset; of 4 GiB and more only where [`Server::takes_large_offsets`].
        offset: u64,
    },
    /// After all transactions of a set: MySQL.
    Gtids(GtidSet),
    /// After the last transaction of each domain: MariaDB.
    MariadbGtids(MariadbGtidPosition),
}

/// How a dump is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DumpOptions {
    /// The id by which the server knows us; it must be nobody else's.
    pub server_id: u32,
    /// How long the server may be silent before it sends a heartbeat.
    pub heartbeat: Duration,
    /// Whether the dump ends where the log ends now, instead of waiting for more.
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
    /// Whether the server has ended it.
    ended: bool,
}

impl Dump {
    /// Asks for the dump. The connection is used up: the server reads nothing more from it.
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

    /// The bytes of the next event; `None` where the log ends, of a dump that does.
    pub fn next_event(&mut self) -> Result<Option<&[u8]>> {
        Ok(self.advance()?.then(|| self.event()))
    }

    /// Waits for the next event, which [`Self::event`] is then; whether there is one.
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
                let reason = "the server ended a dump that was to go on";
                Err(Error::new(ErrorKind::ConnectionLost, reason))
            }
            DumpPacket::Refused(refusal) => {
                self.ended = true;
                Err(needs_privilege(explain(refusal)))
            }
        }
    }

    /// The bytes of the event that came last.
    pub fn event(&self) -> &[u8] {
        self.connection.payload().get(self.before..).unwrap_or_default()
    }

    /// True if the next packet has arrived completely, so that [`Self::advance`] does not wait. False for a packet in several pieces.
    pub fn is_ready(&mut self) -> bool {
        self.connection.is_ready()
    }

    /// The connection it comes by.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Ends the dump from this side. A server that has nothing to send would notice with its next heartbeat, so it is told
    /// over another connection; that is waited for a moment only.
    pub fn leave(self) {
        // One that is sent to its end meets the closed socket.
        if self.ended || self.ends {
            return;
        }
        let id = self.connection.greeting().connection_id;
        let (options, identity) = (self.connection.options().clone(), self.identity.clone());
        drop(self);
        let (done, wait) = crossbeam_channel::bounded::<()>(0);
        let told = std::thread::Builder::new().name("binarrow-leave".into()).spawn(move || {
            if let Err(error) = kill_dump(options, &identity, id) {
                log::debug!(target: "binarrow::live", "the server was not told of the end: {error}");
            }
            drop(done);
        });
        if told.is_ok() {
            // It ends with an error, once the thread is done or the time is up.
            let _ = wait.recv_timeout(LONGEST_LEAVE);
        }
    }
}

/// An id that no other replica is likely to have: not 0, and below 2³⁰, so that a second dump's id fits too.
pub fn random_id() -> Result<u32> {
    let mut bytes = [0; 4];
    let failed = |_| Error::new(ErrorKind::Internal, "the system provides no random numbers");
    SystemRandom::new().fill(&mut bytes).map_err(failed)?;
    Ok(u32::from_le_bytes(bytes) >> 2 | 1 << 28)
}

/// Ends the statement that is a dump, if it is still that of ours: ids begin anew when a server does.
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
        // Not the connection: MySQL 5.7 would close its socket, and go on to write under TLS to whoever gets the same number.
        connection.query(&format!("KILL QUERY {id}"))?;
    }
    Ok(())
}

fn setup(identity: &Identity, start: &DumpStart, options: &DumpOptions) -> Vec<String> {
    let nanos = options.heartbeat.as_nanos();
    // Newer servers look at the names with `source`, others at those with `master`.
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
            // Without it GTIDs and annotations are replaced by dummies.
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

/// A UUID of our own for a server id: the server tells replicas apart by it.
fn uuid(server_id: u32) -> String {
    format!(
        "b1a44044-{:04x}-4{:03x}-8000-{server_id:012x}",
        std::process::id() & 0xffff,
        server_id & 0xfff
    )
}

/// The empty set, as a dump by GTID takes it.
fn no_gtids() -> Vec<u8> {
    let mut bytes = Vec::new();
    GtidSet::default().encode(&mut bytes);
    bytes
}

/// What the server says at the end of a dump, with what to do.
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
            "another reader or replica uses our server id, and the server cut the older one off: give each its own with ⟦server_id⟧",
        )
    } else if has("more gtids than")
        || has("not in the master's binlog")
        || has("diverged")
        || has("has gtids with higher")
    {
        (
            ErrorKind::ServerIdentity,
            "this server lacks transactions that were read elsewhere: it is behind, or its history is another",
        )
    } else if has("purged") || has("could not find first log file name") {
        (
            ErrorKind::PositionPurged,
            "the server no longer has the log from here on, so changes are lost: start anew from a snapshot, and keep the log for \
             longer (binlog_expire_logs_seconds)",
        )
    } else if has("impossible position")
        || has("> file size")
        || has("bogus data")
        || has("position < 4")
    {
        (
            ErrorKind::Config,
            "the position is no event's: it is of another server, or the log was reset since",
        )
    } else if has("max_allowed_packet") {
        (
            ErrorKind::Server,
            "the position may lie within an event; else the server's max_allowed_packet is too small for its own log",
        )
    } else if has("truncated in the middle of event") {
        (
            ErrorKind::Server,
            "the position is not the end of a transaction there, or the server's file is damaged",
        )
    } else if has("error reading log event") || has("could not find next log") {
        (
            ErrorKind::Server,
            "the server cannot read on in its own log: the log was reset under the reader, or a file is damaged or missing; start \
             anew from a snapshot",
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

/// The user is let in, though servers say what they say to a wrong password.
fn needs_privilege(error: Error) -> Error {
    match error.server_code() {
        Some(ACCESS_DENIED | ACCESS_DENIED_FOR_OPERATION) => error.of_kind(ErrorKind::Server).advise(
            "the log is sent only to a user with the privilege REPLICATION SLAVE: GRANT REPLICATION SLAVE ON *.* TO the user",
        ),
        _ => error,
    }
}

/// Heartbeats that may fail to come before the connection counts as dead.
const HEARTBEATS_MISSED: u32 = 3;

/// How long the end of a dump waits for the server to be told.
const LONGEST_LEAVE: Duration = Duration::from_millis(250);

/// How long telling it may take, and each answer.
const LONGEST_KILL: Duration = Duration::from_secs(5);

/// Columns of SHOW PROCESSLIST.
const PROCESS_ID: usize = 0;
const PROCESS_COMMAND: usize = 4;

/// MariaDB's number for two replicas with one id.
const ID_CLASH_MARIADB: u16 = 4052;
