#!/usr/bin/env python3
"""Writes the golden vectors: what onnxruntime and the tokenizers library make of a few texts with each model.

usage: golden.py MODEL ... ; run it with the Python of the recipe's environment (build.py --python prints it).
Output: tests/golden/MODEL.json with, for each case, the text, its kind, the token ids, and the unit vector to 6 digits.
"""

import json
import sys
from pathlib import Path

from sentence_encoder import ROOT, SentenceEncoder

DIGITS = 6
ENGLISH = (
    "A watcher runs a function whenever the value that it reads has changed, and it is given the new value and the "
    "one before. Docs often explain this with a counter, a search box, or a form that is saved after a short pause. "
)
CHINESE = "侦听器会在它所读取的值发生变化时运行一个函数，并把新值和旧值一起交给它。文档常用计数器、搜索框或自动保存的表单来说明。"


def exactly(encoder, text, count):
    """The start of the text, repeated, that has this many tokens, special ones included."""
    words = (text * 40).split(" ") if " " in text else list(text * 40)
    joint = " " if " " in text else ""
    low, high = 1, len(words)
    while low < high:
        middle = (low + high) // 2
        if len(encoder.ids(joint.join(words[:middle]), "passage", cut=False)) < count:
            low = middle + 1
        else:
            high = middle
    candidate = joint.join(words[:low])
    # One more short word closes a gap of one token that a long word leaves.
    for tail in ("", " a", " a b", "。", "的"):
        for words_left in (low, low - 1, low - 2, low - 3):
            candidate = joint.join(words[:words_left]) + tail
            if len(encoder.ids(candidate, "passage", cut=False)) == count:
                return candidate
    raise SystemExit(f"no start of the text has exactly {count} tokens")


def cases(encoder):
    limit = encoder.max_tokens
    yield "empty", "passage", ""
    yield "blank", "query", " \n\t "
    yield "one word", "query", "install"
    yield "question", "query", "How do I watch a ref?"
    yield "sentence", "passage", ENGLISH.strip()
    yield "as long as the limit", "passage", exactly(encoder, ENGLISH, limit)
    yield "one token too long", "passage", exactly(encoder, ENGLISH, limit + 1)
    yield "far too long", "passage", ENGLISH * 12
    yield "Chinese question", "query", "怎么侦听一个 ref 的变化？"
    yield "Chinese passage", "passage", CHINESE
    yield "long Chinese", "passage", CHINESE * 8
    yield "mixed", "query", "如何用pip安装faiss-gpu？"
    yield "full-width", "query", "ＶＵＥ３　的　ｖ－ｍｏｄｅｌ！"
    yield "emoji", "passage", "🚀 Ship it 👩‍💻 再见 👋🏽"
    yield "code", "passage", "const { data, error } = await useFetch(`/api/${id}?q=1`); // v-model --flag std::fs::read"
    yield "accents", "passage", "Café déjà vu, naïve façade, Ångström, Ünïcödé"
    yield "other scripts", "passage", "Привет мир, こんにちは世界, 안녕하세요, مرحبا"
    yield "punctuation", "query", "???!!! ... --- ,,,"


def main():
    for name in sys.argv[1:]:
        encoder = SentenceEncoder.of_model(name)
        rows = []
        for case, kind, text in cases(encoder):
            ids = encoder.ids(text, kind)
            vector = encoder.embed_ids([ids])[0]
            rows.append({"name": case, "kind": kind, "text": text, "ids": ids, "vector": [round(float(x), DIGITS) for x in vector]})
        description = {"model": name, "engine": encoder.engine(), "files": encoder.hashes(), "cases": rows}
        target = ROOT / "tests" / "golden" / f"{name}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in rows)
        head = json.dumps({key: description[key] for key in ("model", "engine", "files")}, ensure_ascii=False)
        target.write_text(f"{head[:-1]}, \"cases\": [\n{lines}\n]}}\n", encoding="utf-8")
        print(f"{target}: {len(rows)} cases")


if __name__ == "__main__":
    main()
