#!/usr/bin/env python3
"""Writes all-MiniLM-L6-v2 in the other formats that onnxruntime runs it in, for measurements beside ours.

usage: peer_formats.py DIR ; run it with the Python of the recipe's environment (build.py --python prints it).
Output: DIR/fp32.onnx, nothing rounded, and DIR/dynamic-int8.onnx, what onnxruntime's `quantize_dynamic` makes of it.
Files that are there are left alone.
"""

import logging
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

import onnx
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file

import build
from bert_graph import BertGraph
from weight_formats import Float32
from write_minilm import CONFIG

MODEL = "all-MiniLM-L6-v2"


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    plain, dynamic = folder / "fp32.onnx", folder / "dynamic-int8.onnx"
    if not plain.is_file():
        with tempfile.TemporaryDirectory() as scratch:
            try:
                sources = build.unpack(build.descriptions()[MODEL], sys.executable, Path(scratch))
            except build.Refused as reason:
                sys.exit(f"error: {reason}")
            onnx.save(BertGraph(load_file(sources["model.safetensors"]), CONFIG, Float32()).model(), plain)
    if not dynamic.is_file():
        # It advises to optimize the graph first, which changes nothing here.
        logging.disable(logging.WARNING)
        quantize_dynamic(plain, dynamic, weight_type=QuantType.QInt8)


if __name__ == "__main__":
    main()
