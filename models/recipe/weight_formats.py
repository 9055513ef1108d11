"""How the two large kinds of weights are stored: the word-embedding table and the matrices of the linear layers.

Each format adds to a graph what turns its stored numbers back into float32 where they are used.
"""

import numpy as np
from onnx import TensorProto

from q4_blocks import BLOCK


def quantize_int8(weights, axis):
    """Symmetric rounding to -127..127 with one float32 scale along `axis`."""
    scale = np.abs(weights).max(axis=axis, keepdims=True) / 127
    scale[scale == 0] = 1e-8
    return np.clip(np.rint(weights / scale), -127, 127).astype(np.int8), scale.astype(np.float32)


class Int8:
    """One byte a weight: a scale per row of the table, and per output channel of a linear layer.

    Activations stay float32 (Cast, Mul, MatMul). A gathered row is scaled after the look-up, so that a runtime which
    folds constants leaves the table in int8.
    """

    def linear(self, graph, x, name, weights):
        packed, scale = quantize_int8(weights.astype(np.float32).T, 0)
        key = f"{name}_t"
        output, node = graph.next_name("MatMul")
        graph.packed_weight(f"{key}_q", packed)
        graph.packed_weight(f"{key}_s", scale)
        graph.named_node("Cast", [f"{key}_q"], f"{key}_c", f"{key}_c", to=TensorProto.FLOAT)
        graph.named_node("Mul", [f"{key}_c", f"{key}_s"], f"{key}_d", f"{key}_d")
        return graph.named_node("MatMul", [x, f"{key}_d"], output, node)

    def embedding(self, graph, ids, weights):
        packed, scale = quantize_int8(weights.astype(np.float32), 1)
        output, _ = graph.next_name("Gather")
        graph.packed_weight("wemb_q", packed)
        graph.packed_weight("wemb_s", scale)
        graph.named_node("Gather", ["wemb_q", ids], "we_q", "we_q")
        graph.named_node("Cast", ["we_q"], "we_f", "we_f", to=TensorProto.FLOAT)
        graph.named_node("Gather", ["wemb_s", ids], "we_s", "we_s")
        return graph.named_node("Mul", ["we_f", "we_s"], output, "we_mul")


class Float32:
    """Nothing is rounded: what the other formats are compared with."""

    def linear(self, graph, x, name, weights):
        output, node = graph.next_name("MatMul")
        graph.packed_weight(f"{name}_t", weights.astype(np.float32).T)
        return graph.named_node("MatMul", [x, f"{name}_t"], output, node)

    def embedding(self, graph, ids, weights):
        output, node = graph.next_name("Gather")
        graph.packed_weight("wemb", weights.astype(np.float32))
        return graph.named_node("Gather", ["wemb", ids], output, node)


class Q4:
    """Half a byte a weight, in blocks of 32 with one float16 scale; the published blocks, without rounding again.

    The operators are those of onnxruntime's domain `com.microsoft`: `MatMulNBits` and `GatherBlockQuantized`, both with
    their default zero point, 8. The scales are stored as float16 and widened by a Cast, because the operators want the
    scales in the type of the result.
    """

    DOMAIN = "com.microsoft"

    def _scales(self, graph, name, scales):
        graph.packed_weight(f"{name}_s", scales)
        return graph.named_node("Cast", [f"{name}_s"], f"{name}_sf", f"{name}_sf", to=TensorProto.FLOAT)

    def linear(self, graph, x, name, weights):
        graph.domains[self.DOMAIN] = 1
        rows, columns = weights.levels.shape
        output, node = graph.next_name("MatMulNBits")
        packed = graph.packed_weight(f"{name}_q", weights.packed().reshape(rows, columns // BLOCK, BLOCK // 2))
        # Flat, as the operator had it first; every release of the runtime takes it so.
        scales = self._scales(graph, name, weights.scales.reshape(-1))
        attributes = {"K": columns, "N": rows, "bits": 4, "block_size": BLOCK}
        return graph.named_node("MatMulNBits", [x, packed, scales], output, node, domain=self.DOMAIN, **attributes)

    def embedding(self, graph, ids, weights):
        graph.domains[self.DOMAIN] = 1
        output, node = graph.next_name("GatherBlockQuantized")
        packed = graph.packed_weight("wemb_q", weights.packed())
        scales = self._scales(graph, "wemb", weights.scales)
        attributes = {"gather_axis": 0, "quantize_axis": 1, "bits": 4, "block_size": BLOCK}
        inputs = [packed, ids, scales]
        return graph.named_node("GatherBlockQuantized", inputs, output, node, domain=self.DOMAIN, **attributes)
