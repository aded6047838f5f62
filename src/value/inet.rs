//! INET4 and INET6 of MariaDB: the address in network order, 4 or 16 bytes.
//!
//! ```text
//! c0 a8 01 0a                                          192.168.1.10
//! 20 01 0d b8 00 00 00 00 00 00 ff 00 00 42 83 29      2001:db8::ff00:42:8329
//! ```
//!
//! <https://mariadb.com/kb/en/inet6/>

use super::digits;
use crate::error::DecodeError;
use crate::wire::Result;
use core::net::{Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

/// Appends the text that SELECT shows.
pub fn write_inet4(bytes: [u8; 4], out: &mut Vec<u8>) {
    for (index, byte) in bytes.into_iter().enumerate() {
        if index > 0 {
            out.push(b'.');
        }
        digits::push(out, u64::from(byte));
    }
}

/// Appends the text that SELECT shows: the first of the longest runs of zero groups is left out,
/// even if it is a single group, and an IPv4 address in the last four bytes is written in its own
/// notation.
pub fn write_inet6(bytes: [u8; 16], out: &mut Vec<u8>) {
    let (pairs, _) = bytes.as_chunks::<2>();
    let mut groups = [0_u16; 8];
    groups.iter_mut().zip(pairs).for_each(|(group, pair)| *group = u16::from_be_bytes(*pair));
    let (gap, gap_len) = longest_gap(&groups);
    let [.., a, b, c, d] = bytes;
    let is_mapped = gap_len == 5 && groups.get(5) == Some(&0xffff);
    let holds_ipv4 = gap == 0 && (gap_len == 6 || is_mapped);
    let gap_end = gap + gap_len;
    for (index, group) in groups.into_iter().enumerate() {
        if (gap..gap_end).contains(&index) {
            match index {
                0 => out.extend(b"::"),
                _ if index == gap => out.push(b':'),
                _ => {}
            }
        } else if holds_ipv4 && index == 6 {
            return write_inet4([a, b, c, d], out);
        } else {
            digits::push_hex(out, group);
            if index < 7 {
                out.push(b':');
            }
        }
    }
}

/// Parses the text of an INET4.
///
/// # Errors
/// The text is not an address.
pub fn parse_inet4(text: &[u8]) -> Result<[u8; 4]> {
    parse(text).map(|address: Ipv4Addr| address.octets())
}

/// Parses the text of an INET6.
///
/// # Errors
/// The text is not an address.
pub fn parse_inet6(text: &[u8]) -> Result<[u8; 16]> {
    parse(text).map(|address: Ipv6Addr| address.octets())
}

fn parse<T: FromStr>(text: &[u8]) -> Result<T> {
    let value = text.len() as u64;
    let bad = DecodeError::Invalid { what: "the text of an INET4 or INET6", value };
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(bad)
}

/// Finds the first of the longest runs of zeros: its index and its length.
fn longest_gap(groups: &[u16; 8]) -> (usize, usize) {
    let (mut best, mut best_len) = (0, 0);
    let mut len = 0;
    for (index, group) in groups.iter().enumerate() {
        len = if *group == 0 { len + 1 } else { 0 };
        if len > best_len {
            (best, best_len) = (index + 1 - len, len);
        }
    }
    (best, best_len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_as_the_server_writes_it() {
        for (address, text) in [
            (0, "::"),
            (1, "::1"),
            (0xffff_0102_0304, "::ffff:1.2.3.4"),
            (0x0102_0304, "::1.2.3.4"),
            (0x2001_0db8_0000_0000_0000_ff00_0042_8329, "2001:db8::ff00:42:8329"),
            (0x0001_0000_0002_0003_0004_0005_0006_0007, "1::2:3:4:5:6:7"),
            (0x0001_0000_0000_0002_0000_0000_0003_0004, "1::2:0:0:3:4"),
            (0x0001_0002_0003_0004_0005_0006_0007_0000, "1:2:3:4:5:6:7::"),
            (0x0000_0002_0003_0004_0005_0006_0007_0008, "::2:3:4:5:6:7:8"),
            (u128::MAX, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ] {
            let mut out = Vec::new();
            write_inet6(address.to_be_bytes(), &mut out);
            assert_eq!(parse_inet6(&out), Ok(address.to_be_bytes()));
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
        let mut out = Vec::new();
        write_inet4([192, 168, 1, 10], &mut out);
        assert_eq!(out, b"192.168.1.10");
        assert_eq!(parse_inet4(&out), Ok([192, 168, 1, 10]));
        assert!(parse_inet4(b"1.2.3").is_err() && parse_inet6(b"\xff").is_err());
    }
}
