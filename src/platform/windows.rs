//! Windows.

use socket2::Socket;
use std::fs::{File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::windows::fs::FileExt;
use std::path::Path;

/// Reads bytes of a file at `offset`; fewer than the buffer has, if the system has fewer. 0 is the end. The file's own position
/// moves, which no caller uses.
pub fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(buffer, offset)
}

/// Reads as many bytes of a file as the buffer has, at `offset`.
pub fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match file.seek_read(buffer, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                buffer = buffer.get_mut(count..).unwrap_or_default();
                offset += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The descriptor of an open file, from which the system can copy to another file. Windows has none.
pub fn file_number(_file: &File) -> Option<i32> {
    None
}

/// Writes all bytes to a file at `offset`.
pub fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_write(bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => {
                bytes = bytes.get(count..).unwrap_or_default();
                offset += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Does nothing: a new file has the access rights of its folder.
pub fn for_owner_alone(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Returns an error: servers on Windows have no Unix sockets.
pub fn connect_unix(_path: &Path) -> io::Result<Socket> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "Windows has no Unix sockets: connect to the host and port",
    ))
}

/// True if bytes can be read from a socket without waiting.
pub fn has_bytes(socket: &Socket) -> bool {
    let mut byte = [MaybeUninit::uninit()];
    if socket.set_nonblocking(true).is_err() {
        return false;
    }
    let has_bytes = socket.peek(&mut byte).is_ok_and(|count| count > 0);
    // If this fails, the next read reports the error.
    socket.set_nonblocking(false).is_ok() && has_bytes
}

/// Sends bytes, and returns their number.
pub fn send(socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
    socket.send(bytes)
}

/// Returns the name of this machine.
pub fn host_name() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}
