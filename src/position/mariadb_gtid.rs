//! MariaDB's GTIDs: `domain-server-sequence`, and positions that consist of them.
//!
//! <https://mariadb.com/kb/en/gtid/>

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::number::parse_number;
use crate::error::Error;

/// One event group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MariadbGtid {
    /// The stream of the log that it belongs to.
    pub domain_id: u32,
    /// The server that made it.
    pub server_id: u32,
    /// Its number, which rises within the domain.
    pub seq: u64,
}

impl fmt::Display for MariadbGtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.domain_id, self.server_id, self.seq)
    }
}

impl FromStr for MariadbGtid {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut parts = text.trim().split('-');
        let mut parse = || {
            let domain_id = parse_number(parts.next()?)?;
            let server_id = parse_number(parts.next()?)?;
            let seq = parse_number(parts.next()?)?;
            parts.next().is_none().then_some(Self { domain_id, server_id, seq })
        };
        parse().ok_or_else(|| {
            Error::config(format!("{text:?} is not a MariaDB GTID (domain-server-sequence)"))
        })
    }
}

/// The place of a reader: the last GTID of each domain, such as `0-7-39,1-8-5`. This is not a set of transactions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct MariadbGtidPosition {
    domains: BTreeMap<u32, MariadbGtid>,
}

impl MariadbGtidPosition {
    /// The position before all transactions.
    pub const fn new() -> Self {
        Self { domains: BTreeMap::new() }
    }

    /// True if it contains no GTID.
    pub fn is_empty(&self) -> bool {
        self.domains.is_empty()
    }

    /// Sets the last GTID of a domain. It is called with GTIDs in the order of the log, and with the entries of a Gtid_list
    /// event, in which the newest GTID of a domain is the last one.
    pub fn update(&mut self, gtid: MariadbGtid) {
        self.domains.insert(gtid.domain_id, gtid);
    }

    /// True if `gtid` is at or before the last one of its domain.
    pub fn contains(&self, gtid: MariadbGtid) -> bool {
        self.domains.get(&gtid.domain_id).is_some_and(|last| gtid.seq <= last.seq)
    }

    /// The last GTID of a domain.
    pub fn last(&self, domain_id: u32) -> Option<MariadbGtid> {
        self.domains.get(&domain_id).copied()
    }

    /// Removes a domain.
    pub fn remove(&mut self, domain_id: u32) {
        self.domains.remove(&domain_id);
    }

    /// The last GTIDs by domain.
    pub fn iter(&self) -> impl Iterator<Item = MariadbGtid> + '_ {
        self.domains.values().copied()
    }
}

/// The form that `@slave_connect_state` accepts.
impl fmt::Display for MariadbGtidPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, gtid) in self.domains.values().enumerate() {
            f.write_str(if index > 0 { "," } else { "" })?;
            write!(f, "{gtid}")?;
        }
        Ok(())
    }
}

/// A domain may occur only once, as in the server.
impl FromStr for MariadbGtidPosition {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut position = Self::new();
        if text.trim().is_empty() {
            return Ok(position);
        }
        for item in text.split(',') {
            let gtid: MariadbGtid = item.parse()?;
            if let Some(other) = position.domains.insert(gtid.domain_id, gtid) {
                let message = format!("{other} and {gtid} are of the same domain");
                return Err(Error::config(message));
            }
        }
        Ok(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text() {
        for (input, canonical) in [
            ("", ""),
            ("0-7-39", "0-7-39"),
            (" 1-8-5,\n0-7-39 ", "0-7-39,1-8-5"),
            (
                "4294967295-4294967295-18446744073709551615",
                "4294967295-4294967295-18446744073709551615",
            ),
        ] {
            assert_eq!(input.parse::<MariadbGtidPosition>().unwrap().to_string(), canonical);
        }
        for bad in [
            "0-7",
            "0-7-39-1",
            "0-7-",
            "0-7-+1",
            "a-7-1",
            "0-7-1,,",
            "0-7-1,0-8-2",
            "4294967296-1-1",
        ] {
            assert!(bad.parse::<MariadbGtidPosition>().is_err(), "{bad}");
        }
    }

    #[test]
    fn last_of_each_domain() {
        let mut position = MariadbGtidPosition::new();
        let gtid = |text: &str| text.parse::<MariadbGtid>().unwrap();
        for text in ["0-1-5", "0-2-9", "3-1-1", "0-1-10"] {
            position.update(gtid(text));
        }
        assert_eq!(position.to_string(), "0-1-10,3-1-1");
        assert!(position.contains(gtid("0-2-9")) && position.contains(gtid("0-9-10")));
        assert!(!position.contains(gtid("0-1-11")) && !position.contains(gtid("1-1-1")));
        assert_eq!(position.last(3), Some(gtid("3-1-1")));
        assert_eq!(position.iter().count(), 2);
    }
}
