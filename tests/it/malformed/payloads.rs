//! Invalid compressed transactions.

use super::assert_located;
use crate::log::{
    Event, FORMAT_DESCRIPTION, HEADER, Log, T, begin, gtid, insert, payload, payload_of,
    payload_packed, stop, table_map, transaction, xid,
};
use crate::rows::{decode, options, segments_of};

/// H17
#[test]
fn payloads() {
    let payload_alone = |event: Event| {
        let log = Log::mysql().with(transaction(1, [1])).with([gtid(2), event]);
        let offset = log.starts[7];
        let log = log.with(transaction(3, [3])).with([stop()]);
        for options in [options(), segments_of(1)] {
            let outcome = decode(log.clone().inputs(), &options);
            assert_eq!(outcome.inserted(), [1], "{:?}", outcome.error);
            assert_located(outcome.failure(), offset, "Transaction_payload");
        }
    };
    let inner = |id| [begin(), table_map(T), insert(T, [id]), xid()];
    let bytes: Vec<u8> = inner(2).iter().flat_map(|event| event.bytes(0, false)).collect();
    let packed = zstd::bulk::compress(&bytes, 1).unwrap();
    // Truncated inside the frame, and inside the events.
    for len in 0..packed.len() {
        payload_alone(payload_packed(&[0], bytes.len() as u64, &packed[..len]));
    }
    for len in (0..bytes.len()).filter(|len| *len != bytes.len()) {
        payload_alone(payload_of(len % 2 == 0, &bytes[..len]));
    }
    // Not zstd, another compression, wrong sizes.
    payload_alone(payload_packed(&[0], 100, &bytes));
    payload_alone(payload_packed(&[1], bytes.len() as u64, &bytes));
    for (field, value) in [(3 + 2 + 9 + 2 + 1, 0xff), (3 + 2 + 9 + 2 + 1, 0)] {
        let mut event = payload_of(true, &bytes);
        event.body[field] = value;
        payload_alone(event);
    }
    // Events that cannot be in a payload.
    let format = Event::new(FORMAT_DESCRIPTION, Log::mysql().bytes[4 + HEADER..].to_vec());
    for event in [payload(true, inner(2)), payload(false, inner(2)), format, stop(), gtid(9)] {
        payload_alone(payload(true, [event.clone()]));
        payload_alone(payload(true, [begin(), table_map(T), insert(T, [2]), event, xid()]));
    }
    // Events after the end, and no events before it.
    payload_alone(payload(true, [begin(), table_map(T), insert(T, [2]), xid(), begin()]));
    payload_alone(payload(true, [begin(), table_map(T), insert(T, [2])]));
    payload_alone(payload(true, []));
    // The unpacked size is a hint.
    for size in [0, 1, 1 << 40, u64::MAX] {
        let log = Log::mysql().with([gtid(1), payload_packed(&[0], size, &packed), stop()]);
        assert_eq!(decode(log.inputs(), &options()).ok().inserted(), [2]);
    }
}
