//! Values between two values of a key column, at which a range of rows may be divided.
//!
//! They need not be values of rows, and the server may order them in another way: it is asked for the first row from such a value
//! on, and whether this row is in the range. So a value that is chosen badly divides a range unequally or not at all, and no row
//! is lost.

use super::key::KeyKind;
use crate::charset::Charset;

impl KeyKind {
    /// Values between two others, the best first; none if there is none.
    pub(super) fn between(self, low: &[u8], high: &[u8]) -> Vec<Vec<u8>> {
        match self {
            Self::Number => number(low, high).into_iter().collect(),
            Self::Quoted => time(low, high).or_else(|| uuid(low, high)).into_iter().collect(),
            Self::Bytes => bytes(low, high),
            Self::Text(charset) => text(charset, low, high),
        }
    }
}

/// The integer in the middle.
fn number(low: &[u8], high: &[u8]) -> Option<Vec<u8>> {
    let (low, high) = (integer(low)?, integer(high)?);
    let middle = low.checked_add(high.checked_sub(low)? / 2)?;
    // The digits after a point are left out, so a value may be above that of the low integer.
    let middle = if middle == low { low.checked_add(1)? } else { middle };
    (middle <= high).then(|| middle.to_string().into_bytes())
}

/// The digits before a point.
fn integer(value: &[u8]) -> Option<i128> {
    let text = std::str::from_utf8(value).ok()?;
    text.split('.').next()?.parse().ok()
}

/// The time in the middle of two dates, with or without times of day.
fn time(low: &[u8], high: &[u8]) -> Option<Vec<u8>> {
    let is_date = low.len() == DATE.len() && high.len() == DATE.len();
    let (low, high) = (seconds(low)?, seconds(high)?);
    let middle = low + high.checked_sub(low)? / 2;
    let (days, second) = (middle / DAY, middle % DAY);
    // Each month has a 28th.
    let (year, month, day) = (days / (12 * 31), days / 31 % 12 + 1, (days % 31 + 1).min(28));
    let mut text = format!("{year:04}-{month:02}-{day:02}");
    if !is_date {
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        text.push_str(&format!(" {hour:02}:{minute:02}:{second:02}"));
    }
    (middle > low).then(|| text.into_bytes())
}

const DATE: &str = "YYYY-MM-DD";
const DAY: u64 = 86_400;

/// Seconds in a calendar whose months have 31 days: in the order of the times.
fn seconds(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?;
    let (date, time) = text.split_once(' ').unwrap_or((text, "00:00:00"));
    let three = |text: &str, separator| {
        let mut parts = text.split(separator).map(|part| part.parse::<u64>().ok());
        Some((parts.next()??, parts.next()??, parts.next()??, parts.next()))
    };
    let (year, month, day, None) = three(date, '-')? else { return None };
    let time = time.split('.').next()?;
    let (hour, minute, second, None) = three(time, ':')? else { return None };
    let days = (year * 12 + month.saturating_sub(1).min(11)) * 31 + day.saturating_sub(1).min(30);
    Some(days * DAY + (hour * 60 + minute) * 60 + second)
}

/// The UUID in the middle.
fn uuid(low: &[u8], high: &[u8]) -> Option<Vec<u8>> {
    let number = |value: &[u8]| {
        let text = std::str::from_utf8(value).ok().filter(|text| text.len() == 36)?;
        u128::from_str_radix(&text.replace('-', ""), 16).ok()
    };
    let (low, high) = (number(low)?, number(high)?);
    let middle = low.min(high) + low.abs_diff(high) / 2;
    let hex = format!("{middle:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    let text = [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-");
    (middle != low && middle != high).then(|| text.into_bytes())
}

/// The bytes that both values begin with.
fn common<'v>(low: &'v [u8], high: &[u8]) -> &'v [u8] {
    let count = low.iter().zip(high).take_while(|(low, high)| low == high).count();
    low.get(..count).unwrap_or_default()
}

/// Bytes in the middle.
fn bytes(low: &[u8], high: &[u8]) -> Vec<Vec<u8>> {
    let same = common(low, high);
    // Two bytes, so that neighbours such as 1 and 2 are divided too.
    let pair = |value: &[u8]| {
        let at = |index| u32::from(value.get(same.len() + index).copied().unwrap_or_default());
        at(0) << 8 | at(1)
    };
    let (low, high) = (pair(low), pair(high));
    if high <= low + 1 {
        return Vec::new();
    }
    let [_, _, first, second] = (low + (high - low) / 2).to_be_bytes();
    vec![[same, &[first, second]].concat()]
}

