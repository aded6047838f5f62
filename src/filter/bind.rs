//! A filter for one table: names to columns, literals to values of their types.

use super::class::Class;
use super::expression::{ColumnName, Comparison, Expression, Literal, Side};
use super::literal::Value;
use super::nearest::nearest;
use crate::columnar::TablePlan;
use crate::error::{Error, Result};

/// A filter for the batches of one plan of a table.
#[derive(Debug)]
pub struct BoundFilter {
    /// The condition, over indexes of `columns`.
    pub(super) expression: Expression<usize, Value>,
    pub(super) columns: Vec<BoundColumn>,
    /// The table in messages.
    pub(super) table: String,
}

/// A column of the table that the filter names.
#[derive(Debug)]
pub(super) struct BoundColumn {
    pub(super) side: Side,
    /// The column's number in the table.
    pub(super) index: usize,
    /// Its number among the columns of batches.
    pub(super) field: usize,
    pub(super) class: Class,
    pub(super) name: String,
}

type Bound = Expression<usize, Value>;

impl BoundFilter {
    pub(super) fn try_new(
        expression: &Expression<ColumnName, Literal>,
        plan: &TablePlan,
    ) -> Result<Self> {
        let mut binder = Binder { plan, columns: Vec::new() };
        let table = plan.table.full_name();
        let expression = binder
            .bind(expression)
            .map_err(|error| error.context(format_args!("table {table}")))?;
        Ok(Self { expression, columns: binder.columns, table })
    }
}

impl BoundFilter {
    /// Checks that the filter is about rows and not about changes.
    pub(super) fn is_of_rows(&self) -> Result<()> {
        match self.columns.iter().find(|column| column.side != Side::Either) {
            None => Ok(()),
            Some(column) => Err(Error::config(format!(
                "where: rows have no change, so that the column {:?} cannot have the prefix old. or new. here: leave it out",
                column.name
            ))),
        }
    }
}

struct Binder<'p> {
    plan: &'p TablePlan,
    columns: Vec<BoundColumn>,
}

impl Binder<'_> {
    fn bind(&mut self, expression: &Expression<ColumnName, Literal>) -> Result<Bound> {
        Ok(match expression {
            Expression::Any(each) => {
                Expression::Any(each.iter().map(|each| self.bind(each)).collect::<Result<_>>()?)
            }
            Expression::All(each) => {
                Expression::All(each.iter().map(|each| self.bind(each)).collect::<Result<_>>()?)
            }
            Expression::Not(inside) => Expression::Not(Box::new(self.bind(inside)?)),
            Expression::Compare(name, comparison, literal) => {
                let column = self.column(name)?;
                Expression::Compare(column, *comparison, self.value(column, literal)?)
            }
            Expression::CompareColumns(one, comparison, other) => {
                self.compare_columns(one, *comparison, other)?
            }
            Expression::In(name, literals) => {
                let column = self.column(name)?;
                let values = literals.iter().map(|literal| self.value(column, literal));
                Expression::In(column, values.collect::<Result<_>>()?)
            }
            Expression::Like(name, pattern) => {
                let column = self.column(name)?;
                match self.class(column) {
                    Class::Text | Class::Bytes => Expression::Like(column, pattern.clone()),
                    _ => return Err(self.mismatch(column, "a pattern of LIKE")),
                }
            }
            Expression::IsNull(name) => Expression::IsNull(self.column(name)?),
        })
    }

    fn compare_columns(
        &mut self,
        one: &ColumnName,
        comparison: Comparison,
        other: &ColumnName,
    ) -> Result<Bound> {
        let (one, other) = (self.column(one)?, self.column(other)?);
        // Numbers are compared if they have the same digits after the point.
        if self.class(one) != self.class(other) || self.class(one) == Class::Other {
            return Err(self.mismatch(one, &format!("column {}", self.label(other))));
        }
        Ok(Expression::CompareColumns(one, comparison, other))
    }

    /// Returns the number of a column in `columns`.
    fn column(&mut self, wanted: &ColumnName) -> Result<usize> {
        let plan = self.plan;
        let lower = wanted.name.to_lowercase();
        let names = || plan.names.iter().map(AsRef::as_ref);
        let Some(index) = names().position(|name: &str| name.to_lowercase() == lower) else {
            let hint = nearest(&wanted.name, names());
            let hint =
                hint.map_or_else(|| ".".to_owned(), |name| format!("; did you mean {name:?}?"));
            return Err(Error::config(format!(
                "where: there is no column {:?}{hint} Its columns are {}. Select with ⟦tables⟧ only tables that have the column",
                wanted.name,
                plan.names.join(", ")
            )));
        };
        let mut selected = plan.selected_columns().enumerate();
        let Some((field, (_, column))) = selected.find(|(_, (of_table, _))| *of_table == index)
        else {
            return Err(Error::config(format!(
                "where: column {:?} is not read: add it to ⟦columns⟧",
                wanted.name
            )));
        };
        if plan.is_hashed(index) || plan.is_nulled(index) {
            return Err(Error::config(format!(
                "where: ⟦mask⟧ hides the values of column {:?}, so a filter must not compare them",
                wanted.name
            )));
        }
        let is_it = |own: &BoundColumn| own.index == index && own.side == wanted.side;
        if let Some(known) = self.columns.iter().position(is_it) {
            return Ok(known);
        }
        let data_type = plan.fields.get(field).map(|field| field.data_type());
        self.columns.push(BoundColumn {
            side: wanted.side,
            index,
            field,
            class: data_type.map_or(Class::Other, |data_type| Class::of(column, data_type)),
            name: plan.names.get(index).map_or_else(String::new, ToString::to_string),
        });
        Ok(self.columns.len() - 1)
    }

    fn value(&self, column: usize, literal: &Literal) -> Result<Value> {
        Value::of(literal, self.class(column)).ok_or_else(|| self.mismatch(column, literal.kind()))
    }

    fn class(&self, column: usize) -> Class {
        self.columns.get(column).map_or(Class::Other, |column| column.class)
    }

    /// A column in a message: its name and type.
    fn label(&self, column: usize) -> String {
        let Some(column) = self.columns.get(column) else { return String::new() };
        let sql_type = self.plan.table.columns.get(column.index).map(|own| own.sql_type());
        format!("{:?} of the type {}", column.name, sql_type.unwrap_or_default())
    }

    fn mismatch(&self, column: usize, other: &str) -> Error {
        Error::config(format!(
            "where: column {} cannot be compared with {other}: {}",
            self.label(column),
            self.class(column).wanted()
        ))
    }
}
