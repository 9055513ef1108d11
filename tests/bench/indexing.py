#!/usr/bin/env python3
"""Embedding natively beside onnxruntime: passages a second, and what accuracy the integer weights cost.

usage: indexing.py DOCENT FORMATS WORK SET ... ; run it with the Python of the model recipe's environment.
FORMATS is what models/recipe/peer_formats.py wrote, SET a retrieval set in the BEIR layout. Both engines embed the same
passages on all cores, batched by length, in turns; the best of onnxruntime's formats counts. Then each set is embedded
whole by docent and by onnxruntime in float32: the mean cosine between them, and nDCG@10 of the dense leg for both.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "models" / "recipe"))
sys.dont_write_bytecode = True

from evaluate import read_set, scores  # noqa: E402
from sentence_encoder import SentenceEncoder  # noqa: E402

MODEL = "all-MiniLM-L6-v2"
ROUNDS = 3
# Passages of one round: some seconds of work.
PASSAGES = 400
# Tokens of one of onnxruntime's batches, padding included; as in the recipe's evaluate.py.
BATCH_TOKENS = 4096
LEAST_COSINE, MOST_LOSS = 0.999, 0.003


def lines_of(texts):
    """The texts with each run of white space as one space, which the tokenizer reads alike."""
    return [" ".join(text.split()) for text in texts]


class Docent:
    def __init__(self, program, work):
        self.program, self.work = program, work

    def embed(self, texts, kind):
        """Vectors and seconds, the loading of the model left out."""
        source, target = self.work / "texts.txt", self.work / "vectors.f32"
        source.write_text("\n".join(texts) + "\n", encoding="utf-8")
        command = [self.program, "embed", source, "--out", target, "--model", MODEL, "--models-dir", ROOT / "models"]
        done = subprocess.run([*command, *(["--queries"] if kind == "query" else [])], check=True, capture_output=True, text=True)
        seconds = float(re.search(r"in ([\d.]+) s", done.stderr)[1])
        return np.fromfile(target, "<f4").reshape(len(texts), -1), seconds


class Onnxruntime:
    def __init__(self, network):
        self.encoder = SentenceEncoder.of_model(MODEL, threads=os.cpu_count(), network=network)

    def embed(self, texts, kind):
        start = time.perf_counter()
        rows = sorted(((len(ids), at, ids) for at, ids in enumerate(self.encoder.ids(text, kind) for text in texts)))
        vectors, batch = {}, []
        def run():
            for (_, at, _), vector in zip(batch, self.encoder.embed_ids([ids for _, _, ids in batch])):
                vectors[at] = vector
            batch.clear()
        for row in rows:
            if batch and (len(batch) + 1) * row[0] > BATCH_TOKENS:
                run()
            batch.append(row)
        run()
        return np.stack([vectors[at] for at in range(len(texts))]), time.perf_counter() - start


class Vectors:
    """An engine as `evaluate.scores` wants it."""

    def __init__(self, engine):
        self.engine, self.kept = engine, {}

    def vectors(self, texts, kind):
        self.kept[kind] = self.engine.embed(lines_of(texts), kind)[0]
        return self.kept[kind]


def main():
    program, formats, work, *sets = sys.argv[1:]
    work = Path(work)
    work.mkdir(parents=True, exist_ok=True)
    engines = {"docent": Docent(program, work), "weight-only int8": Onnxruntime(None)}
    for file in sorted(Path(formats).glob("*.onnx")):
        engines[file.stem] = Onnxruntime(file)
    passages, _, _ = read_set(Path(sets[0]))
    some = lines_of(list(passages.values())[:: max(1, len(passages) // PASSAGES)][:PASSAGES])
    rates = {name: [] for name in engines}
    for _ in range(ROUNDS):
        for name, engine in engines.items():
            rates[name].append(len(some) / engine.embed(some, "passage")[1])
    middle = {name: statistics.median(values) for name, values in rates.items()}
    best = max(value for name, value in middle.items() if name != "docent")
    print(f"\nEmbedding natively, {os.cpu_count()} cores, {len(some)} passages of {Path(sets[0]).name}; passages/s, median (lowest, highest)\n")
    print("| engine | passages/s | ours to it |\n| --- | ---: | ---: |")
    for name, values in rates.items():
        title = name if name == "docent" else f"onnxruntime, {name}"
        print(f"| {title} | {middle[name]:.1f} ({min(values):.1f}, {max(values):.1f}) | {middle['docent'] / middle[name]:.2f} |")
    print(f"\nTo the best of onnxruntime's formats: {middle['docent'] / best:.2f}")
    if "DOCENT_BENCH_ROWS" in os.environ:
        # A row of the one table, see rows.mjs.
        peers = {f"onnxruntime, {name}": values for name, values in rates.items() if name != "docent"}
        row = {"what": "embedding natively, passages/s", "ours": rates["docent"], "peers": peers, "best": "high"}
        with open(os.environ["DOCENT_BENCH_ROWS"], "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    print("\nAccuracy beside onnxruntime in float32\n")
    print("| set | mean cosine | lowest | nDCG@10 float32 | nDCG@10 docent | loss |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    failed = False
    for folder in map(Path, sets):
        passages, queries, judged = read_set(folder)
        plain, ours = Vectors(Onnxruntime(Path(formats) / "fp32.onnx")), Vectors(engines["docent"])
        expected = scores(passages, queries, judged, plain)[:, 0].mean()
        found = scores(passages, queries, judged, ours)[:, 0].mean()
        cosines = np.concatenate([(plain.kept[kind] * ours.kept[kind]).sum(1) for kind in plain.kept])
        mean, loss = cosines.mean(), expected - found
        failed |= not (mean >= LEAST_COSINE and loss <= MOST_LOSS)
        print(f"| {folder.name} | {mean:.5f} | {cosines.min():.5f} | {expected:.4f} | {found:.4f} | {loss:+.4f} |")
    if failed:
        sys.exit(f"error: a mean cosine below {LEAST_COSINE}, or a loss above {MOST_LOSS}")


if __name__ == "__main__":
    main()
