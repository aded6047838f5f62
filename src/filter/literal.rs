//! Constants in the form of the columns that they are compared with.

use super::class::Class;
use super::expression::Literal;
use crate::value::temporal::{Date, DateTime};
use arrow_buffer::i256;

/// A constant.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// The largest number with the digits of the column that is not above the constant. `is_exact`: it is the constant.
    Number { floor: i256, is_exact: bool },
    /// A number of the type DOUBLE.
    Float(f64),
    /// Text or bytes.
    Bytes(Box<[u8]>),
    /// Microseconds, or the order of a date in text.
    Micros(i64),
}

impl Value {
    /// Converts a constant; `None` if it cannot be compared with such a column.
    pub(super) fn of(literal: &Literal, class: Class) -> Option<Self> {
        Some(match (class, literal) {
            (Class::Number { scale }, Literal::Number(text)) => {
                let (floor, is_exact) = scaled(text, scale)?;
                Self::Number { floor, is_exact }
            }
            (Class::Number { scale }, Literal::Boolean(is_true)) => {
                let (floor, is_exact) = scaled(if *is_true { "1" } else { "0" }, scale)?;
                Self::Number { floor, is_exact }
            }
            (Class::Number { scale }, Literal::Bytes(bytes)) if bytes.len() <= 8 => {
                let number =
                    bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
                let (floor, is_exact) = scaled(&number.to_string(), scale)?;
                Self::Number { floor, is_exact }
            }
            (Class::Float, Literal::Number(text)) => Self::Float(text.parse().ok()?),
            (Class::Float, Literal::Boolean(is_true)) => Self::Float(f64::from(u8::from(*is_true))),
            (Class::Text | Class::Bytes, Literal::Text(text)) => {
                Self::Bytes(text.as_bytes().into())
            }
            (Class::Text | Class::Bytes, Literal::Bytes(bytes)) => {
                Self::Bytes(bytes.as_slice().into())
            }
            (Class::Moment, Literal::Text(text)) => {
                let (moment, offset) = moment(text)?;
                Self::Micros(moment.micros_since_epoch()?.checked_sub(offset)?)
            }
            (Class::MomentText, Literal::Text(text)) => match moment(text)? {
                (moment, 0) => Self::Micros(order(moment)),
                (moment, offset) => {
                    let utc = moment.micros_since_epoch()?.checked_sub(offset)?;
                    Self::Micros(order(DateTime::from_timestamp(Some(utc))))
                }
            },
            (Class::Time, Literal::Text(text)) => Self::Micros(time(text)?),
            _ => return None,
        })
    }
}

/// A decimal number with `scale` digits after the point, rounded down; true if no digit was lost. A number that is too large is
/// the largest one, and not exact.
pub(super) fn scaled(text: &str, scale: u8) -> Option<(i256, bool)> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (is_negative, unsigned) = match mantissa.strip_prefix('-') {
        Some(unsigned) => (true, unsigned),
        None => (false, mantissa),
    };
    let (units, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    // The place of the last digit that the number keeps, counted from the first one.
    let kept =
        i32::try_from(units.len()).ok()?.checked_add(exponent)?.checked_add(i32::from(scale))?;
    let mut number = i256::ZERO;
    let mut is_exact = true;
    let ten = i256::from_i128(10);
    let mut place = 0;
    for digit in units.bytes().chain(fraction.bytes()) {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        if place < kept {
            let next = number
                .checked_mul(ten)
                .and_then(|number| number.checked_add(i256::from_i128(digit.into())));
            let Some(next) = next else { return Some(beyond(is_negative)) };
            number = next;
        } else {
            is_exact &= digit == 0;
        }
        place += 1;
    }
    while place < kept && number != i256::ZERO {
        let Some(next) = number.checked_mul(ten) else { return Some(beyond(is_negative)) };
        number = next;
        place += 1;
    }
    Some(match (is_negative, is_exact) {
        (false, is_exact) => (number, is_exact),
        (true, true) => (number.wrapping_neg(), true),
        (true, false) => (number.wrapping_neg().wrapping_sub(i256::ONE), false),
    })
}

fn beyond(is_negative: bool) -> (i256, bool) {
    (if is_negative { i256::MIN } else { i256::MAX }, false)
}

/// Parses `2026-11-22`, `2026-11-22 10:42`, `2026-11-22T10:42:00.5+01:00` or with `Z`; the offset is in microseconds.
pub(super) fn moment(text: &str) -> Option<(DateTime, i64)> {
    let (date, clock) = match text.trim().split_once(['T', 't', ' ']) {
        Some((date, clock)) => (date, clock.trim()),
        None => (text.trim(), ""),
    };
    let mut parts = date.split('-');
    let mut part = |digits: usize| {
        let part = parts.next().filter(|part| part.len() <= digits && !part.is_empty())?;
        number(part)
    };
    let (year, month, day) = (part(4)?, part(2)?, part(2)?);
    if parts.next().is_some() {
        return None;
    }
    let date = Date { year: year as u16, month: month as u8, day: day as u8 };
    let (clock, offset) = zone(clock)?;
    let micros =
        if clock.is_empty() { 0 } else { time(clock).filter(|_| !clock.starts_with('-'))? };
    let seconds = micros / SECOND;
    if seconds >= 86_400 || month > 12 || day > 31 {
        return None;
    }
    let moment = DateTime {
        date,
        hour: (seconds / 3600) as u8,
        minute: (seconds / 60 % 60) as u8,
        second: (seconds % 60) as u8,
        microsecond: (micros % SECOND) as u32,
    };
    Some((moment, offset))
}

