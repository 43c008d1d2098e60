//! A fast 64-bit hash with the same result on every machine, for equality of long texts, handles and index items.
//!
//! The multiply-and-fold mixing is that of wyhash (Wang Yi, public domain). It is not cryptographic: whoever acts on
//! equal hashes of whole bodies compares the bytes as well.

const A: u64 = 0xa076_1d64_78bd_642f;
const B: u64 = 0xe703_7ed1_a0b4_28db;

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    (wide as u64) ^ ((wide >> 64) as u64)
}

#[inline]
fn word(bytes: &[u8]) -> u64 {
    let mut buffer = [0; 8];
    buffer[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(buffer)
}

/// The hash of a byte string.
#[inline]
pub(crate) fn bytes(bytes: &[u8]) -> u64 {
    let mut state = A ^ (bytes.len() as u64);
    let mut chunks = bytes.chunks_exact(16);
    for chunk in &mut chunks {
        state = fold(word(&chunk[..8]) ^ B ^ state, word(&chunk[8..]) ^ A);
    }
    let rest = chunks.remainder();
    let (low, high) = rest.split_at(rest.len().min(8));
    fold(word(low) ^ B ^ state, word(high) ^ A ^ state.rotate_left(32))
}

/// The hash of two hashes, order kept.
#[inline]
pub(crate) fn pair(a: u64, b: u64) -> u64 {
    fold(a ^ A, b.rotate_left(23) ^ B)
}
