//! Appends short texts as blocks of a constant length: a copy of any other number of bytes is a call.

/// Appends the first `len` bytes of a block, which has at least as many.
#[inline(always)]
pub(crate) fn push<const N: usize>(out: &mut Vec<u8>, block: &[u8; N], len: usize) {
    debug_assert!(len <= N, "a part of the block");
    if out.capacity() - out.len() < N {
        reserve(out, N);
    }
    let end = out.len() + len;
    out.extend_from_slice(block);
    out.truncate(end);
}

#[cold]
#[inline(never)]
fn reserve(out: &mut Vec<u8>, bytes: usize) {
    out.reserve(bytes);
}

#[cfg(test)]
mod tests {
    #[test]
    fn push() {
        let mut out = Vec::new();
        for (len, expected) in [(3, "abc"), (0, "abc"), (4, "abcabcd")] {
            super::push(&mut out, b"abcd", len);
            assert_eq!(out, expected.as_bytes());
        }
    }
}
