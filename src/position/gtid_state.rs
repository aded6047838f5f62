//! The transactions that were read, by GTID, of either server.

use std::fmt;
use std::str::FromStr;

use super::gtid_set::GtidSet;
use super::mariadb_gtid::MariadbGtidPosition;
use crate::error::Error;

/// The transactions that were read: with MySQL a set, with MariaDB the last GTID of each domain.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum GtidState {
    /// MySQL.
    Mysql(GtidSet),
    /// MariaDB.
    Mariadb(MariadbGtidPosition),
}

impl GtidState {
    /// True if it contains no transaction.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Mysql(set) => set.is_empty(),
            Self::Mariadb(position) => position.is_empty(),
        }
    }

    /// True if it contains all transactions of `other`.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Mysql(set), Self::Mysql(other)) => other.is_subset(set),
            (Self::Mariadb(position), Self::Mariadb(other)) => {
                other.iter().all(|gtid| position.contains(gtid))
            }
            _ => other.is_empty(),
        }
    }

    /// True if the two have something in common: with MySQL a transaction, with MariaDB a domain.
    pub fn shares(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Mysql(set), Self::Mysql(other)) => !set.is_disjoint(other),
            (Self::Mariadb(position), Self::Mariadb(other)) => {
                other.iter().any(|gtid| position.last(gtid.domain_id).is_some())
            }
            _ => false,
        }
    }

    /// Adds the transactions of `other`.
    pub fn join(&mut self, other: &Self) {
        match (self, other) {
            (Self::Mysql(set), Self::Mysql(other)) => set.union(other),
            (Self::Mariadb(position), Self::Mariadb(other)) => {
                for gtid in other.iter() {
                    if !position.contains(gtid) {
                        position.update(gtid);
                    }
                }
            }
            (state, other) if state.is_empty() => *state = other.clone(),
            _ => {}
        }
    }
}

impl fmt::Display for GtidState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mysql(set) => set.fmt(f),
            Self::Mariadb(position) => position.fmt(f),
        }
    }
}

/// The two forms are always different; empty text is MySQL's empty set.
impl FromStr for GtidState {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text.trim().is_empty() || text.contains(':') {
            text.parse().map(Self::Mysql)
        } else {
            text.parse().map(Self::Mariadb)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(text: &str) -> GtidState {
        text.parse().unwrap()
    }

    #[test]
    fn relations() {
        const A: &str = "55778904-0299-11f1-b1b8-4ef0c4956feb";
        const B: &str = "55778904-0299-11f1-b1b8-4ef0c4956fec";
        let (low, high) = (state(&format!("{A}:1-5")), state(&format!("{A}:1-9")));
        let other = state(&format!("{B}:1-5"));
        assert!(high.covers(&low) && !low.covers(&high) && !other.covers(&low));
        assert!(high.shares(&low) && low.shares(&high) && !other.shares(&low));
        let mut joined = low.clone();
        joined.join(&other);
        assert_eq!(joined, state(&format!("{A}:1-5,{B}:1-5")));

        let (low, high) = (state("0-7-39"), state("0-8-40,1-8-5"));
        assert!(high.covers(&low) && !low.covers(&high));
        assert!(high.shares(&low) && !low.shares(&state("1-8-5")));
        let mut joined = state("0-7-41");
        joined.join(&high);
        assert_eq!(joined, state("0-7-41,1-8-5"));

        let nothing = state("");
        assert!(nothing.is_empty() && low.covers(&nothing) && !nothing.covers(&low));
        assert!(!low.shares(&nothing) && !low.shares(&state(&format!("{A}:1"))));
        let mut joined = nothing;
        joined.join(&low);
        assert_eq!(joined, low);
    }
}
