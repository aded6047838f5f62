//! Filters of changes: text in a small part of SQL, for example `status = 'paid' AND old.status <> 'paid'`.
//!
//! In: the text; then the plan of a table; then its batches. Out: for each row of a batch, true if it is kept. Called by `reader`.
//!
//! ```text
//! text ─ parse ─ Expression of names and literals ─ bind ─ Expression of columns and values ─ evaluate ─ rows to keep
//!                                                    └ class, literal: the type of a column determines the comparison
//! ```
//!
//! A column without a prefix is one of the row before the change or of the row after it: a change is kept if the filter is true
//! for one of the two. `old.` and `new.` name one of them. As in SQL, a comparison with NULL is neither true nor false, and a row
//! is kept only if the filter is true. Text and bytes are compared by their bytes, text in UTF-8.

mod bind;
mod cells;
mod class;
mod condition;
mod evaluate;
mod expression;
mod like;
mod literal;
mod may_keep;
mod nearest;
mod parse;
mod select;

pub use bind::BoundFilter;
pub use may_keep::KnownValues;
pub use select::select_rows;

use crate::columnar::TablePlan;
use crate::error::Result;
use expression::{ColumnName, Expression, Literal};

/// A filter that was parsed, for all tables.
#[derive(Debug, Clone)]
pub struct Filter(Expression<ColumnName, Literal>);

impl Filter {
    /// Parses a filter.
    ///
    /// # Errors
    /// The text is not a filter. The message shows the place.
    pub fn parse(text: &str) -> Result<Self> {
        parse::parse(text).map(Self)
    }

    /// Finds the columns of a table that the filter names.
    ///
    /// # Errors
    /// The table has no such column, it is not read or it is masked, or a literal does not fit its type.
    pub fn bind(&self, plan: &TablePlan) -> Result<BoundFilter> {
        BoundFilter::try_new(&self.0, plan)
    }

    /// Finds the columns of a table that the filter names, to select rows and not changes.
    ///
    /// # Errors
    /// Those of [`Self::bind`]; a column has the prefix `old.` or `new.`.
    pub fn bind_rows(&self, plan: &TablePlan) -> Result<BoundFilter> {
        let bound = self.bind(plan)?;
        bound.is_of_rows().map(|()| bound)
    }
}
