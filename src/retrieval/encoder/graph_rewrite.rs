//! From the operators of an ONNX file to the encoder's own: about 80 nodes a layer become five.
//!
//! Input: a BERT-like encoder as exporters write it, with weights as float32, as int8 (`Cast`, `Mul` by scales,
//! `MatMul`) or as 4-bit blocks (onnxruntime's `MatMulNBits` and `GatherBlockQuantized`). The graph is read backwards from its output; each tensor is recognized
//! by the expression that computes it. Output: the same ONNX graph with operators of the domain `docent`, whose weights
//! were taken out of it, and these operators for tract by the name of their node. It is done at every load: it takes
//! about a millisecond, and the file on disk stays one that every ONNX runtime can run.
//!
//! **Invariant:** an expression that is not recognized is an error that names it; nothing is guessed.

use std::collections::HashMap;
use std::sync::Arc;

use tract_onnx::pb::{AttributeProto, GraphProto, NodeProto, TensorProto, tensor_proto::DataType};

use tract_onnx::prelude::f16;

use super::kernel::AttentionShape;
use super::ops::{AttentionOp, EmbeddingsOp, LayerNorm, LinearOp, Then};
use super::weights::{Embeddings, Linear, Refusal, StoredWeights, WordTable};

/// An operator of the rewritten graph.
#[derive(Debug, Clone)]
pub(super) enum Operator {
    /// The embeddings of the tokens.
    Embeddings(EmbeddingsOp),
    /// A linear layer and what follows it.
    Linear(LinearOp),
    /// Multi-head attention.
    Attention(AttentionOp),
}

/// A layer norm that was recognized: `norm(input)`.
struct NormMatch {
    input: String,
    gain: String,
    bias: String,
    epsilon: f32,
}

/// A linear layer that was recognized: `input · weights + bias`.
#[derive(Clone)]
struct LinearMatch {
    input: String,
    weights: WeightsMatch,
    bias: String,
}

/// Where a layer's weights lie.
#[derive(Clone)]
enum WeightsMatch {
    Int8 { data: String, scales: String },
    Float { data: String },
    FourBit { data: String, scales: String, zero_points: Option<String>, inputs: usize, block: usize },
}

/// An attention that was recognized.
struct AttentionMatch {
    queries: LinearMatch,
    keys: LinearMatch,
    values: LinearMatch,
    mask: String,
    heads: usize,
    scale: f32,
}

/// Rewrites `graph` and returns its operators by node name.
pub(super) fn rewrite(graph: &mut GraphProto) -> Result<HashMap<String, Operator>, Refusal> {
    let output = match graph.output.as_slice() {
        [output] => output.name.clone(),
        outputs => return Err(format!("its graph has {} outputs, one is wanted", outputs.len())),
    };
    let mut rewriting = Rewriting::new(graph);
    let lowered = rewriting.lower(&output)?;
    let Rewriting { nodes, operators, .. } = rewriting;
    graph.node = nodes;
    graph.initializer.clear();
    graph.value_info.clear();
    if let Some(output) = graph.output.first_mut() {
        output.name = lowered;
    }
    Ok(operators)
}

struct Rewriting<'a> {
    old: Vec<NodeProto>,
    /// The node that computes a tensor.
    producers: HashMap<String, usize>,
    /// The index of a constant tensor.
    constants: HashMap<String, usize>,
    tensors: &'a mut Vec<TensorProto>,
    inputs: Vec<String>,
    nodes: Vec<NodeProto>,
    operators: HashMap<String, Operator>,
    /// The new name of a tensor that was lowered before.
    lowered: HashMap<String, String>,
}

