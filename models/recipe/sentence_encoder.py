"""Runs a model as its description in models.toml says, with onnxruntime and the tokenizers library."""

import hashlib
import tomllib
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "models"


class SentenceEncoder:
    """Tokenizer, network, pooling and prefixes of one model."""

    def __init__(self, network, tokenizer, prefixes, max_tokens, threads=2, hashes=None):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(str(network), options, providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.no_padding()
        self.prefixes = prefixes
        self.max_tokens = max_tokens
        self._hashes = hashes or {}
        self._paths = (network, tokenizer)

    @classmethod
    def of_model(cls, name, threads=2, network=None, tokenizer=None):
        """The model of that id; `network` and `tokenizer` put other files in the place of its own."""
        with open(MODELS / "models.toml", "rb") as file:
            model = next(model for model in tomllib.load(file)["models"] if model["id"] == name)
        files = {file["role"]: file for file in model["files"]}
        return cls(
            network or MODELS / files["network"]["path"],
            tokenizer or MODELS / files["tokenizer"]["path"],
            {"query": model["query_prefix"], "passage": model["passage_prefix"]},
            model["max_tokens"],
            threads,
            {role: file["sha256"] for role, file in files.items()},
        )

    def engine(self):
        return f"onnxruntime {version('onnxruntime')}, tokenizers {version('tokenizers')}"

    def hashes(self):
        return self._hashes

    def fingerprint(self):
        """A short name for these files, prefixes and limit."""
        digest = hashlib.sha256(repr((self.prefixes, self.max_tokens)).encode())
        for path in self._paths:
            with open(path, "rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.hexdigest()[:16]

    def ids(self, text, kind, cut=True):
        if cut:
            self.tokenizer.enable_truncation(self.max_tokens)
        else:
            self.tokenizer.no_truncation()
        return self.tokenizer.encode(self.prefixes[kind] + text).ids

    def embed_ids(self, batch):
        """Unit vectors of token sequences, float32 [texts, dimension]."""
        longest = max(map(len, batch))
        ids = np.zeros((len(batch), longest), np.int64)
        mask = np.zeros_like(ids)
        for row, sequence in enumerate(batch):
            ids[row, : len(sequence)] = sequence
            mask[row, : len(sequence)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self.session.run(None, inputs)[0]
        weights = mask[:, :, None].astype(np.float32)
        vectors = (hidden * weights).sum(1) / weights.sum(1)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
