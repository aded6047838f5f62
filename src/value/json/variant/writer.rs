//! Writes values: a header with offsets, then the members one after another.
//!
//! ```text
//! object   header | count | count × id | count + 1 × offset | values       ids in the order of their keys
//! array    header | count | count + 1 × offset | values
//!
//! count    1 byte, or 4 in containers of more than 255 members
//! ```

use super::super::budget::Budget;
use super::super::container::Container;
use super::super::{Kind, Value};
use super::{Field, int_bytes, primitive};
use crate::error::DecodeError;
use crate::wire::Result;

/// Writes the values during the second walk through the document.
pub(super) struct Writer<'o, 'd> {
    pub(super) out: &'o mut Vec<u8>,
    pub(super) budget: Budget,
    /// The indexes of the keys that follow.
    pub(super) ids: std::slice::Iter<'d, u32>,
    pub(super) id_bytes: usize,
    /// The members of the containers that are open, the innermost last.
    pub(super) fields: &'o mut Vec<Field>,
}

impl Writer<'_, '_> {
    /// Writes a value that is nested in `depth` containers.
    pub(super) fn value(&mut self, value: Value<'_>, depth: usize) -> Result<()> {
        match value.kind {
            Kind::Object(width) => {
                let object = Container::object(value.bytes, width, &mut self.budget, depth)?;
                self.container(object, Shape::Object { id_bytes: self.id_bytes }, depth)
            }
            Kind::Array(width) => {
                let array = Container::array(value.bytes, width, &mut self.budget, depth)?;
                self.container(array, Shape::Array, depth)
            }
            Kind::Scalar(scalar) => {
                let scalar = value.scalar(scalar, &mut self.budget)?;
                primitive::write(scalar, self.out)
            }
        }
    }

    fn container(
        &mut self,
        mut container: Container<'_>,
        shape: Shape,
        depth: usize,
    ) -> Result<()> {
        let first_field = self.fields.len();
        // The values will be about as long as in the document. If this estimate is wrong, they are
        // moved.
        let open = Open::new(shape, container.len(), container.size(), self.out);
        while let Some(value) = container.next_value()? {
            let id = match shape {
                Shape::Object { .. } => self.ids.next().copied().unwrap_or_default(),
                Shape::Array => 0,
            };
            self.fields.push(Field { id, offset: open.offset(self.out)? });
            self.value(value, depth + 1)?;
        }
        open.close(self.fields.get_mut(first_field..).unwrap_or_default(), self.out)?;
        self.fields.truncate(first_field);
        Ok(())
    }
}

/// A container whose values are being written, after the space that is reserved for its header.
pub(super) struct Open {
    start: usize,
    values: usize,
    guess: Header,
}

impl Open {
    /// Reserves the space for `count` values with a total of about `size` bytes.
    pub(super) fn new(shape: Shape, count: usize, size: usize, out: &mut Vec<u8>) -> Self {
        let offset_bytes = int_bytes(u32::try_from(size).unwrap_or(u32::MAX));
        let guess = Header { shape, count, offset_bytes };
        let start = out.len();
        let values = start + guess.bytes();
        out.resize(values, 0);
        Self { start, values, guess }
    }

    /// The offset of the next value.
    pub(super) fn offset(&self, out: &[u8]) -> Result<u32> {
        check_size(out.len() - self.values)
    }

    /// Writes the header, after the last value was written.
    pub(super) fn close(self, fields: &mut [Field], out: &mut Vec<u8>) -> Result<()> {
        let Self { start, values, guess } = self;
        let size = check_size(out.len() - values)?;
        let header = Header { offset_bytes: int_bytes(size), ..guess };
        make_room(out, values, start + header.bytes());
        if let Shape::Object { .. } = header.shape {
            sort(fields)?;
        }
        if let Some(place) = out.get_mut(start..start + header.bytes()) {
            header.write(fields, size, place);
        }
        Ok(())
    }
}

/// Moves the bytes from `from` on so that they begin at `to`.
fn make_room(out: &mut Vec<u8>, from: usize, to: usize) {
    let end = out.len();
    if to > from {
        out.resize(end + (to - from), 0);
    }
    if to != from {
        out.copy_within(from..end, to);
        out.truncate(end - from + to);
    }
}

/// Sorts the fields of an object by their keys. Each key occurs once.
fn sort(fields: &mut [Field]) -> Result<()> {
    fields.sort_unstable_by_key(|field| field.id);
    let is_twice = fields.iter().zip(fields.iter().skip(1)).any(|(one, next)| one.id == next.id);
    if is_twice {
        return Err(DecodeError::Invalid {
            what: "JSON object with the same key twice, its number of members",
            value: fields.len() as u64,
        });
    }
    Ok(())
}

fn check_size(bytes: usize) -> Result<u32> {
    u32::try_from(bytes).map_err(|_| DecodeError::Limit {
        what: "bytes of a JSON container as a variant",
        value: bytes as u64,
        limit: u64::from(u32::MAX),
    })
}

/// The kind of a container.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// Its members have keys; the indexes of keys have this number of bytes.
    Object {
        /// 1 to 4.
        id_bytes: usize,
    },
    /// Its members have no keys.
    Array,
}

/// The bytes before a container's values.
#[derive(Debug, Clone, Copy)]
struct Header {
    shape: Shape,
    count: usize,
    offset_bytes: usize,
}

impl Header {
    const fn id_bytes(self) -> usize {
        match self.shape {
            Shape::Object { id_bytes } => id_bytes,
            Shape::Array => 0,
        }
    }

    const fn is_large(self) -> bool {
        self.count > 0xff
    }

    const fn bytes(self) -> usize {
        let count_bytes = if self.is_large() { 4 } else { 1 };
        1 + count_bytes + self.count * self.id_bytes() + (self.count + 1) * self.offset_bytes
    }

    /// Writes the bytes of the header.
    fn write(self, fields: &[Field], size: u32, place: &mut [u8]) {
        let is_large = u8::from(self.is_large());
        let offsets = (self.offset_bytes - 1) as u8;
        let kind = match self.shape {
            Shape::Object { id_bytes } => {
                OBJECT | offsets << 2 | ((id_bytes - 1) as u8) << 4 | is_large << 6
            }
            Shape::Array => ARRAY | offsets << 2 | is_large << 4,
        };
        let mut place = Slot(place);
        place.put(u32::from(kind), 1);
        place.put(self.count as u32, if self.is_large() { 4 } else { 1 });
        if let Shape::Object { id_bytes } = self.shape {
            for field in fields {
                place.put(field.id, id_bytes);
            }
        }
        for field in fields {
            place.put(field.offset, self.offset_bytes);
        }
        place.put(size, self.offset_bytes);
    }
}

/// Bytes that are filled from the front.
struct Slot<'o>(&'o mut [u8]);

impl Slot<'_> {
    #[inline]
    fn put(&mut self, number: u32, bytes: usize) {
        if let Some((head, tail)) = std::mem::take(&mut self.0).split_at_mut_checked(bytes) {
            for (byte, part) in head.iter_mut().zip(number.to_le_bytes()) {
                *byte = part;
            }
            self.0 = tail;
        }
    }
}

const OBJECT: u8 = 2;
const ARRAY: u8 = 3;