impl<'a> Rewriting<'a> {
    fn new(graph: &'a mut GraphProto) -> Self {
        let mut old = std::mem::take(&mut graph.node);
        for node in &mut old {
            if node.op_type == "Constant"
                && let Some(mut value) = node.attribute.iter().find_map(|attribute| attribute.t.clone())
                && let Some(name) = node.output.first()
            {
                value.name.clone_from(name);
                graph.initializer.push(value);
            }
        }
        let mut producers = HashMap::new();
        for (index, node) in old.iter().enumerate() {
            for output in &node.output {
                producers.insert(output.clone(), index);
            }
        }
        let constants = graph.initializer.iter().enumerate().map(|(i, t)| (t.name.clone(), i)).collect();
        Self {
            old,
            producers,
            constants,
            inputs: graph.input.iter().map(|input| input.name.clone()).collect(),
            tensors: &mut graph.initializer,
            nodes: Vec::new(),
            operators: HashMap::new(),
            lowered: HashMap::new(),
        }
    }

    /// Emits the operators that compute `tensor` and returns their result's name.
    fn lower(&mut self, tensor: &str) -> Result<String, Refusal> {
        if self.inputs.iter().any(|input| input == tensor) {
            return Ok(tensor.to_owned());
        }
        if let Some(name) = self.lowered.get(tensor) {
            return Ok(name.clone());
        }
        let name = self.lower_new(tensor)?;
        self.lowered.insert(tensor.to_owned(), name.clone());
        Ok(name)
    }

    fn lower_new(&mut self, tensor: &str) -> Result<String, Refusal> {
        if let Some([input]) = self.inputs_of(tensor, "Identity") {
            let input = input.clone();
            return self.lower(&input);
        }
        if let Some(norm) = self.match_layer_norm(tensor) {
            if let Some((linear, residual)) = self.match_residual(&norm.input) {
                let inputs = vec![self.lower(&linear.input)?, self.lower(&residual)?];
                let then = Then::AddAndNormalize(self.take_layer_norm(&norm)?);
                return self.emit_linear(tensor, &[linear], inputs, then);
            }
            return self.emit_embeddings(tensor, &norm);
        }
        if let Some(linear) = self.match_gelu(tensor) {
            let inputs = vec![self.lower(&linear.input)?];
            return self.emit_linear(tensor, &[linear], inputs, Then::Gelu);
        }
        if let Some(attention) = self.match_attention(tensor) {
            let input = self.lower(&attention.queries.input)?;
            let mask = self.lower(&attention.mask)?;
            let width = self.bias_length(&attention.queries)?;
            let head_width = width / attention.heads.max(1);
            if head_width == 0 || !head_width.is_multiple_of(16) || head_width * attention.heads != width {
                return Err(format!("{} heads of {width} numbers are not supported", attention.heads));
            }
            let layers = [attention.queries, attention.keys, attention.values];
            let qkv = self.emit_linear(&format!("{tensor}.qkv"), &layers, vec![input], Then::Nothing)?;
            let shape = AttentionShape { heads: attention.heads, head_width, scale: attention.scale };
            return Ok(self.emit(tensor, vec![qkv, mask], Operator::Attention(AttentionOp { shape })));
        }
        if let Some(linear) = self.match_linear(tensor) {
            let inputs = vec![self.lower(&linear.input)?];
            return self.emit_linear(tensor, &[linear], inputs, Then::Nothing);
        }
        let operator = self.producers.get(tensor).map_or("nothing", |&index| self.old[index].op_type.as_str());
        Err(format!("its graph computes `{tensor}` (by {operator}) in a way that is not known here"))
    }

    fn emit(&mut self, tensor: &str, inputs: Vec<String>, operator: Operator) -> String {
        let name = format!("docent.{tensor}");
        self.nodes.push(NodeProto {
            name: name.clone(),
            domain: "docent".into(),
            op_type: match operator {
                Operator::Embeddings(_) => "DocentEmbeddings",
                Operator::Linear(_) => "DocentLinear",
                Operator::Attention(_) => "DocentAttention",
            }
            .into(),
            input: inputs,
            output: vec![name.clone()],
            ..NodeProto::default()
        });
        self.operators.insert(name.clone(), operator);
        name
    }

