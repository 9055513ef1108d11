//! A vector as one scale and a signed byte a dimension, and products of such vectors.
//!
//! Input: vectors of 32-bit numbers, or the bytes of an index. Output: dot products in integers, and cosines to a query in
//! full precision. A vector is held in blocks of 16 bytes, filled up with zeros: one register of the page's SIMD. The small
//! module is compiled for size, where the compiler makes no vector instructions by itself, so they are named here; on other
//! machines the same loop is left to the compiler.
//!
//! **Invariant:** both ways give the same integers; only sums of 32-bit numbers may differ in their last digits.

use instant_distance::Point;
use serde::{Deserialize, Serialize};

/// Bytes of a block.
const BLOCK: usize = 16;

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod block {
    use std::arch::wasm32::{
        f32x4, f32x4_add, f32x4_convert_i32x4, f32x4_extract_lane, f32x4_mul, f32x4_splat, i16x8_extend_high_i8x16,
        i16x8_extend_low_i8x16, i32x4_add, i32x4_dot_i16x8, i32x4_extend_high_i16x8, i32x4_extend_low_i16x8,
        i32x4_extract_lane, i32x4_splat, u64x2, u64x2_extract_lane, v128,
    };

    pub(super) type Block = v128;

    pub(super) fn pack(bytes: [u8; 16]) -> Block {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = bytes;
        u64x2(u64::from_le_bytes([a, b, c, d, e, f, g, h]), u64::from_le_bytes([i, j, k, l, m, n, o, p]))
    }

    pub(super) fn unpack(block: Block) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&u64x2_extract_lane::<0>(block).to_le_bytes());
        bytes[8..].copy_from_slice(&u64x2_extract_lane::<1>(block).to_le_bytes());
        bytes
    }

    pub(super) fn dot(a: &[Block], b: &[Block]) -> i32 {
        let mut sum = i32x4_splat(0);
        for (a, b) in a.iter().zip(b) {
            sum = i32x4_add(sum, i32x4_dot_i16x8(i16x8_extend_low_i8x16(*a), i16x8_extend_low_i8x16(*b)));
            sum = i32x4_add(sum, i32x4_dot_i16x8(i16x8_extend_high_i8x16(*a), i16x8_extend_high_i8x16(*b)));
        }
        i32x4_extract_lane::<0>(sum)
            + i32x4_extract_lane::<1>(sum)
            + i32x4_extract_lane::<2>(sum)
            + i32x4_extract_lane::<3>(sum)
    }

    pub(super) fn dot_with(blocks: &[Block], query: &[[f32; 16]]) -> f32 {
        let mut sum = f32x4_splat(0.0);
        for (block, q) in blocks.iter().zip(query) {
            let (low, high) = (i16x8_extend_low_i8x16(*block), i16x8_extend_high_i8x16(*block));
            let quarters = [
                i32x4_extend_low_i16x8(low),
                i32x4_extend_high_i16x8(low),
                i32x4_extend_low_i16x8(high),
                i32x4_extend_high_i16x8(high),
            ];
            for (at, quarter) in quarters.into_iter().enumerate() {
                let four = f32x4(q[4 * at], q[4 * at + 1], q[4 * at + 2], q[4 * at + 3]);
                sum = f32x4_add(sum, f32x4_mul(f32x4_convert_i32x4(quarter), four));
            }
        }
        f32x4_extract_lane::<0>(sum)
            + f32x4_extract_lane::<1>(sum)
            + f32x4_extract_lane::<2>(sum)
            + f32x4_extract_lane::<3>(sum)
    }
}

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod block {
    pub(super) type Block = [i8; 16];

    pub(super) fn pack(bytes: [u8; 16]) -> Block {
        bytes.map(|byte| byte as i8)
    }

    pub(super) fn unpack(block: Block) -> [u8; 16] {
        block.map(|value| value as u8)
    }

    pub(super) fn dot(a: &[Block], b: &[Block]) -> i32 {
        let products = |(a, b): (&Block, &Block)| -> i32 {
            a.iter().zip(b).map(|(a, b)| i32::from(i16::from(*a)) * i32::from(i16::from(*b))).sum()
        };
        a.iter().zip(b).map(products).sum()
    }

    pub(super) fn dot_with(blocks: &[Block], query: &[[f32; 16]]) -> f32 {
        // Sixteen sums side by side let the compiler use vector instructions, which one running sum of floats forbids.
        let mut sums = [0.0_f32; 16];
        for (block, query) in blocks.iter().zip(query) {
            for lane in 0..16 {
                sums[lane] += f32::from(block[lane]) * query[lane];
            }
        }
        sums.iter().sum()
    }
}

use block::Block;

