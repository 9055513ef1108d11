"""Writes cross_encoder.onnx: the smallest network that reads a question and a passage together.

Inputs are the numbers of the words of both, int64 [1, n] and [1, m]; the output is how many pairs of words are equal,
float32 [1]. It stands for a real cross-encoder in the test of the second stage. Needs the package `onnx`.
"""

import pathlib

import onnx
from onnx import TensorProto, helper

graph = helper.make_graph(
    [
        helper.make_node("Unsqueeze", ["question", "two"], ["rows"]),
        helper.make_node("Unsqueeze", ["passage", "one"], ["columns"]),
        helper.make_node("Equal", ["rows", "columns"], ["same"]),
        helper.make_node("Cast", ["same"], ["ones"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["ones", "axes"], ["score"], keepdims=0),
    ],
    "cross_encoder",
    [
        helper.make_tensor_value_info("question", TensorProto.INT64, [1, "n"]),
        helper.make_tensor_value_info("passage", TensorProto.INT64, [1, "m"]),
    ],
    [helper.make_tensor_value_info("score", TensorProto.FLOAT, [1])],
    [
        helper.make_tensor("one", TensorProto.INT64, [1], [1]),
        helper.make_tensor("two", TensorProto.INT64, [1], [2]),
        helper.make_tensor("axes", TensorProto.INT64, [2], [1, 2]),
    ],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model)
onnx.save(model, pathlib.Path(__file__).with_name("cross_encoder.onnx"))
