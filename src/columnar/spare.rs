//! The memory of batches that were freed, for those that follow.
//!
//! The allocator returns large blocks to the operating system, which clears each page when it is used again. The batches of
//! a table have columns of similar sizes, so the vectors of the last ones are used again, while they are still in the cache.

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer, ToByteSlice, i256};
use bytes::Bytes;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The minimum number of bytes of vectors that are kept. Smaller blocks remain in the allocator.
const MIN_BYTES: usize = 8 << 10;

/// The maximum number of bytes of all vectors that are kept: those of a few batches.
const MAX_BYTES: usize = 8 << 20;

/// Vectors without an owner. A batch returns its vectors when it is freed, on any thread.
#[derive(Debug, Clone, Default)]
pub struct SpareVectors(Arc<Mutex<Spare>>);

/// The vectors, by the type of their values.
#[derive(Debug, Default)]
pub(super) struct Spare {
    /// The number of bytes of all of them.
    bytes: usize,
    i8s: Vec<Vec<i8>>,
    i16s: Vec<Vec<i16>>,
    i32s: Vec<Vec<i32>>,
    i64s: Vec<Vec<i64>>,
    i128s: Vec<Vec<i128>>,
    i256s: Vec<Vec<i256>>,
    u8s: Vec<Vec<u8>>,
    u16s: Vec<Vec<u16>>,
    u32s: Vec<Vec<u32>>,
    u64s: Vec<Vec<u64>>,
    f32s: Vec<Vec<f32>>,
    f64s: Vec<Vec<f64>>,
}

/// A type of values in columns.
pub(super) trait Spared: ArrowNativeType {
    /// The vectors of this type.
    fn vectors(spare: &mut Spare) -> &mut Vec<Vec<Self>>;
}

macro_rules! spared {
    ($($native:ty: $field:ident,)*) => {$(
        impl Spared for $native {
            fn vectors(spare: &mut Spare) -> &mut Vec<Vec<Self>> {
                &mut spare.$field
            }
        }
    )*};
}

spared! {
    i8: i8s, i16: i16s, i32: i32s, i64: i64s, i128: i128s, i256: i256s,
    u8: u8s, u16: u16s, u32: u32s, u64: u64s, f32: f32s, f64: f64s,
}

impl SpareVectors {
    /// Returns an empty vector with room for `len` values, and for at most twice as many.
    pub(super) fn take<T: Spared>(&self, len: usize) -> Vec<T> {
        if len * size_of::<T>() >= MIN_BYTES {
            let mut spare = locked(&self.0);
            let vectors = T::vectors(&mut spare);
            let fits = |vector: &Vec<T>| (len..=2 * len).contains(&vector.capacity());
            if let Some(index) = vectors.iter().rposition(fits) {
                let vector = vectors.remove(index);
                spare.bytes -= bytes_of(&vector);
                return vector;
            }
        }
        Vec::with_capacity(len)
    }

    /// Returns the values as a buffer of Arrow. The vector returns here when the last reference to the buffer is dropped.
    pub(super) fn lend<T: Spared>(&self, vector: Vec<T>) -> ScalarBuffer<T> {
        if bytes_of(&vector) < MIN_BYTES {
            return ScalarBuffer::from(vector);
        }
        let lent = Lent { vector, spare: Arc::downgrade(&self.0) };
        ScalarBuffer::from(Buffer::from(Bytes::from_owner(lent)))
    }
}

/// A vector that belongs to a batch.
struct Lent<T: Spared> {
    vector: Vec<T>,
    spare: Weak<Mutex<Spare>>,
}

impl<T: Spared> AsRef<[u8]> for Lent<T> {
    fn as_ref(&self) -> &[u8] {
        self.vector.as_slice().to_byte_slice()
    }
}

impl<T: Spared> Drop for Lent<T> {
    fn drop(&mut self) {
        let Some(spare) = self.spare.upgrade() else {
            return;
        };
        let mut spare = locked(&spare);
        let bytes = spare.bytes + bytes_of(&self.vector);
        if bytes <= MAX_BYTES {
            spare.bytes = bytes;
            let mut vector = std::mem::take(&mut self.vector);
            vector.clear();
            T::vectors(&mut spare).push(vector);
        }
    }
}

fn bytes_of<T>(vector: &Vec<T>) -> usize {
    vector.capacity() * size_of::<T>()
}

fn locked(spare: &Mutex<Spare>) -> MutexGuard<'_, Spare> {
    // Every change of the vectors and of their size is complete at each place that can panic.
    spare.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again() {
        let spare = SpareVectors::default();
        let mut vector = spare.take::<i64>(10_000);
        vector.extend(0..9_000);
        let place = vector.as_ptr();
        let buffer = spare.lend(vector);
        let slice = buffer.slice(8_999, 1);
        assert_eq!((buffer.len(), slice.as_ref()), (9_000, [8_999].as_slice()));
        drop(buffer);
        let (still_used, taken) = (place, spare.take::<i64>(9_000));
        assert_ne!(taken.as_ptr(), still_used);
        drop(slice);
        let (other_type, smaller) = (spare.take::<u64>(9_000), spare.take::<i64>(4_999));
        assert_ne!(other_type.as_ptr().cast(), place);
        assert_ne!(smaller.as_ptr(), place, "the vector is more than twice as large");
        let again = spare.take::<i64>(9_000);
        assert_eq!((again.as_ptr(), again.len()), (place, 0));
        assert_eq!(locked(&spare.0).bytes, 0);
    }

    #[test]
    fn little_is_kept() {
        let spare = SpareVectors::default();
        let buffers: Vec<_> = (0..20).map(|_| spare.lend(vec![1_u8; 1 << 20])).collect();
        drop(spare.lend(vec![1_u8; MIN_BYTES - 1]));
        drop(buffers);
        let held = locked(&spare.0);
        assert_eq!((held.bytes, held.u8s.len()), (MAX_BYTES, 8));
        drop(held);
        let buffer = spare.lend(vec![7_i32; 100_000]);
        drop(spare);
        assert_eq!(buffer.iter().map(|value| i64::from(*value)).sum::<i64>(), 700_000);
    }
}
