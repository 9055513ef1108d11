//! The model's numbers as the kernels want them, made from the tensors of an ONNX file.
//!
//! Input: raw little-endian tensors (int8 or float32 matrices `[in, out]`, 4-bit blocks `[out, in]`). Output: int8 rows
//! `[out][in]` with a scale each, padded for the kernels, and embedding tables that stay as small as they were stored.
//! **Invariant:** every size is checked against the bytes that are there before anything is allocated by it.

use super::kernel::{self, K_STEP, N_STEP};

/// Why a tensor cannot be used; becomes part of an [`crate::Error::Model`].
pub(super) type Refusal = String;

/// A linear layer: int8 weights, one row for each output.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Linear {
    /// The number of inputs.
    pub(super) inputs: usize,
    /// The number of outputs.
    pub(super) outputs: usize,
    /// The padded length of a row.
    pub(super) stride: usize,
    /// Rows of `stride` numbers, `outputs` of them padded to [`N_STEP`].
    pub(super) weights: Vec<i8>,
    /// What the numbers of a row have to be multiplied by.
    pub(super) scales: Vec<f32>,
    /// The sum of each row.
    pub(super) sums: Vec<i32>,
    /// What is added to an output.
    pub(super) bias: Vec<f32>,
}

/// The weights of a linear layer as an ONNX file stores them.
#[derive(Debug)]
pub(super) enum StoredWeights {
    /// `[in, out]`, with one scale or one for each output.
    Int8 {
        /// The numbers, row after row.
        data: Vec<u8>,
        /// The scale or scales.
        scales: Vec<f32>,
    },
    /// `[in, out]`.
    Float {
        /// The numbers, row after row.
        data: Vec<f32>,
    },
    /// As the operator `MatMulNBits` wants them: `[out, in / block]` blocks of 4-bit numbers, the low half first.
    FourBit {
        /// The numbers, two a byte.
        data: Vec<u8>,
        /// One scale a block.
        scales: Vec<f32>,
        /// One 4-bit zero point a block, rows padded to bytes; 8 when absent.
        zero_points: Option<Vec<u8>>,
        /// The length of a block.
        block: usize,
    },
}

impl Linear {
    /// An empty layer that takes `inputs` numbers.
    pub(super) fn new(inputs: usize) -> Self {
        Self { inputs, stride: inputs.next_multiple_of(K_STEP), ..Self::default() }
    }

    /// Appends the outputs of a stored layer: layers that read the same numbers become one.
    pub(super) fn append(&mut self, stored: &StoredWeights, bias: &[f32]) -> Result<(), Refusal> {
        let outputs = bias.len();
        let expected = self.inputs * outputs;
        let first = self.outputs;
        self.weights.truncate(first * self.stride);
        self.scales.truncate(first);
        self.bias.truncate(first);
        self.weights.resize((first + outputs).next_multiple_of(N_STEP) * self.stride, 0);
        let rows = &mut self.weights[first * self.stride..];
        match stored {
            StoredWeights::Int8 { data, scales } => {
                check_length("int8 weights", data.len(), expected)?;
                transpose(data, self.inputs, outputs, self.stride, rows);
                match scales.as_slice() {
                    [scale] => self.scales.extend(std::iter::repeat_n(*scale, outputs)),
                    scales => {
                        check_length("scales", scales.len(), outputs)?;
                        self.scales.extend_from_slice(scales);
                    }
                }
            }
            StoredWeights::Float { data } => {
                check_length("weights", data.len(), expected)?;
                for output in 0..outputs {
                    let column = data.iter().skip(output).step_by(outputs).copied();
                    let row = &mut rows[output * self.stride..][..self.inputs];
                    self.scales.push(quantize(column, row));
                }
            }
            StoredWeights::FourBit { data, scales, zero_points, block } => {
                let blocks = self.inputs.div_ceil(*block);
                let bytes = block / 2;
                check_length("4-bit weights", data.len(), outputs * blocks * bytes)?;
                check_length("scales", scales.len(), outputs * blocks)?;
                let zero_bytes = blocks.div_ceil(2);
                if let Some(zero_points) = zero_points {
                    check_length("zero points", zero_points.len(), outputs * zero_bytes)?;
                }
                for output in 0..outputs {
                    let value = |k: usize| {
                        let (b, i) = (k / block, k % block);
                        let q = nibble(&data[(output * blocks + b) * bytes..], i);
                        let zero = zero_points.as_ref().map_or(8, |zeros| nibble(&zeros[output * zero_bytes..], b));
                        (q - zero) as f32 * scales[output * blocks + b]
                    };
                    let row = &mut rows[output * self.stride..][..self.inputs];
                    self.scales.push(quantize((0..self.inputs).map(value), row));
                }
            }
        }
        self.outputs += outputs;
        self.sums.truncate(first);
        self.sums.extend(kernel::row_sums(&self.weights[first * self.stride..], self.stride));
        self.bias.extend_from_slice(bias);
        self.scales.resize(self.outputs.next_multiple_of(N_STEP), 0.0);
        self.bias.resize(self.outputs.next_multiple_of(N_STEP), 0.0);
        Ok(())
    }

    /// The number of outputs that the kernel computes.
    pub(super) fn padded_outputs(&self) -> usize {
        self.outputs.next_multiple_of(N_STEP)
    }
}

