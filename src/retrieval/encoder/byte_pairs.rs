//! Quantized activations as bytes, for processors that multiply bytes faster than anything else.
//!
//! A row of int16 numbers `x` becomes `x + offset = 256 * high + low`, where the offset makes most of a row's high bytes zero:
//! the products of the low bytes are computed for all of a row, those of the high bytes only where one is not zero. The sum is
//! the exact one, whatever the numbers are; how few of them need two bytes is a matter of speed only.

/// Numbers of a row that share one flag for their high bytes.
pub(super) const GRAIN: usize = 16;

/// What an instruction takes the bytes of activations for. Weights are signed everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// 0 to 255, as x86 has it.
    Unsigned,
    /// -128 to 127, as ARM has it.
    #[cfg(any(test, target_feature = "relaxed-simd"))]
    Signed,
}

impl Meaning {
    /// What the low bytes, 0 to 255, are exclusive-ored with: where bytes are signed, this takes 128 off.
    fn low_flip(self) -> u8 {
        match self {
            Self::Unsigned => 0,
            #[cfg(any(test, target_feature = "relaxed-simd"))]
            Self::Signed => 0x80,
        }
    }

    /// What the high bytes, signed ones, are exclusive-ored with: where bytes are unsigned, this adds 128. It is what a high
    /// byte of zero becomes.
    pub(super) fn high_flip(self) -> u8 {
        0x80 - self.low_flip()
    }
}

/// How a kernel walks the rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk {
    /// The rows that a tile takes; the last one takes what is left.
    pub(super) rows: usize,
    /// The numbers of a row that an instruction takes, a multiple of [`GRAIN`].
    pub(super) step: usize,
}

/// Rows of activations, split into bytes.
#[derive(Debug)]
pub(super) struct BytePairs {
    /// What the bytes mean.
    pub(super) meaning: Meaning,
    /// The low bytes, row after row.
    pub(super) low: Vec<u8>,
    /// The high bytes, row after row.
    pub(super) high: Vec<u8>,
    /// One a row: how often the sum of the weights is too many in the products of the low bytes.
    pub(super) offsets: Vec<i32>,
    /// One a tile: where its steps begin that have a high byte.
    wide_steps: Vec<Vec<usize>>,
    walk: Walk,
}

impl BytePairs {
    /// Splits rows of `stride` numbers of at most `MAX_ACTIVATION`; `stride` is a multiple of the walk's step. Inlined, as
    /// what it calls, to be compiled for the processor that the caller is compiled for.
    #[inline(always)]
    pub(super) fn split(activations: &[i16], stride: usize, meaning: Meaning, walk: Walk) -> Self {
        let mut low = vec![0; activations.len()];
        let mut high = vec![0; activations.len()];
        let mut offsets = Vec::with_capacity(activations.len() / stride);
        let mut wide_steps = Vec::with_capacity(offsets.capacity().div_ceil(walk.rows));
        let mut wide = vec![false; stride / GRAIN];
        let tiles = activations.chunks(stride * walk.rows);
        let bytes = low.chunks_mut(stride * walk.rows).zip(high.chunks_mut(stride * walk.rows));
        for (tile, (low, high)) in tiles.zip(bytes) {
            wide.fill(false);
            let bytes = low.chunks_exact_mut(stride).zip(high.chunks_exact_mut(stride));
            for (row, (low, high)) in tile.chunks_exact(stride).zip(bytes) {
                let offset = offset(row);
                offsets.push(i32::from(offset) - i32::from(meaning.low_flip()));
                split_row(row, offset, meaning, low, high, &mut wide);
            }
            let steps = wide.chunks_exact(walk.step / GRAIN).enumerate();
            wide_steps.push(steps.filter(|(_, wide)| wide.contains(&true)).map(|(i, _)| i * walk.step).collect());
        }
        Self { meaning, low, high, offsets, wide_steps, walk }
    }

    /// The steps of the tile that begins with `row` in which a high byte counts.
    pub(super) fn wide_steps(&self, row: usize) -> &[usize] {
        &self.wide_steps[row / self.walk.rows]
    }
}

