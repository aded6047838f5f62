//! The number of the rows of each part, and the sum of their hashes.

use super::{CollectedRows, PARTS, part_of};

/// Sums of the hashes of rows.
#[derive(Debug, Clone)]
pub struct RowSums {
    parts: Vec<Part>,
    rows: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Part {
    rows: u64,
    sum: u128,
}

impl Default for RowSums {
    fn default() -> Self {
        Self { parts: vec![Part::default(); PARTS as usize], rows: 0 }
    }
}

impl CollectedRows for RowSums {
    fn add(&mut self, key: u128, row: u128) {
        if let Some(part) = self.parts.get_mut(part_of(key) as usize) {
            part.rows += 1;
            part.sum = part.sum.wrapping_add(row);
            self.rows += 1;
        }
    }
}

impl RowSums {
    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the parts that differ, with the number of rows that they have in the copy that has more.
    pub fn differing(&self, other: &Self) -> Vec<(u32, u64)> {
        let both = self.parts.iter().zip(&other.parts).zip(0..);
        both.filter(|((own, its), _)| own != its)
            .map(|((own, its), number)| (number, own.rows.max(its.rows)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_matter() {
        let rows = [(1 << 120, 5), (2, u128::MAX), (3, 9)];
        let mut one = RowSums::default();
        rows.iter().for_each(|(key, row)| one.add(*key, *row));
        let mut other = RowSums::default();
        rows.iter().rev().for_each(|(key, row)| other.add(*key, *row));
        assert_eq!(one.differing(&other), []);
        other.add(4, 0);
        assert_eq!(one.differing(&other), [(0, 3)]);
        assert_eq!(other.rows(), 4);
    }
}
