//! The bytes of an index file → an index.

use super::{
    Binding, Bloom, INDEX_VERSION, Index, IndexedColumn, IndexedSegment, IndexedTable, MAGIC,
};
use crate::error::{DecodeError, Error, Result, check_stored_version};
use crate::position::{GtidSet, GtidState, MariadbGtid, MariadbGtidPosition, decode_varint};
use crate::wire::{Reader, Result as Decoded};

impl Index {
    /// Decodes an index file.
    ///
    /// # Errors
    /// It is not one, is damaged, or a newer version wrote it.
    pub fn decode(file: &[u8]) -> Result<Self> {
        let rest =
            file.strip_prefix(MAGIC).ok_or_else(|| Error::malformed("the file is not an index"))?;
        let version = *rest.first().ok_or_else(|| Error::malformed("the index is truncated"))?;
        check_stored_version("the index", version.into(), INDEX_VERSION.into())?;
        let damaged = || Error::malformed("the index is damaged or truncated");
        let (content, checksum) = file.split_last_chunk::<4>().ok_or_else(damaged)?;
        if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
            return Err(damaged());
        }
        let content = content.get(MAGIC.len() + 1..).ok_or_else(damaged)?;
        decode(content).map_err(|error| Error::from(error).context("the index is damaged"))
    }
}

fn decode(content: &[u8]) -> Decoded<Index> {
    let mut reader = Reader::new(content);
    let binding = Binding {
        stored_bytes: reader.u64("index: size")?,
        head: reader.u32("index: checksum")?,
        tail: reader.u32("index: checksum")?,
        log_bytes: reader.u64("index: size")?,
        segment_bytes: reader.u64("index: segment size")?,
        most_bytes: reader.u64("index: size")?,
    };
    let maps = list(&mut reader, |reader| bytes(reader).map(<[u8]>::to_vec))?;
    let mut before = 0;
    let segments = list(&mut reader, |reader| {
        let segment = segment(reader, before, maps.len())?;
        before = segment.range.end;
        match before <= binding.log_bytes {
            true => Ok(segment),
            false => Err(invalid("index: end of a segment", before)),
        }
    })?;
    reader.finish("index")?;
    Ok(Index { binding, maps, segments })
}

fn segment(reader: &mut Reader<'_>, before: u64, maps: usize) -> Decoded<IndexedSegment> {
    let number = |reader: &mut Reader<'_>| decode_varint(reader, "index: segment");
    let overflow = || invalid("index: offset of a segment", u64::MAX);
    let start = before.checked_add(number(reader)?).ok_or_else(overflow)?;
    let end = start.checked_add(number(reader)?).ok_or_else(overflow)?;
    let may_lack_changes = match reader.u8("index: flags")? {
        0 => false,
        1 => true,
        flags => return Err(invalid("index: flags", flags.into())),
    };
    if start == end {
        return Err(invalid("index: size of a segment", 0));
    }
    let first = reader.i64("index: time")?;
    let last = first.wrapping_add_unsigned(decode_varint(reader, "index: time")?);
    if last < first {
        return Err(invalid("index: time", 0));
    }
    let gtids = gtids(reader)?;
    let tables = list(reader, |reader| table(reader, maps))?;
    Ok(IndexedSegment { range: start..end, may_lack_changes, times: (first, last), gtids, tables })
}

fn gtids(reader: &mut Reader<'_>) -> Decoded<Option<GtidState>> {
    Ok(match reader.u8("index: GTIDs")? {
        0 => None,
        1 => Some(GtidState::Mysql(GtidSet::decode(bytes(reader)?)?)),
        2 => {
            let mut position = MariadbGtidPosition::new();
            let gtids = list(reader, |reader| {
                Ok(MariadbGtid {
                    domain_id: reader.u32("index: GTID")?,
                    server_id: reader.u32("index: GTID")?,
                    seq: reader.u64("index: GTID")?,
                })
            })?;
            gtids.into_iter().for_each(|gtid| position.update(gtid));
            Some(GtidState::Mariadb(position))
        }
        kind => return Err(invalid("index: kind of GTIDs", kind.into())),
    })
}

fn table(reader: &mut Reader<'_>, maps: usize) -> Decoded<IndexedTable> {
    let mut number = || decode_varint(reader, "index: table");
    let map = number()?;
    let map = usize::try_from(map)
        .ok()
        .filter(|map| *map < maps)
        .ok_or_else(|| invalid("index: number of a table map", map))?;
    let (inserts, updates, deletes) = (number()?, number()?, number()?);
    let columns = list(reader, column)?;
    Ok(IndexedTable { map, inserts, updates, deletes, columns })
}

fn column(reader: &mut Reader<'_>) -> Decoded<IndexedColumn> {
    let number = decode_varint(reader, "index: column")?;
    let column = usize::try_from(number).map_err(|_| invalid("index: column", number))?;
    let forms = reader.u8("index: forms of a column")?;
    let range = match forms & 3 {
        0 => None,
        1 => Some(None),
        2 => Some(Some((integer(reader)?, integer(reader)?))),
        _ => return Err(invalid("index: forms of a column", forms.into())),
    };
    let bloom = match forms >> 2 {
        0 => None,
        1 => {
            let probes = reader.u8("index: Bloom filter")?;
            Some(Bloom { probes, bits: bytes(reader)?.to_vec() })
        }
        _ => return Err(invalid("index: forms of a column", forms.into())),
    };
    Ok(IndexedColumn { column, range, bloom })
}

fn integer(reader: &mut Reader<'_>) -> Decoded<i128> {
    let is_negative = reader.u8("index: sign")?;
    let number = i128::from(decode_varint(reader, "index: integer")?);
    match is_negative {
        0 => Ok(number),
        1 if number > 0 => Ok(-number),
        sign => Err(invalid("index: sign", sign.into())),
    }
}

fn bytes<'a>(reader: &mut Reader<'a>) -> Decoded<&'a [u8]> {
    let len = decode_varint(reader, "index: length")?;
    let len = usize::try_from(len).map_err(|_| invalid("index: length", len))?;
    reader.take(len, "index: bytes")
}

/// A number of items, and the items. Each has at least a byte, so that no memory is allocated for items that do not exist.
fn list<'a, T>(
    reader: &mut Reader<'a>,
    mut item: impl FnMut(&mut Reader<'a>) -> Decoded<T>,
) -> Decoded<Vec<T>> {
    let count = decode_varint(reader, "index: count")?;
    if count > reader.left() as u64 {
        return Err(invalid("index: count", count));
    }
    let mut items = Vec::new();
    for _ in 0..count {
        items.push(item(reader)?);
    }
    Ok(items)
}

const fn invalid(what: &'static str, value: u64) -> DecodeError {
    DecodeError::Invalid { what, value }
}
