//! A socket, TCP or Unix, whose reads have a time limit and can be ended from another thread.

use crate::error::{Error, ErrorKind, Result};
use crate::platform;
use socket2::TcpKeepalive;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// The name or address of a host, and a port.
    Tcp {
        /// The name, or an IPv4 or IPv6 address.
        host: String,
        /// The port.
        port: u16,
    },
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl Endpoint {
    /// True if only this machine can read the data: a Unix socket, or a loopback address.
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::Tcp { host, .. } => {
                host == "localhost"
                    || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
            }
        }
    }
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A connected socket.
#[derive(Debug)]
pub(super) struct Socket {
    stream: socket2::Socket,
    /// False for a Unix socket.
    is_tcp: bool,
    /// The time when the current answer must be complete.
    deadline: Option<Instant>,
    /// The longest time that the other side may send nothing.
    silence: Option<Duration>,
    /// The last time limit for a read that was set in the system.
    timeout: Option<Duration>,
}

impl Socket {
    /// Connects to the host's addresses, one after another, until one answers, within `timeout`.
    pub(super) fn connect(endpoint: &Endpoint, timeout: Duration) -> Result<Self> {
        let (stream, is_tcp) = match endpoint {
            Endpoint::Tcp { host, port } => (connect_tcp(host, *port, timeout)?, true),
            Endpoint::Unix(path) => {
                let connected = platform::connect_unix(path);
                (connected.map_err(|error| Error::lost("cannot connect", error))?, false)
            }
        };
        stream
            .set_write_timeout(Some(not_zero(timeout)))
            .map_err(|error| Error::lost("cannot set up the socket", error))?;
        Ok(Self { stream, is_tcp, deadline: None, silence: None, timeout: None })
    }

    /// Returns a handle that ends reads of this socket from another thread.
    pub(super) fn handle(&self) -> io::Result<SocketHandle> {
        Ok(SocketHandle { stream: self.stream.try_clone()?, process: std::process::id() })
    }

    /// Sets whether closing the socket resets the connection.
    pub(super) fn set_reset(&self, reset: bool) {
        if self.is_tcp {
            // If this fails, the server notices a little later.
            let _ = self.stream.set_linger(reset.then_some(Duration::ZERO));
        }
    }

    /// Sets the time when the current answer must be complete; `None` for no limit.
    pub(super) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Sets the longest time that a read may wait for the next byte; `None` for no limit.
    pub(super) fn set_silence(&mut self, silence: Option<Duration>) {
        self.silence = silence;
    }

    /// True if bytes can be read without waiting.
    pub(super) fn has_bytes(&self) -> bool {
        platform::has_bytes(&self.stream)
    }

    /// Sets the time limit of the next read in the system.
    fn limit_read(&mut self) -> io::Result<()> {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let limit = left.into_iter().chain(self.silence).min();
        if limit != self.timeout {
            self.stream.set_read_timeout(limit.map(not_zero))?;
            self.timeout = limit;
        }
        Ok(())
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.limit_read()?;
            return match self.stream.read(buffer) {
                // A signal arrived; the TLS handshake continues.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // Unix systems report a timeout as "would block".
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    Err(io::ErrorKind::TimedOut.into())
                }
                result => result,
            };
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        platform::send(&self.stream, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Ends the reads and writes of a [`Socket`] in any thread.
#[derive(Debug)]
pub struct SocketHandle {
    stream: socket2::Socket,
    /// The process that opened the connection.
    process: u32,
}

impl SocketHandle {
    /// Closes the connection in both directions. A forked process leaves its parent's connection open.
    pub fn shutdown(&self) {
        if self.process != std::process::id() {
            return;
        }
        // The connection may already be closed.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

fn connect_tcp(host: &str, port: u16, timeout: Duration) -> Result<socket2::Socket> {
    let failed = |error| Error::lost("cannot connect", error);
    let deadline = Instant::now() + timeout;
    let mut last = None;
    let addresses = resolve(host, port, timeout).map_err(failed)?;
    for (index, address) in addresses.iter().enumerate() {
        // An address that does not answer leaves time for the others.
        let left = deadline.saturating_duration_since(Instant::now());
        let share = left / u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
        if share.is_zero() {
            break;
        }
        match TcpStream::connect_timeout(address, share) {
            Ok(stream) => {
                let keepalive = TcpKeepalive::new()
                    .with_time(KEEPALIVE_IDLE)
                    .with_interval(KEEPALIVE_INTERVAL)
                    .with_retries(KEEPALIVE_PROBES);
                stream.set_nodelay(true).map_err(failed)?;
                let socket = socket2::Socket::from(stream);
                socket.set_tcp_keepalive(&keepalive).map_err(failed)?;
                return Ok(socket);
            }
            Err(error) => last = Some(error),
        }
    }
    Err(failed(last.unwrap_or_else(|| io::ErrorKind::TimedOut.into())))
}

/// Resolves the addresses of a host. Name servers may not answer, and the system's resolver has no
/// time limit.
fn resolve(host: &str, port: u16, timeout: Duration) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let (sender, receiver) = crossbeam_channel::bounded(1);
    let name = host.to_owned();
    std::thread::Builder::new().name("binarrow-resolve".into()).spawn(move || {
        let found = (name.as_str(), port).to_socket_addrs().map(Iterator::collect);
        // The caller may have stopped waiting.
        let _ = sender.send(found);
    })?;
    receiver.recv_timeout(timeout).map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

/// Returns a limit that is not zero, which would mean no limit.
fn not_zero(limit: Duration) -> Duration {
    limit.max(Duration::from_millis(1))
}

impl Error {
    /// Creates the error for a connection that could not be established, or was lost.
    pub(crate) fn lost(message: impl Into<String>, source: io::Error) -> Self {
        let reason = match source.kind() {
            io::ErrorKind::TimedOut => "no answer in time".to_owned(),
            io::ErrorKind::UnexpectedEof => "the server closed the connection".to_owned(),
            _ => source.to_string(),
        };
        Self::new(ErrorKind::ConnectionLost, format!("{}: {reason}", message.into()))
            .with_source(source)
    }
}

const KEEPALIVE_IDLE: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_PROBES: u32 = 6;