    fn emit_linear(
        &mut self,
        tensor: &str,
        layers: &[LinearMatch],
        inputs: Vec<String>,
        then: Then,
    ) -> Result<String, Refusal> {
        let mut merged: Option<Linear> = None;
        for layer in layers {
            let bias = self.floats(&layer.bias)?;
            let (stored, width) = self.take_weights(&layer.weights, bias.len())?;
            let merged = merged.get_or_insert_with(|| Linear::new(width));
            if merged.inputs != width {
                return Err(format!("layers of different widths meet at `{tensor}`"));
            }
            merged.append(&stored, &bias)?;
        }
        let layer = Arc::new(merged.ok_or("a linear layer is empty")?);
        if let Then::AddAndNormalize(norm) = &then
            && norm.gain.len() != layer.outputs
        {
            return Err(format!("a layer norm of another width meets `{tensor}`"));
        }
        Ok(self.emit(tensor, inputs, Operator::Linear(LinearOp { layer, then: Arc::new(then) })))
    }

    fn emit_embeddings(&mut self, tensor: &str, norm: &NormMatch) -> Result<String, Refusal> {
        let mut terms = Vec::new();
        self.collect_terms(&norm.input, &mut terms);
        let (mut words, mut types, mut positions) = (None, None, None);
        for term in &terms {
            if let Some((table, ids)) = self.match_gather(term) {
                if ids == "token_type_ids" {
                    types = Some(table);
                } else if self.inputs.contains(&ids) {
                    words = Some((WordMatch::Float { data: table }, ids));
                }
            } else if let Some(found) = self.match_quantized_gather(term).or_else(|| self.match_block_gather(term)) {
                words = Some(found);
            } else if let Some(table) = self.match_positions(term) {
                positions = Some(table);
            }
        }
        let (Some((words, ids)), Some(types), Some(positions), 3) = (words, types, positions, terms.len()) else {
            return Err(format!("its graph computes `{tensor}` in a way that is not known here"));
        };
        let norm = self.take_layer_norm(norm)?;
        let words = match words {
            WordMatch::Float { data } => WordTable::Float { data: self.floats(&data)? },
            WordMatch::Int8 { data, scales } => {
                WordTable::Int8 { scales: self.floats(&scales)?, data: self.take_bytes(&data, DataType::Int8)? }
            }
            WordMatch::FourBit { data, scales, block } => WordTable::FourBit {
                scales: self.floats(&scales)?,
                data: self.take_bytes(&data, DataType::Uint8)?,
                block,
            },
        };
        let tables = Embeddings {
            width: norm.gain.len(),
            words,
            positions: self.floats(&positions)?,
            types: self.floats(&types)?,
        };
        tables.check()?;
        let operator = EmbeddingsOp { tables: Arc::new(tables), norm: Arc::new(norm) };
        Ok(self.emit(tensor, vec![ids, "token_type_ids".into()], Operator::Embeddings(operator)))
    }
}

/// Where the word embeddings lie.
enum WordMatch {
    Int8 { data: String, scales: String },
    FourBit { data: String, scales: String, block: usize },
    Float { data: String },
}

