//! Random numbers of a seed: xorshift64*.

/// A generator.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 << 40);
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A generator of other numbers.
    pub(super) fn fork(&mut self) -> Self {
        Self::new(self.next())
    }

    /// A number below a limit.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 33) % limit
    }

    /// True with a probability of 1 / `count`.
    pub(super) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}
