//! What a row of a batch is: one row of the table, or one change with the row before and the row after.

use super::envelope::{Envelope, EnvelopeColumn};
use crate::error::Error;
use arrow_schema::{DataType, Field, Fields, Schema};

/// What a row of a batch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Layout {
    /// One row of the table: its columns, then the envelope.
    #[default]
    Flat,
    /// One change: `_op`, the structs `before` and `after`, then the rest of the envelope.
    Nested,
}

impl Layout {
    /// Refuses a wanted schema of the other layout: under it every row would be of NULLs.
    pub fn check_wanted(self, wanted: &Schema, prefix: &str) -> Result<(), Error> {
        let field = |name: &str| wanted.field_with_name(name).ok();
        let is_side =
            |name| field(name).is_some_and(|f| matches!(f.data_type(), DataType::Struct(_)));
        let sides = ["before", "after"].map(is_side);
        let is_own = |field: &&std::sync::Arc<Field>| !field.name().starts_with(prefix);
        match self {
            Self::Nested if sides == [false; 2] => match wanted.fields().iter().find(is_own) {
                Some(own) => Err(Error::config(format!(
                    "⟦layout=nested⟧ has a table's columns inside of 'before' and 'after', and ⟦schema⟧ has {:?} and none of the \
                     two: binarrow.infer_schema(..., ⟦layout=nested⟧) shows how it looks",
                    own.name()
                ))),
                None => Ok(()),
            },
            Self::Flat if sides == [true; 2] && field(&format!("{prefix}op")).is_some() => {
                Err(Error::config("⟦schema⟧ is of the nested layout: ask for ⟦layout=nested⟧ too"))
            }
            _ => Ok(()),
        }
    }

    /// The envelope as its batches have it. In the nested layout `_op` comes first, in the place of `_change_type`, and
    /// each side has a `_present` of its own.
    pub(crate) fn envelope(self, asked: &Envelope) -> Envelope {
        let prefix = asked.prefix.clone();
        if self == Self::Flat {
            return asked.clone();
        }
        let mut columns = vec![EnvelopeColumn::Op];
        for column in &asked.columns {
            match column {
                EnvelopeColumn::ChangeType => {}
                EnvelopeColumn::Present => {
                    columns.extend([EnvelopeColumn::PresentBefore, EnvelopeColumn::PresentAfter]);
                }
                other => columns.push(*other),
            }
        }
        Envelope { columns, prefix }
    }

    /// All columns of a batch, from the table's own and the envelope's.
    pub(super) fn fields(self, own: &Fields, envelope: Vec<Field>) -> Vec<Field> {
        let own_fields = own.iter().map(|field| field.as_ref().clone());
        match self {
            Self::Flat => own_fields.chain(envelope).collect(),
            Self::Nested => {
                let side = |name| Field::new(name, DataType::Struct(own.clone()), true);
                behind_op(envelope, [side("before"), side("after")])
            }
        }
    }
}

/// The columns of the nested layout: the two sides of a change stand behind `_op`.
pub(super) fn behind_op<T>(mut envelope: Vec<T>, sides: [T; 2]) -> Vec<T> {
    let place = envelope.len().min(1);
    envelope.splice(place..place, sides);
    envelope
}
