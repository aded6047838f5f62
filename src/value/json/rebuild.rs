//! Writes the document after diffs were applied: first all sizes are calculated, then the bytes are
//! written.
//!
//! As on the server, a container uses the small form if it fits. Keys come before values, both in
//! the order of the entries.

use super::budget::Budget;
use super::nodes::{Cell, Entries, Key, Node, NodeId, ROOT, key_order};
use super::{Kind, Scalar, Value, Width};
use crate::error::DecodeError;
use crate::wire::Result;
use std::cmp::Ordering;
use std::collections::btree_map;
use std::iter::Peekable;

/// The nodes of a document, and the layouts of its opened containers.
pub(super) struct Rebuild<'t, 'a> {
    nodes: &'t [Node<'a>],
    layouts: Vec<Layout>,
    budget: Budget,
}

/// The layout of an opened container.
#[derive(Debug, Clone, Copy, Default)]
struct Layout {
    is_large: bool,
    count: usize,
    key_bytes: usize,
    bytes: usize,
}

impl<'t, 'a> Rebuild<'t, 'a> {
    /// `budget`: the number of bytes of the document and the diffs that no opened header has used.
    pub(super) const fn new(nodes: &'t [Node<'a>], budget: Budget) -> Self {
        Self { nodes, layouts: Vec::new(), budget }
    }

    /// Appends the document. After an error, `out` may contain a part of it.
    pub(super) fn write_document(mut self, out: &mut Vec<u8>) -> Result<()> {
        self.measure(Part::Node(ROOT))?;
        let (kind, bytes) = self.size(Part::Node(ROOT))?;
        out.reserve(1 + bytes);
        out.push(kind.code());
        self.write(Part::Node(ROOT), out)
    }

    /// Calculates the layout of all opened containers of a part, the inner ones first. They are not
    /// nested deeper than paths have legs.
    fn measure(&mut self, part: Part<'a>) -> Result<()> {
        let id = match self.resolve(part)? {
            // The budget for a value in its entry was used with the header.
            Resolved::Value(value) if value.is_inlined => return Ok(()),
            Resolved::Value(value) => return self.budget.spend(value.bytes.len()),
            Resolved::Container(id) => id,
        };
        let mut layout = Layout::default();
        let (mut small, mut large) = (0, 0);
        let mut members = self.members(id)?;
        let is_object = matches!(members, Members::Object { .. });
        while let Some((key, part)) = members.next()? {
            self.budget.spend(key.len())?;
            self.measure(part)?;
            let (kind, bytes) = self.size(part)?;
            layout.count += 1;
            layout.key_bytes += key.len();
            layout.is_large |=
                matches!(kind, Kind::Object(Width::Large) | Kind::Array(Width::Large));
            small += if is_inlined(kind, Width::Small) { 0 } else { bytes };
            large += if is_inlined(kind, Width::Large) { 0 } else { bytes };
        }
        let bytes =
            |width, values| layout.header_bytes(width, is_object) + layout.key_bytes + values;
        let as_small = bytes(Width::Small, small);
        let is_large = layout.is_large || layout.count.max(as_small) > usize::from(u16::MAX);
        let bytes = if is_large { bytes(Width::Large, large) } else { as_small };
        if bytes > u32::MAX as usize {
            let (value, limit) = (bytes as u64, u64::from(u32::MAX));
            return Err(DecodeError::Limit { what: "bytes of a JSON document", value, limit });
        }
        if self.layouts.len() <= id {
            self.layouts.resize(id + 1, Layout::default());
        }
        if let Some(slot) = self.layouts.get_mut(id) {
            *slot = Layout { is_large, bytes, ..layout };
        }
        Ok(())
    }

    /// The type and size of a part whose layout is known.
    fn size(&self, part: Part<'a>) -> Result<(Kind, usize)> {
        Ok(match self.resolve(part)? {
            Resolved::Value(value) => (value.kind, value.bytes.len()),
            Resolved::Container(id) => {
                let layout = self.layouts.get(id).ok_or(LOST)?;
                let kind = match self.nodes.get(id) {
                    Some(Node::Object { .. }) => Kind::Object,
                    _ => Kind::Array,
                };
                (kind(layout.width()), layout.bytes)
            }
        })
    }

    fn write(&self, part: Part<'a>, out: &mut Vec<u8>) -> Result<()> {
        let id = match self.resolve(part)? {
            Resolved::Value(value) => {
                out.extend_from_slice(value.bytes);
                return Ok(());
            }
            Resolved::Container(id) => id,
        };
        let layout = self.layouts.get(id).ok_or(LOST)?;
        let width = layout.width();
        width.put(layout.count, out);
        width.put(layout.bytes, out);
        let mut members = self.members(id)?;
        let is_object = matches!(members, Members::Object { .. });
        let mut offset = layout.header_bytes(width, is_object);
        if is_object {
            while let Some((key, _)) = members.next()? {
                width.put(offset, out);
                Width::Small.put(key.len(), out);
                offset += key.len();
            }
        }
        let mut members = self.members(id)?;
        while let Some((_, part)) = members.next()? {
            let (kind, bytes) = self.size(part)?;
            out.push(kind.code());
            if is_inlined(kind, width) {
                let start = out.len();
                self.write(part, out)?;
                out.resize(start + width.bytes(), 0);
            } else {
                width.put(offset, out);
                offset += bytes;
            }
        }
        let mut members = self.members(id)?;
        while let Some((key, _)) = members.next()? {
            out.extend_from_slice(key);
        }
        let mut members = self.members(id)?;
        while let Some((_, part)) = members.next()? {
            if !is_inlined(self.size(part)?.0, width) {
                self.write(part, out)?;
            }
        }
        Ok(())
    }

    fn resolve(&self, part: Part<'a>) -> Result<Resolved<'a>> {
        Ok(match part {
            Part::Source(value) => Resolved::Value(value),
            Part::Node(id) => match self.nodes.get(id).ok_or(LOST)? {
                Node::Value(value) => Resolved::Value(*value),
                _ => Resolved::Container(id),
            },
        })
    }

    fn members(&self, id: NodeId) -> Result<Members<'t, 'a>> {
        match self.nodes.get(id).ok_or(LOST)? {
            Node::Object { source, changes } => Ok(Members::Object {
                source: *source,
                last_key: None,
                changes: changes.iter().peekable(),
            }),
            Node::Array { source, cells } => Ok(Members::Array { source, cells: cells.iter() }),
            Node::Value(_) => Err(LOST),
        }
    }
}

