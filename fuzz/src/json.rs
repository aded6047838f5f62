//! Targets for JSON documents in MySQL's binary form, and for changes to them.

use super::split;
use binarrow::DecodeError;
use binarrow::value::json::{self, TextEncoder, VariantEncoder};

/// A document. The text of a valid document is JSON; the sizes of text and variant are limited.
pub(crate) fn document(data: &[u8]) {
    let text = text(data);
    // Known keys must not change the text. `TextEncoder` does not check strings.
    let mut printer = TextEncoder::default();
    let first = printer.encode(data).ok().map(<[u8]>::to_vec);
    // Without another document before it, the text of the last one would be returned.
    printer.encode(b"").expect("the document null");
    assert_eq!(first.as_deref(), printer.encode(data).ok());
    assert!(text.is_none() || text == first);
    let (mut value, mut metadata) = (Vec::new(), Vec::new());
    let mut encoder = VariantEncoder::default();
    if encoder.encode(data, &mut value, &mut metadata).is_ok() {
        assert!(value.len() + metadata.len() <= 64 + 16 * data.len());
        // With the state of the previous document, the result is the same.
        let (mut again, mut keys) = (Vec::new(), Vec::new());
        assert_eq!(encoder.encode(data, &mut again, &mut keys), Ok(()));
        assert_eq!((again, keys), (value, metadata));
        assert!(text.is_some());
    }
}

/// Diffs on a document. If the document is valid, the result is valid, is not longer than the
/// input, and does not change when empty diffs are applied.
///
/// ```text
/// document's length 2, document, diffs
/// ```
pub(crate) fn diffs(data: &[u8]) {
    let [a, b, rest @ ..] = data else { return };
    let (document, diffs) = split(rest, u16::from_le_bytes([*a, *b]));

    let mut shown = b"before".to_vec();
    let can_show = json::write_diff_text(diffs, &mut shown);
    let shown = shown.strip_prefix(b"before").expect("what was there before");
    match can_show {
        Ok(()) => assert_json(shown, diffs.len()),
        Err(_) => assert!(shown.is_empty()),
    }
    let mut after = b"before".to_vec();
    let applied = json::apply_diffs(document, diffs, &mut after);
    let after = after.strip_prefix(b"before").expect("what was there before");
    if applied.is_err() {
        assert!(after.is_empty());
        return;
    }
    // Entries of large containers are twice as long as those of small ones.
    assert!(after.len() <= 64 + 2 * rest.len(), "{} of {}", after.len(), rest.len());
    let mut again = Vec::new();
    assert_eq!(json::apply_diffs(after, &[], &mut again), Ok(()));
    assert_eq!(again, after);
    if text(document).is_some() && can_show.is_ok() {
        // Values inside a copied value may share bytes, for which the document had enough budget;
        // and a value that was inserted into another may be nested too deep there.
        let result = json::write_text(after, &mut Vec::new());
        assert!(matches!(result, Ok(()) | Err(DecodeError::Limit { .. })), "{result:?}");
    }
    text(after);
}

/// Returns the text of a document, which must be JSON; `None` for an error.
fn text(document: &[u8]) -> Option<Vec<u8>> {
    let mut out = b"before".to_vec();
    let result = json::write_text(document, &mut out);
    let text = out.split_off(b"before".len());
    assert_eq!(out, b"before");
    match result {
        Ok(()) => assert_json(&text, document.len()),
        Err(_) => assert!(text.is_empty()),
    }
    result.ok().map(|()| text)
}

fn assert_json(text: &[u8], source_bytes: usize) {
    assert!(text.len() <= 64 + 16 * source_bytes, "{} of {source_bytes}", text.len());
    let parsed = serde_json::from_slice::<serde::de::IgnoredAny>(text);
    assert!(parsed.is_ok(), "{parsed:?}: {}", String::from_utf8_lossy(text));
}
