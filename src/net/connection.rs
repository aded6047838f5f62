//! A connection to a server: connecting, logging in, queries.

use super::options::ConnectOptions;
use super::packets::Packets;
use super::socket::{Endpoint, Socket, SocketHandle};
use super::tls::TlsMode;
use super::transport::Transport;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{
    Greeting, Login, LoginError, LoginOptions, ResultSet, ServerRefusal, Step, TextRow, TlsWish,
    close_statement, command, is_ok,
};
use std::time::{Duration, Instant};

/// A connection that is logged in. It sends COM_QUIT when it is dropped, unless a fork shares its socket.
pub struct Connection {
    packets: Packets,
    greeting: Greeting,
    options: ConnectOptions,
    /// The process that opened it. A forked child has the same socket and must not use it.
    process: u32,
    /// The prepared statement whose rows are being read.
    statement: Option<u32>,
}

impl Connection {
    /// Connects and logs in. `watch` receives a handle that ends the connection from another
    /// thread; it is called before the server sends anything.
    pub fn open(options: ConnectOptions, watch: impl FnOnce(SocketHandle)) -> Result<Self> {
        let place = options.endpoint.to_string();
        Self::try_open(options, watch).map_err(|error| error.context(place))
    }

    fn try_open(options: ConnectOptions, watch: impl FnOnce(SocketHandle)) -> Result<Self> {
        let deadline = Instant::now() + options.connect_timeout;
        let mut socket = Socket::connect(&options.endpoint, options.connect_timeout)?;
        watch(socket.handle().map_err(|error| Error::lost("the connection was lost", error))?);
        socket.set_deadline(Some(deadline));
        let mut packets = Packets::new(Transport::Plain(socket));
        let greeting = log_in(&mut packets, &options)?;
        packets.logged_in(options.compression);
        packets.transport.set_deadline(None);
        Ok(Self { packets, greeting, options, process: std::process::id(), statement: None })
    }

    /// The server's greeting.
    pub fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    /// The options of the connection.
    pub fn options(&self) -> &ConnectOptions {
        &self.options
    }

    /// The version of TLS, such as `TLSv1.3`; `None` without TLS.
    pub fn tls_version(&self) -> Option<&'static str> {
        self.packets.transport.tls_version()
    }

    /// Returns a handle that ends the connection from another thread.
    pub fn handle(&self) -> Result<SocketHandle> {
        self.packets
            .transport
            .handle()
            .map_err(|error| Error::lost("the connection was lost", error))
    }

    /// Executes a statement and returns its rows; none if the statement returns no rows.
    pub fn query(&mut self, sql: &str) -> Result<Vec<TextRow>> {
        self.ask(&command::query(sql), |packets| {
            let mut set = ResultSet::default();
            while !set.push(answer(packets)?)? {}
            Ok(set.into_rows())
        })
    }

    /// Returns the value of a statement that returns one row with one column.
    pub fn query_value(&mut self, sql: &str) -> Result<Option<String>> {
        Ok(self.query(sql)?.into_iter().next().and_then(|row| row.into_iter().next()).flatten())
    }

    /// Sends a command that the server answers with OK.
    pub(super) fn command(&mut self, payload: &[u8]) -> Result<()> {
        self.ask(payload, |packets| match is_ok(answer(packets)?) {
            true => Ok(()),
            false => Err(Error::malformed("the server's answer to a command is not an OK packet")),
        })
    }

    /// Sends a command and reads the answer, both within the time limit of an answer.
    pub(super) fn ask<T>(
        &mut self,
        command: &[u8],
        read: impl FnOnce(&mut Packets) -> Result<T>,
    ) -> Result<T> {
        let deadline = Instant::now() + self.options.read_timeout;
        self.packets.transport.set_deadline(Some(deadline));
        let answered = self.send(command).and_then(|()| read(&mut self.packets));
        self.packets.transport.set_deadline(None);
        answered
    }

    /// Sends a command.
    pub(super) fn send(&mut self, payload: &[u8]) -> Result<()> {
        if self.process != std::process::id() {
            return Err(Error::config(
                "the connection was opened before a fork and belongs to the parent process: connect again in this process",
            ));
        }
        self.packets.start_command();
        self.packets.write(payload)
    }

    /// Waits for the next packet; then [`Self::payload`] returns its payload.
    pub(super) fn advance(&mut self) -> Result<()> {
        self.packets.advance()
    }

    /// The payload of the last packet.
    pub(super) fn payload(&self) -> &[u8] {
        self.packets.payload()
    }

    /// True if the next packet has arrived completely: see [`Packets::is_ready`].
    pub(super) fn is_ready(&mut self) -> bool {
        self.packets.is_ready()
    }

    /// Sets whether the connection ends with a reset: a server that writes to it then detects
    /// immediately that there is no reader.
    pub(super) fn set_reset(&self, reset: bool) {
        self.packets.transport.set_reset(reset);
    }

    /// From now on the server sends rows, which may be large.
    pub(super) fn expect_rows(&mut self, statement: u32) {
        self.packets.expect_large();
        self.statement = Some(statement);
    }

    /// The server has sent all rows: closes their statement, because a server has a limited number of them.
    pub(super) fn end_rows(&mut self) {
        self.packets.expect_answers();
        if let Some(statement) = self.statement.take() {
            // All rows are there: if this fails, the connection and its statements have ended.
            drop(self.send(&close_statement(statement)));
        }
    }

    /// From now on the server sends events; `silence` is the longest time without any data.
    pub(super) fn expect_events(&mut self, silence: Duration) {
        self.packets.expect_large();
        self.packets.transport.set_silence(Some(silence));
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // The connection may already be closed.
        let _ = self.send(&command::quit());
    }
}

