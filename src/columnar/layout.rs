//! The meaning of a batch's row: one row of the table, or one change with the row before and the
//! row after.

use super::envelope::{Envelope, EnvelopeColumn};
use crate::error::Error;
use arrow_schema::{DataType, Field, Fields, Schema};

/// The meaning of a batch's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Layout {
    /// One row of the table: its columns, then the envelope.
    #[default]
    Flat,
    /// One change: `_op`, the structs `before` and `after`, then the rest of the envelope.
    Nested,
}

impl Layout {
    /// Returns an error for a schema of the other layout: with it, all values would be NULL.
    pub fn check_wanted(self, wanted: &Schema, prefix: &str) -> Result<(), Error> {
        let field = |name: &str| wanted.field_with_name(name).ok();
        let is_side =
            |name| field(name).is_some_and(|f| matches!(f.data_type(), DataType::Struct(_)));
        let sides = ["before", "after"].map(is_side);
        let is_own = |field: &&std::sync::Arc<Field>| !field.name().starts_with(prefix);
        match self {
            Self::Nested if sides == [false; 2] => match wanted.fields().iter().find(is_own) {
                Some(own) => Err(Error::config(format!(
                    "with ⟦layout=nested⟧ the columns of the table are in 'before' and 'after', but ⟦schema⟧ contains {:?} and neither of the \
                     two: binarrow.infer_schema(..., ⟦layout=nested⟧) returns an example",
                    own.name()
                ))),
                None => Ok(()),
            },
            Self::Flat if sides == [true; 2] && field(&format!("{prefix}op")).is_some() => {
                Err(Error::config("⟦schema⟧ is one of the nested layout: use ⟦layout=nested⟧ too"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the envelope of the batches. In the nested layout `_op` is the first column, instead
    /// of `_change_type`, and each side has its own `_present`.
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

    /// Returns all columns of a batch: the table's own and those of the envelope.
    pub(super) fn fields(self, own: &Fields, envelope: Vec<Field>) -> Vec<Field> {
        let own_fields = own.iter().map(|field| field.as_ref().clone());
        match self {
            Self::Flat => own_fields.chain(envelope).collect(),
            Self::Nested => {
                let side = |name| Field::new(name, DataType::Struct(own.clone()), true);
                after_op(envelope, [side("before"), side("after")])
            }
        }
    }
}

/// Returns the columns of the nested layout: the two sides of a change follow `_op`.
pub(super) fn after_op<T>(mut envelope: Vec<T>, sides: [T; 2]) -> Vec<T> {
    let place = envelope.len().min(1);
    envelope.splice(place..place, sides);
    envelope
}
