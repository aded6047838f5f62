//! An index → the bytes of an index file.

use super::{INDEX_VERSION, Index, IndexedColumn, IndexedSegment, IndexedTable, MAGIC};
use crate::position::{GtidState, encode_varint};

impl Index {
    /// Returns the bytes of the index file.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.push(INDEX_VERSION);
        let binding = &self.binding;
        out.extend(binding.stored_bytes.to_le_bytes());
        out.extend(binding.head.to_le_bytes());
        out.extend(binding.tail.to_le_bytes());
        out.extend(binding.log_bytes.to_le_bytes());
        out.extend(binding.segment_bytes.to_le_bytes());
        out.extend(binding.most_bytes.to_le_bytes());
        encode_varint(&mut out, self.maps.len() as u64);
        for map in &self.maps {
            bytes(&mut out, map);
        }
        encode_varint(&mut out, self.segments.len() as u64);
        let mut before = 0;
        for segment in &self.segments {
            encode_segment(&mut out, segment, before);
            before = segment.range.end;
        }
        let checksum = crc32fast::hash(&out);
        out.extend(checksum.to_le_bytes());
        out
    }
}

fn encode_segment(out: &mut Vec<u8>, segment: &IndexedSegment, before: u64) {
    let (start, end) = (segment.range.start, segment.range.end);
    encode_varint(out, start.saturating_sub(before));
    encode_varint(out, end.saturating_sub(start));
    out.push(u8::from(segment.may_lack_changes));
    let (first, last) = segment.times;
    out.extend(first.to_le_bytes());
    encode_varint(out, last.wrapping_sub(first) as u64);
    match &segment.gtids {
        None => out.push(0),
        Some(GtidState::Mysql(set)) => {
            out.push(1);
            let mut encoded = Vec::new();
            set.encode(&mut encoded);
            bytes(out, &encoded);
        }
        Some(GtidState::Mariadb(position)) => {
            out.push(2);
            encode_varint(out, position.iter().count() as u64);
            for gtid in position.iter() {
                out.extend(gtid.domain_id.to_le_bytes());
                out.extend(gtid.server_id.to_le_bytes());
                out.extend(gtid.seq.to_le_bytes());
            }
        }
    }
    encode_varint(out, segment.tables.len() as u64);
    for table in &segment.tables {
        encode_table(out, table);
    }
}

fn encode_table(out: &mut Vec<u8>, table: &IndexedTable) {
    for number in [table.map as u64, table.inserts, table.updates, table.deletes] {
        encode_varint(out, number);
    }
    encode_varint(out, table.columns.len() as u64);
    for column in &table.columns {
        encode_column(out, column);
    }
}

fn encode_column(out: &mut Vec<u8>, column: &IndexedColumn) {
    encode_varint(out, column.column as u64);
    let range = match column.range {
        None => 0,
        Some(None) => 1,
        Some(Some(_)) => 2,
    };
    out.push(range | u8::from(column.bloom.is_some()) << 2);
    if let Some(Some((least, most))) = column.range {
        integer(out, least);
        integer(out, most);
    }
    if let Some(bloom) = &column.bloom {
        out.push(bloom.probes);
        bytes(out, &bloom.bits);
    }
}

/// A sign, and the number without it: all integers of a server have at most 64 bits.
fn integer(out: &mut Vec<u8>, value: i128) {
    out.push(u8::from(value < 0));
    encode_varint(out, value.unsigned_abs() as u64);
}

fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    encode_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
