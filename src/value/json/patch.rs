//! Applies JSON diffs to a document: binary JSON in, binary JSON out.
//!
//! Only the containers on the way to a change are opened; what else is in them is copied as it stands. An opened object
//! keeps its changes beside its entries, an opened array a list of its cells, so that time and memory go by the lengths
//! of the document and the diffs. `rebuild.rs` puts the parts together.
//!
//! Called by `columnar::table_builder` for the partial cells of Partial_update_rows events.

use super::budget::Budget;
use super::container::{Container, KEY_LENGTH_BYTES};
use super::diff::{Diff, Diffs, Operation};
use super::path::{self, Leg};
use super::rebuild::Rebuild;
use super::scalar::variable;
use super::{Kind, Scalar, Value};
use crate::error::DecodeError;
use crate::wire::{Reader, Result};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Appends to `out` the document that the diffs make of `document`. After an error `out` is as it was.
///
/// # Errors
///
/// A diff that does not fit the document: one that replaces or removes what is not there, or inserts a member that is.
pub fn apply_diffs(document: &[u8], diffs: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    let mut tree = Tree::new(document, diffs.len())?;
    for diff in Diffs::new(diffs) {
        tree.apply(&diff?)?;
    }
    let Tree { nodes, budget, .. } = tree;
    let result = Rebuild::new(&nodes, budget).write_document(out);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

impl Value<'_> {
    /// The value with no byte more than it takes.
    fn cut(mut self) -> Result<Self> {
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

/// A place in [`Tree::nodes`].
pub(super) type NodeId = usize;

/// A value of the document, as far as it is known.
#[derive(Debug)]
pub(super) enum Node<'a> {
    Whole(Value<'a>),
    /// An object whose members may have changed: a node instead of the member, or `None` for a member that is gone.
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

/// The document under change. Its root is the first node.
struct Tree<'a> {
    nodes: Vec<Node<'a>>,
    /// Bytes that headers, keys and values may still take, of the document and the diffs.
    budget: Budget,
    /// How many cells may still be moved by cells that come and go before them.
    moves: usize,
}

impl<'a> Tree<'a> {
    fn new(document: &'a [u8], diff_bytes: usize) -> Result<Self> {
        let bytes = document.len().saturating_add(diff_bytes);
        Ok(Self {
            nodes: vec![Node::Whole(Value::of_document(document)?.cut()?)],
            budget: Budget::new(bytes),
            moves: bytes.saturating_mul(MOVES_PER_BYTE),
        })
    }

    fn apply(&mut self, diff: &Diff<'a>) -> Result<()> {
        let mut legs = path::parse(diff.path)?;
        if diff.operation == Operation::Replace {
            let value = Value::of_document(diff.value)?.cut()?;
            let place = self.seek(legs)?;
            self.put(place, Node::Whole(value));
            return Ok(());
        }
        let Some(leg) = legs.pop() else {
            return Err(does_not_apply("the root is neither inserted nor removed"));
        };
        let parent = self.seek(legs)?;
        match diff.operation {
            Operation::Remove => self.remove(parent, leg),
            _ => self.insert(parent, leg, Value::of_document(diff.value)?.cut()?),
        }
    }

    /// The node at the end of a path, whose containers are open then.
    fn seek(&mut self, legs: Vec<Leg<'a>>) -> Result<NodeId> {
        let mut place = ROOT;
        for leg in legs {
            self.open(place)?;
            let next = self.nodes.len();
            let found = match (self.nodes.get_mut(place), leg) {
                (Some(Node::Object { source, changes }), Leg::Member(name)) => {
                    let key = Key(name);
                    match changes.get(&key) {
                        Some(change) => change.map(Found::Node),
                        None => source.find(&key)?.map(|value| {
                            changes.insert(key, Some(next));
                            Found::Value(value)
                        }),
                    }
                }
                (Some(Node::Array { source, cells }), Leg::Cell(index)) => {
                    let place = index.within(cells.len());
                    match place.and_then(|place| cells.get_mut(place)) {
                        None => None,
                        Some(cell) => Some(match *cell {
                            Cell::Node(id) => Found::Node(id as usize),
                            Cell::Source(number) => {
                                *cell = cell_of(next)?;
                                Found::Value(source.value(number as usize)?)
                            }
                        }),
                    }
                }
                _ => None,
            };
            place = match found {
                Some(Found::Node(id)) => id,
                Some(Found::Value(value)) => {
                    self.nodes.push(Node::Whole(value));
                    next
                }
                None => return Err(does_not_apply("its path leads to nothing in the document")),
            };
        }
        Ok(place)
    }

    fn put(&mut self, place: NodeId, node: Node<'a>) {
        if let Some(slot) = self.nodes.get_mut(place) {
            *slot = node;
        }
    }

    fn insert(&mut self, parent: NodeId, leg: Leg<'a>, value: Value<'a>) -> Result<()> {
        self.open(parent)?;
        let new = self.nodes.len();
        match (self.nodes.get_mut(parent), leg) {
            (Some(Node::Object { source, changes }), Leg::Member(name)) => {
                let key = Key::new(name)?;
                let is_there = match changes.get(&key) {
                    Some(change) => change.is_some(),
                    None => source.find(&key)?.is_some(),
                };
                if is_there {
                    return Err(does_not_apply("it inserts a member that is there already"));
                }
                changes.insert(key, Some(new));
            }
            (Some(Node::Array { cells, .. }), Leg::Cell(index)) => {
                let place = index.place(cells.len());
                spend_moves(&mut self.moves, cells.len().saturating_sub(place))?;
                cells.insert(place.min(cells.len()), cell_of(new)?);
            }
            _ => return Err(does_not_apply("its path leads to nothing in the document")),
        }
        self.nodes.push(Node::Whole(value));
        Ok(())
    }

    fn remove(&mut self, parent: NodeId, leg: Leg<'a>) -> Result<()> {
        self.open(parent)?;
        let is_there = match (self.nodes.get_mut(parent), leg) {
            (Some(Node::Object { source, changes }), Leg::Member(name)) => {
                let key = Key(name);
                let is_there = match changes.get(&key) {
                    Some(change) => change.is_some(),
                    None => source.find(&key)?.is_some(),
                };
                changes.insert(key, None);
                is_there
            }
            (Some(Node::Array { cells, .. }), Leg::Cell(index)) => {
                match index.within(cells.len()) {
                    Some(place) if place < cells.len() => {
                        spend_moves(&mut self.moves, cells.len() - place)?;
                        cells.remove(place);
                        true
                    }
                    _ => false,
                }
            }
            _ => false,
        };
        match is_there {
            true => Ok(()),
            false => Err(does_not_apply("its path leads to nothing in the document")),
        }
    }

    /// Takes a container apart, unless it is already. Scalars stay as they are.
    fn open(&mut self, place: NodeId) -> Result<()> {
        let Some(Node::Whole(value)) = self.nodes.get(place) else { return Ok(()) };
        // How deep it lies does not matter: paths are bounded, and nothing below is followed.
        let node = match value.kind {
            Kind::Object(width) => {
                let source = Container::object(value.bytes, width, &mut self.budget, 0)?;
                Node::Object { source: Entries(source), changes: BTreeMap::new() }
            }
            Kind::Array(width) => {
                let source = Entries(Container::array(value.bytes, width, &mut self.budget, 0)?);
                let cells = (0..source.count() as u32).map(Cell::Source).collect();
                Node::Array { source, cells }
            }
            Kind::Scalar(_) => return Ok(()),
        };
        self.put(place, node);
        Ok(())
    }
}

enum Found<'a> {
    Node(NodeId),
    Value(Value<'a>),
}

fn cell_of(id: NodeId) -> Result<Cell> {
    u32::try_from(id).map(Cell::Node).map_err(|_| DecodeError::Limit {
        what: "values that JSON diffs touch",
        value: id as u64,
        limit: u64::from(u32::MAX),
    })
}

fn does_not_apply(why: &'static str) -> DecodeError {
    DecodeError::DoesNotApply { what: "JSON diff", why }
}

fn spend_moves(moves: &mut usize, cells: usize) -> Result<()> {
    *moves = moves.checked_sub(cells).ok_or(DecodeError::Limit {
        what: "cells of JSON arrays moved by diffs, for each byte of document and diffs,",
        value: MOVES_PER_BYTE as u64 + 1,
        limit: MOVES_PER_BYTE as u64,
    })?;
    Ok(())
}

/// The entries of a container, by number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entries<'a>(Container<'a>);

impl<'a> Entries<'a> {
    fn count(&self) -> usize {
        self.0.value_entries.left() / (1 + self.0.width.bytes())
    }

    /// The next entry's key and value; `None` at the end.
    pub(super) fn next_member(&mut self) -> Result<Option<(&'a [u8], Value<'a>)>> {
        match self.0.next_value()? {
            Some(value) => Ok(Some((self.0.read_key()?, value.cut()?))),
            None => Ok(None),
        }
    }

    /// The value of entry `number`.
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

    /// The value of a member. Servers sort members; where they are not sorted, putting the object together finds out.
    fn find(self, key: &Key<'_>) -> Result<Option<Value<'a>>> {
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

/// A member's name, ordered as servers order them: short ones first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Key<'a>(Cow<'a, [u8]>);

impl<'a> Key<'a> {
    /// A key for a new member: its length must fit into an entry.
    fn new(name: Cow<'a, [u8]>) -> Result<Self> {
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

/// Cells that diffs may move, for each byte of the document and the diffs: far beyond what statements do, and under a
/// microsecond's work for each byte.
const MOVES_PER_BYTE: usize = 1024;

pub(super) const ROOT: NodeId = 0;

const WHAT: &str = "JSON entries";

#[cfg(test)]
mod tests;