/// Recognizing expressions. Each `match_…` takes a tensor's name and answers what expression computes it.
impl Rewriting<'_> {
    fn node(&self, tensor: &str, operator: &str) -> Option<&NodeProto> {
        self.producers.get(tensor).map(|&index| &self.old[index]).filter(|node| node.op_type == operator)
    }

    fn inputs_of<const N: usize>(&self, tensor: &str, operator: &str) -> Option<&[String; N]> {
        self.node(tensor, operator)?.input.first_chunk::<N>()
    }

    /// The two inputs of a commutative operator, tried both ways.
    fn either<T>(&self, tensor: &str, operator: &str, accept: impl Fn(&Self, &str, &str) -> Option<T>) -> Option<T> {
        let [a, b] = self.inputs_of(tensor, operator)?;
        accept(self, a, b).or_else(|| accept(self, b, a))
    }

    /// The value of a constant with one number.
    fn scalar(&self, tensor: &str) -> Option<f32> {
        let tensor = &self.tensors[*self.constants.get(tensor)?];
        match read_floats(tensor).ok()?.as_slice() {
            [value] => Some(*value),
            _ => None,
        }
    }

    /// The integers of a constant.
    fn integers(&self, tensor: &str) -> Option<Vec<i64>> {
        let tensor = &self.tensors[*self.constants.get(tensor)?];
        if tensor.data_type != DataType::Int64 as i32 {
            return None;
        }
        let (chunks, _) = tensor.raw_data.as_chunks::<8>();
        Some(if tensor.int64_data.is_empty() {
            chunks.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect()
        } else {
            tensor.int64_data.clone()
        })
    }

    /// `a * c` or `a / (1 / c)` for a constant `c`: returns `a` and `c`.
    fn match_scaled(&self, tensor: &str) -> Option<(String, f32)> {
        self.either(tensor, "Mul", |this, a, c| Some((a.to_owned(), this.scalar(c)?))).or_else(|| {
            let [a, c] = self.inputs_of(tensor, "Div")?;
            Some((a.clone(), 1.0 / self.scalar(c)?))
        })
    }

    /// `(x - mean(x)) / sqrt(mean((x - mean(x))²) + epsilon) * gain + bias`, or the operator `LayerNormalization`.
    fn match_layer_norm(&self, tensor: &str) -> Option<NormMatch> {
        if let Some(node) = self.node(tensor, "LayerNormalization") {
            let [input, gain, bias] = node.input.first_chunk::<3>()?.clone();
            let epsilon = attribute(node, "epsilon").map_or(1e-5, |epsilon| epsilon.f);
            return Some(NormMatch { input, gain, bias, epsilon });
        }
        self.either(tensor, "Add", |this, scaled, bias| {
            this.constants.get(bias)?;
            this.either(scaled, "Mul", |this, normal, gain| {
                this.constants.get(gain)?;
                let [centered, deviation] = this.inputs_of(normal, "Div")?;
                let [input, mean] = this.inputs_of(centered, "Sub")?;
                let [averaged, ..] = this.inputs_of::<1>(mean, "ReduceMean")?;
                let [variance_and_epsilon] = this.inputs_of(deviation, "Sqrt")?;
                let (variance, epsilon) = this.either(variance_and_epsilon, "Add", |this, variance, epsilon| {
                    Some((variance.to_owned(), this.scalar(epsilon)?))
                })?;
                let [square] = this.inputs_of(&variance, "ReduceMean")?;
                let squared = this.match_square(square)?;
                (averaged == input && squared == *centered).then(|| NormMatch {
                    input: input.clone(),
                    gain: gain.to_owned(),
                    bias: bias.to_owned(),
                    epsilon,
                })
            })
        })
    }

    /// `x * x` or `x ^ 2`.
    fn match_square(&self, tensor: &str) -> Option<String> {
        if let Some([a, b]) = self.inputs_of(tensor, "Mul") {
            return (a == b).then(|| a.clone());
        }
        let [a, exponent] = self.inputs_of(tensor, "Pow")?;
        (self.scalar(exponent)? == 2.0).then(|| a.clone())
    }

    /// `linear(x) + residual`.
    fn match_residual(&self, tensor: &str) -> Option<(LinearMatch, String)> {
        self.either(tensor, "Add", |this, linear, residual| {
            this.producers.get(residual)?;
            Some((this.match_linear(linear)?, residual.to_owned()))
        })
    }

    /// `x · weights + bias`.
    fn match_linear(&self, tensor: &str) -> Option<LinearMatch> {
        self.either(tensor, "Add", |this, product, bias| {
            this.constants.get(bias)?;
            let (input, weights) = this.match_product(product)?;
            Some(LinearMatch { input, weights, bias: bias.to_owned() })
        })
    }

    fn match_product(&self, tensor: &str) -> Option<(String, WeightsMatch)> {
        if let Some(node) = self.node(tensor, "MatMulNBits") {
            let [input, data, scales] = node.input.first_chunk::<3>()?.clone();
            let zero_points = node.input.get(3).filter(|name| !name.is_empty()).cloned();
            let inputs = usize::try_from(attribute(node, "K")?.i).ok()?;
            let block = four_bit_block(node)?;
            return Some((input, WeightsMatch::FourBit { data, scales, zero_points, inputs, block }));
        }
        let [input, weights] = self.inputs_of(tensor, "MatMul")?;
        if self.constants.contains_key(weights) {
            return Some((input.clone(), WeightsMatch::Float { data: weights.clone() }));
        }
        let weights = self.either(weights, "Mul", |this, cast, scales| {
            this.constants.get(scales)?;
            let [data] = this.inputs_of(cast, "Cast")?;
            this.constants.get(data)?;
            Some(WeightsMatch::Int8 { data: data.clone(), scales: scales.to_owned() })
        })?;
        Some((input.clone(), weights))
    }

    /// `x / 2 * (1 + erf(x / sqrt 2))` in any order of its factors, or the operator `Gelu`, of a linear layer `x`.
    fn match_gelu(&self, tensor: &str) -> Option<LinearMatch> {
        if let Some(node) = self.node(tensor, "Gelu") {
            let exact = attribute(node, "approximate").is_none_or(|a| a.s.is_empty() || a.s == b"none");
            return if exact { self.match_linear(node.input.first()?) } else { None };
        }
        let mut factors = Vec::new();
        self.collect_factors(tensor, &mut factors);
        let half = factors.iter().position(|factor| self.scalar(factor) == Some(0.5))?;
        factors.swap_remove(half);
        let [a, b] = factors.as_slice() else { return None };
        let x = self.match_one_plus_erf(a).filter(|x| x == b).or_else(|| {
            let x = self.match_one_plus_erf(b)?;
            (x == *a).then_some(x)
        })?;
        self.match_linear(&x)
    }

    fn collect_factors(&self, tensor: &str, factors: &mut Vec<String>) {
        match self.inputs_of(tensor, "Mul") {
            Some([a, b]) if factors.len() < 4 => {
                self.collect_factors(a, factors);
                self.collect_factors(b, factors);
            }
            _ => factors.push(tensor.to_owned()),
        }
    }

    fn match_one_plus_erf(&self, tensor: &str) -> Option<String> {
        self.either(tensor, "Add", |this, erf, one| {
            let [argument] = this.inputs_of(erf, "Erf")?;
            let (x, scale) = this.match_scaled(argument)?;
            let exact = (scale - std::f32::consts::FRAC_1_SQRT_2).abs() < 1e-4;
            (this.scalar(one) == Some(1.0) && exact).then_some(x)
        })
    }

    /// `merge(softmax(queries · keysᵀ * scale + mask) · values)` with all three split into heads.
    fn match_attention(&self, tensor: &str) -> Option<AttentionMatch> {
        let [merged, ..] = self.inputs_of::<1>(tensor, "Reshape")?;
        let [context] = self.transposed(merged, &[0, 2, 1, 3])?;
        let [weights, values] = self.inputs_of(context, "MatMul")?;
        let [logits] = self.inputs_of(weights, "Softmax")?;
        let (scaled, mask) =
            self.either(logits, "Add", |this, scaled, mask| Some((scaled.to_owned(), this.match_mask(mask)?)))?;
        let (product, scale) = self.match_scaled(&scaled)?;
        let [queries, keys] = self.inputs_of(&product, "MatMul")?;
        let (queries, heads) = self.match_heads(queries, &[0, 2, 1, 3])?;
        let (keys, key_heads) = self.match_heads(keys, &[0, 2, 3, 1])?;
        let (values, value_heads) = self.match_heads(values, &[0, 2, 1, 3])?;
        let alike =
            heads == key_heads && heads == value_heads && queries.input == keys.input && queries.input == values.input;
        alike.then_some(AttentionMatch { queries, keys, values, mask, heads, scale })
    }

    fn transposed(&self, tensor: &str, order: &[i64]) -> Option<&[String; 1]> {
        let node = self.node(tensor, "Transpose")?;
        (attribute(node, "perm")?.ints == order).then(|| node.input.first_chunk::<1>())?
    }

    /// A linear layer whose outputs are split into heads.
    fn match_heads(&self, tensor: &str, order: &[i64]) -> Option<(LinearMatch, usize)> {
        let [split] = self.transposed(tensor, order)?;
        let [linear, shape] = self.inputs_of(split, "Reshape")?;
        let heads = match self.integers(shape)?.as_slice() {
            [_, _, heads, _] => usize::try_from(*heads).ok()?,
            _ => return None,
        };
        Some((self.match_linear(linear)?, heads))
    }

    /// `(1 - mask) * -many`: returns the input that says which tokens are there.
    fn match_mask(&self, tensor: &str) -> Option<String> {
        let (absent, weight) = self.match_scaled(tensor)?;
        let [one, present] = self.inputs_of(&absent, "Sub")?;
        if self.scalar(one)? != 1.0 || weight > -1000.0 {
            return None;
        }
        let mut present = present.clone();
        while let Some(node) = self.producers.get(&present).map(|&index| &self.old[index]) {
            if node.op_type != "Unsqueeze" && node.op_type != "Cast" {
                return None;
            }
            present = node.input.first()?.clone();
        }
        self.inputs.contains(&present).then_some(present)
    }

    fn collect_terms(&self, tensor: &str, terms: &mut Vec<String>) {
        match self.inputs_of(tensor, "Add") {
            Some([a, b]) if terms.len() < 4 => {
                self.collect_terms(a, terms);
                self.collect_terms(b, terms);
            }
            _ => terms.push(tensor.to_owned()),
        }
    }

    /// `table[ids]` for a constant table.
    fn match_gather(&self, tensor: &str) -> Option<(String, String)> {
        let [table, ids] = self.inputs_of(tensor, "Gather")?;
        self.constants.get(table)?;
        Some((table.clone(), ids.clone()))
    }

    /// `cast(table[ids]) * scales[ids]`.
    fn match_quantized_gather(&self, tensor: &str) -> Option<(WordMatch, String)> {
        self.either(tensor, "Mul", |this, cast, scales| {
            let [quantized] = this.inputs_of(cast, "Cast")?;
            let (data, ids) = this.match_gather(quantized)?;
            let (scales, scale_ids) = this.match_gather(scales)?;
            (ids == scale_ids && this.inputs.contains(&ids)).then_some((WordMatch::Int8 { data, scales }, ids))
        })
    }

    /// onnxruntime's `GatherBlockQuantized` of rows of 4-bit blocks with the zero point 8.
    fn match_block_gather(&self, tensor: &str) -> Option<(WordMatch, String)> {
        let node = self.node(tensor, "GatherBlockQuantized")?;
        let [data, ids, scales] = node.input.as_slice() else { return None };
        let integer = |name: &str| attribute(node, name).map_or(0, |attribute| attribute.i);
        if integer("gather_axis") != 0 || integer("quantize_axis") != 1 || !self.inputs.contains(ids) {
            return None;
        }
        let block = four_bit_block(node)?;
        Some((WordMatch::FourBit { data: data.clone(), scales: scales.clone(), block }, ids.clone()))
    }

    /// The first rows of a constant table, as many as there are tokens.
    fn match_positions(&self, tensor: &str) -> Option<String> {
        let [sliced, ..] = self.inputs_of::<1>(tensor, "Unsqueeze")?;
        let [table, start, ..] = self.inputs_of::<2>(sliced, "Slice")?;
        self.constants.get(table)?;
        (self.integers(start)? == [0]).then(|| table.clone())
    }
}

