//! TIME(fsp): a signed span of up to 838:59:59 in 3 bytes and the fraction, big-endian.
//!
//! ```text
//! -01:02:03.004      7f ef 7c ff d8      all bytes are one number, less 0x800000 followed by zeros for the fraction;
//!                                        of its absolute value
//!                    1 + 1 + 10 + 6 + 6 bits + fraction
//!                            │    │   └ second
//!                            │    └ minute
//!                            └ hour
//! ```
//!
//! All bytes, with the fraction, are decoded as one number, so a negative fraction needs no special
//! case.
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/time.html>

use super::{
    SECOND, check_below, check_fsp, check_length, fraction_bytes, push_clock, push_fraction,
};
use crate::wire::{Reader, Result};

/// The largest hour that MySQL stores.
pub const MAX_HOUR: u16 = 838;

/// The number of bytes of a stored TIME(fsp).
#[inline]
pub const fn byte_count(fsp: u8) -> usize {
    3 + fraction_bytes(fsp)
}

/// Signed microseconds of a stored TIME(fsp).
#[inline]
pub fn decode2(bytes: &[u8], fsp: u8) -> Result<i64> {
    check_fsp(fsp)?;
    check_length(bytes.len(), byte_count(fsp))?;
    let stored = Reader::new(bytes).uint_be(bytes.len(), "TIME")? as i64;
    let fraction_bits = 8 * fraction_bytes(fsp);
    let value = stored - (0x80_0000 << fraction_bits);
    let packed = value.unsigned_abs();
    let fraction = packed & ((1 << fraction_bits) - 1);
    let unit = match fraction_bits {
        8 => 10_000,
        16 => 100,
        _ => 1,
    };
    from_packed(packed >> fraction_bits, fraction * unit, value < 0)
}

/// Unpacks the packed form without its sign; binary JSON contains this form too.
#[inline]
pub(crate) fn from_packed(packed: u64, microsecond: u64, negative: bool) -> Result<i64> {
    let (hour, minute, second) = (packed >> 12, packed >> 6 & 63, packed & 63);
    check_below(hour, u64::from(MAX_HOUR) + 1, "hour of a TIME above 838")?;
    check_below(minute, 60, "minute above 59")?;
    check_below(second, 60, "second above 59")?;
    check_below(microsecond, SECOND as u64, "fraction of a second or more")?;
    let micros = ((hour * 60 + minute) * 60 + second) as i64 * SECOND + microsecond as i64;
    Ok(if negative { -micros } else { micros })
}

/// Appends `micros` as MySQL prints a TIME(fsp): `-00:00:00.001`, `838:59:59`.
pub fn write_text(micros: i64, fsp: u8, out: &mut Vec<u8>) {
    if micros < 0 {
        out.push(b'-');
    }
    let micros = micros.unsigned_abs();
    let seconds = micros / SECOND as u64;
    push_clock(out, seconds / 3600, seconds / 60 % 60, seconds % 60);
    push_fraction(out, (micros % SECOND as u64) as u32, fsp);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(micros: i64, fsp: u8) -> String {
        let mut out = Vec::new();
        write_text(micros, fsp, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn encode(micros: i64, fsp: u8) -> Vec<u8> {
        let width = fraction_bytes(fsp);
        let (seconds, fraction) = (micros.abs() / SECOND, micros.abs() % SECOND);
        let packed = (seconds / 3600) << 12 | (seconds / 60 % 60) << 6 | (seconds % 60);
        let value = (packed << (8 * width)) | (fraction / 100i64.pow(3 - width as u32));
        let value = if micros < 0 { -value } else { value } + (0x80_0000 << (8 * width));
        value.to_be_bytes()[5 - width..].to_vec()
    }

    #[test]
    fn vectors() {
        for (bytes, fsp, printed) in [
            (&[0x7f, 0xff, 0xff][..], 0, "-00:00:01"),
            (&[0x7f, 0xff, 0xff, 0xf6], 1, "-00:00:00.1"),
            (&[0x7f, 0xff, 0xff, 0xff, 0xf6], 3, "-00:00:00.001"),
            (&[0x7f, 0xef, 0x7c, 0xff, 0xd8], 3, "-01:02:03.004"),
            (&[0xb4, 0x6e, 0xfb, 0x0f, 0x42, 0x3f], 6, "838:59:59.999999"),
            (&[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff], 6, "-00:00:00.000001"),
            (&[0x80, 0, 0], 0, "00:00:00"),
        ] {
            assert_eq!(bytes.len(), byte_count(fsp));
            assert_eq!(text(decode2(bytes, fsp).unwrap(), fsp), printed);
        }
        assert_eq!(decode2(&[0x7f, 0xef, 0x7c, 0xff, 0xd8], 3), Ok(-3_723_004_000));
    }

    #[test]
    fn rejects() {
        assert!(decode2(&[0, 0, 0], 0).is_err(), "beyond the least");
        assert!(decode2(&[0xff, 0xff, 0xff], 0).is_err());
        assert!(decode2(&[0x80, 0x0f, 0x00], 0).is_err(), "minute 60");
        assert!(decode2(&[0x80, 0x00, 0x3c], 0).is_err(), "second 60");
        assert!(decode2(&[0x80, 0, 0, 100], 2).is_err(), "100 hundredths");
        assert!(decode2(&[0x80, 0], 0).is_err(), "too short");
        assert!(decode2(&[0x80, 0, 0, 0], 0).is_err(), "too long");
        assert!(decode2(&[0x80, 0, 0, 0, 0, 0, 0], 7).is_err(), "precision");
    }

    proptest! {
        #[test]
        fn round_trip(micros in -3_020_399_999_999i64..=3_020_399_999_999, fsp in 0..=6u8) {
            let unit = 100i64.pow(3 - fraction_bytes(fsp) as u32);
            let micros = micros / unit * unit;
            prop_assert_eq!(decode2(&encode(micros, fsp), fsp), Ok(micros));
        }

        #[test]
        fn any_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..8), fsp: u8, micros: i64) {
            if let Ok(value) = decode2(&bytes, fsp) {
                prop_assert_eq!(encode(value, fsp), bytes);
            }
            text(micros, fsp);
        }
    }
}
