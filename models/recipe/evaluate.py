#!/usr/bin/env python3
"""Measures the dense leg alone: nDCG@10, Hit@1 and Hit@5 of a model on a set in the BEIR layout, with onnxruntime.

usage: evaluate.py MODEL SET [--sample N] [--minutes M] [--cache DIR] [--network FILE --tokenizer FILE]

MODEL is an id from models.toml; --network and --tokenizer put other files in the place of its own, so that two builds of
one model can be compared. Every query is asked. Of the passages, all are searched, or the judged ones and a seeded sample
up to N. Embeddings are kept in DIR, by the content of the files and the text, so that a run that ends after M minutes goes
on where it stopped.
"""

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path

import numpy as np

from sentence_encoder import SentenceEncoder

SEED = 20240501
BATCH_TOKENS = 4096
# How many texts are embedded between two writes to the cache.
PORTION = 512


def read_set(folder):
    """Passages and queries as {id: text}, judgments as {query: {passage: grade}}."""
    read = lambda name: map(json.loads, open(folder / name, encoding="utf-8"))
    joined = lambda row: f"{row.get('title') or ''} {row['text']}".strip()
    passages = {row["_id"]: joined(row) for row in read("corpus.jsonl")}
    queries = {row["_id"]: row["text"] for row in read("queries.jsonl")}
    judged = {}
    for line in open(next(iter(sorted(folder.glob("qrels*.tsv")))), encoding="utf-8").read().splitlines()[1:]:
        query, passage, grade = line.split("\t")[:3]
        if int(grade) > 0 and query in queries:
            judged.setdefault(query, {})[passage] = int(grade)
    return passages, queries, judged


class Embedder:
    """Embeds texts, batched by length, with a cache on disk."""

    def __init__(self, encoder, cache, until):
        self.encoder, self.cache, self.until = encoder, cache, until
        self.cache.mkdir(parents=True, exist_ok=True)
        self.known = {}
        for part in sorted(self.cache.glob("*.npz")):
            with np.load(part) as saved:
                self.known.update(zip(saved["keys"].tolist(), saved["vectors"]))

    def vectors(self, texts, kind):
        keys = [hashlib.sha256(f"{kind}\0{text}".encode()).hexdigest()[:24] for text in texts]
        missing = {key: text for key, text in zip(keys, texts) if key not in self.known}
        rows = sorted(((key, self.encoder.ids(text, kind)) for key, text in missing.items()), key=lambda row: len(row[1]))
        for start in range(0, len(rows), PORTION):
            if time.monotonic() > self.until:
                sys.exit(f"stopped: {len(rows) - start} of {len(keys)} texts of this kind are left; run it again")
            self.portion(rows[start : start + PORTION])
            print(f"  {kind}: {start + len(rows[start : start + PORTION])} of {len(rows)}", file=sys.stderr, flush=True)
        return np.stack([self.known[key] for key in keys])

    def portion(self, rows):
        vectors, batch = [], []
        for _, ids in rows:
            if batch and (len(batch) + 1) * len(ids) > BATCH_TOKENS:
                vectors.append(self.encoder.embed_ids(batch))
                batch = []
            batch.append(ids)
        vectors.append(self.encoder.embed_ids(batch))
        vectors = np.concatenate(vectors)
        keys = [key for key, _ in rows]
        name = hashlib.sha256("".join(keys).encode()).hexdigest()[:16]
        np.savez(self.cache / f"{name}.npz", keys=np.array(keys), vectors=vectors)
        self.known.update(zip(keys, vectors))


def scores(passages, queries, judged, embedder):
    """Per query: nDCG@10, Hit@1, Hit@5."""
    ids = list(passages)
    names = [query for query in queries if judged.get(query)]
    asked = embedder.vectors([queries[name] for name in names], "query")
    found = embedder.vectors([passages[id] for id in ids], "passage")
    rows = []
    for name, similarity in zip(names, asked @ found.T):
        best = [ids[i] for i in np.argsort(-similarity, kind="stable")[:10]]
        grades = judged[name]
        gain = sum(grades.get(id, 0) / np.log2(rank + 2) for rank, id in enumerate(best))
        ideal = sum(g / np.log2(rank + 2) for rank, g in enumerate(sorted(grades.values(), reverse=True)[:10]))
        rows.append((gain / ideal, float(best[0] in grades), float(any(id in grades for id in best[:5]))))
    return np.array(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("set", type=Path)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "docent" / "evaluate")
    parser.add_argument("--network", type=Path)
    parser.add_argument("--tokenizer", type=Path)
    arguments = parser.parse_args()
    until = time.monotonic() + 60 * arguments.minutes
    encoder = SentenceEncoder.of_model(arguments.model, network=arguments.network, tokenizer=arguments.tokenizer)
    passages, queries, judged = read_set(arguments.set)
    if arguments.sample and arguments.sample < len(passages):
        needed = {id for grades in judged.values() for id in grades}
        others = sorted(set(passages) - needed)
        picked = np.random.default_rng(SEED).permutation(len(others))[: max(0, arguments.sample - len(needed))]
        chosen = needed | {others[i] for i in picked}
        passages = {id: text for id, text in passages.items() if id in chosen}
    embedder = Embedder(encoder, arguments.cache / encoder.fingerprint(), until)
    rows = scores(passages, queries, judged, embedder)
    generator = np.random.default_rng(SEED)
    means = np.array([rows[generator.integers(0, len(rows), len(rows))].mean(0) for _ in range(1000)])
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    print(f"{arguments.set.name}: {len(passages)} passages, {len(rows)} queries")
    for i, metric in enumerate(("ndcg@10", "hit@1", "hit@5")):
        print(f"  {metric:8} {rows[:, i].mean():.4f}  [{low[i]:.4f}, {high[i]:.4f}]")


if __name__ == "__main__":
    main()
