//! Objects and arrays: a header of counts and entries, then the contents of the entries.
//!
//! ```text
//! count w | size w | count × key entry | count × value entry | keys and values
//!                    objects only
//!
//! key entry      offset w, length u16
//! value entry    type u8, w bytes: the offset, or the value itself where it fits
//! ```
//!
//! `w` is 2 in small containers and 4 in large ones. Offsets count from the first byte of `count`. Partial updates leave
//! gaps and put values in any order, so only the offsets determine the place of a value.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/json__binary_8h.html>

use super::budget::Budget;
use super::{Kind, Scalar, Value, Width};
use crate::error::DecodeError;
use crate::limits::MAX_JSON_DEPTH;
use crate::wire::{Reader, Result};

/// An open container: its bytes up to its size, and cursors over its entries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Container<'a> {
    bytes: &'a [u8],
    pub(super) width: Width,
    header_bytes: usize,
    pub(super) key_entries: Reader<'a>,
    pub(super) value_entries: Reader<'a>,
}

impl<'a> Container<'a> {
    /// Reads the header of an object that is nested in `depth` containers.
    #[inline(always)] // the container then remains in registers
    pub(super) fn object(
        bytes: &'a [u8],
        width: Width,
        budget: &mut Budget,
        depth: usize,
    ) -> Result<Self> {
        Self::open(bytes, width, width.bytes() + KEY_LENGTH_BYTES, budget, depth)
    }

    /// Reads the header of an array that is nested in `depth` containers.
    #[inline(always)] // as above
    pub(super) fn array(
        bytes: &'a [u8],
        width: Width,
        budget: &mut Budget,
        depth: usize,
    ) -> Result<Self> {
        Self::open(bytes, width, 0, budget, depth)
    }

    #[inline(always)] // the callers know the width of their entries
    fn open(
        bytes: &'a [u8],
        width: Width,
        key_entry_bytes: usize,
        budget: &mut Budget,
        depth: usize,
    ) -> Result<Self> {
        match Self::open_small(bytes, key_entry_bytes) {
            Some(container) if width == Width::Small && depth < MAX_JSON_DEPTH => {
                budget.spend(container.header_bytes)?;
                Ok(container)
            }
            _ => Self::open_any(bytes, width, key_entry_bytes, budget, depth),
        }
    }

    /// Reads the header of a small container. `None` if it is incomplete.
    #[inline(always)]
    fn open_small(bytes: &'a [u8], key_entry_bytes: usize) -> Option<Self> {
        let [count_low, count_high, size_low, size_high] = *bytes.first_chunk()?;
        let count = usize::from(u16::from_le_bytes([count_low, count_high]));
        let bytes = bytes.get(..usize::from(u16::from_le_bytes([size_low, size_high])))?;
        let entries = bytes.get(2 * Width::Small.bytes()..)?;
        let (key_entries, rest) = entries.split_at_checked(count * key_entry_bytes)?;
        let (value_entries, rest) = rest.split_at_checked(count * SMALL_ENTRY_BYTES)?;
        Some(Self {
            bytes,
            width: Width::Small,
            header_bytes: bytes.len() - rest.len(),
            key_entries: Reader::new(key_entries),
            value_entries: Reader::new(value_entries),
        })
    }

    /// [`Self::open`] for any container, and for errors.
    #[inline(never)]
    fn open_any(
        bytes: &'a [u8],
        width: Width,
        key_entry_bytes: usize,
        budget: &mut Budget,
        depth: usize,
    ) -> Result<Self> {
        if depth >= MAX_JSON_DEPTH {
            return Err(DecodeError::Limit {
                what: "depth of a JSON document",
                value: depth as u64 + 1,
                limit: MAX_JSON_DEPTH as u64,
            });
        }
        let offset_bytes = width.bytes();
        let mut reader = Reader::new(bytes);
        let count = width.read(&mut reader, "JSON member count")?;
        let size = width.read(&mut reader, "JSON container size")?;
        let bytes = Reader::new(bytes).take(size, "JSON container")?;
        let mut header = Reader::new(bytes);
        header.take(2 * offset_bytes, "JSON container header")?;
        let key_entries = header.sub(count.saturating_mul(key_entry_bytes), "JSON key entries")?;
        let value_entries =
            header.sub(count.saturating_mul(1 + offset_bytes), "JSON value entries")?;
        let header_bytes = size - header.left();
        budget.spend(header_bytes)?;
        Ok(Self { bytes, width, header_bytes, key_entries, value_entries })
    }

    /// The number of members that are not read yet.
    pub(super) const fn len(&self) -> usize {
        self.value_entries.left() / (1 + self.width.bytes())
    }

