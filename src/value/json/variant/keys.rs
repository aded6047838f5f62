//! The dictionary of a document's keys: each key once, sorted. Fields refer to their keys by the
//! index in the dictionary.

use super::super::budget::Budget;
use super::super::container::Container;
use super::super::{Kind, Value};
use super::{int_bytes, order, push_int};
use crate::error::DecodeError;
use crate::wire::Result;

/// The keys of a document, and the dictionary of them.
#[derive(Debug)]
pub(super) struct Dictionary {
    /// The keys of all objects in the order of the walk, each after its length.
    found: Vec<u8>,
    /// The `found` keys of the document for which the fields below were calculated.
    known: Vec<u8>,
    /// The start and the length of each key of `known`.
    keys: Vec<(u32, u16)>,
    /// The numbers of these keys, in the order of the keys.
    sorted: Vec<u32>,
    /// For each key of `known`, its index in the dictionary.
    ids: Vec<u32>,
    /// The number of keys in the dictionary.
    count: u32,
    metadata: Vec<u8>,
}

impl Default for Dictionary {
    fn default() -> Self {
        Self {
            found: Vec::new(),
            known: Vec::new(),
            keys: Vec::new(),
            sorted: Vec::new(),
            ids: Vec::new(),
            count: 0,
            metadata: vec![VERSION | SORTED, 0, 0],
        }
    }
}

impl Dictionary {
    /// Removes the keys that were found.
    pub(super) fn begin(&mut self) {
        self.found.clear();
    }

    /// Adds a key.
    pub(super) fn add_key(&mut self, key: &[u8]) {
        push_key(&mut self.found, key);
    }

    /// Walks through the containers of a document and adds their keys. Returns the number of bytes
    /// of the keys of all fields; a key that occurs several times is counted each time.
    pub(super) fn add_document(&mut self, root: Value<'_>, document_bytes: usize) -> Result<usize> {
        let mut walk =
            Walk { found: &mut self.found, key_bytes: 0, budget: Budget::new(document_bytes) };
        walk.value(root, 0)?;
        Ok(walk.key_bytes)
    }

    /// Creates the dictionary of the keys that were found.
    pub(super) fn finish(&mut self) -> Result<()> {
        if self.found == self.known {
            return Ok(());
        }
        // An incomplete dictionary must not be reused for the next document.
        self.rebuild().inspect_err(|_| *self = Self::default())
    }

    /// The encoded dictionary.
    pub(super) fn metadata(&self) -> &[u8] {
        &self.metadata
    }

    /// The index of each field's key, in the order of a walk through the document.
    pub(super) fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The number of bytes that are enough for each index.
    pub(super) const fn id_bytes(&self) -> usize {
        int_bytes(self.count.saturating_sub(1))
    }

    fn rebuild(&mut self) -> Result<()> {
        self.metadata.clear();
        self.ids.clear();
        self.split()?;
        let Self { found, keys, sorted, ids, .. } = self;
        let key = |number: &u32| key_of(found, keys, *number);
        sorted.clear();
        sorted.extend(0..keys.len() as u32);
        sorted.sort_unstable_by(|one, other| order::by_utf16(key(one), key(other)));
        ids.resize(keys.len(), 0);
        let mut count = 0;
        let mut bytes = 0;
        let mut before: Option<&[u8]> = None;
        let mut in_byte_order = true;
        // Afterwards, `sorted` contains one number for each distinct key.
        sorted.retain(|number| {
            let this = key(number);
            let is_new = before != Some(this);
            if is_new {
                in_byte_order &= before < Some(this);
                before = Some(this);
                count += 1;
                bytes += this.len();
            }
            if let Some(id) = ids.get_mut(*number as usize) {
                *id = count - 1;
            }
            is_new
        });
        self.count = count;
        self.write_metadata(bytes, in_byte_order)?;
        std::mem::swap(&mut self.found, &mut self.known);
        Ok(())
    }

    /// Splits `found` into keys and checks that they are text.
    fn split(&mut self) -> Result<()> {
        self.keys.clear();
        let mut rest = self.found.as_slice();
        let mut start = 0;
        while let Some((length, after)) = rest.split_first_chunk() {
            let length = u16::from_le_bytes(*length);
            let (key, after) = after.split_at_checked(usize::from(length)).unwrap_or_default();
            if simdutf8::basic::from_utf8(key).is_err() {
                return Err(DecodeError::Text {
                    what: "key in a JSON document",
                    charset: "utf8mb4",
                });
            }
            self.keys.push((start + LENGTH_BYTES, length));
            start = start.checked_add(LENGTH_BYTES + u32::from(length)).ok_or_else(too_long)?;
            rest = after;
        }
        Ok(())
    }

    fn write_metadata(&mut self, bytes: usize, in_byte_order: bool) -> Result<()> {
        let Self { found: document, keys, sorted, metadata: out, count, .. } = self;
        let bytes = u32::try_from(bytes).map_err(|_| too_long())?;
        let offset_bytes = int_bytes(bytes.max(*count));
        let sorted_flag = if in_byte_order { SORTED } else { 0 };
        out.push(VERSION | sorted_flag | ((offset_bytes - 1) as u8) << 6);
        push_int(out, *count, offset_bytes);
        let mut offset = 0;
        push_int(out, offset, offset_bytes);
        for number in &*sorted {
            offset += key_of(document, keys, *number).len() as u32;
            push_int(out, offset, offset_bytes);
        }
        for number in &*sorted {
            out.extend_from_slice(key_of(document, keys, *number));
        }
        Ok(())
    }
}

/// Keys come from documents and from tables: the length of each fits in 16 bits.
fn push_key(found: &mut Vec<u8>, key: &[u8]) {
    found.extend_from_slice(&(key.len() as u16).to_le_bytes());
    found.extend_from_slice(key);
}

fn too_long() -> DecodeError {
    let limit = u64::from(u32::MAX);
    DecodeError::Limit { what: "bytes of the keys of a JSON document", value: limit + 1, limit }
}

/// Returns the key with this number, from the bytes of all keys.
#[inline]
fn key_of<'k>(bytes: &'k [u8], keys: &[(u32, u16)], number: u32) -> &'k [u8] {
    keys.get(number as usize)
        .and_then(|(start, length)| bytes.get(*start as usize..)?.get(..usize::from(*length)))
        .unwrap_or_default()
}

/// Walks through the fields in the order in which they are written.
struct Walk<'o> {
    found: &'o mut Vec<u8>,
    key_bytes: usize,
    budget: Budget,
}

impl Walk<'_> {
    fn value(&mut self, value: Value<'_>, depth: usize) -> Result<()> {
        match value.kind {
            Kind::Object(width) => {
                let mut object = Container::object(value.bytes, width, &mut self.budget, depth)?;
                while let Some(key) = object.next_key(&mut self.budget)? {
                    push_key(self.found, key);
                    self.key_bytes += key.len();
                    if let Some(value) = object.next_value()? {
                        self.value(value, depth + 1)?;
                    }
                }
                Ok(())
            }
            Kind::Array(width) => {
                let mut array = Container::array(value.bytes, width, &mut self.budget, depth)?;
                while let Some(value) = array.next_value()? {
                    self.value(value, depth + 1)?;
                }
                Ok(())
            }
            // Scalars are read when they are written.
            Kind::Scalar(_) => Ok(()),
        }
    }
}

/// The number of bytes of the length before each key in `found`.
const LENGTH_BYTES: u32 = 2;

/// The only version of the encoding.
const VERSION: u8 = 1;

/// This bit means that the keys are sorted by their bytes.
const SORTED: u8 = 0x10;
