//! The arithmetic of the encoder: integer matrix products, and the float loops around them.
//!
//! The matrix product multiplies int8 weights by int16 activations and sums in int32, exactly; it exists for wasm SIMD with
//! and without its relaxed instructions, AVX2, AVX-512 VNNI and as a scalar twin, which all give the same bits. The float
//! loops are plain Rust in lanes of fixed width, so that the compiler vectorizes them without changing the order of a sum:
//! they too give the same bits on every target, and an index that was built natively meets the very same numbers in the page.
//! (Where relaxed instructions are allowed, the compiler takes them also for the smaller of two numbers, which is the same for
//! all but NaN.)
//!
//! **Invariant:** this is the crate's only module with `unsafe`: loads and stores in [`matmul`]'s kernels, whose bounds
//! `matmul` checks before, and calls of functions compiled for a CPU feature, which is tested before.
#![allow(unsafe_code, reason = "SIMD loads, and calls of functions that are compiled for a detected CPU feature")]

/// The rows of a packed matrix are padded with zeros to a multiple of this many numbers.
pub(super) const K_STEP: usize = 64;

/// The number of rows of a packed weight matrix is padded to a multiple of this.
pub(super) const N_STEP: usize = 4;

/// Bytes of weights that are used for every row of activations before the next ones are fetched; half a usual L1 cache.
const WEIGHT_BLOCK: usize = 24 * 1024;

/// The floats that one step of a lane-wise loop handles.
const LANES: usize = 16;

/// The steps of a quantized row in its root mean square. Nearly all numbers of a row then fit a byte, which is what
/// `byte_pairs` makes use of; finer steps hardly come nearer to the floats than the int8 weights allow (of their distance to
/// one in the cosine, 4.4e-4 for all-MiniLM-L6-v2, these steps are a third again).
const STEPS_IN_RMS: f32 = 32.0;

/// The largest magnitude of a quantized activation in a row of any length.
const MAX_ACTIVATION: usize = (1 << 14) - 1;

/// The largest magnitude that a quantized activation may have: few enough bits for its high byte, and for the sum of `k`
/// products with weights of magnitude 127 in an int32.
pub(super) fn activation_limit(k: usize) -> f32 {
    let limit = i32::MAX as usize / (127 * k.max(1));
    limit.min(MAX_ACTIVATION) as f32
}

/// Queries of an attention that are computed together: their sums have to fit the registers of wasm, or hide the time that an
/// addition takes natively.
const QUERIES: usize = if cfg!(target_arch = "wasm32") { 2 } else { 4 };

/// Defines a function over float loops, compiled also for AVX2 and AVX-512 where the processor has them.
///
/// None of them fuses a multiplication with an addition, which would round differently from the page: the compiler never does
/// so by itself.
macro_rules! vectorized {
    ($(#[$attribute:meta])* pub(super) fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$attribute])*
        pub(super) fn $name($($argument: $type),*) {
            #[inline(always)]
            fn body($($argument: $type),*) $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
                fn avx512($($argument: $type),*) {
                    body($($argument),*);
                }
                #[target_feature(enable = "avx2")]
                fn avx2($($argument: $type),*) {
                    body($($argument),*);
                }
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                {
                    // SAFETY: the processor has the features.
                    return unsafe { avx512($($argument),*) };
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has AVX2.
                    return unsafe { avx2($($argument),*) };
                }
            }
            #[allow(unreachable_code, reason = "reached where the feature is not there")]
            body($($argument),*);
        }
    };
}

vectorized! {
    /// Quantizes rows of `k` floats to int16 with one scale a row; `k` is padded with zeros to `stride`.
    ///
    /// `scales[row]` is what a quantized number of that row has to be multiplied by.
    pub(super) fn quantize_rows(x: &[f32], k: usize, stride: usize, quantized: &mut [i16], scales: &mut [f32]) {
        let limit = activation_limit(k);
        for ((row, out), scale) in x.chunks_exact(k).zip(quantized.chunks_exact_mut(stride)).zip(scales) {
            let mut peaks = [0f32; LANES];
            let (chunks, rest) = row.as_chunks::<LANES>();
            for chunk in chunks {
                for (peak, x) in peaks.iter_mut().zip(chunk) {
                    let x = x.abs();
                    *peak = if x > *peak { x } else { *peak };
                }
            }
            let mut peak = peaks.iter().fold(0f32, |a, &b| a.max(b));
            for x in rest {
                peak = peak.max(x.abs());
            }
            let smallest = peak / limit;
            let step = (sum_of_squares(row) / k as f32).sqrt() / STEPS_IN_RMS;
            // The squares of huge numbers overflow.
            *scale = if step > smallest && step.is_finite() { step } else { smallest };
            let inverse = if *scale > 0.0 { 1.0 / *scale } else { 0.0 };
            let (out, padding) = out.split_at_mut(k);
            for (out, x) in out.iter_mut().zip(row) {
                *out = round(x * inverse) as i16;
            }
            padding.fill(0);
        }
    }
}

/// Rounds to the nearest integer, for magnitudes below 2^22: the sum with 1.5 * 2^23 has no bits left for a fraction.
#[inline(always)]
fn round(x: f32) -> i32 {
    const MAGIC: f32 = 12_582_912.0;
    (x + MAGIC).to_bits() as i32 - MAGIC.to_bits() as i32
}

