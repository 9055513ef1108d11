//! Compares the encoder's matrix product with its definition, in WebAssembly, where the crate's own property tests do not run.

#![allow(dead_code, reason = "of the kernels only the product is tested here")]

#[cfg(target_feature = "relaxed-simd")]
#[path = "../../../src/retrieval/encoder/byte_pairs.rs"]
mod byte_pairs;
#[path = "../../../src/retrieval/encoder/kernel.rs"]
mod kernel;

use kernel::{K_STEP, N_STEP, Product, activation_limit, matmul, row_sums};

/// Numbers that follow from a seed (xorshift).
struct Numbers(u32);

impl Numbers {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 % end
    }

    fn within(&mut self, limit: i32) -> i32 {
        self.below(2 * limit as u32 + 1) as i32 - limit
    }
}

/// Computes products of every kind of size, with activations of which all, some or none fit a byte. Returns 0, or the number of
/// the first product that is not the exact one.
#[unsafe(no_mangle)]
pub extern "C" fn first_wrong_product(seed: u32, count: u32) -> u32 {
    let mut numbers = Numbers(seed | 1);
    (1..=count).find(|_| !is_exact(&mut numbers)).unwrap_or(0)
}

fn is_exact(numbers: &mut Numbers) -> bool {
    let rows = 1 + numbers.below(11) as usize;
    let stride = (1 + numbers.below(600) as usize).next_multiple_of(K_STEP);
    let outputs = (1 + numbers.below(40) as usize).next_multiple_of(N_STEP);
    let limit = [60, 130, 300, activation_limit(stride) as i32][numbers.below(4) as usize];
    let lowest = [-limit, -5, 0][numbers.below(3) as usize];
    let activations: Vec<i16> = (0..rows * stride).map(|_| numbers.within(limit).max(lowest) as i16).collect();
    let weights: Vec<i8> = (0..outputs * stride).map(|_| numbers.within(127) as i8).collect();
    let activation_scales: Vec<f32> = (0..rows).map(|row| 0.001 * (row + 1) as f32).collect();
    let weight_scales: Vec<f32> = (0..outputs).map(|output| 0.01 * (output % 7) as f32).collect();
    let bias: Vec<f32> = (0..outputs).map(|output| output as f32 - 3.0).collect();
    let product = Product {
        activations: &activations,
        activation_scales: &activation_scales,
        weights: &weights,
        weight_scales: &weight_scales,
        weight_sums: &row_sums(&weights, stride),
        bias: &bias,
        stride,
        outputs,
    };
    let mut found = vec![f32::NAN; rows * outputs];
    matmul(product, &mut found);
    found.iter().enumerate().all(|(at, found)| {
        let (row, output) = (at / outputs, at % outputs);
        let pairs = activations[row * stride..][..stride].iter().zip(&weights[output * stride..][..stride]);
        let sum: i32 = pairs.map(|(&a, &w)| i32::from(a) * i32::from(w)).sum();
        let expected = sum as f32 * (activation_scales[row] * weight_scales[output]) + bias[output];
        found.to_bits() == expected.to_bits()
    })
}
