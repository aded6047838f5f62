//! Concatenates arrays of one type.

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, StringArray, make_array};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType};
use std::sync::Arc;

/// Returns the rows of all `pieces` in order. At least one piece is needed, and all must have one type.
///
/// # Errors
/// The type is a dictionary other than of texts with 32-bit keys, or there are too many different
/// texts for the keys.
pub(crate) fn concat(pieces: &[ArrayRef]) -> Result<ArrayRef, ArrowError> {
    let Some(first) = pieces.first() else {
        return Err(ArrowError::InvalidArgumentError("no array to concatenate".to_owned()));
    };
    if pieces.len() == 1 {
        return Ok(Arc::clone(first));
    }
    if matches!(first.data_type(), DataType::Dictionary(..)) {
        return concat_dictionaries(pieces);
    }
    let data: Vec<_> = pieces.iter().map(|piece| piece.to_data()).collect();
    let rows = pieces.iter().map(|piece| piece.len()).sum();
    let mut all = MutableArrayData::new(data.iter().collect(), false, rows);
    for (index, piece) in pieces.iter().enumerate() {
        all.try_extend(index, 0, piece.len())?;
    }
    Ok(make_array(all.freeze()))
}

/// Each text is in the new dictionary once, even if several pieces contain it.
fn concat_dictionaries(pieces: &[ArrayRef]) -> Result<ArrayRef, ArrowError> {
    let mut all = StringDictionaryBuilder::<Int32Type>::new();
    for piece in pieces {
        let texts = piece
            .as_dictionary_opt::<Int32Type>()
            .and_then(|dictionary| dictionary.downcast_dict::<StringArray>());
        let Some(texts) = texts else {
            let message = format!("a column of the type {}", piece.data_type());
            return Err(ArrowError::NotYetImplemented(message));
        };
        for text in texts {
            match text {
                Some(text) => drop(all.append(text)?),
                None => all.append_null(),
            }
        }
    }
    Ok(Arc::new(all.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{BinaryArray, DictionaryArray, Int64Array};

    #[test]
    fn rows_of_all_pieces_in_order() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
        let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![Some(&b"a"[..]), None, Some(b"")]));
        for array in [numbers, bytes] {
            let pieces = [array.slice(1, 2), array.slice(0, 0), array.slice(0, 1)];
            let all = concat(&pieces).unwrap();
            assert_eq!(&all.slice(0, 2), &array.slice(1, 2));
            assert_eq!(&all.slice(2, 1), &array.slice(0, 1));
        }
    }

    #[test]
    fn texts_of_several_dictionaries() {
        let one = [Some("b"), None, Some("a")];
        let other = [Some("c"), Some("b"), None];
        let arrays = [one, other]
            .map(|texts| -> ArrayRef { Arc::new(DictionaryArray::<Int32Type>::from_iter(texts)) });
        let all = concat(&[arrays[0].slice(1, 2), Arc::clone(&arrays[1])]).unwrap();
        let all = all.as_dictionary::<Int32Type>();
        let texts: Vec<_> = all.downcast_dict::<StringArray>().unwrap().into_iter().collect();
        assert_eq!(texts, [None, Some("a"), Some("c"), Some("b"), None]);
        assert_eq!(all.values().len(), 3);
    }
}