/// e^x for x in [-87, 88]; smaller and larger arguments are moved there. Relative error below 3e-7.
///
/// Cody and Waite's reduction to [-ln 2 / 2, ln 2 / 2] and the polynomial of Cephes' `expf`.
#[inline(always)]
fn exp(x: f32) -> f32 {
    let x = if x < -87.0 { -87.0 } else { x };
    let x = if x > 88.0 { 88.0 } else { x };
    let n = round(x * std::f32::consts::LOG2_E);
    let r = x - n as f32 * 0.693_359_4;
    let r = r - n as f32 * -2.121_944_4e-4;
    let mut p = 1.987_569_1e-4;
    p = p * r + 1.398_199_9e-3;
    p = p * r + 8.333_452e-3;
    p = p * r + 4.166_579_6e-2;
    p = p * r + 1.666_666_5e-1;
    p = p * r + 0.5;
    let p = p * (r * r) + r + 1.0;
    p * f32::from_bits(((n + 127) << 23) as u32)
}

vectorized! {
    /// The Gaussian error linear unit, `x * (1 + erf(x / sqrt 2)) / 2`, in place.
    ///
    /// erf is Abramowitz and Stegun's 7.1.26, whose absolute error is below 1.5e-7.
    pub(super) fn gelu(x: &mut [f32]) {
        for x in x {
            let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
            let t = 1.0 / (1.0 + 0.327_591_1 * z);
            let mut p = 1.061_405_4;
            p = p * t - 1.453_152;
            p = p * t + 1.421_413_7;
            p = p * t - 0.284_496_74;
            p = p * t + 0.254_829_6;
            let tail = p * t * exp(-z * z);
            let erf = if *x < 0.0 { tail - 1.0 } else { 1.0 - tail };
            *x = 0.5 * *x * (1.0 + erf);
        }
    }
}

vectorized! {
    /// Adds `y` to `x`.
    pub(super) fn add(x: &mut [f32], y: &[f32]) {
        for (x, y) in x.iter_mut().zip(y) {
            *x += y;
        }
    }
}

vectorized! {
    /// Normalizes each row to mean 0 and variance 1, then applies `gain` and `bias`; the row's width is `gain.len()`.
    pub(super) fn layer_norm(x: &mut [f32], gain: &[f32], bias: &[f32], epsilon: f32) {
        let width = gain.len();
        for row in x.chunks_exact_mut(width) {
            let mean = sum(row) / width as f32;
            for x in row.iter_mut() {
                *x -= mean;
            }
            let variance = sum_of_squares(row) / width as f32;
            let scale = 1.0 / (variance + epsilon).sqrt();
            for ((x, gain), bias) in row.iter_mut().zip(gain).zip(bias) {
                *x = *x * scale * gain + bias;
            }
        }
    }
}

