//! A file's first bytes, which say what kind of file it is.

use super::window::Window;
use crate::binlog::{ENCRYPTED_MAGIC, FIRST_EVENT_AT, MAGIC};
use crate::error::{Error, Result};

/// Passes the magic bytes of a binary log; the window stands at the first event then.
pub(crate) fn check_magic(window: &mut Window) -> Result<()> {
    let magic = window.magic()?;
    let error = match magic {
        MAGIC => return Ok(()),
        ENCRYPTED_MAGIC => Error::unsupported(
            "the file is encrypted (binlog_encryption=ON): read it from the server, which decrypts it, \
             or copy it with mysqlbinlog --read-from-remote-server --raw",
        ),
        _ if window.offset() == 0 => Error::malformed("the file is empty"),
        _ if window.offset() < FIRST_EVENT_AT => {
            Error::malformed("not a binary log, or cut: the file ends inside its first 4 bytes")
        }
        _ => Error::malformed(match packer(magic) {
            Some(packer) => format!(
                "the file is compressed with {packer}: decompress it first, or give the stream that {packer} -dc writes"
            ),
            None => "not a binary log: the file does not start with fe 62 69 6e".into(),
        }),
    };
    Err(error.at_event(0, "file header"))
}

/// The program that packed a file, by the file's first bytes.
const fn packer(magic: [u8; 4]) -> Option<&'static str> {
    Some(match magic {
        [0x1f, 0x8b, ..] => "gzip",
        [0x28, 0xb5, 0x2f, 0xfd] => "zstd",
        [0xfd, b'7', b'z', b'X'] => "xz",
        [b'B', b'Z', b'h', _] => "bzip2",
        [0x04, 0x22, 0x4d, 0x18] => "lz4",
        _ => return None,
    })
}
