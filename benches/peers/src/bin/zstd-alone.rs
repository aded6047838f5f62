//! The lower limit of compressed transactions: zstd decompresses each payload with one context into one buffer, and
//! nothing looks at the result. The bytes are in memory before the clock starts.

use std::hint::black_box;

fn main() {
    let bytes = std::fs::read(binarrow_peers::file_argument()).expect("a readable file");
    let mut zstd = zstd::bulk::Decompressor::new().expect("a context");
    let mut plain: Vec<u8> = Vec::new();
    binarrow_peers::measure(|| {
        let mut at = MAGIC_BYTES;
        while at < bytes.len() {
            let header: [u8; 4] = bytes[at + 9..at + 13].try_into().expect("four bytes");
            let end = at + u32::from_le_bytes(header) as usize;
            if bytes[at + 4] == TRANSACTION_PAYLOAD {
                let payload = Payload::of(&bytes[at + HEADER_BYTES..end - CHECKSUM_BYTES]);
                plain.clear();
                plain.reserve(payload.plain_bytes);
                zstd.decompress_to_buffer(payload.compressed, &mut plain).expect("a payload");
                black_box(&plain);
            }
            at = end;
        }
        0
    });
}

/// The fields of a Transaction_payload event that matter here.
struct Payload<'a> {
    compressed: &'a [u8],
    plain_bytes: usize,
}

impl<'a> Payload<'a> {
    /// Reads fields of a type, a length, and a value, up to the type 0, which the compressed bytes follow.
    fn of(mut body: &'a [u8]) -> Self {
        let mut plain_bytes = 0;
        loop {
            let field = take_integer(&mut body);
            if field == END_OF_FIELDS {
                return Self { compressed: body, plain_bytes };
            }
            let length = take_integer(&mut body);
            let (mut value, rest) = body.split_at(length);
            body = rest;
            if field == UNCOMPRESSED_SIZE {
                plain_bytes = take_integer(&mut value);
            }
        }
    }
}

/// Reads an integer in the length encoding of the client protocol.
fn take_integer(bytes: &mut &[u8]) -> usize {
    let (&first, rest) = bytes.split_first().expect("an integer");
    let count = match first {
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        small => {
            *bytes = rest;
            return small.into();
        }
    };
    let (value, rest) = rest.split_at(count);
    *bytes = rest;
    value.iter().rev().fold(0, |total, &byte| total << 8 | usize::from(byte))
}

const MAGIC_BYTES: usize = 4;
const HEADER_BYTES: usize = 19;
const CHECKSUM_BYTES: usize = 4;
const TRANSACTION_PAYLOAD: u8 = 40;
const END_OF_FIELDS: usize = 0;
const UNCOMPRESSED_SIZE: usize = 3;
