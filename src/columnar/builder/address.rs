//! MariaDB's UUID, INET4 and INET6 as text.

use super::length::CellLength;
use super::var_len::VarLenCell;
use crate::error::DecodeError;
use crate::value::{inet, uuid};
use crate::wire::{Reader, Result};

pub(super) struct UuidText;

impl VarLenCell for UuidText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        uuid::write_text(cell(image)?, out);
        Ok(())
    }
}

pub(super) struct Inet4Text;

impl VarLenCell for Inet4Text {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        inet::write_inet4(cell(image)?, out);
        Ok(())
    }
}

pub(super) struct Inet6Text;

impl VarLenCell for Inet6Text {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        inet::write_inet6(cell(image)?, out);
        Ok(())
    }
}

/// Reads a cell of BINARY(N). The server removes zeros at its end.
fn cell<const N: usize>(image: &mut Reader<'_>) -> Result<[u8; N]> {
    let stored = CellLength::declared(N as u16).cell(image)?;
    let mut bytes = [0; N];
    match bytes.get_mut(..stored.len()) {
        Some(head) => head.copy_from_slice(stored),
        None => {
            return Err(DecodeError::Limit {
                what: "cell length",
                value: stored.len() as u64,
                limit: N as u64,
            });
        }
    }
    Ok(bytes)
}