/// Texts that begin like both values, and have letters or digits between theirs after that. The order of others depends on the
/// collation.
fn text(charset: Charset, low: &[u8], high: &[u8]) -> Vec<Vec<u8>> {
    let same = common(low, high);
    let ends_in_character = [low, high].into_iter().any(|value| cuts(charset, value, same.len()));
    if ends_in_character {
        return Vec::new();
    }
    // The next letters as digits of a number; 0 is the end of the text, and other characters, which most collations sort first.
    let number = |value: &[u8]| {
        (0..DIGITS).fold(0, |number, index| {
            let letter = value.get(same.len() + index).map(u8::to_ascii_lowercase);
            let place = letter.and_then(|letter| LETTERS.iter().position(|known| *known == letter));
            number * BASE + place.map_or(0, |place| place + 1)
        })
    };
    let (first, last) = (number(low), number(high));
    let (first, last) = (first.min(last), first.max(last));
    let mut found: Vec<Vec<u8>> = Vec::new();
    for quarters in [2, 1, 3] {
        let middle = first + (last - first) * quarters / 4;
        if middle == first {
            continue;
        }
        let mut digits = [0; DIGITS];
        digits.iter_mut().rev().fold(middle, |rest, digit| {
            *digit = rest % BASE;
            rest / BASE
        });
        let letters = digits.iter().map_while(|digit| LETTERS.get(digit.checked_sub(1)?).copied());
        let letters: Vec<u8> = letters.collect();
        found.push([same, &letters].concat());
    }
    found.dedup();
    found
}

/// The number of letters that are compared.
const DIGITS: usize = 4;

/// A letter or digit, or none.
const BASE: usize = LETTERS.len() + 1;

/// True if a text may not end at an index: its last character would lose bytes, or letters are not single bytes.
fn cuts(charset: Charset, text: &[u8], index: usize) -> bool {
    use Charset as C;
    match charset {
        C::Ucs2 | C::Utf16 | C::Utf16le | C::Utf32 | C::Unknown => true,
        C::Utf8mb3 | C::Utf8mb4 => text.get(index).is_some_and(|byte| byte & 0xc0 == 0x80),
        C::Big5
        | C::Cp932
        | C::Eucjpms
        | C::Euckr
        | C::Gb18030
        | C::Gb2312
        | C::Gbk
        | C::Sjis
        | C::Ujis => !text.get(..index).unwrap_or_default().is_ascii(),
        _ => false,
    }
}

/// In the order of most collations.
const LETTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

#[cfg(test)]
mod tests {
    use super::*;

    fn first(kind: KeyKind, low: &str, high: &str) -> String {
        let values = kind.between(low.as_bytes(), high.as_bytes());
        values.first().map(|value| String::from_utf8_lossy(value).into_owned()).unwrap_or_default()
    }

    #[test]
    fn values_between() {
        use KeyKind::{Bytes, Number, Quoted};
        let text = KeyKind::Text(Charset::Utf8mb4);
        for (kind, low, high, wanted) in [
            (Number, "1", "9", "5"),
            (Number, "-9", "8", "-1"),
            (Number, "1", "2", "2"),
            (Number, "7", "7", ""),
            (Number, "9223372036854775808", "18446744073709551615", "13835058055282163711"),
            (Number, "0.25", "0.75", ""),
            (Number, "0.25", "10.75", "5"),
            (Quoted, "2026-01-01", "2026-12-31", "2026-06-28"),
            (Quoted, "2026-01-01 00:00:00", "2026-01-02 00:00:00.5", "2026-01-01 12:00:00"),
            (Quoted, "0000-00-00", "2026-01-01", "1013-01-01"),
            (Quoted, "2026-01-01", "2026-01-01", ""),
            (Quoted, "-10:00:00", "10:00:00", ""),
            (
                Quoted,
                "00000000-0000-0000-0000-000000000000",
                "80000000-0000-0000-0000-000000000000",
                "40000000-0000-0000-0000-000000000000",
            ),
            (Quoted, "::1", "::5", ""),
            (Bytes, "a", "c", "b\0"),
            (Bytes, "a", "a", ""),
            (text, "a", "a", ""),
        ] {
            assert_eq!(first(kind, low, high), wanted, "{kind:?} {low} {high}");
        }
        for (low, high, begin) in [
            ("apple", "axle", "at"),
            ("", "zebra", "h"),
            ("Köln", "Köthen", "Köp"),
            ("order-1", "order-2", "order-1h"),
            ("Order-1x", "Order-1Z", "Order-1y"),
        ] {
            let found = first(text, low, high);
            assert!(found.starts_with(begin), "{found}");
        }
        // The common part ends inside of a character.
        assert_eq!(first(text, "\u{e4}", "\u{f6}"), "");
    }
}
