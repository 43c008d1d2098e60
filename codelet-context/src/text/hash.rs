//! A fast 64-bit hash with the same result on every machine, for equality of long texts, handles and index items.
//!
//! The multiply-and-fold mixing is that of wyhash (Wang Yi, public domain), in its later form. It is not cryptographic:
//! code that relies on equal hashes of whole bodies compares the bytes as well.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

const A: u64 = 0xa076_1d64_78bd_642f;
const B: u64 = 0xe703_7ed1_a0b4_28db;

/// Mixes in the operands as well: if one of them is 0, the product alone would lose the other.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    a ^ b ^ (wide as u64) ^ ((wide >> 64) as u64)
}

/// Up to eight bytes as a little-endian number, without a variable-length copy.
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
    let last = fold(word(low) ^ B ^ state, word(high) ^ A ^ state.rotate_left(32));
    // Mix in the length again, so that every bit depends on all of the input.
    fold(last ^ A, B ^ bytes.len() as u64)
}

/// The hash of two hashes; the order matters.
#[inline]
pub(crate) fn pair(a: u64, b: u64) -> u64 {
    fold(a ^ A, b.rotate_left(23) ^ B)
}

/// A hasher for keys such as call ids: several times as fast on short texts as the standard library's.
#[derive(Clone, Default)]
pub(crate) struct Quick(u64);

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = pair(self.0, self::bytes(bytes));
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = pair(self.0, value);
    }
}

/// A map whose keys are hashed [quickly](Quick).
pub(crate) type QuickMap<K, T> = HashMap<K, T, BuildHasherDefault<Quick>>;
/// A map whose keys are hashes of something else.
pub(crate) type ByHash<T> = QuickMap<u64, T>;
/// A set with the same hasher.
pub(crate) type QuickSet<K> = HashSet<K, BuildHasherDefault<Quick>>;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_word_hides_what_stands_beside_it() {
        // Each word that makes one factor of a product 0, in a text of each length.
        for length in [16, 20, 32, 48, 400] {
            let state = A ^ length as u64;
            for first in [state ^ B, B, A, 0, u64::MAX] {
                for second in [A, B, 0, state] {
                    let mut seen = HashSet::new();
                    for other in 0..64_u64 {
                        let mut text = Vec::new();
                        text.extend(first.to_le_bytes());
                        text.extend(other.to_le_bytes());
                        text.resize(length, b'x');
                        assert!(seen.insert(bytes(&text)), "{length} {first:x} {other}");
                        text[..8].copy_from_slice(&(other ^ 0x100).to_le_bytes());
                        text[8..16].copy_from_slice(&second.to_le_bytes());
                        assert!(seen.insert(bytes(&text)), "{length} {other} {second:x}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_bit_of_a_text_changes_about_half_of_its_hash() {
        for length in [1, 7, 8, 15, 16, 17, 64] {
            let text = vec![b'a'; length];
            for bit in 0..length * 8 {
                let mut other = text.clone();
                other[bit / 8] ^= 1 << (bit % 8);
                let differ = (bytes(&text) ^ bytes(&other)).count_ones();
                assert!((8..=56).contains(&differ), "{length} {bit}: {differ}");
            }
        }
    }

    proptest! {
        #[test]
        fn texts_that_differ_in_one_place_have_other_hashes(
            text in proptest::collection::vec(any::<u8>(), 1..200),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let mut other = text.clone();
            let at = at.index(text.len());
            prop_assume!(other[at] != byte);
            other[at] = byte;
            prop_assert_ne!(bytes(&text), bytes(&other));
        }
    }
}
