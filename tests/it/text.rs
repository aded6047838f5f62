//! Cells that are not valid text in their character set.

use crate::log::{Log, T, UPDATE_ROWS, WRITE_ROWS, begin, gtid, image, rows_event, table_map, xid};
use crate::rows::{Outcome, decode, options};
use binarrow::ErrorKind;
use binarrow::columnar::InvalidText;

/// Reads one rows event with rows of text, in which each `?` is an invalid byte.
fn read(code: u8, texts: &[&str], invalid_text: InvalidText) -> Outcome {
    let images = texts.iter().flat_map(|text| image(1, Some(text)));
    let images: Vec<u8> = images.map(|byte| if byte == b'?' { 0xff } else { byte }).collect();
    let events = [gtid(1), begin(), table_map(T), rows_event(code, T, &images), xid()];
    let mut options = options();
    options.decode.plan.types.invalid_text = invalid_text;
    decode(Log::mysql().with(events).inputs(), &options)
}

#[test]
fn the_error_names_the_row_and_what_to_do() {
    for (code, texts, row) in [
        (WRITE_ROWS, &["?", "b", "c"][..], 1),
        (WRITE_ROWS, &["a", "b?", "c"], 2),
        (WRITE_ROWS, &["a", "b", "?c"], 3),
        (UPDATE_ROWS, &["a", "?", "c", "d"], 1),
        (UPDATE_ROWS, &["a", "b", "?", "d"], 2),
        (UPDATE_ROWS, &["a", "b", "c", "?"], 2),
    ] {
        let outcome = read(code, texts, InvalidText::Error);
        assert!(outcome.rows.is_empty());
        let error = outcome.failure();
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert_eq!(
            error.message(),
            format!(
                "table d.t, row {row} of the event: column v: a cell is not valid utf8mb4 text: \
                 ⟦invalid_text=replace⟧ or 'binary' accepts such cells"
            )
        );
    }
}

#[test]
fn it_can_be_replaced() {
    let outcome = read(WRITE_ROWS, &["a?b", "c"], InvalidText::Replace).ok();
    let cells: Vec<_> = outcome.rows.iter().map(|row| row.cell("v")).collect();
    assert_eq!(cells, [Some("a\u{fffd}b"), Some("c")]);
}