/// Taking the numbers out of the file's tensors.
impl Rewriting<'_> {
    fn constant(&mut self, name: &str) -> Result<&mut TensorProto, Refusal> {
        let index = self.constants.get(name).ok_or_else(|| format!("the tensor `{name}` is missing"))?;
        Ok(&mut self.tensors[*index])
    }

    /// The numbers of a constant, which may be stored as float16 and widened by the graph.
    fn floats(&mut self, name: &str) -> Result<Vec<f32>, Refusal> {
        let stored = match self.inputs_of(name, "Cast") {
            Some([stored]) => stored.clone(),
            None => name.to_owned(),
        };
        read_floats(self.constant(&stored)?)
    }

    /// The bytes of a tensor, which is empty afterwards.
    fn take_bytes(&mut self, name: &str, kind: DataType) -> Result<Vec<u8>, Refusal> {
        let tensor = self.constant(name)?;
        if tensor.data_type != kind as i32 {
            return Err(format!("the tensor `{name}` has the type {}, {kind:?} is wanted", tensor.data_type));
        }
        Ok(std::mem::take(&mut tensor.raw_data))
    }

    fn take_layer_norm(&mut self, norm: &NormMatch) -> Result<LayerNorm, Refusal> {
        let (gain, bias) = (self.floats(&norm.gain)?, self.floats(&norm.bias)?);
        if gain.is_empty() || gain.len() != bias.len() {
            return Err("a layer norm has parameters of different sizes".into());
        }
        Ok(LayerNorm { gain, bias, epsilon: norm.epsilon })
    }

    fn bias_length(&mut self, layer: &LinearMatch) -> Result<usize, Refusal> {
        Ok(self.floats(&layer.bias)?.len())
    }

    /// The weights of a layer with `outputs` outputs, and the number of its inputs.
    fn take_weights(&mut self, weights: &WeightsMatch, outputs: usize) -> Result<(StoredWeights, usize), Refusal> {
        let per_output = |length: usize| length / outputs.max(1);
        Ok(match weights {
            WeightsMatch::Int8 { data, scales } => {
                let scales = self.floats(scales)?;
                let data = self.take_bytes(data, DataType::Int8)?;
                let inputs = per_output(data.len());
                (StoredWeights::Int8 { data, scales }, inputs)
            }
            WeightsMatch::Float { data } => {
                let tensor = self.constant(data)?;
                let data = read_floats(tensor)?;
                tensor.raw_data = Vec::new();
                let inputs = per_output(data.len());
                (StoredWeights::Float { data }, inputs)
            }
            WeightsMatch::FourBit { data, scales, zero_points, inputs, block } => {
                let zero_points = match zero_points {
                    Some(name) => Some(self.take_bytes(name, DataType::Uint8)?),
                    None => None,
                };
                let scales = self.floats(scales)?;
                let data = self.take_bytes(data, DataType::Uint8)?;
                (StoredWeights::FourBit { data, scales, zero_points, block: *block }, *inputs)
            }
        })
    }
}

