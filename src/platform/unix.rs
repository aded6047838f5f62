//! Unix.

use socket2::Socket;
use std::fs::{File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Reads bytes of a file at `offset`; fewer than the buffer has, if the system has fewer. 0 is the end.
pub fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(buffer, offset)
}

/// Reads as many bytes of a file as the buffer has, at `offset`.
pub fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(buffer, offset)
}

/// Writes all bytes to a file at `offset`.
pub fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}

/// The descriptor of an open file, from which the system can copy to another file.
pub fn file_number(file: &File) -> Option<i32> {
    Some(file.as_raw_fd())
}

/// Sets that only the owner can read and write a file that is created.
pub fn for_owner_alone(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// Connects to a Unix socket.
pub fn connect_unix(path: &Path) -> io::Result<Socket> {
    UnixStream::connect(path).map(Socket::from)
}

/// True if bytes can be read from a socket without waiting.
pub fn has_bytes(socket: &Socket) -> bool {
    let mut byte = [MaybeUninit::uninit()];
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    socket.recv_with_flags(&mut byte, flags).is_ok_and(|count| count > 0)
}

/// Sends bytes, and returns their number. A connection that the other side closed is an error, and no signal.
pub fn send(socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
    socket.send_with_flags(bytes, NO_SIGNAL)
}

/// Returns the name of this machine, if the system provides it as a file.
pub fn host_name() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/hostname").ok()
}

/// macOS has an option of the socket instead, which the standard library sets.
const NO_SIGNAL: libc::c_int = if cfg!(target_vendor = "apple") { 0 } else { libc::MSG_NOSIGNAL };
