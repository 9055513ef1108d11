"""Writes a BERT sentence encoder as an ONNX graph, without torch.

Input: a dict of float32 weights under their Hugging Face names, the model's configuration, and a format that says how
the two large kinds of weights are stored (see `weight_formats.py`). Output: an ONNX model with the inputs `input_ids`,
`attention_mask`, `token_type_ids` (int64, [batch, sequence]) and the output `last_hidden_state`
(float32, [batch, sequence, hidden]). Pooling and normalization are the caller's.

Layer norm and GELU are spelled out in basic operators, because every runtime has those.
"""

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Recorded in the file, and therefore part of its hash.
PRODUCER = "bert_export.py (hand-built)"
OPSET = 14
IR_VERSION = 8
# Added to the attention scores of padding tokens: far below any real score, and still finite.
MASKED_SCORE = -10000.0


@dataclass(frozen=True)
class BertConfig:
    """The numbers of a BERT encoder."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    layer_norm_eps: float


class GraphWriter:
    """Collects nodes and weights in the order in which they are asked for."""

    def __init__(self):
        self.nodes = []
        self.domains = {}
        self._weights = {}
        self._packed_weights = {}
        self._count = 0

    def weight(self, name, array):
        """Adds a constant once and gives its name."""
        if name not in self._weights:
            self._weights[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def packed_weight(self, name, array):
        """Adds a quantized constant; these stand at the end of the file."""
        self._packed_weights[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def next_name(self, op):
        """A unique name for a node of this kind."""
        self._count += 1
        return f"{op}_{self._count}", f"n{self._count}_{op}"

    def node(self, op, inputs, **attributes):
        """Adds a node and gives the name of its output."""
        output, name = self.next_name(op)
        return self.named_node(op, inputs, output, name, **attributes)

    def named_node(self, op, inputs, output, name, **attributes):
        """Adds a node under a given name."""
        self.nodes.append(helper.make_node(op, inputs, [output], name=name, **attributes))
        return output

    def weights(self):
        """All constants, in the order of the file."""
        return [*self._weights.values(), *self._packed_weights.values()]


class BertGraph:
    """One encoder, layer by layer."""

    def __init__(self, weights, config, weight_format):
        self.weights = weights
        self.config = config
        self.weight_format = weight_format
        self.graph = GraphWriter()

    def array(self, name):
        return self.weights[name].astype(np.float32)

    def scalar(self, name, value):
        return self.graph.weight(name, np.array(value, np.float32))

    def axes(self, name, *values):
        return self.graph.weight(name, np.array(values, np.int64))

    def layer_norm(self, x, key):
        g = self.graph
        gain = g.weight(f"{key}.weight", self.array(f"{key}.weight"))
        bias = g.weight(f"{key}.bias", self.array(f"{key}.bias"))
        mean = g.node("ReduceMean", [x], axes=[-1], keepdims=1)
        centered = g.node("Sub", [x, mean])
        square = g.node("Mul", [centered, centered])
        variance = g.node("ReduceMean", [square], axes=[-1], keepdims=1)
        shifted = g.node("Add", [variance, self.scalar("eps", self.config.layer_norm_eps)])
        deviation = g.node("Sqrt", [shifted])
        scaled = g.node("Mul", [g.node("Div", [centered, deviation]), gain])
        return g.node("Add", [scaled, bias])

    def linear(self, x, key):
        product = self.weight_format.linear(self.graph, x, f"{key}.weight", self.weights[f"{key}.weight"])
        bias = self.graph.weight(f"{key}.bias", self.array(f"{key}.bias"))
        return self.graph.node("Add", [product, bias])

    def embeddings(self):
        g = self.graph
        key = "embeddings.word_embeddings.weight"
        words = self.weight_format.embedding(g, "input_ids", self.weights[key])
        key = "embeddings.token_type_embeddings.weight"
        types = g.node("Gather", [g.weight(key, self.array(key)), "token_type_ids"])
        shape = g.node("Shape", ["input_ids"])
        length = g.node("Slice", [shape, self.axes("i1", 1), self.axes("i2", 2)])
        key = "embeddings.position_embeddings.weight"
        table = g.weight(key, self.array(key))
        positions = g.node("Slice", [table, self.axes("i0", 0), length, self.axes("ax0", 0)])
        positions = g.node("Unsqueeze", [positions, self.axes("ax0", 0)])
        total = g.node("Add", [g.node("Add", [words, types]), positions])
        return self.layer_norm(total, "embeddings.LayerNorm")

    def mask(self):
        """0 for a token, `MASKED_SCORE` for padding, as [batch, 1, 1, sequence]."""
        g = self.graph
        mask = g.node("Cast", ["attention_mask"], to=TensorProto.FLOAT)
        mask = g.node("Unsqueeze", [mask, self.axes("ax12", 1, 2)])
        absent = g.node("Sub", [self.scalar("one", 1), mask])
        return g.node("Mul", [absent, self.scalar("neg", MASKED_SCORE)])

    def attention(self, x, mask, layer):
        g = self.graph
        heads = self.config.num_attention_heads
        width = self.config.hidden_size // heads
        split = self.axes("shape_heads", 0, 0, heads, width)
        joined = self.axes("shape_hidden", 0, 0, self.config.hidden_size)
        scale = self.scalar("inv_sqrt_d", 1 / np.sqrt(width))
        # Constants of the GELU are named here, because the file lists constants in this order.
        self.gelu_constants()

        def head(kind, order):
            flat = self.linear(x, f"{layer}attention.self.{kind}")
            return g.node("Transpose", [g.node("Reshape", [flat, split])], perm=order)

        query = head("query", [0, 2, 1, 3])
        key = head("key", [0, 2, 3, 1])
        value = head("value", [0, 2, 1, 3])
        scores = g.node("Mul", [g.node("MatMul", [query, key]), scale])
        scores = g.node("Softmax", [g.node("Add", [scores, mask])], axis=-1)
        context = g.node("Transpose", [g.node("MatMul", [scores, value])], perm=[0, 2, 1, 3])
        context = g.node("Reshape", [context, joined])
        output = self.linear(context, f"{layer}attention.output.dense")
        return self.layer_norm(g.node("Add", [output, x]), f"{layer}attention.output.LayerNorm")

    def gelu_constants(self):
        half = self.scalar("half", 0.5)
        one = self.scalar("one", 1)
        return half, one, self.scalar("inv_sqrt2", 1 / np.sqrt(2))

    def feed_forward(self, x, layer):
        g = self.graph
        half, one, inv_sqrt2 = self.gelu_constants()
        hidden = self.linear(x, f"{layer}intermediate.dense")
        halved = g.node("Mul", [hidden, half])
        error = g.node("Erf", [g.node("Mul", [hidden, inv_sqrt2])])
        hidden = g.node("Mul", [halved, g.node("Add", [error, one])])
        output = self.linear(hidden, f"{layer}output.dense")
        return self.layer_norm(g.node("Add", [output, x]), f"{layer}output.LayerNorm")

    def model(self):
        """The whole encoder as a checked ONNX model."""
        x = self.embeddings()
        mask = self.mask()
        for index in range(self.config.num_hidden_layers):
            layer = f"encoder.layer.{index}."
            x = self.attention(x, mask, layer)
            x = self.feed_forward(x, layer)
        self.graph.named_node("Identity", [x], "last_hidden_state", "out")
        tokens = ["input_ids", "attention_mask", "token_type_ids"]
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"]) for name in tokens]
        shape = ["batch", "sequence", self.config.hidden_size]
        output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.graph.nodes, "bert", inputs, [output], initializer=self.graph.weights())
        opsets = [helper.make_opsetid("", OPSET)]
        opsets += [helper.make_opsetid(domain, version) for domain, version in self.graph.domains.items()]
        model = helper.make_model(graph, opset_imports=opsets, producer_name=PRODUCER)
        model.ir_version = IR_VERSION
        onnx.checker.check_model(model)
        return model