#[inline(always)]
fn sum(x: &[f32]) -> f32 {
    let mut lanes = [0f32; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane += x;
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

#[inline(always)]
fn sum_of_squares(x: &[f32]) -> f32 {
    let mut lanes = [0f32; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane += x * x;
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|x| x * x).sum::<f32>()
}

/// The sizes of one attention.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttentionShape {
    /// The number of heads.
    pub(super) heads: usize,
    /// The width of a head, a multiple of 16.
    pub(super) head_width: usize,
    /// What the products of queries and keys are multiplied by.
    pub(super) scale: f32,
}

vectorized! {
    /// Multi-head attention over one text (<https://arxiv.org/abs/1706.03762>).
    ///
    /// `qkv` holds for each token the queries, keys and values of all heads, `out` gets the heads' results side by side.
    /// Only the tokens whose index is in `keys` are attended to; when there is none, the result is zero.
    pub(super) fn attention(shape: AttentionShape, qkv: &[f32], keys: &[usize], out: &mut [f32]) {
        let AttentionShape { heads, head_width, scale } = shape;
        let hidden = heads * head_width;
        let padded = keys.len().max(1).next_multiple_of(LANES);
        let mut transposed_keys = vec![0f32; head_width * padded];
        let mut values = vec![0f32; keys.len() * head_width];
        let mut weights = vec![0f32; QUERIES * padded];
        let zeros = vec![0f32; head_width];
        for head in 0..heads {
            let at = head * head_width;
            for (slot, &token) in keys.iter().enumerate() {
                let row = &qkv[token * 3 * hidden..(token + 1) * 3 * hidden];
                for (i, &x) in row[hidden + at..hidden + at + head_width].iter().enumerate() {
                    transposed_keys[i * padded + slot] = x * scale;
                }
                values[slot * head_width..(slot + 1) * head_width]
                    .copy_from_slice(&row[2 * hidden + at..2 * hidden + at + head_width]);
            }
            for (queries, out) in qkv.chunks(QUERIES * 3 * hidden).zip(out.chunks_mut(QUERIES * hidden)) {
                // Where fewer are left, zeros stand in for the others.
                let queries: [&[f32]; QUERIES] = std::array::from_fn(|i| {
                    queries.get(i * 3 * hidden + at..i * 3 * hidden + at + head_width).unwrap_or(&zeros)
                });
                for start in (0..padded).step_by(LANES) {
                    let sums = products(queries, &transposed_keys[start..], padded);
                    for (weights, sums) in weights.chunks_exact_mut(padded).zip(sums) {
                        weights[start..start + LANES].copy_from_slice(&sums);
                    }
                }
                let mut inverses = [0f32; QUERIES];
                for (weights, inverse) in weights.chunks_exact_mut(padded).zip(&mut inverses) {
                    *inverse = exponentials(weights, keys.len());
                }
                let weights: [&[f32]; QUERIES] =
                    std::array::from_fn(|i| weights.get(i * padded..i * padded + keys.len()).unwrap_or(&[]));
                for start in (0..head_width).step_by(LANES) {
                    let sums = products(weights, values.get(start..).unwrap_or(&[]), head_width);
                    for ((out, sums), inverse) in out.chunks_exact_mut(hidden).zip(sums).zip(inverses) {
                        for (out, x) in out[at + start..at + start + LANES].iter_mut().zip(sums) {
                            *out = x * inverse;
                        }
                    }
                }
            }
        }
    }
}

/// The products of row vectors with 16 columns of a matrix whose rows are `stride` apart.
#[inline(always)]
fn products<const ROWS: usize>(rows: [&[f32]; ROWS], matrix: &[f32], stride: usize) -> [[f32; LANES]; ROWS] {
    let mut sums = [[0f32; LANES]; ROWS];
    let width = rows.iter().map(|row| row.len()).min().unwrap_or(0);
    let rows = rows.map(|row| &row[..width]);
    for (k, columns) in matrix.chunks(stride).enumerate().take(width) {
        let Some(columns) = columns.first_chunk::<LANES>() else { break };
        for (sums, row) in sums.iter_mut().zip(rows) {
            for (sum, column) in sums.iter_mut().zip(columns) {
                *sum += row[k] * column;
            }
        }
    }
    sums
}

/// Replaces the first `count` logits by their exponentials, shifted so that the largest is 1; returns 1 / their sum.
#[inline(always)]
fn exponentials(logits: &mut [f32], count: usize) -> f32 {
    logits[count..].fill(f32::NEG_INFINITY);
    let (chunks, _) = logits.as_chunks_mut::<LANES>();
    let mut peaks = [f32::NEG_INFINITY; LANES];
    for chunk in chunks.iter() {
        for (peak, x) in peaks.iter_mut().zip(chunk) {
            *peak = if *x > *peak { *x } else { *peak };
        }
    }
    let peak = peaks.iter().fold(f32::NEG_INFINITY, |a, &b| a.max(b));
    for chunk in chunks {
        for x in chunk.iter_mut() {
            *x = exp(*x - peak);
        }
    }
    logits[count..].fill(0.0);
    let total = sum(logits);
    if total > 0.0 { 1.0 / total } else { 0.0 }
}

/// A product to compute: `out[row][n] = activations[row] · weights[n] * scales + bias[n]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Product<'a> {
    /// Rows of `stride` numbers, at most [`activation_limit`] in magnitude.
    pub(super) activations: &'a [i16],
    /// One a row of activations.
    pub(super) activation_scales: &'a [f32],
    /// Rows of `stride` numbers, one row for each output, padded to [`N_STEP`] rows.
    pub(super) weights: &'a [i8],
    /// One a row of weights.
    pub(super) weight_scales: &'a [f32],
    /// The sum of each row of weights.
    pub(super) weight_sums: &'a [i32],
    /// One a row of weights.
    pub(super) bias: &'a [f32],
    /// The padded length of a row, a multiple of [`K_STEP`].
    pub(super) stride: usize,
    /// The number of outputs, a multiple of [`N_STEP`].
    pub(super) outputs: usize,
}

impl Product<'_> {
    /// Panics when a slice is shorter than the kernels rely on; the ops that call it are built with these sizes.
    fn check(&self, out: &[f32]) {
        let rows = self.activation_scales.len();
        assert!(self.stride.is_multiple_of(K_STEP) && self.outputs.is_multiple_of(N_STEP), "padded sizes");
        assert!(self.activations.len() >= rows * self.stride, "activations");
        assert!(self.weights.len() >= self.outputs * self.stride, "weights");
        assert!(self.weight_scales.len() >= self.outputs && self.bias.len() >= self.outputs, "scales");
        assert!(self.weight_sums.len() >= self.outputs, "sums");
        assert!(out.len() >= rows * self.outputs, "result");
    }

    #[cfg(any(test, not(target_arch = "wasm32")))]
    #[inline(always)]
    fn finish(&self, row: usize, output: usize, sum: i32) -> f32 {
        sum as f32 * (self.activation_scales[row] * self.weight_scales[output]) + self.bias[output]
    }
}

/// The sum of each row of `stride` weights.
pub(super) fn row_sums(weights: &[i8], stride: usize) -> Vec<i32> {
    weights.chunks_exact(stride).map(|row| row.iter().map(|&w| i32::from(w)).sum()).collect()
}

/// Computes a product into `out`, rows of `outputs` floats.
pub(super) fn matmul(product: Product<'_>, out: &mut [f32]) {
    product.check(out);
    #[cfg(target_feature = "relaxed-simd")]
    if let Some(meaning) = relaxed::meaning() {
        // SAFETY: the slices were checked.
        return unsafe { relaxed::matmul(product, meaning, out) };
    }
    #[cfg(target_arch = "wasm32")]
    // SAFETY: the slices were checked; the wasm build has SIMD switched on.
    unsafe {
        wasm::matmul(product, out);
    }
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512vnni")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512f")
        {
            // SAFETY: the slices were checked, and the processor has the features.
            return unsafe { avx512::matmul(product, out) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the slices were checked, and the processor has the feature.
            return unsafe { avx2::matmul(product, out) };
        }
    }
    #[cfg(not(target_arch = "wasm32"))]
    matmul_scalar(product, out);
}

