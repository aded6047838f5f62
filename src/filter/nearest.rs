//! The name that is most like another one.

/// Returns the name with the fewest different letters, if it is like `given`; letter case is ignored.
pub(super) fn nearest<'n>(given: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let given: Vec<char> = given.to_lowercase().chars().take(MAX_LENGTH).collect();
    let limit = given.len().div_ceil(2).max(1);
    names
        .map(|name| (distance(&given, name), name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The number of letters to insert, remove or replace.
fn distance(given: &[char], name: &str) -> usize {
    let mut row: Vec<usize> = (0..=given.len()).collect();
    for (line, letter) in name.to_lowercase().chars().take(MAX_LENGTH).enumerate() {
        let mut diagonal = line;
        let mut left = line + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, own) in row.iter_mut().skip(1).zip(given) {
            let replaced = diagonal + usize::from(*own != letter);
            diagonal = *cell;
            *cell = replaced.min(left + 1).min(*cell + 1);
            left = *cell;
        }
    }
    row.last().copied().unwrap_or_default()
}

/// The longest name of a column, in characters.
const MAX_LENGTH: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_with_the_fewest_differences() {
        let names = ["id", "status", "state", "customer_id"];
        let nearest = |given| nearest(given, names.into_iter());
        assert_eq!(nearest("Statu"), Some("status"));
        assert_eq!(nearest("stat"), Some("state"));
        assert_eq!(nearest("costumer_id"), Some("customer_id"));
        assert_eq!(nearest("idx"), Some("id"));
        assert_eq!(nearest("price"), None);
        assert_eq!(distance(&['a', 'b'], "ab"), 0);
        assert_eq!(distance(&[], "abc"), 3);
    }
}