    /// The number of bytes of the header and of everything that an offset can refer to.
    pub(super) const fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the next key of an object, which may be invalid UTF-8; `None` after the last.
    #[inline]
    pub(super) fn next_key(&mut self, budget: &mut Budget) -> Result<Option<&'a [u8]>> {
        if self.key_entries.is_empty() {
            return Ok(None);
        }
        let key = self.read_key()?;
        budget.spend(key.len())?;
        Ok(Some(key))
    }

    /// Returns the key of the next entry, without subtracting it from the budget.
    #[inline]
    pub(super) fn read_key(&mut self) -> Result<&'a [u8]> {
        self.read_place().map(|(_, key)| key)
    }

    /// Returns the next key with its offset; `None` after the last. The key is not subtracted from the budget.
    pub(super) fn next_place(&mut self) -> Result<Option<(usize, &'a [u8])>> {
        match self.key_entries.is_empty() {
            true => Ok(None),
            false => self.read_place().map(Some),
        }
    }

    #[inline]
    fn read_place(&mut self) -> Result<(usize, &'a [u8])> {
        let offset = self.width.read(&mut self.key_entries, "JSON key offset")?;
        let length = usize::from(self.key_entries.u16("JSON key length")?);
        let bytes = self.at_offset(offset, "JSON key offset")?;
        Ok((offset, Reader::new(bytes).take(length, "JSON key")?))
    }

    /// The entries of the values of a small container, from the next one on. `None` for a large container.
    #[inline(always)]
    pub(super) fn small_entries(&self) -> Option<&'a [[u8; SMALL_ENTRY_BYTES]]> {
        (self.width == Width::Small).then(|| self.value_entries.as_slice().as_chunks().0)
    }

    /// Returns the bytes at the offset that an entry of [`Self::small_entries`] contains.
    #[inline(always)]
    pub(super) fn at_entry(&self, offset: [u8; 2]) -> Result<&'a [u8]> {
        self.at_offset(usize::from(u16::from_le_bytes(offset)), "JSON value offset")
    }

    /// Returns `len` bytes at an offset, which may be in the header.
    #[inline]
    pub(super) fn part(&self, offset: usize, len: usize) -> Option<&'a [u8]> {
        self.bytes.get(offset..)?.get(..len)
    }

    /// Returns the value of the next member; `None` after the last.
    #[inline]
    pub(super) fn next_value(&mut self) -> Result<Option<Value<'a>>> {
        if self.value_entries.is_empty() {
            return Ok(None);
        }
        let kind = self.value_entries.u8("JSON value type")?;
        let entry = self.value_entries.sub(self.width.bytes(), "JSON value entry")?;
        self.value(kind, entry).map(Some)
    }

    /// Returns the value of an entry: its type and its other bytes.
    pub(super) fn value(&self, kind: u8, mut entry: Reader<'a>) -> Result<Value<'a>> {
        let kind = Kind::from_code(kind)?;
        match kind {
            Kind::Scalar(scalar) if self.width.inlines(scalar) => {
                Ok(Value { kind, bytes: entry.rest(), is_inlined: true })
            }
            Kind::Object(Width::Large) | Kind::Array(Width::Large)
                if self.width == Width::Small =>
            {
                Err(DecodeError::Invalid {
                    what: "large JSON container in a small one, its type",
                    value: if kind == Kind::Object(Width::Large) { 1 } else { 3 },
                })
            }
            _ => {
                let offset = self.width.read(&mut entry, "JSON value offset")?;
                let bytes = self.at_offset(offset, "JSON value offset")?;
                Ok(Value { kind, bytes, is_inlined: false })
            }
        }
    }

    /// Returns the container's bytes from an offset on. The offset must not point into the header.
    #[inline(always)]
    fn at_offset(&self, offset: usize, what: &'static str) -> Result<&'a [u8]> {
        match self.bytes.get(offset..) {
            Some(bytes) if offset >= self.header_bytes => Ok(bytes),
            _ => Err(DecodeError::Invalid { what, value: offset as u64 }),
        }
    }
}

impl Width {
    /// The number of bytes of a count, size or offset.
    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::Small => 2,
            Self::Large => 4,
        }
    }

    #[inline]
    pub(super) fn read(self, reader: &mut Reader<'_>, what: &'static str) -> Result<usize> {
        Ok(match self {
            Self::Small => usize::from(reader.u16(what)?),
            Self::Large => reader.u32(what)? as usize,
        })
    }

    /// True if a value of this type is contained in the entry itself.
    pub(super) const fn inlines(self, scalar: Scalar) -> bool {
        match scalar {
            Scalar::Literal | Scalar::I16 | Scalar::U16 => true,
            Scalar::I32 | Scalar::U32 => matches!(self, Self::Large),
            _ => false,
        }
    }
}

/// The number of bytes of a key entry in addition to the offset.
pub(super) const KEY_LENGTH_BYTES: usize = 2;

/// The number of bytes of a value entry in a small container.
pub(super) const SMALL_ENTRY_BYTES: usize = 3;