/// The scalar twin of every kernel, which also runs where none of them does.
#[cfg(any(test, not(target_arch = "wasm32")))]
fn matmul_scalar(product: Product<'_>, out: &mut [f32]) {
    let Product { activations, weights, stride, outputs, .. } = product;
    for (row, a) in activations.chunks_exact(stride).take(product.activation_scales.len()).enumerate() {
        for (output, w) in weights.chunks_exact(stride).take(outputs).enumerate() {
            let sum = a.iter().zip(w).map(|(&a, &w)| i32::from(a) * i32::from(w)).sum();
            out[row * outputs + output] = product.finish(row, output, sum);
        }
    }
}

/// Walks the tiles of a product: blocks of weights that stay in the L1 cache, in them tiles of as many rows of activations as
/// the first of `$rows` that still fits.
macro_rules! tiled {
    ($product:ident, $columns:expr, [$($rows:tt),+], $tile:ident) => {{
        let rows = $product.activation_scales.len();
        let block = (WEIGHT_BLOCK / $product.stride / $columns).max(1) * $columns;
        for start in (0..$product.outputs).step_by(block) {
            let end = (start + block).min($product.outputs);
            let mut row = 0;
            $(while rows - row >= $rows {
                $tile!($rows, row, start, end);
                row += $rows;
            })+
        }
    }};
}

#[cfg(target_arch = "wasm32")]
mod wasm {
    use std::arch::wasm32::{
        f32x4_add, f32x4_convert_i32x4, f32x4_mul, f32x4_splat, i16x8_load_extend_i8x8, i32x4_add, i32x4_dot_i16x8,
        i32x4_shuffle, i32x4_splat, v128, v128_load, v128_load64_zero, v128_store64_lane,
    };

    use super::{Product, WEIGHT_BLOCK};

    /// # Safety
    /// `Product::check` must have passed.
    pub(super) unsafe fn matmul(product: Product<'_>, out: &mut [f32]) {
        macro_rules! run {
            ($rows:literal, $row:expr, $start:expr, $end:expr) => {
                // SAFETY: the tile lies inside of the checked slices.
                unsafe { tile::<$rows>(&product, out, $row, $start, $end) }
            };
        }
        tiled!(product, 2, [4, 3, 2, 1], run);
    }

    /// `ROWS` rows of activations times the weights `start..end`, two at a time: with four rows the eight sums and
    /// their operands just fit the sixteen registers of x86.
    #[inline(always)]
    unsafe fn tile<const ROWS: usize>(product: &Product<'_>, out: &mut [f32], row: usize, start: usize, end: usize) {
        let stride = product.stride;
        let activations = product.activations[row * stride..].as_ptr();
        let mut output = start;
        while output < end {
            let weights = product.weights[output * stride..].as_ptr();
            let mut sums = [[i32x4_splat(0); 2]; ROWS];
            let mut k = 0;
            while k < stride {
                // SAFETY: both rows of weights and all rows of activations have `stride` numbers, a multiple of 8.
                unsafe {
                    let w0 = i16x8_load_extend_i8x8(weights.add(k));
                    let w1 = i16x8_load_extend_i8x8(weights.add(stride + k));
                    for (r, sums) in sums.iter_mut().enumerate() {
                        let a = v128_load(activations.add(r * stride + k).cast());
                        sums[0] = i32x4_add(sums[0], i32x4_dot_i16x8(a, w0));
                        sums[1] = i32x4_add(sums[1], i32x4_dot_i16x8(a, w1));
                    }
                }
                k += 8;
            }
            // SAFETY: `output + 1` is an output, and the row is one of the product.
            unsafe {
                let scales = v128_load64_zero(product.weight_scales[output..].as_ptr().cast());
                let bias = v128_load64_zero(product.bias[output..].as_ptr().cast());
                for (r, sums) in sums.iter().enumerate() {
                    let sum = f32x4_convert_i32x4(pair(sums[0], sums[1]));
                    let scale = f32x4_mul(f32x4_splat(product.activation_scales[row + r]), scales);
                    let result = f32x4_add(f32x4_mul(sum, scale), bias);
                    let to = out[(row + r) * product.outputs + output..].as_mut_ptr();
                    v128_store64_lane::<0>(result, to.cast());
                }
            }
            output += 2;
        }
    }

    /// The sums of the lanes of `a` and of `b`, in lanes 0 and 1.
    #[inline(always)]
    fn pair(a: v128, b: v128) -> v128 {
        let both = i32x4_add(i32x4_shuffle::<0, 4, 1, 5>(a, b), i32x4_shuffle::<2, 6, 3, 7>(a, b));
        i32x4_add(both, i32x4_shuffle::<2, 3, 2, 3>(both, both))
    }
}

#[cfg(target_feature = "relaxed-simd")]
mod relaxed {
    use std::arch::wasm32::{
        f32x4_add, f32x4_convert_i32x4, f32x4_mul, f32x4_splat, i8x16_splat, i32x4_add, i32x4_extract_lane, i32x4_mul,
        i32x4_relaxed_dot_i8x16_i7x16_add, i32x4_shl, i32x4_shuffle, i32x4_splat, i32x4_sub, v128, v128_load,
        v128_store,
    };

