//! Converts row images to Arrow record batches.
//!
//! Input: rows events and the structure of their table. Output:
//! [`RecordBatch`](arrow_array::RecordBatch)es. They contain the table's own columns, all or the
//! selected ones, in table order, then the envelope; or, in the nested layout, structs of the
//! columns for the row before and after a change. Called by `reader`.
//!
//! ```text
//! TableMap ─ TablePlan (schema, columns to build) ─ TableBuilder ── rows events ──> RecordBatch
//! ```

mod builder;
mod commit_details;
mod concat;
mod conform;
mod envelope;
mod envelope_builder;
mod field;
mod layout;
mod mask;
mod present;
mod row_images;
mod row_steps;
mod selection;
mod spare;
mod table_builder;
mod table_plan;
mod type_options;
mod widen;

pub(crate) use builder::{CellLength, TextOf, VarBytes, VariantColumn};
pub use commit_details::CommitDetails;
pub(crate) use concat::concat;
pub use conform::{Conform, OnSchemaChange};
pub use envelope::{Envelope, EnvelopeColumn};
pub use envelope_builder::Stamp;
pub use layout::Layout;
pub use mask::{Mask, Masks};
pub use row_images::{ChangeImages, RowImages};
pub use selection::Selection;
pub use spare::SpareVectors;
pub use table_builder::{
    RowCells, RowCounts, StoredChanges, StoredImages, StoredRows, TableBuilder,
};
pub use table_plan::{ColumnNames, PartialImages, PlanOptions, TablePlan};
pub use type_options::{
    Enumeration, Geometry, InvalidText, Json, Profile, Time, TypeOptions, ZeroDates,
};
#[cfg(feature = "python")]
pub(crate) use widen::widen;
