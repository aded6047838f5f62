//! Targets for one cell.

use binarrow::charset::Collation;
use binarrow::value::temporal::{date, datetime, mariadb53, old, time, timestamp};
use binarrow::value::{bit, compressed, decimal, geometry, vector};
use binarrow::wire::Inflater;
use std::io::Write;

/// A decimal of any precision and scale: the number and the text agree.
///
/// ```text
/// precision 1, scale 1, value
/// ```
pub(crate) fn decimal(data: &[u8]) {
    let [precision, scale, value @ ..] = data else { return };
    let (precision, scale) = (*precision, *scale);
    let mut text = Vec::new();
    let written = decimal::write_text(value, precision, scale, &mut text);
    let wide = decimal::decode_wide(value, precision, scale);
    let number = decimal::decode_i128(value, precision, scale);
    assert_eq!(written.is_ok(), wide.is_ok());
    if let Some(form) = decimal::ShortDecimal::of(precision, scale) {
        assert_eq!(form.decode(value).map(i128::from), number.as_ref().ok().copied());
    }
    let Ok(wide) = wide else {
        assert!(number.is_err() && text.is_empty());
        return;
    };
    let digits: Vec<u8> = text.iter().copied().filter(u8::is_ascii_digit).collect();
    assert!(digits.len() <= 1 + usize::from(precision));
    let has_point = text.contains(&b'.');
    assert_eq!((has_point, text.starts_with(b"-")), (scale > 0, wide.negative));
    if let Ok(number) = number {
        let (low, high) = wide.to_parts();
        assert_eq!((low as i128, high), (number, if number < 0 { -1 } else { 0 }));
        let digits = String::from_utf8(digits).expect("digits");
        assert_eq!(digits.parse::<u128>(), Ok(number.unsigned_abs()));
    }
}

/// Dates and times, new and old, of any precision.
///
/// ```text
/// fractional digits 1, value
/// ```
pub(crate) fn temporals(data: &[u8]) {
    let Some((&fsp, value)) = data.split_first() else { return };
    let mut text = Vec::new();
    for moment in
        [datetime::decode2(value, fsp), mariadb53::datetime(value, fsp), old::datetime(value)]
            .into_iter()
            .flatten()
    {
        text.clear();
        moment.write_text(fsp, &mut text);
        assert!(text.len() <= 26 && text.is_ascii(), "{text:?}");
        if let Some(micros) = moment.micros_since_epoch() {
            assert_eq!(datetime::DateTime::from_timestamp(Some(micros)), moment);
        }
    }
    for micros in [time::decode2(value, fsp), mariadb53::time(value, fsp), old::time(value)]
        .into_iter()
        .flatten()
    {
        text.clear();
        time::write_text(micros, fsp, &mut text);
        assert!(text.len() <= 17 && text.is_ascii(), "{text:?}");
        assert!(micros.unsigned_abs() < 839 * 3600 * 1_000_000, "{micros}");
    }
    for micros in
        [timestamp::decode2(value, fsp), mariadb53::timestamp(value, fsp), old::timestamp(value)]
            .into_iter()
            .flatten()
    {
        let moment = datetime::DateTime::from_timestamp(micros);
        assert!(micros.is_none() || moment.micros_since_epoch() == micros);
    }
    if let Some(bytes) = value.first_chunk() {
        let date = date::decode(*bytes);
        if let Some(days) = date.days_since_epoch() {
            assert_eq!(date::Date::from_days_since_epoch(days), date);
        }
        text.clear();
        date.write_text(&mut text);
        assert!(text.is_ascii(), "{text:?}");
    }
}

/// A cell of a compressed column, as given and compressed here; and simple types of bytes.
///
/// ```text
/// form 1, value
/// ```
pub(crate) fn bytes(data: &[u8]) {
    let Some((&form, value)) = data.split_first() else { return };
    let mut inflater = Inflater::default();
    let _ = compressed::plain(value, &mut inflater).map(<[u8]>::len);
    let level = flate2::Compression::new(u32::from(form % 10));
    let mut packer = flate2::write::ZlibEncoder::new(vec![0x84], level);
    packer.get_mut().extend((value.len() as u32).to_be_bytes());
    packer.write_all(value).expect("room");
    let packed = packer.finish().expect("room");
    assert_eq!(compressed::plain(&packed, &mut inflater), Ok(value));

    if let (Ok(dimension), Ok(elements)) = (vector::dimension(value), vector::elements(value)) {
        assert_eq!((dimension, elements.count()), (value.len() / 4, dimension));
    }
    let mut ewkb = Vec::new();
    if geometry::write_ewkb(value, &mut ewkb).is_ok() {
        assert!((value.len() - 4..=value.len()).contains(&ewkb.len()));
    }
    assert_eq!(bit::decode(value).is_ok(), value.len() <= bit::MAX_BYTES);
}

/// Text with any collation: the result is UTF-8 or an error; reading it with replacement returns
/// the same text if there was no error.
///
/// ```text
/// collation id 2, text
/// ```
pub(crate) fn text(data: &[u8]) {
    let [a, b, text @ ..] = data else { return };
    let charset = Collation(u16::from_le_bytes([*a, *b]).into()).charset();
    let lossy = charset.decode_lossy(text);
    let mut out = b"before".to_vec();
    match charset.decode_into(text, "text", &mut out) {
        Ok(()) => {
            assert_eq!(std::str::from_utf8(&out), Ok(format!("before{lossy}").as_str()));
        }
        Err(_) => assert_eq!(out, b"before"),
    }
}