    use super::super::byte_pairs::{BytePairs, Meaning, Walk};
    use super::{Product, WEIGHT_BLOCK};

    // Twelve sums, three activations and one row of weights fit the sixteen registers of x86.
    const WALK: Walk = Walk { rows: 3, step: 16 };

    /// What the relaxed product takes its second operand's bytes for; nothing where it saturates, as it does when the engine
    /// makes it of older instructions.
    pub(super) fn meaning() -> Option<Meaning> {
        let product = |weight: i8, byte: u8| {
            let sums = i32x4_relaxed_dot_i8x16_i7x16_add(i8x16_splat(weight), i8x16_splat(byte as i8), i32x4_splat(0));
            i32x4_extract_lane::<0>(sums)
        };
        let is = |value: fn(u8) -> i32| {
            [127, -128].iter().all(|&w| [127, 128, 255].iter().all(|&b| product(w, b) == 4 * i32::from(w) * value(b)))
        };
        if is(i32::from) {
            Some(Meaning::Unsigned)
        } else if is(|byte| i32::from(byte as i8)) {
            Some(Meaning::Signed)
        } else {
            None
        }
    }

    /// # Safety
    /// `Product::check` must have passed.
    pub(super) unsafe fn matmul(product: Product<'_>, meaning: Meaning, out: &mut [f32]) {
        let rows = product.activation_scales.len();
        let pairs = BytePairs::split(&product.activations[..rows * product.stride], product.stride, meaning, WALK);
        macro_rules! run {
            ($rows:literal, $row:expr, $start:expr, $end:expr) => {
                // SAFETY: the tile lies inside of the slices that `Product::check` has checked, and so do the steps.
                unsafe { tile::<$rows>(&product, &pairs, out, $row, $start, $end) }
            };
        }
        tiled!(product, 4, [3, 2, 1], run);
    }

    /// `ROWS` rows of activations times the weights `start..end`, four at a time.
    ///
    /// # Safety
    /// `Product::check` must have passed; rows and outputs must be ones of the product, `end - start` a multiple of four.
    #[inline(always)]
    unsafe fn tile<const ROWS: usize>(
        product: &Product<'_>,
        pairs: &BytePairs,
        out: &mut [f32],
        row: usize,
        start: usize,
        end: usize,
    ) {
        let stride = product.stride;
        let steps = pairs.wide_steps(row);
        let (low, high) = (pairs.low[row * stride..].as_ptr(), pairs.high[row * stride..].as_ptr());
        let zero = i8x16_splat(pairs.meaning.high_flip() as i8);
        for output in (start..end).step_by(4) {
            let weights = product.weights[output * stride..].as_ptr();
            let mut sums = [[i32x4_splat(0); 4]; ROWS];
            if !steps.is_empty() {
                let mut zeros = [i32x4_splat(0); 4];
                for &k in steps {
                    for c in 0..4 {
                        // SAFETY: all rows of weights and of bytes have `stride` numbers, and `k + 16` is at most that.
                        unsafe {
                            let w = v128_load(weights.add(c * stride + k).cast());
                            zeros[c] = i32x4_relaxed_dot_i8x16_i7x16_add(w, zero, zeros[c]);
                            for (r, sums) in sums.iter_mut().enumerate() {
                                let a = v128_load(high.add(r * stride + k).cast());
                                sums[c] = i32x4_relaxed_dot_i8x16_i7x16_add(w, a, sums[c]);
                            }
                        }
                    }
                }
                for sums in &mut sums {
                    for (sum, &zeros) in sums.iter_mut().zip(&zeros) {
                        *sum = i32x4_shl(i32x4_sub(*sum, zeros), 8);
                    }
                }
            }
            let mut k = 0;
            while k < stride {
                // SAFETY: as above; `stride` is a multiple of 16.
                unsafe {
                    let mut a = [i32x4_splat(0); ROWS];
                    for (r, a) in a.iter_mut().enumerate() {
                        *a = v128_load(low.add(r * stride + k).cast());
                    }
                    for c in 0..4 {
                        let w = v128_load(weights.add(c * stride + k).cast());
                        for (sums, &a) in sums.iter_mut().zip(&a) {
                            sums[c] = i32x4_relaxed_dot_i8x16_i7x16_add(w, a, sums[c]);
                        }
                    }
                }
                k += WALK.step;
            }
            // SAFETY: `output + 3` is an output, and the row is one of the product.
            unsafe {
                let scales = v128_load(product.weight_scales[output..].as_ptr().cast());
                let bias = v128_load(product.bias[output..].as_ptr().cast());
                let weight_sums = v128_load(product.weight_sums[output..].as_ptr().cast());
                for (r, sums) in sums.iter().enumerate() {
                    let offset = i32x4_mul(weight_sums, i32x4_splat(pairs.offsets[row + r]));
                    let sum = f32x4_convert_i32x4(i32x4_sub(totals(sums), offset));
                    let scale = f32x4_mul(f32x4_splat(product.activation_scales[row + r]), scales);
                    let to = out[(row + r) * product.outputs + output..].as_mut_ptr();
                    v128_store(to.cast(), f32x4_add(f32x4_mul(sum, scale), bias));
                }
            }
        }
    }

