//! A fast 64-bit hash with the same result on every machine, for equality of long texts, handles and index items.
//!
//! The multiply-and-fold mixing is that of wyhash (Wang Yi, public domain). It is not cryptographic: whoever acts on
//! equal hashes of whole bodies compares the bytes as well.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

const A: u64 = 0xa076_1d64_78bd_642f;
const B: u64 = 0xe703_7ed1_a0b4_28db;

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    (wide as u64) ^ ((wide >> 64) as u64)
}

/// Up to eight bytes as a number, the first one lowest, without a copy of variable length.
#[inline]
fn word(bytes: &[u8]) -> u64 {
    match *bytes {
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        [a, b, c, d] => four([a, b, c, d]),
        [a, b, c] => four([a, b, c, 0]),
        [a, b] => four([a, b, 0, 0]),
        [a] => u64::from(a),
        [a, b, c, d, e, f, g] => four([a, b, c, d]) | four([e, f, g, 0]) << 32,
        [a, b, c, d, e, f] => four([a, b, c, d]) | four([e, f, 0, 0]) << 32,
        [a, b, c, d, e] => four([a, b, c, d]) | u64::from(e) << 32,
        _ => 0,
    }
}

#[inline]
fn four(bytes: [u8; 4]) -> u64 {
    u64::from(u32::from_le_bytes(bytes))
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

/// Hashes that are their own hash.
#[derive(Clone, Default)]
pub(crate) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = self::bytes(bytes);
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// A map whose keys are hashes already.
pub(crate) type ByHash<T> = HashMap<u64, T, BuildHasherDefault<Identity>>;
