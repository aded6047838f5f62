//! Decides from what is known about the values of rows whether a filter can keep any of them.

use super::BoundFilter;
use super::class::Class;
use super::expression::{Comparison, Expression};
use super::literal::Value;
use arrow_buffer::i256;

/// Facts about the values of columns, in the rows before and after changes.
pub trait KnownValues {
    /// The smallest and the largest integer of a column; `Some(None)` if all its values are NULL, `None` if nothing is known.
    fn range(&self, column: usize) -> Option<Option<(i128, i128)>>;

    /// False if no row has this integer.
    fn may_contain_integer(&self, column: usize, value: i128) -> bool;

    /// False if no row has this text, in UTF-8.
    fn may_contain_text(&self, column: usize, text: &[u8]) -> bool;
}

impl BoundFilter {
    /// False if the filter is true for none of the rows. All rows have values of all columns that the filter names.
    ///
    /// Only AND, OR, and comparisons with a constant are decided: everything else may be true.
    pub fn may_keep(&self, known: &dyn KnownValues) -> bool {
        self.may_be_true(&self.expression, known)
    }

    fn may_be_true(&self, expression: &Expression<usize, Value>, known: &dyn KnownValues) -> bool {
        match expression {
            Expression::Any(each) => each.iter().any(|each| self.may_be_true(each, known)),
            Expression::All(each) => each.iter().all(|each| self.may_be_true(each, known)),
            Expression::Compare(column, comparison, value) => {
                self.may_compare(*column, *comparison, value, known)
            }
            Expression::In(column, values) => values
                .iter()
                .any(|value| self.may_compare(*column, Comparison::Equal, value, known)),
            Expression::Not(_)
            | Expression::CompareColumns(..)
            | Expression::Like(..)
            | Expression::IsNull(_) => true,
        }
    }

    fn may_compare(
        &self,
        column: usize,
        comparison: Comparison,
        value: &Value,
        known: &dyn KnownValues,
    ) -> bool {
        let Some(column) = self.columns.get(column) else { return true };
        match (column.class, value) {
            (Class::Number { scale: 0 }, Value::Number { floor, is_exact }) => {
                let range = known.range(column.index);
                if range.is_some_and(|range| !is_in_range(range, comparison, *floor, *is_exact)) {
                    return false;
                }
                match floor.to_i128().filter(|_| comparison == Comparison::Equal && *is_exact) {
                    Some(value) => known.may_contain_integer(column.index, value),
                    None => true,
                }
            }
            (Class::Text, Value::Bytes(text)) if comparison == Comparison::Equal => {
                known.may_contain_text(column.index, text)
            }
            _ => true,
        }
    }
}

/// True if a number between two others can compare so with a constant, whose largest integer not above it is `floor`.
fn is_in_range(
    range: Option<(i128, i128)>,
    comparison: Comparison,
    floor: i256,
    is_exact: bool,
) -> bool {
    let Some((least, most)) = range else { return false };
    let (least, most) = (i256::from_i128(least), i256::from_i128(most));
    match comparison {
        Comparison::Equal => is_exact && least <= floor && floor <= most,
        Comparison::NotEqual => !(is_exact && least == floor && most == floor),
        Comparison::Less if is_exact => least < floor,
        Comparison::Less | Comparison::LessOrEqual => least <= floor,
        Comparison::GreaterOrEqual if is_exact => most >= floor,
        Comparison::Greater | Comparison::GreaterOrEqual => most > floor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_are_exact() {
        for (least, most) in [(-3, 3), (0, 0), (2, 4)] {
            for floor in -5..6_i128 {
                for is_exact in [true, false] {
                    for comparison in [
                        Comparison::Equal,
                        Comparison::NotEqual,
                        Comparison::Less,
                        Comparison::LessOrEqual,
                        Comparison::Greater,
                        Comparison::GreaterOrEqual,
                    ] {
                        // A constant that is not an integer is between two of them.
                        let constant = 2 * floor + i128::from(!is_exact);
                        let expected = (least..=most)
                            .any(|value: i128| comparison.accepts((2 * value).cmp(&constant)));
                        let found = is_in_range(
                            Some((least, most)),
                            comparison,
                            i256::from_i128(floor),
                            is_exact,
                        );
                        assert_eq!(found, expected, "{least} {most} {floor} {is_exact}");
                    }
                }
            }
        }
        assert!(!is_in_range(None, Comparison::NotEqual, i256::ZERO, true));
    }
}
