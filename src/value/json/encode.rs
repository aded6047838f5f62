//! For tests: encodes a `serde_json::Value` as a document in MySQL's binary form.

use serde_json::Value;

/// Encodes the document: with small containers where possible, or with large containers only.
pub(super) fn document(value: &Value, large: bool) -> Vec<u8> {
    let (kind, bytes) = encode(value, large);
    [&[kind][..], &bytes].concat()
}

fn encode(value: &Value, large: bool) -> (u8, Vec<u8>) {
    match value {
        Value::Null => (4, vec![0]),
        Value::Bool(value) => (4, vec![if *value { 1 } else { 2 }]),
        Value::Number(number) => number_bytes(number),
        Value::String(text) => (0x0c, [varlen(text.len()), text.clone().into_bytes()].concat()),
        Value::Array(items) => {
            let members: Vec<_> = items.iter().map(|item| (None, item)).collect();
            container(&members, large, 2)
        }
        Value::Object(fields) => {
            let mut members: Vec<_> =
                fields.iter().map(|(key, item)| (Some(key.as_bytes()), item)).collect();
            members.sort_by_key(|(key, _)| key.map(|key| (key.len(), key)));
            container(&members, large, 0)
        }
    }
}

fn number_bytes(number: &serde_json::Number) -> (u8, Vec<u8>) {
    if let Some(number) = number.as_i64() {
        return if let Ok(number) = i16::try_from(number) {
            (5, number.to_le_bytes().into())
        } else if let Ok(number) = i32::try_from(number) {
            (7, number.to_le_bytes().into())
        } else {
            (9, number.to_le_bytes().into())
        };
    }
    match number.as_u64() {
        Some(number) => (0x0a, number.to_le_bytes().into()),
        None => (0x0b, number.as_f64().unwrap().to_le_bytes().into()),
    }
}

fn varlen(mut length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while length > 0x7f {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes
}

fn container(members: &[(Option<&[u8]>, &Value)], large: bool, kind: u8) -> (u8, Vec<u8>) {
    let width = if large { 4 } else { 2 };
    let int = |number: usize| number.to_le_bytes()[..width].to_vec();
    let is_object = kind == 0;
    let header = 2 * width + members.len() * (1 + width + if is_object { width + 2 } else { 0 });
    let (mut key_entries, mut value_entries, mut body) = (Vec::new(), Vec::new(), Vec::new());
    for (key, _) in members {
        if let Some(key) = key {
            key_entries.extend(int(header + body.len()));
            key_entries.extend((key.len() as u16).to_le_bytes());
            body.extend(*key);
        }
    }
    for (_, value) in members {
        let (kind, bytes) = encode(value, large);
        value_entries.push(kind);
        if matches!(kind, 4..=6) || large && matches!(kind, 7 | 8) {
            value_entries.extend(bytes.iter().chain(&[0; 4]).take(width));
        } else {
            value_entries.extend(int(header + body.len()));
            body.extend(bytes);
        }
    }
    let size = header + body.len();
    if !large && size > 0xffff {
        return container(members, true, kind);
    }
    let bytes = [int(members.len()), int(size), key_entries, value_entries, body].concat();
    (kind + u8::from(large), bytes)
}
