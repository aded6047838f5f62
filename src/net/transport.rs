//! The transport of packets: a socket, or TLS over a socket.

use super::socket::{Socket, SocketHandle};
use super::tls::{TlsFiles, TlsMode, TlsStream, start};
use crate::error::{Error, ErrorKind, Result};
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// A connection without and with TLS.
pub(super) enum Transport {
    Plain(Socket),
    Tls(Box<TlsStream>),
    /// During the change from one to the other, and after the change failed.
    Closed,
}

impl Transport {
    /// Starts TLS on the connection.
    pub(super) fn start_tls(&mut self, host: &str, mode: TlsMode, files: &TlsFiles) -> Result<()> {
        match std::mem::replace(self, Self::Closed) {
            Self::Plain(socket) => {
                *self = Self::Tls(Box::new(start(socket, host, mode, files)?));
                Ok(())
            }
            _ => Err(Error::new(ErrorKind::Internal, "TLS is started once")),
        }
    }

    pub(super) fn handle(&self) -> io::Result<SocketHandle> {
        self.socket().ok_or(io::ErrorKind::NotConnected)?.handle()
    }

    pub(super) fn set_deadline(&mut self, deadline: Option<Instant>) {
        if let Some(socket) = self.socket_mut() {
            socket.set_deadline(deadline);
        }
    }

    pub(super) fn set_reset(&self, reset: bool) {
        if let Some(socket) = self.socket() {
            socket.set_reset(reset);
        }
    }

    pub(super) fn set_silence(&mut self, silence: Option<Duration>) {
        if let Some(socket) = self.socket_mut() {
            socket.set_silence(silence);
        }
    }

    /// True if bytes can be read without waiting.
    pub(super) fn is_ready(&mut self) -> bool {
        match self {
            Self::Plain(socket) => socket.has_bytes(),
            Self::Tls(stream) => loop {
                match stream.conn.process_new_packets() {
                    Ok(state) if state.plaintext_bytes_to_read() == 0 => {}
                    // The next read reports the error.
                    _ => return true,
                }
                // An incomplete record cannot be read yet.
                if !stream.sock.has_bytes() {
                    return false;
                }
                match stream.conn.read_tls(&mut stream.sock) {
                    Ok(0) | Err(_) => return true,
                    Ok(_) => {}
                }
            },
            Self::Closed => false,
        }
    }

    /// The version of TLS, such as `TLSv1.3`; `None` without TLS.
    pub(super) fn tls_version(&self) -> Option<&'static str> {
        match self {
            Self::Tls(stream) => match stream.conn.protocol_version()? {
                rustls::ProtocolVersion::TLSv1_2 => Some("TLSv1.2"),
                rustls::ProtocolVersion::TLSv1_3 => Some("TLSv1.3"),
                _ => Some("TLS"),
            },
            _ => None,
        }
    }

    fn socket(&self) -> Option<&Socket> {
        match self {
            Self::Plain(socket) => Some(socket),
            Self::Tls(stream) => Some(&stream.sock.socket),
            Self::Closed => None,
        }
    }

    fn socket_mut(&mut self) -> Option<&mut Socket> {
        match self {
            Self::Plain(socket) => Some(socket),
            Self::Tls(stream) => Some(&mut stream.sock.socket),
            Self::Closed => None,
        }
    }
}

impl Read for Transport {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
            Self::Closed => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl Write for Transport {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
            Self::Closed => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            Self::Tls(stream) => stream.flush(),
            Self::Closed => Ok(()),
        }
    }
}