/// A vector: `value = scale × byte`.
#[derive(Debug, Clone)]
pub(crate) struct QuantizedVector {
    scale: f32,
    blocks: Box<[Block]>,
}

/// A query in full precision, in blocks, filled up with zeros.
#[derive(Debug, Clone)]
pub(crate) struct BlockedQuery(Vec<[f32; BLOCK]>);

impl BlockedQuery {
    pub(crate) fn new(query: &[f32]) -> Self {
        let block = |part: &[f32]| {
            let mut block = [0.0; BLOCK];
            block[..part.len()].copy_from_slice(part);
            block
        };
        Self(query.chunks(BLOCK).map(block).collect())
    }
}

impl QuantizedVector {
    /// The nearest quantized vector; a vector without any finite value above 0 becomes zero.
    pub(crate) fn new(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        let scale = if largest.is_finite() { largest / 127.0 } else { 0.0 };
        let byte = |value: &f32| if scale == 0.0 { 0 } else { (value / scale).round() as i8 as u8 };
        Self::from_bytes(scale, &vector.iter().map(byte).collect::<Vec<u8>>())
    }

    /// A vector from its scale and its values, as two's complement.
    pub(crate) fn from_bytes(scale: f32, values: &[u8]) -> Self {
        let block = |part: &[u8]| {
            let mut bytes = [0; BLOCK];
            bytes[..part.len()].copy_from_slice(part);
            block::pack(bytes)
        };
        Self { scale, blocks: values.chunks(BLOCK).map(block).collect() }
    }

    /// The scale.
    pub(crate) fn scale(&self) -> f32 {
        self.scale
    }

    /// The values of the first `dimension` dimensions.
    pub(crate) fn values(&self, dimension: usize) -> impl Iterator<Item = i8> + '_ {
        self.blocks.iter().flat_map(|block| block::unpack(*block)).take(dimension).map(|byte| byte as i8)
    }

    /// The product of two vectors; for unit vectors the cosine.
    pub(crate) fn dot(&self, other: &Self) -> f32 {
        block::dot(&self.blocks, &other.blocks) as f32 * self.scale * other.scale
    }

    /// The cosine to a unit vector in full precision.
    pub(crate) fn cosine(&self, query: &BlockedQuery) -> f32 {
        block::dot_with(&self.blocks, &query.0) * self.scale
    }
}

impl Point for QuantizedVector {
    fn distance(&self, other: &Self) -> f32 {
        1.0 - self.dot(other)
    }
}

/// The vectors stand in a section of their own; the graph's serializer only needs the edges.
impl Serialize for QuantizedVector {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl<'de> Deserialize<'de> for QuantizedVector {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = QuantizedVector;
            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a scale of 4 bytes and the values")
            }
            fn visit_borrowed_bytes<E: serde::de::Error>(
                self,
                bytes: &'de [u8],
            ) -> std::result::Result<Self::Value, E> {
                let (scale, values) =
                    bytes.split_first_chunk::<4>().ok_or_else(|| E::invalid_length(bytes.len(), &self))?;
                Ok(QuantizedVector::from_bytes(f32::from_le_bytes(*scale), values))
            }
        }
        deserializer.deserialize_bytes(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn products_are_those_of_the_values(
            pairs in proptest::collection::vec((any::<i8>(), any::<i8>(), -1.0_f32..1.0), 0..100)
        ) {
            let (a, b): (Vec<u8>, Vec<u8>) = pairs.iter().map(|(a, b, _)| (*a as u8, *b as u8)).unzip();
            let query: Vec<f32> = pairs.iter().map(|pair| pair.2).collect();
            let (x, y) = (QuantizedVector::from_bytes(1.0, &a), QuantizedVector::from_bytes(0.5, &b));
            let expected: i32 = pairs.iter().map(|(a, b, _)| i32::from(*a) * i32::from(*b)).sum();
            prop_assert_eq!(x.dot(&y), expected as f32 * 0.5);
            let expected: f64 = pairs.iter().map(|(a, _, q)| f64::from(*a) * f64::from(*q)).sum();
            prop_assert!((f64::from(x.cosine(&BlockedQuery::new(&query))) - expected).abs() < 0.05);
            prop_assert_eq!(x.values(a.len()).map(|value| value as u8).collect::<Vec<u8>>(), a);
        }
    }

    #[test]
    fn a_vector_that_is_no_vector_becomes_zero() {
        for bad in [vec![], vec![0.0; 20], vec![f32::INFINITY, 1.0], vec![f32::NAN; 3]] {
            let vector = QuantizedVector::new(&bad);
            assert_eq!(vector.dot(&vector), 0.0, "{bad:?}");
        }
    }
}
