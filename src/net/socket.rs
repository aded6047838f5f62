//! A socket, TCP or Unix, whose reads end in time and can be ended from another thread.

use crate::error::{Error, ErrorKind, Result};
use socket2::{SockRef, TcpKeepalive};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// A host's name or address, and a port.
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
    /// Whether nobody but this machine can listen: a Unix socket, or a loopback address.
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
    stream: Stream,
    /// When whatever is read for must be there.
    deadline: Option<Instant>,
    /// How long the other side may be silent.
    silence: Option<Duration>,
    /// What the system was told last of how long a read may take.
    timeout: Option<Duration>,
}

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Connects, to each of the host's addresses until one answers, within `timeout`.
    pub(super) fn connect(endpoint: &Endpoint, timeout: Duration) -> Result<Self> {
        let stream = match endpoint {
            Endpoint::Tcp { host, port } => Stream::Tcp(connect_tcp(host, *port, timeout)?),
            Endpoint::Unix(path) => Stream::Unix(connect_unix(path)?),
        };
        let socket = Self { stream, deadline: None, silence: None, timeout: None };
        socket
            .set_timeout(
                &|stream, limit| match stream {
                    Stream::Tcp(stream) => stream.set_write_timeout(limit),
                    Stream::Unix(stream) => stream.set_write_timeout(limit),
                },
                Some(timeout),
            )
            .map_err(|error| Error::lost("cannot set up the socket", error))?;
        Ok(socket)
    }

    /// What ends reads of this socket from another thread.
    pub(super) fn handle(&self) -> io::Result<SocketHandle> {
        let stream = match &self.stream {
            Stream::Tcp(stream) => Stream::Tcp(stream.try_clone()?),
            Stream::Unix(stream) => Stream::Unix(stream.try_clone()?),
        };
        Ok(SocketHandle { stream, process: std::process::id() })
    }

    /// Whether the end is a reset.
    pub(super) fn set_reset(&self, reset: bool) {
        if let Stream::Tcp(stream) = &self.stream {
            // Without it the server notices a little later.
            let _ = SockRef::from(stream).set_linger(reset.then_some(Duration::ZERO));
        }
    }

    /// Until when what is read for must be there; `None` for no such time.
    pub(super) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// How long a read may wait for the next byte; `None` for ever.
    pub(super) fn set_silence(&mut self, silence: Option<Duration>) {
        self.silence = silence;
    }

    /// Whether bytes can be read without waiting.
    pub(super) fn has_bytes(&self) -> bool {
        let mut byte = [std::mem::MaybeUninit::uninit()];
        let socket = match &self.stream {
            Stream::Tcp(stream) => SockRef::from(stream),
            Stream::Unix(stream) => SockRef::from(stream),
        };
        let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
        socket.recv_with_flags(&mut byte, flags).is_ok_and(|count| count > 0)
    }

    fn set_timeout(
        &self,
        set: &dyn Fn(&Stream, Option<Duration>) -> io::Result<()>,
        limit: Option<Duration>,
    ) -> io::Result<()> {
        // A timeout of zero would be none.
        set(&self.stream, limit.map(|limit| limit.max(Duration::from_millis(1))))
    }
}

impl Socket {
    /// Tells the system how long the next read may take.
    fn limit_read(&mut self) -> io::Result<()> {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let limit = left.into_iter().chain(self.silence).min();
        if limit != self.timeout {
            self.set_timeout(
                &|stream, limit| match stream {
                    Stream::Tcp(stream) => stream.set_read_timeout(limit),
                    Stream::Unix(stream) => stream.set_read_timeout(limit),
                },
                limit,
            )?;
            self.timeout = limit;
        }
        Ok(())
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.limit_read()?;
            let result = match &mut self.stream {
                Stream::Tcp(stream) => stream.read(buffer),
                Stream::Unix(stream) => stream.read(buffer),
            };
            return match result {
                // A signal came, which is no business of a TLS handshake.
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
        match &mut self.stream {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Ends the reads and writes of a [`Socket`], whichever thread they are in.
#[derive(Debug)]
pub struct SocketHandle {
    stream: Stream,
    /// The process that opened the connection.
    process: u32,
}

impl SocketHandle {
    /// Closes the connection in both directions. A forked process leaves its parent's connection open.
    pub fn shutdown(&self) {
        if self.process != std::process::id() {
            return;
        }
        // It may be cut already.
        let _ = match &self.stream {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Stream::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

fn connect_tcp(host: &str, port: u16, timeout: Duration) -> Result<TcpStream> {
    let failed = |error| Error::lost("cannot connect", error);
    let deadline = Instant::now() + timeout;
    let mut last = None;
    let addresses = resolve(host, port, timeout).map_err(failed)?;
    for (index, address) in addresses.iter().enumerate() {
        // One that does not answer leaves time for the others.
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
                SockRef::from(&stream).set_tcp_keepalive(&keepalive).map_err(failed)?;
                stream.set_nodelay(true).map_err(failed)?;
                return Ok(stream);
            }
            Err(error) => last = Some(error),
        }
    }
    Err(failed(last.unwrap_or_else(|| io::ErrorKind::TimedOut.into())))
}

/// The addresses of a host. Name servers may be silent, and the system's resolver waits for them as long as it likes.
fn resolve(host: &str, port: u16, timeout: Duration) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let (sender, receiver) = crossbeam_channel::bounded(1);
    let name = host.to_owned();
    std::thread::Builder::new().name("binarrow-resolve".into()).spawn(move || {
        let found = (name.as_str(), port).to_socket_addrs().map(Iterator::collect);
        // Nobody may be waiting any more.
        let _ = sender.send(found);
    })?;
    receiver.recv_timeout(timeout).map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

fn connect_unix(path: &Path) -> Result<UnixStream> {
    UnixStream::connect(path).map_err(|error| Error::lost("cannot connect", error))
}

impl Error {
    /// The connection could not be made, or is gone.
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
