//! Random documents and diffs.

use super::tree::{Json, Step, diff, path_text};
use super::*;
use proptest::prelude::*;

/// Choices that are taken from a list of numbers.
struct Choices<'n>(std::slice::Iter<'n, u32>);

impl Choices<'_> {
    fn below(&mut self, count: usize) -> usize {
        self.0.next().map_or(0, |number| *number as usize % count)
    }

    fn value(&mut self, depth: usize) -> Json {
        match self.below(if depth == 0 { 6 } else { 10 }) {
            0 => Json::Null,
            1 => Json::Int(self.below(60_000) as i32 - 30_000),
            2 => Json::Int(self.below(1 << 30) as i32 + 40_000),
            3 => Json::Big(self.below(1 << 31) as i64 - (1 << 40)),
            4 => Json::Text("é\"\n".repeat(self.below(40))),
            5 => Json::Text("long ".repeat(if self.below(8) == 0 { 14_000 } else { 30 })),
            6 | 7 => Json::Array((0..self.below(5)).map(|_| self.value(depth - 1)).collect()),
            _ => {
                let members: Vec<_> =
                    (0..self.below(6)).map(|_| (self.key(), self.value(depth - 1))).collect();
                Json::object(members)
            }
        }
    }

    fn key(&mut self) -> &'static str {
        ["", "a", "b", "ключ", "q\"uote", "\\u0041", "a.b[0]", "\0\n", "😀", "$"][self.below(10)]
    }

    /// Creates a diff that can be applied to the document, and applies it.
    fn change(&mut self, document: &mut Json) -> Option<Vec<u8>> {
        let mut way = Vec::new();
        loop {
            let parent = document.at(&way)?;
            let step = match &*parent {
                Json::Array(cells) => Step::Cell(self.below(cells.len() + 1)),
                Json::Object(members) if members.is_empty() || self.below(3) == 0 => {
                    Step::Member(self.key().to_owned())
                }
                Json::Object(members) => {
                    Step::Member(members.keys().nth(self.below(members.len()))?.1.clone())
                }
                _ => return None,
            };
            let mut longer = way.clone();
            longer.push(step.clone());
            let continues = self.below(2) == 0;
            match document.at(&longer) {
                Some(Json::Array(_) | Json::Object(_)) if continues => way = longer,
                Some(old) => {
                    let path = path_text(&longer);
                    match self.below(3) {
                        0 => {
                            let value = self.value(2);
                            let bytes = diff(0, &path, Some(&value));
                            *old = value;
                            return Some(bytes);
                        }
                        1 if matches!(step, Step::Cell(_)) => {
                            let value = self.value(2);
                            let bytes = diff(1, &path, Some(&value));
                            let Some(Json::Array(cells)) = document.at(&way) else { return None };
                            let Step::Cell(index) = step else { return None };
                            cells.insert(index, value);
                            return Some(bytes);
                        }
                        _ => {
                            match (document.at(&way)?, step) {
                                (Json::Array(cells), Step::Cell(index)) => {
                                    drop(cells.remove(index))
                                }
                                (Json::Object(members), Step::Member(key)) => {
                                    drop(members.remove(&(key.len(), key)));
                                }
                                _ => return None,
                            }
                            return Some(diff(2, &path, None));
                        }
                    }
                }
                None => {
                    let value = self.value(2);
                    let bytes = diff(1, &path_text(&longer), Some(&value));
                    match (document.at(&way)?, step) {
                        (Json::Array(cells), Step::Cell(_)) => cells.push(value),
                        (Json::Object(members), Step::Member(key)) => {
                            members.insert((key.len(), key), value);
                        }
                        _ => return None,
                    }
                    return Some(bytes);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn the_same_as_writing_it_in_full(numbers in proptest::collection::vec(any::<u32>(), 1..400), gap in 0..3usize) {
        let mut choices = Choices(numbers.iter());
        let members: Vec<_> = (0..1 + choices.below(8)).map(|_| (choices.key(), choices.value(4))).collect();
        let mut after = Json::object(members);
        let before = after.clone();
        let mut diffs = Vec::new();
        for _ in 0..1 + choices.below(10) {
            diffs.extend(choices.change(&mut after).unwrap_or_default());
        }
        let found = patched(&before.document(gap), &diffs).unwrap();
        prop_assert_eq!(text(&found), text(&after.document(0)));
        if gap == 0 {
            prop_assert_eq!(found, after.document(0));
        }
    }

    #[test]
    fn any_bytes_do_no_harm(
        numbers in proptest::collection::vec(any::<u32>(), 1..60),
        mut noise in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..6),
        cut in 0..200usize,
    ) {
        let mut choices = Choices(numbers.iter());
        let members = vec![("a", choices.value(3)), ("b", choices.value(2))];
        let mut after = Json::object(members);
        let mut document = after.document(0);
        let mut diffs: Vec<u8> =
            (0..3).flat_map(|_| choices.change(&mut after).unwrap_or_default()).collect();
        let _ = patched(&document, &diffs[..cut.min(diffs.len())]);
        let (place, byte) = noise.pop().unwrap();
        if let Some(at) = diffs.len().checked_sub(1) {
            diffs[usize::from(place).min(at)] = byte;
        }
        let _ = patched(&document, &diffs);
        for (place, byte) in noise {
            let place = usize::from(place) % document.len();
            document[place] = byte;
        }
        if let Ok(after) = patched(&document, &diffs) {
            let _ = write_text(&after, &mut Vec::new());
        }
    }
}