/// Reads the next packet of an answer. An ERR packet is an error.
pub(super) fn answer(packets: &mut Packets) -> Result<&[u8]> {
    let payload = packets.read()?;
    match ServerRefusal::decode(payload) {
        Some(refusal) => Err(Error::refused(refusal)),
        None => Ok(payload),
    }
}

fn log_in(packets: &mut Packets, options: &ConnectOptions) -> Result<Greeting> {
    let mode = options.tls_mode();
    let host = match &options.endpoint {
        Endpoint::Tcp { host, .. } => host.as_str(),
        Endpoint::Unix(_) => "localhost",
    };
    let login_options = LoginOptions {
        user: options.user.clone(),
        password: options.password.clone(),
        database: None,
        tls: match mode {
            TlsMode::Disabled => TlsWish::Never,
            TlsMode::Preferred => TlsWish::IfOffered,
            TlsMode::Required | TlsMode::VerifyCa | TlsMode::VerifyIdentity => TlsWish::Always,
        },
        is_local: matches!(options.endpoint, Endpoint::Unix(_)),
        compression: options.compression,
        allow_public_key_retrieval: options.allow_public_key_retrieval,
        server_public_key: options.server_public_key.clone(),
        allow_clear_password: options.allow_clear_password,
        attributes: attributes(),
    };
    let mut login = Login::new(&login_options);
    loop {
        let is_first = login.greeting().is_none();
        let step = packets
            .read()
            .and_then(|payload| login.on_packet(payload).map_err(|error| explain(error, options)));
        let mut step = step.map_err(|error| match error.kind() {
            ErrorKind::Malformed if is_first => {
                error.advise("check that a MySQL or MariaDB server listens there")
            }
            _ => error,
        })?;
        loop {
            match step {
                Step::Send(payload) => {
                    packets.write(&payload)?;
                    break;
                }
                Step::Read => break,
                Step::StartTls(request) => {
                    packets.write(&request)?;
                    packets.transport.start_tls(host, mode, &options.tls_files)?;
                    step = login.tls_started().map_err(|error| explain(error, options))?;
                }
                Step::Done => {
                    let none = || Error::new(ErrorKind::Internal, "a login without a greeting");
                    return login.greeting().cloned().ok_or_else(none);
                }
            }
        }
    }
}

/// The attributes of this client in `performance_schema.session_connect_attrs`.
fn attributes() -> Vec<(String, String)> {
    [
        ("_client_name", "binarrow"),
        ("_client_version", env!("CARGO_PKG_VERSION")),
        ("_os", std::env::consts::OS),
        ("_platform", std::env::consts::ARCH),
        ("_pid", &std::process::id().to_string()),
        ("program_name", "binarrow"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

fn explain(error: LoginError, options: &ConnectOptions) -> Error {
    let kind = match &error {
        LoginError::Refused(refusal) => return Error::refused(refusal.clone()),
        LoginError::NoTls => ErrorKind::Tls,
        LoginError::NoCompression(_) => ErrorKind::Config,
        LoginError::NoRandomNumbers => ErrorKind::Internal,
        LoginError::Malformed(_) | LoginError::Unexpected(_) | LoginError::TooManyRounds => {
            ErrorKind::Malformed
        }
        _ => ErrorKind::Authentication,
    };
    let advice = match &error {
        LoginError::ClearNotAllowed => ": ⟦allow_clear_password=True⟧ permits this, over TLS",
        LoginError::NeedsSecureTransport(CLEAR) => " (⟦tls=required⟧ or stricter)",
        LoginError::NeedsSecureTransport(_) if options.tls_mode() == TlsMode::Preferred => {
            ", which this server does not offer; ⟦allow_public_key_retrieval=True⟧ encrypts it with the key that the server \
             sends, which is as safe as the network"
        }
        LoginError::NeedsSecureTransport(_) => {
            " (⟦tls=required⟧ or stricter), or ⟦allow_public_key_retrieval=True⟧"
        }
        _ => "",
    };
    Error::new(kind, format!("{error}{advice}"))
}

impl Error {
    /// Creates the error for an ERR packet of the server.
    pub(crate) fn refused(refusal: ServerRefusal) -> Self {
        let kind = match refusal.code {
            ACCESS_DENIED
            | ACCESS_DENIED_NO_PASSWORD
            | NOT_SUPPORTED_AUTH
            | HOST_NOT_ALLOWED
            | ACCOUNT_LOCKED
            | PASSWORD_EXPIRED => ErrorKind::Authentication,
            _ => ErrorKind::Server,
        };
        let ServerRefusal { code, sqlstate, message } = refusal;
        let message = if message.is_empty() {
            "the server refuses and gives no reason".into()
        } else {
            message
        };
        let message = match sqlstate.is_empty() {
            true => format!("{message} (error {code})"),
            false => format!("{message} (error {code}, SQLSTATE {sqlstate})"),
        };
        Self::new(kind, message).with_server_code(code, sqlstate)
    }
}

/// The user or the password is wrong, or a privilege is missing.
pub(super) const ACCESS_DENIED: u16 = 1045;
/// The plugin that can only send the password in the clear.
const CLEAR: &str = "mysql_clear_password";

const ACCESS_DENIED_NO_PASSWORD: u16 = 1698;
const NOT_SUPPORTED_AUTH: u16 = 1251;
const HOST_NOT_ALLOWED: u16 = 1130;
const ACCOUNT_LOCKED: u16 = 3118;
const PASSWORD_EXPIRED: u16 = 1862;
