//! The lower limit: the work on each byte that no decoder with the same guarantees can avoid.
//!
//! CRC32 of each event, a UTF-8 check of the same number of bytes, and one copy of them, event by
//! event. The bytes are in memory before the clock starts. A complete binlog is not UTF-8, so a
//! modified copy is checked: the same bytes without their top bits, which is the fastest kind of
//! text.

use std::hint::black_box;

fn main() {
    let bytes = std::fs::read(binarrow_peers::file_argument()).expect("a readable file");
    let text: Vec<u8> = bytes.iter().map(|byte| byte & 0x7f).collect();
    // The memory of batches is freed and allocated again; so is the memory of the copy.
    let mut copy: Vec<u8> = vec![0; BATCH_BYTES];
    copy.clear();
    binarrow_peers::measure(|| {
        let mut at = MAGIC_BYTES;
        while at < bytes.len() {
            let header: [u8; 4] = bytes[at + 9..at + 13].try_into().expect("four bytes");
            let end = at + u32::from_le_bytes(header) as usize;
            let (event, stored) = bytes[at..end].split_last_chunk::<4>().expect("a checksum");
            let is_format_description = event[4] == 15; // its in-use flag may count as 0
            assert!(crc32fast::hash(event) == u32::from_le_bytes(*stored) || is_format_description);
            assert!(black_box(simdutf8::basic::from_utf8(&text[at..end])).is_ok());
            if copy.len() + (end - at) > BATCH_BYTES {
                black_box(&copy);
                copy.clear();
            }
            copy.extend_from_slice(&bytes[at..end]);
            at = end;
        }
        black_box(&copy);
        0
    });
}

const MAGIC_BYTES: usize = 4;
const BATCH_BYTES: usize = 32 << 20;
