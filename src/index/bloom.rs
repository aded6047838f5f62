//! Bloom filters of the values of a column.

/// A set of hashes that may report a value that it does not contain, and never misses one that it contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bloom {
    /// The number of bits that each value sets.
    pub(super) probes: u8,
    pub(super) bits: Vec<u8>,
}

impl Bloom {
    /// The set of these hashes, with about this number of bits for each.
    pub fn of(hashes: &[u64], bits_per_value: u32) -> Self {
        let bits = hashes.len().saturating_mul(bits_per_value as usize).max(8);
        // The best number is ln 2 of the bits per value.
        let probes = (f64::from(bits_per_value) * std::f64::consts::LN_2).round();
        let mut bloom = Self { probes: (probes as u8).max(1), bits: vec![0; bits.div_ceil(8)] };
        for hash in hashes {
            for place in bloom.places(*hash).collect::<Vec<_>>() {
                if let Some(byte) = bloom.bits.get_mut(place / 8) {
                    *byte |= 1 << (place % 8);
                }
            }
        }
        bloom
    }

    /// False if no value has this hash.
    pub fn may_contain(&self, hash: u64) -> bool {
        self.places(hash)
            .all(|place| self.bits.get(place / 8).is_none_or(|byte| byte >> (place % 8) & 1 == 1))
    }

    fn places(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let count = (self.bits.len() as u64 * 8).max(1);
        let step = mixed(hash) | 1;
        (0..u64::from(self.probes))
            .map(move |probe| (hash.wrapping_add(probe.wrapping_mul(step)) % count) as usize)
    }
}

/// The hash of an integer: of any type, the same number has the same hash.
pub fn hash_of_integer(value: i128) -> u64 {
    mixed(value as u64 ^ mixed((value >> 64) as u64))
}

/// The hash of text in UTF-8.
pub fn hash_of_bytes(bytes: &[u8]) -> u64 {
    let fnv = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    mixed(fnv)
}

/// SplitMix64: each bit of the result depends on all bits.
const fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
