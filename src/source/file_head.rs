//! The head of a file: its first bytes, which show the kind of the file, and its format description.

use super::classify::no_format;
use super::event_source::{Event, NextEvent};
use super::input::Input;
use super::window::Window;
use crate::binlog::{
    ChecksumAlgorithm, ENCRYPTED_MAGIC, EventType, FIRST_EVENT_AT, FormatDescription, MAGIC,
};
use crate::error::{Error, Result};

/// Moves past the magic bytes of a binary log; the window is then at the first event.
pub(crate) fn check_magic(window: &mut Window, input: &mut dyn Input) -> Result<()> {
    let magic = window.magic(input)?;
    let error = match magic {
        MAGIC => return Ok(()),
        ENCRYPTED_MAGIC => Error::unsupported(
            "the file is encrypted (binlog_encryption=ON): read it from the server, which decrypts it, \
             or copy it with mysqlbinlog --read-from-remote-server --raw",
        ),
        _ if window.offset() == 0 => Error::malformed("the file is empty"),
        _ if window.offset() < FIRST_EVENT_AT => Error::malformed(
            "not a binary log, or truncated: the file ends inside its first 4 bytes",
        ),
        _ => Error::malformed(match packer(magic) {
            Some(packer) => format!(
                "the file is compressed with {packer}: decompress it first, or pass the output of {packer} -dc as a stream"
            ),
            None => "not a binary log: the file does not start with fe 62 69 6e".into(),
        }),
    };
    Err(error.at_event(0, "file header"))
}

/// Moves past the format description, which must be the first event. Also returns the time at which
/// the file was created, in seconds since 1970 UTC.
pub(crate) fn read_format(
    window: &mut Window,
    first: NextEvent,
    verify_checksum: bool,
) -> Result<(FormatDescription, u32)> {
    let NextEvent::Event(Event { header, len, .. }) = first else {
        return Err(Error::malformed("the file ends before its format description")
            .at_event(window.offset(), EventType::FORMAT_DESCRIPTION.name()));
    };
    let offset = window.offset();
    let located = |error: Error| error.at_event(offset, header.event_type.name());
    if header.event_type != EventType::FORMAT_DESCRIPTION {
        return Err(located(no_format(header.event_type)));
    }
    let event = window.event(len);
    let format = FormatDescription::decode(event).map_err(|error| located(error.into()))?;
    // Without this check, damage to the format description could turn off the checksums of the
    // other events.
    if verify_checksum && format.has_checksum {
        ChecksumAlgorithm::Crc32.check(event).map_err(located)?;
    }
    window.advance(len);
    Ok((format, header.timestamp))
}

/// The program that compressed a file, by the file's first bytes.
const fn packer(magic: [u8; 4]) -> Option<&'static str> {
    Some(match magic {
        // The log in a compressed file that is compressed again.
        [0x1f, 0x8b, ..] => "gzip",
        [0x28, 0xb5, 0x2f, 0xfd] => "zstd",
        [0xfd, b'7', b'z', b'X'] => "xz",
        [b'B', b'Z', b'h', _] => "bzip2",
        [0x04, 0x22, 0x4d, 0x18] => "lz4",
        _ => return None,
    })
}
