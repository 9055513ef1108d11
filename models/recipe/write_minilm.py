"""Writes all-MiniLM-L6-v2 as weight-only int8 ONNX from the published safetensors file."""

import shutil
from pathlib import Path

import onnx
from safetensors.numpy import load_file

from bert_graph import BertConfig, BertGraph
from weight_formats import Int8

CONFIG = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, layer_norm_eps=1e-12)


def write(sources: dict[str, Path], output: Path):
    """`sources` maps a file's name to its place in the unpacked packages."""
    print("  reading the published weights")
    weights = load_file(sources["model.safetensors"])
    print("  writing the graph with int8 weights")
    onnx.save(BertGraph(weights, CONFIG, Int8()).model(), output / "model.onnx")
    shutil.copyfile(sources["tokenizer.json"], output / "tokenizer.json")
