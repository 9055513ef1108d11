//! The encoder's layers as tract operators.
//!
//! Each takes and gives float32 tensors `[batch, tokens, width]`. The weights stay int8: an operator quantizes its input
//! row by row to int16, multiplies in integers and goes on in floats.
//! **Invariant:** what an operator computes for a text does not depend on the other texts of the batch.

use std::sync::Arc;

use tract_onnx::tract_hir::internal::*;

use super::kernel::{self, AttentionShape, Product};
use super::weights::{Embeddings, Linear};

/// The rows that a linear layer computes at a time: few enough for their numbers to stay in an L2 cache.
const ROW_BLOCK: usize = 64;

/// A layer norm's parameters.
#[derive(Debug, PartialEq)]
pub(super) struct LayerNorm {
    /// What each number is multiplied by.
    pub(super) gain: Vec<f32>,
    /// What is added to each number.
    pub(super) bias: Vec<f32>,
    /// What is added to the variance.
    pub(super) epsilon: f32,
}

/// What follows a linear layer.
#[derive(Debug, PartialEq)]
pub(super) enum Then {
    /// Nothing.
    Nothing,
    /// The Gaussian error linear unit.
    Gelu,
    /// The addition of the operator's second input, then a layer norm.
    AddAndNormalize(LayerNorm),
}

/// Ids to the normalized sum of their embeddings. Inputs: `input_ids`, `token_type_ids`.
#[derive(Debug, Clone)]
pub(super) struct EmbeddingsOp {
    /// The tables.
    pub(super) tables: Arc<Embeddings>,
    /// What follows the sum.
    pub(super) norm: Arc<LayerNorm>,
}

/// A linear layer. Inputs: the numbers, and the residual where one is added.
#[derive(Debug, Clone)]
pub(super) struct LinearOp {
    /// The weights.
    pub(super) layer: Arc<Linear>,
    /// What follows.
    pub(super) then: Arc<Then>,
}

/// Multi-head attention. Inputs: queries, keys and values side by side, and `attention_mask`.
#[derive(Debug, Clone)]
pub(super) struct AttentionOp {
    /// The sizes.
    pub(super) shape: AttentionShape,
}

/// Operators are compared only to find duplicates of one node, which a rewritten graph does not have.
macro_rules! never_equal {
    ($op:ty) => {
        impl PartialEq for $op {
            fn eq(&self, _: &Self) -> bool {
                false
            }
        }
        impl Eq for $op {}
    };
}

never_equal!(EmbeddingsOp);
never_equal!(LinearOp);
never_equal!(AttentionOp);

macro_rules! operator {
    ($op:ty, $name:literal) => {
        impl Op for $op {
            fn name(&self) -> StaticName {
                $name.into()
            }

            not_a_typed_op!();
        }

        impl InferenceRulesOp for $op {
            fn rules<'r, 'p: 'r, 's: 'r>(
                &'s self,
                solver: &mut Solver<'r>,
                inputs: &'p [TensorProxy],
                outputs: &'p [TensorProxy],
            ) -> InferenceResult {
                check_output_arity(outputs, 1)?;
                solver.equals(&outputs[0].datum_type, f32::datum_type())?;
                solver.equals(&outputs[0].rank, 3)?;
                for axis in 0..2 {
                    solver.equals(&outputs[0].shape[axis], &inputs[0].shape[axis])?;
                }
                Ok(())
            }

            as_op!();
        }
    };
}

operator!(EmbeddingsOp, "DocentEmbeddings");
operator!(LinearOp, "DocentLinear");
operator!(AttentionOp, "DocentAttention");

/// The batch, the number of tokens and the numbers of an input.
fn numbers<T: Datum>(inputs: &[TValue], index: usize) -> TractResult<(usize, usize, &[T])> {
    let Some(tensor) = inputs.get(index) else { bail!("an input is missing") };
    let (batch, tokens) = match *tensor.shape() {
        [batch, tokens] | [batch, tokens, _] => (batch, tokens),
        _ => bail!("a tensor of rank {} where [batch, tokens, width] belongs", tensor.rank()),
    };
    Ok((batch, tokens, tensor.try_as_plain_ram()?.as_slice::<T>()?))
}

/// A tensor `[batch, tokens, width]` that `fill` writes.
fn tensor(
    batch: usize,
    tokens: usize,
    width: usize,
    fill: impl FnOnce(&mut [f32]) -> TractResult<()>,
) -> TractResult<TVec<TValue>> {
    let mut tensor = Tensor::zero::<f32>(&[batch, tokens, width])?;
    fill(tensor.try_as_plain_ram_mut()?.as_slice_mut::<f32>()?)?;
    Ok(tvec!(tensor.into()))
}