fn attribute<'a>(node: &'a NodeProto, name: &str) -> Option<&'a AttributeProto> {
    node.attribute.iter().find(|attribute| attribute.name == name)
}

/// The length of a node's 4-bit blocks.
fn four_bit_block(node: &NodeProto) -> Option<usize> {
    if attribute(node, "bits").is_some_and(|bits| bits.i != 4) {
        return None;
    }
    let block = usize::try_from(attribute(node, "block_size")?.i).ok()?;
    (block > 0 && block.is_multiple_of(2)).then_some(block)
}

fn read_floats(tensor: &TensorProto) -> Result<Vec<f32>, Refusal> {
    if tensor.data_type == DataType::Float16 as i32 {
        let (numbers, _) = tensor.raw_data.as_chunks::<2>();
        return Ok(numbers.iter().map(|bytes| f16::from_le_bytes(*bytes).to_f32()).collect());
    }
    if tensor.data_type != DataType::Float as i32 {
        return Err(format!("the tensor `{}` has the type {}, float32 is wanted", tensor.name, tensor.data_type));
    }
    if !tensor.float_data.is_empty() {
        return Ok(tensor.float_data.clone());
    }
    let (numbers, rest) = tensor.raw_data.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(format!("the tensor `{}` is cut short", tensor.name));
    }
    Ok(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
}