/// Splits one row and marks the grains that have a high byte.
#[inline(always)]
fn split_row(row: &[i16], offset: i16, meaning: Meaning, low: &mut [u8], high: &mut [u8], wide: &mut [bool]) {
    let (low_flip, high_flip) = (meaning.low_flip(), meaning.high_flip());
    let (row, _) = row.as_chunks::<GRAIN>();
    let (low, _) = low.as_chunks_mut::<GRAIN>();
    let (high, _) = high.as_chunks_mut::<GRAIN>();
    for (((x, low), high), wide) in row.iter().zip(low).zip(high).zip(wide) {
        let mut all = 0;
        for i in 0..GRAIN {
            let x = x[i] + offset;
            all |= x >> 8;
            low[i] = x as u8 ^ low_flip;
            high[i] = (x >> 8) as u8 ^ high_flip;
        }
        *wide |= all != 0;
    }
}

/// What is added to a row so that the fewest high bytes are left: 128, or less where no number is as small as -128.
#[inline(always)]
fn offset(row: &[i16]) -> i16 {
    let mut lowest = [0i16; GRAIN];
    let (chunks, _) = row.as_chunks::<GRAIN>();
    for chunk in chunks {
        for (lowest, &x) in lowest.iter_mut().zip(chunk) {
            *lowest = x.min(*lowest);
        }
    }
    -lowest.iter().fold(0, |a, &b| a.min(b)).max(-128)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A product of rows the way that the kernels compute it, with one sum for all lanes.
    fn product(pairs: &BytePairs, row: usize, stride: usize, weights: &[i8]) -> i32 {
        let value = |byte: u8| match pairs.meaning {
            Meaning::Unsigned => i32::from(byte),
            Meaning::Signed => i32::from(byte as i8),
        };
        let dot = |bytes: &dyn Fn(usize) -> u8, at: std::ops::Range<usize>| -> i32 {
            at.map(|k| value(bytes(k)) * i32::from(weights[k])).sum()
        };
        let mut sum = 0;
        for &k in pairs.wide_steps(row) {
            let step = k..k + pairs.walk.step;
            sum += dot(&|k| pairs.high[row * stride + k], step.clone()) - dot(&|_| pairs.meaning.high_flip(), step);
        }
        let weight_sum: i32 = weights.iter().map(|&w| i32::from(w)).sum();
        (sum << 8) + dot(&|k| pairs.low[row * stride + k], 0..stride) - pairs.offsets[row] * weight_sum
    }

    proptest! {
        #[test]
        fn split_rows_give_the_exact_products(
            numbers in prop::collection::vec(prop_oneof![4 => -300i16..300, 1 => -16383i16..=16383], 5 * 128),
            weights in prop::collection::vec(-128i8..=127, 128),
            lowest in -400i16..=0,
            rows in 1usize..=5,
        ) {
            let activations: Vec<i16> = numbers[..rows * 128].iter().map(|&x| x.max(lowest)).collect();
            for meaning in [Meaning::Unsigned, Meaning::Signed] {
                for walk in [Walk { rows: 3, step: 16 }, Walk { rows: 4, step: 64 }] {
                    let pairs = BytePairs::split(&activations, 128, meaning, walk);
                    for (row, x) in activations.chunks_exact(128).enumerate() {
                        let expected: i32 = x.iter().zip(&weights).map(|(&x, &w)| i32::from(x) * i32::from(w)).sum();
                        prop_assert_eq!(product(&pairs, row, 128, &weights), expected, "{:?}, {:?}", meaning, walk);
                    }
                }
            }
        }
    }

    #[test]
    fn numbers_that_fit_a_byte_have_no_wide_step() {
        let walk = Walk { rows: 1, step: 16 };
        let steps = |row: &[i16]| BytePairs::split(row, 32, Meaning::Unsigned, walk).wide_steps(0).to_vec();
        let mut row = [0i16; 32];
        row[3] = -128;
        row[20] = 127;
        assert_eq!(steps(&row), [0usize; 0], "-128 to 127");
        row[3] = -20;
        row[20] = 235;
        assert_eq!(steps(&row), [0usize; 0], "-20 to 235");
        row[20] = 236;
        assert_eq!(steps(&row), [16]);
        row[3] = -129;
        row[20] = 128;
        assert_eq!(steps(&row), [0, 16]);
    }
}
