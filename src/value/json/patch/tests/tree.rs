//! The oracle of partial updates: a tree of values, and its encoding.

use super::*;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Int(i32),
    Big(i64),
    Text(String),
    Array(Vec<Json>),
    Object(BTreeMap<(usize, String), Json>),
}

impl Json {
    pub(super) fn object<'k>(members: impl IntoIterator<Item = (&'k str, Self)>) -> Self {
        let sorted = |(key, value): (&str, Self)| ((key.len(), key.to_owned()), value);
        Self::Object(members.into_iter().map(sorted).collect())
    }

    /// Encodes the tree as a document. `gap` bytes are left free before each value, as after
    /// in-place updates.
    pub(super) fn document(&self, gap: usize) -> Vec<u8> {
        let (code, mut bytes) = self.encode(gap);
        bytes.insert(0, code);
        bytes
    }

    pub(super) fn encode(&self, gap: usize) -> (u8, Vec<u8>) {
        match self {
            Self::Null => (4, vec![0]),
            Self::Int(number) => match i16::try_from(*number) {
                Ok(number) => (5, number.to_le_bytes().to_vec()),
                Err(_) => (7, number.to_le_bytes().to_vec()),
            },
            Self::Big(number) => (9, number.to_le_bytes().to_vec()),
            Self::Text(text) => {
                let mut bytes = Vec::new();
                let mut len = text.len();
                while len > 0x7f {
                    bytes.push(len as u8 | 0x80);
                    len >>= 7;
                }
                bytes.push(len as u8);
                bytes.extend_from_slice(text.as_bytes());
                (0x0c, bytes)
            }
            Self::Array(cells) => {
                let values: Vec<_> = cells.iter().map(|cell| cell.encode(gap)).collect();
                container(2, &[], &values, gap)
            }
            Self::Object(members) => {
                let keys: Vec<&str> = members.keys().map(|(_, key)| key.as_str()).collect();
                let values: Vec<_> = members.values().map(|value| value.encode(gap)).collect();
                container(0, &keys, &values, gap)
            }
        }
    }

    pub(super) fn at(&mut self, way: &[Step]) -> Option<&mut Self> {
        way.iter().try_fold(self, |value, step| match (value, step) {
            (Self::Object(members), Step::Member(key)) => {
                members.get_mut(&(key.len(), key.clone()))
            }
            (Self::Array(cells), Step::Cell(index)) => cells.get_mut(*index),
            _ => None,
        })
    }
}

/// Encodes a container of the type `code` (or of the next type, if it is large).
fn container(code: u8, keys: &[&str], values: &[(u8, Vec<u8>)], gap: usize) -> (u8, Vec<u8>) {
    let large_code = |code: &u8| matches!(code, 1 | 3);
    let write = |w: usize| {
        let inlined = |code: u8| matches!(code, 4 | 5) || w == 4 && code == 7;
        let put = |number: usize, out: &mut Vec<u8>| out.extend(&number.to_le_bytes()[..w]);
        let key_entries = if code == 0 { keys.len() * (w + 2) } else { 0 };
        let mut offset = 2 * w + key_entries + values.len() * (1 + w);
        let mut header = Vec::new();
        let mut body = Vec::new();
        for key in keys {
            put(offset, &mut header);
            header.extend((key.len() as u16).to_le_bytes());
            body.extend_from_slice(key.as_bytes());
            offset += key.len();
        }
        for (code, bytes) in values {
            header.push(*code);
            if inlined(*code) {
                header.extend(bytes);
                header.resize(header.len() + w - bytes.len(), 0);
            } else {
                body.resize(body.len() + gap, 0xee);
                put(offset + gap, &mut header);
                body.extend(bytes);
                offset += gap + bytes.len();
            }
        }
        let mut out = Vec::new();
        put(values.len(), &mut out);
        put(offset, &mut out);
        out.extend(header);
        out.extend(body);
        out
    };
    let small = write(2);
    if small.len() > 0xffff || values.len() > 0xffff || values.iter().any(|(c, _)| large_code(c)) {
        return (code + 1, write(4));
    }
    (code, small)
}

#[derive(Debug, Clone)]
pub(super) enum Step {
    Member(String),
    Cell(usize),
}

pub(super) fn path_text(way: &[Step]) -> String {
    way.iter().fold("$".to_owned(), |path, step| match step {
        Step::Member(key) => {
            let mut quoted = Vec::new();
            crate::value::json::escape::quote(key.as_bytes(), &mut quoted);
            format!("{path}.{}", String::from_utf8(quoted).unwrap())
        }
        Step::Cell(index) => format!("{path}[{index}]"),
    })
}

fn lenenc(len: usize, out: &mut Vec<u8>) {
    match len {
        0..=0xfa => out.push(len as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend(&len.to_le_bytes()[..2]);
        }
        _ => {
            out.push(0xfd);
            out.extend(&len.to_le_bytes()[..3]);
        }
    }
}

pub(super) fn diff(operation: u8, path: &str, value: Option<&Json>) -> Vec<u8> {
    let mut out = vec![operation];
    lenenc(path.len(), &mut out);
    out.extend_from_slice(path.as_bytes());
    if let Some(value) = value {
        let document = value.document(0);
        lenenc(document.len(), &mut out);
        out.extend(document);
    }
    out
}