/// Splits the zone from a time of day, and returns its offset in microseconds.
fn zone(clock: &str) -> Option<(&str, i64)> {
    if let Some(clock) = clock.strip_suffix(['Z', 'z']) {
        return (!clock.is_empty()).then_some((clock.trim_end(), 0));
    }
    let Some(at) = clock.rfind(['+', '-']).filter(|at| *at > 0) else { return Some((clock, 0)) };
    let (clock, offset) = clock.split_at(at);
    let micros = time(offset.get(1..)?)?;
    Some((clock.trim_end(), if offset.starts_with('-') { -micros } else { micros }))
}

/// Parses `10:42`, `10:42:00.5` or `-838:59:59`, in microseconds.
pub(super) fn time(text: &str) -> Option<i64> {
    let text = text.trim();
    let (is_negative, clock) = match text.strip_prefix('-') {
        Some(clock) => (true, clock),
        None => (false, text),
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut parts = clock.split(':');
    let mut part = |digits: usize| number(parts.next().filter(|part| part.len() <= digits)?);
    let (hours, minutes) = (part(3)?, part(2)?);
    let seconds = if clock.matches(':').count() == 2 { part(2)? } else { 0 };
    if parts.next().is_some() || minutes > 59 || seconds > 59 || fraction.len() > 6 {
        return None;
    }
    let micros = number(&format!("{fraction:0<6}"))?;
    let micros = ((hours * 60 + minutes) * 60 + seconds) * SECOND + micros;
    Some(if is_negative { -micros } else { micros })
}

/// A number for each date and time that a server stores, also zero dates, in their order.
pub(super) fn order(moment: DateTime) -> i64 {
    let Date { year, month, day } = moment.date;
    let days = (i64::from(year) * 13 + i64::from(month)) * 32 + i64::from(day);
    let hours = days * 24 + i64::from(moment.hour);
    let seconds = (hours * 60 + i64::from(moment.minute)) * 60 + i64::from(moment.second);
    seconds * SECOND + i64::from(moment.microsecond)
}

fn number(digits: &str) -> Option<i64> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

pub(super) const SECOND: i64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_with_the_digits_of_a_column() {
        let scaled =
            |text, scale| scaled(text, scale).map(|(number, exact)| (number.to_string(), exact));
        for (text, scale, number, is_exact) in [
            ("7", 0, "7", true),
            ("7.5", 0, "7", false),
            ("-7.5", 0, "-8", false),
            ("-7.50", 1, "-75", true),
            ("1.5", 2, "150", true),
            ("1e3", 0, "1000", true),
            ("12.5e-1", 1, "12", false),
            (".5", 1, "5", true),
            ("5.", 1, "50", true),
            ("0e99999", 0, "0", true),
            ("1e-999", 3, "0", false),
        ] {
            assert_eq!(scaled(text, scale), Some((number.to_owned(), is_exact)), "{text}");
        }
        assert_eq!(scaled("1e99", 0), Some((i256::MAX.to_string(), false)));
        assert_eq!(scaled("-1e99", 0), Some((i256::MIN.to_string(), false)));
        assert_eq!(scaled("1e2147483647", 9), None);
    }

    #[test]
    fn dates_and_times() {
        let micros = |text: &str| {
            let (moment, offset) = moment(text)?;
            Some(moment.micros_since_epoch()? - offset)
        };
        assert_eq!(micros("1970-01-01"), Some(0));
        assert_eq!(micros("1970-01-02T00:00:01.5Z"), Some(86_401_500_000));
        assert_eq!(micros("1970-1-1 01:00+01:00"), Some(0));
        assert_eq!(micros("1970-01-01 00:00:00 -01:30"), Some(5_400_000_000));
        assert_eq!(time("-838:59:59"), Some(-3_020_399_000_000));
        assert_eq!(time("1:2:3.000004"), Some(3_723_000_004));
        for text in [
            "",
            "1970",
            "1970-01",
            "1970-01-01 25:00",
            "1970-01-01 1",
            "1970-13-01",
            "19700-01-01",
            "1970-01-01 x",
            "1970-01-01 -01:00",
        ] {
            assert_eq!(micros(text), None, "{text}");
        }
        for text in ["", "1", "1:60", "1:00:60", "1:00:00.1234567", "1:2:3:4", "a:00", "1234:00"] {
            assert_eq!(time(text), None, "{text}");
        }
        let zero = moment("0000-00-00").unwrap().0;
        assert!(order(zero) < order(moment("0000-01-01").unwrap().0));
        assert_eq!(zero.micros_since_epoch(), None);
    }
}
