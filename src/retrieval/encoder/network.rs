//! The transformer: an ONNX file as a tract plan whose operators are the encoder's own.
//!
//! tract parses the file and runs the graph; in between, [`super::graph_rewrite`] replaces what the file computes by the
//! operators of [`super::ops`]. Nothing is optimized at load and no constant is folded: the weights stay int8.

use std::sync::Arc;

use bytes::Buf;
use prost::Message;
use tract_onnx::pb::ModelProto;
use tract_onnx::prelude::*;
use tract_onnx::tract_hir::internal::*;

use super::graph_rewrite::{Operator, rewrite};
use crate::error::{Error, Result};

type Plan = SimplePlan<InferenceFact, Box<dyn InferenceOp>>;

/// The inputs that a network may have.
#[derive(Debug, Clone, Copy)]
enum Input {
    Ids,
    Mask,
    Types,
}

/// A transformer that is ready to run.
#[derive(Debug)]
pub(super) struct Network {
    plan: Arc<Plan>,
    inputs: Vec<Input>,
    max_positions: usize,
}

impl Network {
    /// Reads an ONNX file. Pieces of `file` may be fetched one after the other: it is read once, from start to end.
    pub(super) fn load(file: impl Buf) -> Result<Self> {
        if !file.has_remaining() {
            return Err(Error::Model("the file of its network is empty".into()));
        }
        let mut model = ModelProto::decode(file)
            .map_err(|error| Error::Model(format!("the file of its network is not ONNX, or damaged: {error}")))?;
        let graph = model.graph.as_mut().ok_or_else(|| Error::Model("the file of its network has no graph".into()))?;
        let operators = rewrite(graph).map_err(Error::Model)?;
        let inputs = graph
            .input
            .iter()
            .map(|input| match input.name.as_str() {
                "input_ids" => Ok(Input::Ids),
                "attention_mask" => Ok(Input::Mask),
                "token_type_ids" => Ok(Input::Types),
                other => Err(Error::Model(format!("its network wants an input `{other}`, which is not known here"))),
            })
            .collect::<Result<Vec<_>>>()?;
        let max_positions = operators
            .values()
            .find_map(|operator| match operator {
                Operator::Embeddings(embeddings) => Some(embeddings.tables.max_positions()),
                _ => None,
            })
            .unwrap_or(0);
        let plan = Self::plan(&model, operators).map_err(|error| Error::Model(format!("{error:#}")))?;
        Ok(Self { plan, inputs, max_positions })
    }

    fn plan(model: &ModelProto, mut operators: std::collections::HashMap<String, Operator>) -> TractResult<Arc<Plan>> {
        // No operator is registered: tract leaves a placeholder for each node, which gets its operator here. A builder
        // of the register could not reach the weights, and the operators of ONNX stay out of the module.
        let framework = tract_onnx::Onnx::default().with_ignore_value_info(true).with_ignore_output_shapes(true);
        let mut graph = framework.model_for_proto_model(model)?;
        for input in 0..graph.inputs.len() {
            // A plan over inferred facts does not resolve the file's symbolic sizes; the operators check sizes.
            graph.set_input_fact(input, InferenceFact::dt(i64::datum_type()))?;
        }
        for node in graph.nodes_mut() {
            if let Some(operator) = operators.remove(&node.name) {
                node.op = match operator {
                    Operator::Embeddings(op) => op.into(),
                    Operator::Linear(op) => op.into(),
                    Operator::Attention(op) => op.into(),
                };
            }
        }
        SimplePlan::new(graph)
    }

    /// The longest text that the network can read, in tokens.
    pub(super) fn max_positions(&self) -> usize {
        self.max_positions
    }

    /// Runs the network on texts, each at most `tokens` ids; shorter ones are padded and masked.
    ///
    /// The result is `[texts, tokens, width]`, row after row.
    pub(super) fn run(&self, texts: &[&[u32]], tokens: usize) -> Result<Vec<f32>> {
        let shape = [texts.len(), tokens];
        let inputs = self.inputs.iter().map(|input| {
            let mut numbers = vec![0i64; texts.len() * tokens];
            for (ids, numbers) in texts.iter().zip(numbers.chunks_exact_mut(tokens)) {
                match input {
                    Input::Ids => numbers.iter_mut().zip(*ids).for_each(|(number, &id)| *number = i64::from(id)),
                    Input::Mask => numbers[..ids.len().min(tokens)].fill(1),
                    Input::Types => {}
                }
            }
            Ok(Tensor::from_shape(&shape, &numbers)?.into_tvalue())
        });
        let run = || -> TractResult<Vec<f32>> {
            let outputs = self.plan.run(inputs.collect::<TractResult<TVec<_>>>()?)?;
            ensure!(outputs.len() == 1, "one output is wanted, {} came", outputs.len());
            Ok(outputs[0].try_as_plain_ram()?.as_slice::<f32>()?.to_vec())
        };
        run().map_err(|error| Error::Model(format!("{error:#}")))
    }
}