impl EvalOp for EmbeddingsOp {
    op_out_of_plan!();

    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let (batch, tokens, ids) = numbers::<i64>(&inputs, 0)?;
        let (_, _, types) = numbers::<i64>(&inputs, 1)?;
        let tables = &*self.tables;
        tensor(batch, tokens, tables.width, |out| {
            let rows = out.chunks_exact_mut(tables.width);
            for (i, (out, (&word, &token_type))) in rows.zip(ids.iter().zip(types)).enumerate() {
                let found = (|| tables.look_up(word.try_into().ok()?, token_type.try_into().ok()?, i % tokens, out))();
                if found.is_none() {
                    bail!("token {word} of type {token_type} at position {} has no embedding", i % tokens);
                }
            }
            kernel::layer_norm(out, &self.norm.gain, &self.norm.bias, self.norm.epsilon);
            Ok(())
        })
    }
}

impl EvalOp for LinearOp {
    op_out_of_plan!();

    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let layer = &*self.layer;
        let (batch, tokens, x) = numbers::<f32>(&inputs, 0)?;
        ensure!(x.len() == batch * tokens * layer.inputs, "a linear layer's input is not {} wide", layer.inputs);
        let residual = match &*self.then {
            Then::AddAndNormalize(_) => {
                let (_, _, residual) = numbers::<f32>(&inputs, 1)?;
                ensure!(residual.len() == batch * tokens * layer.outputs, "a residual has another size");
                Some(residual)
            }
            Then::Nothing | Then::Gelu => None,
        };
        let padded = layer.padded_outputs();
        let block = ROW_BLOCK.min(batch * tokens);
        let mut quantized = vec![0i16; block * layer.stride];
        let mut scales = vec![0f32; block];
        let mut wide = vec![0f32; if padded == layer.outputs { 0 } else { block * padded }];
        tensor(batch, tokens, layer.outputs, |out| {
            let blocks = x.chunks(ROW_BLOCK * layer.inputs).zip(out.chunks_mut(ROW_BLOCK * layer.outputs));
            for (i, (x, out)) in blocks.enumerate() {
                let rows = x.len() / layer.inputs;
                let (quantized, scales) = (&mut quantized[..rows * layer.stride], &mut scales[..rows]);
                kernel::quantize_rows(x, layer.inputs, layer.stride, quantized, scales);
                let product = Product {
                    activations: quantized,
                    activation_scales: scales,
                    weights: &layer.weights,
                    weight_scales: &layer.scales,
                    weight_sums: &layer.sums,
                    bias: &layer.bias,
                    stride: layer.stride,
                    outputs: padded,
                };
                if wide.is_empty() {
                    kernel::matmul(product, out);
                } else {
                    kernel::matmul(product, &mut wide);
                    for (out, wide) in out.chunks_exact_mut(layer.outputs).zip(wide.chunks_exact(padded)) {
                        out.copy_from_slice(&wide[..layer.outputs]);
                    }
                }
                match &*self.then {
                    Then::Nothing => {}
                    Then::Gelu => kernel::gelu(out),
                    Then::AddAndNormalize(norm) => {
                        if let Some(residual) = residual {
                            kernel::add(out, &residual[i * ROW_BLOCK * layer.outputs..][..out.len()]);
                        }
                        kernel::layer_norm(out, &norm.gain, &norm.bias, norm.epsilon);
                    }
                }
            }
            Ok(())
        })
    }
}

impl EvalOp for AttentionOp {
    op_out_of_plan!();

    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let hidden = self.shape.heads * self.shape.head_width;
        let (batch, tokens, qkv) = numbers::<f32>(&inputs, 0)?;
        let (_, _, mask) = numbers::<i64>(&inputs, 1)?;
        ensure!(qkv.len() == batch * tokens * 3 * hidden, "queries, keys and values are not {hidden} wide each");
        ensure!(mask.len() == batch * tokens, "the attention mask has another size");
        tensor(batch, tokens, hidden, |out| {
            let texts = qkv.chunks_exact(tokens * 3 * hidden).zip(out.chunks_exact_mut(tokens * hidden));
            for ((qkv, out), mask) in texts.zip(mask.chunks_exact(tokens)) {
                let keys: Vec<usize> = (0..tokens).filter(|&token| mask[token] != 0).collect();
                kernel::attention(self.shape, qkv, &keys, out);
            }
            Ok(())
        })
    }
}
