//! The parts of a document to which diffs are applied: values, and opened containers with their changes.

use super::container::{Container, KEY_LENGTH_BYTES};
use super::scalar::variable;
use super::{Kind, Scalar, Value};
use crate::error::DecodeError;
use crate::wire::{Reader, Result};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The number of a node.
pub(super) type NodeId = usize;

/// A value of the document, opened as far as the diffs need it.
#[derive(Debug)]
pub(super) enum Node<'a> {
    Value(Value<'a>),
    /// An object whose members may have changed: a node replaces the member; `None` means that the
    /// member is removed.
    Object {
        source: Entries<'a>,
        changes: BTreeMap<Key<'a>, Option<NodeId>>,
    },
    Array {
        source: Entries<'a>,
        cells: Vec<Cell>,
    },
}

/// A cell of an opened array.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cell {
    /// The entry of the source with this number.
    Source(u32),
    Node(u32),
}

impl Cell {
    pub(super) fn of_node(id: NodeId) -> Result<Self> {
        u32::try_from(id).map(Self::Node).map_err(|_| DecodeError::Limit {
            what: "values that JSON diffs touch",
            value: id as u64,
            limit: u64::from(u32::MAX),
        })
    }
}

impl Value<'_> {
    /// Removes the bytes that follow the value.
    pub(super) fn cut(mut self) -> Result<Self> {
        let mut reader = Reader::new(self.bytes);
        let len = match self.kind {
            Kind::Object(width) | Kind::Array(width) => {
                width.read(&mut reader, "JSON member count")?;
                let size = width.read(&mut reader, "JSON container size")?;
                let mut container = Reader::new(self.bytes).sub(size, "JSON container")?;
                container.take(2 * width.bytes(), "JSON container header")?;
                size
            }
            Kind::Scalar(scalar) => {
                match scalar {
                    Scalar::Literal => reader.take(1, "JSON literal")?,
                    Scalar::I16 | Scalar::U16 => reader.take(2, "JSON number")?,
                    Scalar::I32 | Scalar::U32 => reader.take(4, "JSON number")?,
                    Scalar::I64 | Scalar::U64 | Scalar::Double => reader.take(8, "JSON number")?,
                    Scalar::String => variable(&mut reader, "JSON string")?,
                    Scalar::Opaque => {
                        reader.u8("JSON opaque type")?;
                        variable(&mut reader, "JSON opaque value")?
                    }
                };
                self.bytes.len() - reader.left()
            }
        };
        self.bytes = Reader::new(self.bytes).take(len, "JSON value")?;
        Ok(self)
    }
}

/// The entries of a container, by number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entries<'a>(pub(super) Container<'a>);

impl<'a> Entries<'a> {
    pub(super) fn count(&self) -> usize {
        self.0.value_entries.left() / (1 + self.0.width.bytes())
    }

    /// Returns the key and the value of the next entry; `None` at the end.
    pub(super) fn next_member(&mut self) -> Result<Option<(&'a [u8], Value<'a>)>> {
        match self.0.next_value()? {
            Some(value) => Ok(Some((self.0.read_key()?, value.cut()?))),
            None => Ok(None),
        }
    }

    /// Returns the value of entry `number`.
    pub(super) fn value(mut self, number: usize) -> Result<Value<'a>> {
        let skipped = number.saturating_mul(1 + self.0.width.bytes());
        self.0.value_entries.take(skipped, WHAT)?;
        let end = DecodeError::UnexpectedEnd { what: WHAT, needed: 1, left: 0 };
        self.0.next_value()?.ok_or(end)?.cut()
    }

    fn key(mut self, number: usize) -> Result<&'a [u8]> {
        let skipped = number.saturating_mul(self.0.width.bytes() + KEY_LENGTH_BYTES);
        self.0.key_entries.take(skipped, WHAT)?;
        self.0.read_key()
    }

    /// Returns the value of a member. Servers sort members; if they are not sorted, rebuilding the
    /// object returns an error.
    pub(super) fn find(self, key: &Key<'_>) -> Result<Option<Value<'a>>> {
        let (mut from, mut to) = (0, self.count());
        while from < to {
            let middle = from + (to - from) / 2;
            match key_order(self.key(middle)?, key.as_bytes()) {
                Ordering::Less => from = middle + 1,
                Ordering::Greater => to = middle,
                Ordering::Equal => return self.value(middle).map(Some),
            }
        }
        Ok(None)
    }
}

/// The name of a member. Keys are ordered as on servers: short ones first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Key<'a>(pub(super) Cow<'a, [u8]>);

impl<'a> Key<'a> {
    /// Creates a key for a new member: its length must fit into an entry.
    pub(super) fn new(name: Cow<'a, [u8]>) -> Result<Self> {
        match u16::try_from(name.len()) {
            Ok(_) => Ok(Self(name)),
            Err(_) => Err(DecodeError::Limit {
                what: "bytes of a JSON object's key",
                value: name.len() as u64,
                limit: u64::from(u16::MAX),
            }),
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        key_order(&self.0, &other.0)
    }
}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

pub(super) fn key_order(left: &[u8], right: &[u8]) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

/// The root of the document.
pub(super) const ROOT: NodeId = 0;

const WHAT: &str = "JSON entries";
