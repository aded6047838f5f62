//! Shapes: the keys of objects that were printed before. Most documents of a column have the same keys at the same offsets. So
//! all keys of an object are compared at once with the keys of an earlier object, and if they are equal, their text is copied.

use super::container::Container;
use super::{Width, escape};
use crate::value::block;

/// The shapes that are known, by a hash of their keys.
#[derive(Debug)]
pub(super) struct Shapes {
    slots: Vec<Option<Shape>>,
    /// The number of shapes that may be added before a known one is found. This limits the work for documents whose keys always
    /// differ.
    credit: u32,
}

/// The shape of an object: its keys, with their text.
#[derive(Debug)]
pub(super) struct Shape {
    /// The entries of the keys: their offsets and lengths.
    entries: Box<[u8]>,
    /// The offset of the first key.
    start: usize,
    /// The keys, one after another.
    keys: Box<[u8]>,
    pub(super) texts: Box<[KeyText]>,
}

/// The text of a key, with its quotes, and with the punctuation before and after it.
#[derive(Debug)]
pub(super) struct KeyText {
    /// The text, if it is short: a copy of a constant length needs no function call.
    short: [u8; SHORT],
    len: usize,
    /// The text, if it is longer.
    long: Box<[u8]>,
}

impl Shapes {
    /// Returns an empty set, to which no shapes are added.
    pub(super) const fn none() -> Self {
        Self { slots: Vec::new(), credit: 0 }
    }

    /// Returns an empty set.
    pub(super) fn new() -> Self {
        Self { slots: Vec::new(), credit: MAX_CREDIT }
    }

    /// The shape of an object, if it is known.
    #[inline]
    pub(super) fn find(&self, object: &Container<'_>) -> Option<&Shape> {
        let shape = self.slots.get(slot_of(object.key_entries.as_slice())?)?.as_ref()?;
        shape.is_of(object).then_some(shape)
    }

    /// Ends a document in which `found` shapes were found. `missed` is one of its objects whose shape is not known.
    #[inline]
    pub(super) fn end_document(&mut self, found: u32, missed: Option<Container<'_>>) {
        self.credit = self.credit.saturating_add(found).min(MAX_CREDIT);
        if let Some(object) = missed {
            self.add(&object);
        }
    }

    #[cold]
    fn add(&mut self, object: &Container<'_>) {
        let slot = slot_of(object.key_entries.as_slice());
        if let Some(slot) = slot.filter(|_| self.credit > 0)
            && let Some(shape) = Shape::of(object)
        {
            self.credit -= 1;
            self.slots.resize_with(SLOTS, || None);
            if let Some(place) = self.slots.get_mut(slot) {
                *place = Some(shape);
            }
        }
    }
}

impl Shape {
    /// The shape of a small object. `None` if it has too many keys, or if they are too long or not stored one after another.
    fn of(object: &Container<'_>) -> Option<Self> {
        if object.width != Width::Small || object.len() > MAX_KEYS {
            return None;
        }
        let mut rest = *object;
        let (mut keys, mut texts, mut start) = (Vec::new(), Vec::new(), None);
        while let Some((offset, key)) = rest.next_place().ok()? {
            if offset != *start.get_or_insert(offset) + keys.len() || keys.len() > MAX_KEY_BYTES {
                return None;
            }
            keys.extend_from_slice(key);
            texts.push(KeyText::of(key, texts.is_empty()));
        }
        Some(Self {
            entries: object.key_entries.as_slice().into(),
            start: start?,
            keys: keys.into(),
            texts: texts.into(),
        })
    }

    /// True if an object has the same keys at the same offsets. The offsets are then correct, because its header is as long as
    /// that of the first one.
    #[inline]
    fn is_of(&self, object: &Container<'_>) -> bool {
        object.width == Width::Small
            && is_same(object.key_entries.as_slice(), &self.entries)
            && object
                .part(self.start, self.keys.len())
                .is_some_and(|keys| is_same(keys, &self.keys))
    }

    /// The number of bytes of all keys.
    #[inline]
    pub(super) fn key_bytes(&self) -> usize {
        self.keys.len()
    }
}

impl KeyText {
    fn of(key: &[u8], is_first: bool) -> Self {
        let mut text = if is_first { b"{\"".to_vec() } else { b", \"".to_vec() };
        escape::write(key, &mut text);
        text.extend_from_slice(b"\": ");
        let (mut short, len) = ([0; SHORT], text.len());
        match short.get_mut(..len) {
            Some(place) => {
                place.copy_from_slice(&text);
                Self { short, len, long: Box::default() }
            }
            None => Self { short, len, long: text.into() },
        }
    }

    /// Appends the text.
    #[inline(always)]
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self.len > SHORT {
            true => self.write_long(out),
            false => block::push(out, &self.short, self.len),
        }
    }

    #[cold]
    #[inline(never)]
    fn write_long(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.long);
    }
}

/// True if the bytes are the same. A comparison of a constant number of bytes needs no function call.
#[inline(always)]
fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let are_same = match one.len() {
        8..=16 => ends::<8>(one).zip(ends(other)).map(|(one, other)| one == other),
        17..=32 => ends::<16>(one).zip(ends(other)).map(|(one, other)| one == other),
        _ => None,
    };
    are_same.unwrap_or_else(|| one == other)
}

/// The first and the last bytes, which may overlap. `None` if there are too few.
#[inline(always)]
fn ends<const N: usize>(bytes: &[u8]) -> Option<([u8; N], [u8; N])> {
    Some((*bytes.first_chunk()?, *bytes.last_chunk()?))
}

/// The slot of an object whose keys have these entries. `None` if it has no keys.
#[inline]
fn slot_of(entries: &[u8]) -> Option<usize> {
    // The offset and the length of the last key. They depend on the other keys.
    let last = u32::from_le_bytes(*entries.last_chunk()?);
    Some((last.wrapping_mul(0x9e37_79b1) >> (32 - SLOT_BITS)) as usize)
}

const SLOT_BITS: u32 = 5;
const SLOTS: usize = 1 << SLOT_BITS;
const SHORT: usize = 24;
const MAX_KEYS: usize = 256;
const MAX_KEY_BYTES: usize = 4096;
const MAX_CREDIT: u32 = 256;
