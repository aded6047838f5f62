//! Numbers in the text of positions.

use std::str::FromStr;

/// Reads a number that consists of digits only, without a sign.
pub(super) fn parse_number<T: FromStr>(text: &str) -> Option<T> {
    let all_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| text.parse().ok()).flatten()
}
