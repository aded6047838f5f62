//! Applies JSON diffs to a document: binary JSON in, binary JSON out.
//!
//! Only the containers on the path to a change are opened; their other contents are copied unchanged. An opened object
//! keeps its changes separate from its entries, an opened array has a list of its cells, so that time and memory depend on the
//! lengths of the document and the diffs. `nodes.rs` defines the parts, `rebuild.rs` writes the new document from them.
//!
//! Called by `columnar::table_builder` for the partial cells of Partial_update_rows events.

use super::budget::Budget;
use super::container::Container;
use super::diff::{Diff, Diffs, Operation};
use super::nodes::{Cell, Entries, Key, Node, NodeId, ROOT};
use super::path::{self, Leg};
use super::rebuild::Rebuild;
use super::{Kind, Value};
use crate::error::DecodeError;
use crate::wire::Result;
use std::collections::BTreeMap;

/// Applies the diffs to `document` and appends the result to `out`. After an error, `out` is
/// unchanged.
///
/// # Errors
///
/// A diff cannot be applied to the document: it replaces or removes a value that does not exist, or
/// it inserts a member that exists.
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

/// The document while it is changed. Its root is the first node.
struct Tree<'a> {
    nodes: Vec<Node<'a>>,
    /// The number of bytes of the document and the diffs that headers, keys and values may still use.
    budget: Budget,
    /// The number of cells that may still be moved by insertions and removals before them.
    moves: usize,
}

impl<'a> Tree<'a> {
    fn new(document: &'a [u8], diff_bytes: usize) -> Result<Self> {
        let bytes = document.len().saturating_add(diff_bytes);
        Ok(Self {
            nodes: vec![Node::Value(Value::of_document(document)?.cut()?)],
            budget: Budget::new(bytes),
            moves: bytes.saturating_mul(MOVES_PER_BYTE),
        })
    }

    fn apply(&mut self, diff: &Diff<'a>) -> Result<()> {
        let mut legs = path::parse(diff.path)?;
        if diff.operation == Operation::Replace {
            let value = Value::of_document(diff.value)?.cut()?;
            let place = self.seek(legs)?;
            self.put(place, Node::Value(value));
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

    /// The node at the end of a path. Opens the containers of the path.
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
                                *cell = Cell::of_node(next)?;
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
                    self.nodes.push(Node::Value(value));
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
                cells.insert(place.min(cells.len()), Cell::of_node(new)?);
            }
            _ => return Err(does_not_apply("its path leads to nothing in the document")),
        }
        self.nodes.push(Node::Value(value));
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

    /// Opens a container, unless it is open. Scalars stay unchanged.
    fn open(&mut self, place: NodeId) -> Result<()> {
        let Some(Node::Value(value)) = self.nodes.get(place) else { return Ok(()) };
        // Its depth is ignored: paths are bounded, and only they are followed.
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

/// The number of cells that diffs may move, for each byte of the document and the diffs: statements
/// move far fewer, and moving them takes less than a microsecond for each byte.
const MOVES_PER_BYTE: usize = 1024;

#[cfg(test)]
mod tests;
