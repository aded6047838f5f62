//! Packets, in which client and server send all data. Each piece has a header.
//!
//! ```text
//! length u24 | sequence id u8 | payload
//! ```
//!
//! A payload of 2²⁴ − 1 bytes or more is split into pieces: after each full piece another piece
//! follows, which may be empty. The sequence id counts pieces, from 0 at each command, and wraps.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_packets.html>

/// The number of bytes of a packet's header.
pub const HEADER_LEN: usize = 4;

/// The payload length of a piece after which another piece follows.
pub const FULL_PIECE: usize = 0xff_ffff;

/// The header of one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketHeader {
    /// The number of bytes of the payload.
    pub len: usize,
    /// The number of the piece within this command.
    pub sequence_id: u8,
}

impl PacketHeader {
    /// Decodes the four bytes of a header.
    #[inline]
    pub const fn decode([a, b, c, sequence_id]: [u8; HEADER_LEN]) -> Self {
        Self { len: u32::from_le_bytes([a, b, c, 0]) as usize, sequence_id }
    }

    /// Encodes the header as four bytes.
    #[inline]
    pub const fn encode(self) -> [u8; HEADER_LEN] {
        let [a, b, c, ..] = (self.len as u32).to_le_bytes();
        [a, b, c, self.sequence_id]
    }

    /// True if another piece of the same payload follows.
    #[inline]
    pub const fn is_continued(self) -> bool {
        self.len == FULL_PIECE
    }
}

/// Appends `payload` to `out` in packets; `sequence_id` increases by their number.
pub fn write_packets(payload: &[u8], sequence_id: &mut u8, out: &mut Vec<u8>) {
    let mut rest = payload;
    loop {
        let (piece, tail) = rest.split_at(rest.len().min(FULL_PIECE));
        let header = PacketHeader { len: piece.len(), sequence_id: *sequence_id };
        out.extend_from_slice(&header.encode());
        out.extend_from_slice(piece);
        *sequence_id = sequence_id.wrapping_add(1);
        rest = tail;
        if !header.is_continued() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(len: usize) -> Vec<(usize, u8)> {
        let (mut out, mut id) = (Vec::new(), 254);
        write_packets(&vec![7; len], &mut id, &mut out);
        let mut found = Vec::new();
        let mut rest = out.as_slice();
        while let Some((header, tail)) = rest.split_first_chunk() {
            let header = PacketHeader::decode(*header);
            found.push((header.len, header.sequence_id));
            rest = &tail[header.len..];
        }
        assert_eq!(id, 254_u8.wrapping_add(found.len() as u8));
        found
    }

    #[test]
    fn long_payloads_come_in_pieces() {
        assert_eq!(pieces(0), [(0, 254)]);
        assert_eq!(pieces(FULL_PIECE - 1), [(FULL_PIECE - 1, 254)]);
        assert_eq!(pieces(FULL_PIECE), [(FULL_PIECE, 254), (0, 255)]);
        assert_eq!(pieces(FULL_PIECE + 1), [(FULL_PIECE, 254), (1, 255)]);
        assert_eq!(pieces(2 * FULL_PIECE), [(FULL_PIECE, 254), (FULL_PIECE, 255), (0, 0)]);
    }
}