    /// The sums of the lanes of each of four registers.
    #[inline(always)]
    fn totals(&[a, b, c, d]: &[v128; 4]) -> v128 {
        let ab = i32x4_add(i32x4_shuffle::<0, 4, 1, 5>(a, b), i32x4_shuffle::<2, 6, 3, 7>(a, b));
        let cd = i32x4_add(i32x4_shuffle::<0, 4, 1, 5>(c, d), i32x4_shuffle::<2, 6, 3, 7>(c, d));
        i32x4_add(i32x4_shuffle::<0, 1, 4, 5>(ab, cd), i32x4_shuffle::<2, 3, 6, 7>(ab, cd))
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_loadu_si128, _mm_shuffle_epi32, _mm256_add_epi32,
        _mm256_castsi256_si128, _mm256_cvtepi8_epi16, _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_madd_epi16,
        _mm256_setzero_si256,
    };

    use super::{Product, WEIGHT_BLOCK};

    /// # Safety
    /// `Product::check` must have passed, and the processor must have AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn matmul(product: Product<'_>, out: &mut [f32]) {
        macro_rules! run {
            ($rows:literal, $row:expr, $start:expr, $end:expr) => {
                // SAFETY: the tile lies inside of the checked slices.
                unsafe { tile::<$rows>(&product, out, $row, $start, $end) }
            };
        }
        tiled!(product, 2, [4, 3, 2, 1], run);
    }

    /// # Safety
    /// As [`matmul`]; rows and outputs must be ones of the product.
    #[target_feature(enable = "avx2")]
    unsafe fn tile<const ROWS: usize>(product: &Product<'_>, out: &mut [f32], row: usize, start: usize, end: usize) {
        let stride = product.stride;
        let activations = product.activations[row * stride..].as_ptr();
        for output in (start..end).step_by(2) {
            let weights = product.weights[output * stride..].as_ptr();
            let mut sums = [[_mm256_setzero_si256(); 2]; ROWS];
            for k in (0..stride).step_by(16) {
                // SAFETY: both rows of weights and all rows of activations have `stride` numbers, a multiple of 16.
                unsafe {
                    let w0 = _mm256_cvtepi8_epi16(_mm_loadu_si128(weights.add(k).cast::<__m128i>()));
                    let w1 = _mm256_cvtepi8_epi16(_mm_loadu_si128(weights.add(stride + k).cast::<__m128i>()));
                    for (r, sums) in sums.iter_mut().enumerate() {
                        let a = _mm256_loadu_si256(activations.add(r * stride + k).cast::<__m256i>());
                        sums[0] = _mm256_add_epi32(sums[0], _mm256_madd_epi16(a, w0));
                        sums[1] = _mm256_add_epi32(sums[1], _mm256_madd_epi16(a, w1));
                    }
                }
            }
            for (r, sums) in sums.iter().enumerate() {
                for (c, &sum) in sums.iter().enumerate() {
                    let at = (row + r) * product.outputs + output + c;
                    out[at] = product.finish(row + r, output + c, total(sum));
                }
            }
        }
    }

    #[target_feature(enable = "avx2")]
    fn total(sums: __m256i) -> i32 {
        let sums = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
        let sums = _mm_add_epi32(sums, _mm_shuffle_epi32::<0b_01_00_11_10>(sums));
        let sums = _mm_add_epi32(sums, _mm_shuffle_epi32::<0b_10_11_00_01>(sums));
        _mm_cvtsi128_si32(sums)
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{
        __m128i, __m512i, _mm_add_epi32, _mm_add_ps, _mm_cvtepi32_ps, _mm_loadu_ps, _mm_loadu_si128, _mm_mul_ps,
        _mm_mullo_epi32, _mm_set1_epi32, _mm_set1_ps, _mm_storeu_ps, _mm_sub_epi32, _mm256_add_epi32,
        _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_hadd_epi32, _mm512_castsi512_si256,
        _mm512_dpbusd_epi32, _mm512_extracti64x4_epi64, _mm512_loadu_si512, _mm512_set1_epi8, _mm512_setzero_si512,
        _mm512_slli_epi32, _mm512_sub_epi32,
    };

    use super::super::byte_pairs::{BytePairs, Meaning, Walk};
    use super::{Product, WEIGHT_BLOCK};

    const WALK: Walk = Walk { rows: 4, step: 64 };

    /// # Safety
    /// `Product::check` must have passed, and the processor must have the features.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) unsafe fn matmul(product: Product<'_>, out: &mut [f32]) {
        let rows = product.activation_scales.len();
        let activations = &product.activations[..rows * product.stride];
        let pairs = BytePairs::split(activations, product.stride, Meaning::Unsigned, WALK);
        macro_rules! run {
            ($rows:literal, $row:expr, $start:expr, $end:expr) => {
                // SAFETY: the tile lies inside of the checked slices, and so do the steps.
                unsafe { tile::<$rows>(&product, &pairs, out, $row, $start, $end) }
            };
        }
        tiled!(product, 4, [4, 3, 2, 1], run);
    }

    /// # Safety
    /// As [`matmul`]; rows and outputs must be ones of the product.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn tile<const ROWS: usize>(
        product: &Product<'_>,
        pairs: &BytePairs,
        out: &mut [f32],
        row: usize,
        start: usize,
        end: usize,
    ) {
        let stride = product.stride;
        let steps = pairs.wide_steps(row);
        let (low, high) = (pairs.low[row * stride..].as_ptr(), pairs.high[row * stride..].as_ptr());
        let zero = _mm512_set1_epi8(pairs.meaning.high_flip() as i8);
        for output in (start..end).step_by(4) {
            let weights = product.weights[output * stride..].as_ptr();
            let mut sums = [[_mm512_setzero_si512(); 4]; ROWS];
            if !steps.is_empty() {
                let mut zeros = [_mm512_setzero_si512(); 4];
                for &k in steps {
                    for c in 0..4 {
                        // SAFETY: all rows of weights and of bytes have `stride` numbers, and `k + 64` is at most that.
                        unsafe {
                            let w = _mm512_loadu_si512(weights.add(c * stride + k).cast::<__m512i>());
                            zeros[c] = _mm512_dpbusd_epi32(zeros[c], zero, w);
                            for (r, sums) in sums.iter_mut().enumerate() {
                                let a = _mm512_loadu_si512(high.add(r * stride + k).cast::<__m512i>());
                                sums[c] = _mm512_dpbusd_epi32(sums[c], a, w);
                            }
                        }
                    }
                }
                for sums in &mut sums {
                    for (sum, &zeros) in sums.iter_mut().zip(&zeros) {
                        *sum = _mm512_slli_epi32::<8>(_mm512_sub_epi32(*sum, zeros));
                    }
                }
            }
            for k in (0..stride).step_by(WALK.step) {
                // SAFETY: as above; `stride` is a multiple of 64.
                unsafe {
                    let mut w = [_mm512_setzero_si512(); 4];
                    for (c, w) in w.iter_mut().enumerate() {
                        *w = _mm512_loadu_si512(weights.add(c * stride + k).cast::<__m512i>());
                    }
                    for (r, sums) in sums.iter_mut().enumerate() {
                        let a = _mm512_loadu_si512(low.add(r * stride + k).cast::<__m512i>());
                        for (sum, &w) in sums.iter_mut().zip(&w) {
                            *sum = _mm512_dpbusd_epi32(*sum, a, w);
                        }
                    }
                }
            }
            // SAFETY: the four outputs are ones of the product, and so is each row.
            unsafe {
                let scales = _mm_loadu_ps(product.weight_scales[output..].as_ptr());
                let bias = _mm_loadu_ps(product.bias[output..].as_ptr());
                let weight_sums = _mm_loadu_si128(product.weight_sums[output..].as_ptr().cast::<__m128i>());
                for (r, sums) in sums.iter().enumerate() {
                    let offset = _mm_mullo_epi32(weight_sums, _mm_set1_epi32(pairs.offsets[row + r]));
                    let sum = _mm_cvtepi32_ps(_mm_sub_epi32(totals(sums), offset));
                    let scale = _mm_mul_ps(_mm_set1_ps(product.activation_scales[row + r]), scales);
                    let result = _mm_add_ps(_mm_mul_ps(sum, scale), bias);
                    _mm_storeu_ps(out[(row + r) * product.outputs + output..].as_mut_ptr(), result);
                }
            }
        }
    }

    /// The sums of the lanes of each of four registers, reduced together: one by one they would take as long as the
    /// products of a short row.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn totals(sums: &[__m512i; 4]) -> __m128i {
        let half = |sum: __m512i| _mm256_add_epi32(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64::<1>(sum));
        let [a, b, c, d] = [half(sums[0]), half(sums[1]), half(sums[2]), half(sums[3])];
        let both = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
        _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256::<1>(both))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers(seed: u32, count: usize, limit: i32) -> Vec<i32> {
        let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
        (0..count)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                (state % (2 * limit as u32 + 1)) as i32 - limit
            })
            .collect()
    }

    fn check_product(rows: usize, k: usize, outputs: usize, activation: &[i16], weights: &[i8]) {
        let stride = k.next_multiple_of(K_STEP);
        let outputs = outputs.next_multiple_of(N_STEP);
        let activation_scales: Vec<f32> = (0..rows).map(|row| 0.001 * (row + 1) as f32).collect();
        let weight_scales: Vec<f32> = (0..outputs).map(|output| 0.01 * (output % 7) as f32).collect();
        let bias: Vec<f32> = (0..outputs).map(|output| output as f32 - 3.0).collect();
        let weight_sums = row_sums(&weights[..outputs * stride], stride);
        let product = Product {
            activations: &activation[..rows * stride],
            activation_scales: &activation_scales,
            weights: &weights[..outputs * stride],
            weight_scales: &weight_scales,
            weight_sums: &weight_sums,
            bias: &bias,
            stride,
            outputs,
        };
        let mut expected = vec![0.0; rows * outputs];
        matmul_scalar(product, &mut expected);
        let mut found = vec![f32::NAN; rows * outputs];
        matmul(product, &mut found);
        assert_eq!(found, expected, "{rows} rows, k {k}, {outputs} outputs");
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            found.fill(f32::NAN);
            // SAFETY: the processor has AVX2, and the sizes are those that `matmul` has just checked.
            unsafe { avx2::matmul(product, &mut found) };
            assert_eq!(found, expected, "AVX2: {rows} rows, k {k}, {outputs} outputs");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn every_kernel_agrees_with_the_scalar_twin(rows in 1usize..11, k in 1usize..200, outputs in 1usize..40, seed: u32, limit in prop_oneof![Just(100), Just(200), Just(16_383)]) {
            let stride = k.next_multiple_of(K_STEP);
            let outputs_padded = outputs.next_multiple_of(N_STEP);
            let activations: Vec<i16> = numbers(seed, rows * stride, limit).into_iter().map(|x| x as i16).collect();
            let weights: Vec<i8> =
                numbers(seed ^ 0xabcd, outputs_padded * stride, 127).into_iter().map(|x| x as i8).collect();
            check_product(rows, k, outputs, &activations, &weights);
        }

        #[test]
        fn quantized_rows_are_within_half_a_step(k in 1usize..300, rows in 1usize..4, seed: u32, magnitude in 1e-6f32..1e6) {
            let x: Vec<f32> = numbers(seed, rows * k, 10_000).into_iter().map(|x| x as f32 / 1e4 * magnitude).collect();
            let stride = k.next_multiple_of(K_STEP);
            let mut quantized = vec![77i16; rows * stride];
            let mut scales = vec![0.0; rows];
            quantize_rows(&x, k, stride, &mut quantized, &mut scales);
            for row in 0..rows {
                for i in 0..stride {
                    let back = f32::from(quantized[row * stride + i]) * scales[row];
                    let original = if i < k { x[row * k + i] } else { 0.0 };
                    prop_assert!((back - original).abs() <= scales[row] * 0.51 + f32::EPSILON * original.abs());
                }
            }
        }

        #[test]
        fn exponentials_are_exact_enough(x in -87.0f32..88.0) {
            let expected = f64::from(x).exp();
            prop_assert!((f64::from(exp(x)) / expected - 1.0).abs() < 3e-7, "{} for {x}", exp(x));
        }

        #[test]
        fn attention_is_what_its_definition_says(tokens in 1usize..37, seed: u32, absent in 0usize..40) {
            let shape = AttentionShape { heads: 2, head_width: 16, scale: 0.25 };
            let hidden = 32;
            let qkv: Vec<f32> = numbers(seed, tokens * 3 * hidden, 3000).into_iter().map(|x| x as f32 / 1000.0).collect();
            let keys: Vec<usize> = (0..tokens).filter(|&token| token != absent).collect();
            let mut out = vec![f32::NAN; tokens * hidden];
            attention(shape, &qkv, &keys, &mut out);
            for token in 0..tokens {
                for head in 0..2 {
                    let part = |token: usize, which: usize| {
                        &qkv[token * 3 * hidden + which * hidden + head * 16..][..16]
                    };
                    let logit = |&key: &usize| {
                        let product: f64 =
                            part(token, 0).iter().zip(part(key, 1)).map(|(a, b)| f64::from(a * b)).sum();
                        (product * 0.25).exp()
                    };
                    let total: f64 = keys.iter().map(logit).sum();
                    for i in 0..16 {
                        let expected: f64 =
                            keys.iter().map(|key| logit(key) * f64::from(part(*key, 2)[i])).sum::<f64>() / total.max(1e-300);
                        let found = f64::from(out[token * hidden + head * 16 + i]);
                        prop_assert!((found - expected).abs() < 1e-4, "{found} for {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_largest_sums_do_not_overflow() {
        for k in [64, 384, 512, 1536, 4096] {
            let limit = activation_limit(k) as i16;
            check_product(5, k, 4, &vec![limit; 5 * k], &vec![127; 4 * k]);
            check_product(5, k, 4, &vec![-limit; 5 * k], &vec![127; 4 * k]);
        }
    }

    #[test]
    fn a_row_of_zeros_has_scale_zero() {
        let mut quantized = vec![7i16; 32];
        let mut scales = vec![1.0];
        quantize_rows(&[0.0; 20], 20, 32, &mut quantized, &mut scales);
        assert_eq!((quantized, scales), (vec![0; 32], vec![0.0]));
    }

    #[test]
    fn gelu_matches_reference_values() {
        // scipy: x * norm.cdf(x).
        let mut x = [-6.0, -3.0, -1.0, -0.1, 0.0, 0.1, 1.0, 3.0, 6.0];
        gelu(&mut x);
        let expected =
            [-5.919_526e-9, -0.004_049_7, -0.158_655_3, -0.046_017_2, 0.0, 0.053_982_8, 0.841_344_7, 2.995_950_3, 6.0];
        for (x, expected) in x.iter().zip(expected) {
            assert!((x - expected).abs() < 1e-6, "{x} for {expected}");
        }
    }

    #[test]
    fn a_layer_norm_gives_mean_zero_and_variance_one() {
        let mut x: Vec<f32> = numbers(3, 2 * 50, 1000).into_iter().map(|x| x as f32).collect();
        layer_norm(&mut x, &[1.0; 50], &[0.0; 50], 1e-12);
        for row in x.chunks(50) {
            assert!(row.iter().sum::<f32>().abs() < 1e-3);
            assert!((row.iter().map(|x| x * x).sum::<f32>() / 50.0 - 1.0).abs() < 1e-4);
        }
        let mut x = [1.0, 3.0];
        layer_norm(&mut x, &[2.0, 2.0], &[10.0, 20.0], 0.0);
        assert_eq!(x, [8.0, 22.0]);
    }
}