/// The `i`th of the 4-bit numbers of `bytes`, the low half of a byte first.
fn nibble(bytes: &[u8], i: usize) -> i32 {
    i32::from(if i.is_multiple_of(2) { bytes[i / 2] & 15 } else { bytes[i / 2] >> 4 })
}

/// Quantizes one row to int8 and returns its scale.
fn quantize(values: impl Iterator<Item = f32> + Clone, row: &mut [i8]) -> f32 {
    let peak = values.clone().fold(0f32, |peak, x| peak.max(x.abs()));
    if peak == 0.0 {
        return 0.0;
    }
    for (q, x) in row.iter_mut().zip(values) {
        *q = (x * (127.0 / peak)).round() as i8;
    }
    peak / 127.0
}

/// Turns a matrix `[inputs, outputs]` into rows `[outputs][stride]`, in blocks that stay in the cache.
fn transpose(data: &[u8], inputs: usize, outputs: usize, stride: usize, rows: &mut [i8]) {
    const BLOCK: usize = 32;
    for from in (0..inputs).step_by(BLOCK) {
        let to = (from + BLOCK).min(inputs);
        for output in 0..outputs {
            let row = &mut rows[output * stride + from..output * stride + to];
            for (q, line) in row.iter_mut().zip(data[from * outputs..].chunks(outputs)) {
                *q = line[output] as i8;
            }
        }
    }
}

fn check_length(what: &str, found: usize, expected: usize) -> Result<(), Refusal> {
    if found == expected { Ok(()) } else { Err(format!("{found} {what} where {expected} belong")) }
}

/// A table of word embeddings.
#[derive(Debug, PartialEq)]
pub(super) enum WordTable {
    /// int8 rows with a scale each.
    Int8 {
        /// The numbers, row after row.
        data: Vec<u8>,
        /// One scale a row.
        scales: Vec<f32>,
    },
    /// Rows of 4-bit blocks with a scale each and the zero point 8, the low half of a byte first.
    FourBit {
        /// The numbers, two a byte, row after row.
        data: Vec<u8>,
        /// One scale a block.
        scales: Vec<f32>,
        /// The length of a block.
        block: usize,
    },
    /// Plain numbers.
    Float {
        /// The numbers, row after row.
        data: Vec<f32>,
    },
}

/// The sum of word, position and token-type embeddings.
#[derive(Debug, PartialEq)]
pub(super) struct Embeddings {
    /// The length of an embedding.
    pub(super) width: usize,
    /// One row a word piece.
    pub(super) words: WordTable,
    /// One row a position.
    pub(super) positions: Vec<f32>,
    /// One row a token type.
    pub(super) types: Vec<f32>,
}

impl Embeddings {
    /// Checks that the tables have whole rows.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let width = self.width;
        let rows = self.words();
        match &self.words {
            WordTable::Int8 { data, scales } => {
                check_length("word embedding numbers", data.len(), rows * width)?;
                check_length("word embedding scales", scales.len(), rows)?;
            }
            WordTable::FourBit { data, scales, block } => {
                check_length("word embedding bytes", data.len(), rows * width / 2)?;
                check_length("word embedding numbers past the last block", width % block, 0)?;
                check_length("word embedding scales", scales.len(), rows * width / block)?;
            }
            WordTable::Float { data } => check_length("word embedding numbers", data.len(), rows * width)?,
        }
        check_length("position numbers", self.positions.len() % width, 0)?;
        check_length("token type numbers", self.types.len() % width, 0)?;
        if rows == 0 || self.positions.is_empty() || self.types.is_empty() {
            return Err("an embedding table is empty".into());
        }
        Ok(())
    }

    /// The number of word pieces.
    pub(super) fn words(&self) -> usize {
        match &self.words {
            WordTable::Int8 { data, .. } => data.len() / self.width,
            WordTable::FourBit { data, .. } => data.len() * 2 / self.width,
            WordTable::Float { data } => data.len() / self.width,
        }
    }

    /// The longest text, in tokens.
    pub(super) fn max_positions(&self) -> usize {
        self.positions.len() / self.width
    }

    /// Writes the embedding of one token to `out`; `None` when an id is beyond its table.
    pub(super) fn look_up(&self, word: usize, token_type: usize, position: usize, out: &mut [f32]) -> Option<()> {
        let row = |index: usize| index.checked_mul(self.width).and_then(|at| Some(at..at.checked_add(self.width)?));
        let words = row(word)?;
        match &self.words {
            WordTable::Int8 { data, scales } => {
                let scale = *scales.get(word)?;
                for (out, &q) in out.iter_mut().zip(data.get(words)?) {
                    *out = f32::from(q as i8) * scale;
                }
            }
            WordTable::FourBit { data, scales, block } => {
                let bytes = data.get(words.start / 2..words.end / 2)?;
                let scales = scales.get(words.start / block..words.end / block)?;
                for (i, out) in out.iter_mut().enumerate() {
                    *out = (nibble(bytes, i) - 8) as f32 * scales[i / block];
                }
            }
            WordTable::Float { data } => out.copy_from_slice(data.get(words)?),
        }
        let types = self.types.get(row(token_type)?)?;
        let positions = self.positions.get(row(position)?)?;
        for ((out, t), p) in out.iter_mut().zip(types).zip(positions) {
            *out += t + p;
        }
        Some(())
    }
}