/// A part of a container.
#[derive(Clone, Copy)]
enum Part<'a> {
    Source(Value<'a>),
    Node(NodeId),
}

enum Resolved<'a> {
    Value(Value<'a>),
    Container(NodeId),
}

/// The members of an opened object in the order of their keys, or the cells of an opened array,
/// with empty keys.
enum Members<'t, 'a> {
    Object {
        source: Entries<'a>,
        last_key: Option<&'a [u8]>,
        changes: Peekable<btree_map::Iter<'t, Key<'a>, Option<NodeId>>>,
    },
    Array {
        source: &'t Entries<'a>,
        cells: std::slice::Iter<'t, Cell>,
    },
}

impl<'t, 'a: 't> Members<'t, 'a> {
    fn next(&mut self) -> Result<Option<(&'t [u8], Part<'a>)>> {
        match self {
            Self::Array { source, cells } => Ok(match cells.next() {
                Some(Cell::Node(id)) => Some((&[], Part::Node(*id as usize))),
                Some(Cell::Source(number)) => {
                    Some((&[], Part::Source(source.value(*number as usize)?)))
                }
                None => None,
            }),
            Self::Object { source, last_key, changes } => loop {
                let mut rest = *source;
                let next = rest.next_member()?;
                let order = match (next, changes.peek()) {
                    (None, None) => return Ok(None),
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (Some((key, _)), Some((changed, _))) => key_order(key, changed.as_bytes()),
                };
                if let (Some((key, value)), Ordering::Less | Ordering::Equal) = (next, order) {
                    if last_key.is_some_and(|last| key_order(last, key).is_ge()) {
                        let what = "order of the keys of a JSON object, at the key's length";
                        return Err(DecodeError::Invalid { what, value: key.len() as u64 });
                    }
                    (*source, *last_key) = (rest, Some(key));
                    if order == Ordering::Less {
                        return Ok(Some((key, Part::Source(value))));
                    }
                }
                if let Some((key, Some(id))) = changes.next() {
                    return Ok(Some((key.as_bytes(), Part::Node(*id))));
                }
            },
        }
    }
}

impl Layout {
    const fn width(&self) -> Width {
        if self.is_large { Width::Large } else { Width::Small }
    }

    const fn header_bytes(&self, width: Width, is_object: bool) -> usize {
        let key_entry_bytes = if is_object { width.bytes() + 2 } else { 0 };
        2 * width.bytes() + self.count * (key_entry_bytes + 1 + width.bytes())
    }
}

impl Width {
    fn put(self, number: usize, out: &mut Vec<u8>) {
        match self {
            Self::Small => out.extend_from_slice(&(number as u16).to_le_bytes()),
            Self::Large => out.extend_from_slice(&(number as u32).to_le_bytes()),
        }
    }
}

impl Kind {
    const fn code(self) -> u8 {
        match self {
            Self::Object(Width::Small) => 0x00,
            Self::Object(Width::Large) => 0x01,
            Self::Array(Width::Small) => 0x02,
            Self::Array(Width::Large) => 0x03,
            Self::Scalar(scalar) => match scalar {
                Scalar::Literal => 0x04,
                Scalar::I16 => 0x05,
                Scalar::U16 => 0x06,
                Scalar::I32 => 0x07,
                Scalar::U32 => 0x08,
                Scalar::I64 => 0x09,
                Scalar::U64 => 0x0a,
                Scalar::Double => 0x0b,
                Scalar::String => 0x0c,
                Scalar::Opaque => 0x0f,
            },
        }
    }
}

const fn is_inlined(kind: Kind, width: Width) -> bool {
    match kind {
        Kind::Scalar(scalar) => width.inlines(scalar),
        _ => false,
    }
}

/// Cannot happen: each node that another node refers to exists, and its layout is calculated before
/// it is written.
const LOST: DecodeError = DecodeError::DoesNotApply { what: "JSON diff", why: "a part is lost" };
