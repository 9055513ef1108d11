"""Cuts a multilingual Unigram vocabulary down to what English and Chinese texts use.

The rule, in the order in which it is asked:
1. special tokens stay, except `<mask>`, which a sentence encoder never sees;
2. a piece of one character of the scripts named in `SINGLES` stays, so that a name, a formula or a quoted word never
   becomes `<unk>` needlessly;
3. a piece with any other character than Latin letters, symbols, punctuation, emoji, full-width forms and Han goes;
4. a piece with Han characters, or without any letter, stays;
5. of the rest, which is words and parts of words of a hundred languages in Latin letters, those stay that English uses:
   parts of at most three ASCII letters, pieces whose use, summed over a list of English words with their frequencies,
   reaches `MIN_USE`, and whole words of the list in any capitals (`MySQL`, `GitHub`) that reach `MIN_WORD_USE`.

A piece that goes leaves its text to the smaller pieces. The ids are renumbered in the old order.
"""

import gzip
import json
import re
from collections import defaultdict
from pathlib import Path

import msgpack
from tokenizers import Tokenizer

SPECIAL = 4
_COMMON = (
    r"\x20-\x7e\u00a0-\u00bf\u00d7\u00f7\u2000-\u2bff\u3000-\u303f\u3400-\u9fff\uf900-\ufaff\uff00-\uffef"
    r"\U0001f000-\U0001ffff"
)
CHARACTERS = re.compile(rf"[{_COMMON}\u00c0-\u024f▁]+")
# Beside the above: Greek, Cyrillic and kana, letter by letter.
SINGLES = re.compile(rf"[{_COMMON}\u00c0-\u024f\u0370-\u052f\u3040-\u30ff]?")
HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
LETTER = re.compile(r"[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f]")
WORD_START = "▁"
# The share of running English words that use a piece, below which the piece goes.
MIN_USE = 3e-8
# The same for a piece that is a word by itself, also inside an identifier or after a sign (`--config`, `_type`).
MIN_WORD_USE = 3e-7
MAX_PART_LETTERS = 3
# How often a word is met as it is, capitalized (headings, names, starts of sentences), and in capitals (constants).
FORMS = ((str, 1.0), (str.capitalize, 0.2), (str.upper, 0.05))
# Scores are logarithms of probabilities; a thousandth never decides between two segmentations that matter.
SCORE_DIGITS = 3


def english_words(path: Path):
    """The words of wordfreq's list with their frequencies; bucket i of the file holds the words of 10^(-i/100)."""
    buckets = msgpack.unpackb(gzip.decompress(path.read_bytes()))
    listed = ((word, 10 ** (-i / 100)) for i, bucket in enumerate(buckets[1:]) for word in bucket)
    return {word: frequency for word, frequency in listed if CHARACTERS.fullmatch(word)}


def uses(tokenizer: Tokenizer, words):
    """For each id, the summed frequencies of the words that it is part of."""
    sums = defaultdict(float)
    for form, share in FORMS:
        encodings = tokenizer.encode_batch([form(word) for word in words], add_special_tokens=False)
        for frequency, encoding in zip(words.values(), encodings):
            for id in encoding.ids:
                sums[id] += frequency * share
    return sums


def kept(id, piece, words, sums):
    """The rule at the head of this file."""
    if id < SPECIAL:
        return True
    text = piece.strip(WORD_START)
    if SINGLES.fullmatch(text):
        return True
    if not CHARACTERS.fullmatch(piece):
        return False
    if HAN.search(piece) or not LETTER.search(piece):
        return True
    short = len(text) <= MAX_PART_LETTERS and text.isascii()
    return short or sums[id] >= MIN_USE or words.get(text.lower(), 0) >= MIN_WORD_USE


def cut(tokenizer_json: Path, word_list: Path, output: Path):
    """Writes the smaller tokenizer; gives the old ids of what stays, in order."""
    description = json.loads(tokenizer_json.read_text(encoding="utf-8"))
    pieces = description["model"]["vocab"]
    words = english_words(word_list)
    sums = uses(Tokenizer.from_file(str(tokenizer_json)), words)
    keep = [id for id, (piece, _) in enumerate(pieces) if kept(id, piece, words, sums)]
    description["model"]["vocab"] = [[pieces[id][0], round(pieces[id][1], SCORE_DIGITS)] for id in keep]
    description["added_tokens"] = [token for token in description["added_tokens"] if token["content"] != "<mask>"]
    for token in description["added_tokens"]:
        if token["id"] >= SPECIAL:
            raise ValueError(f"the special token {token['content']} has the unexpected id {token['id']}")
    # Padding and truncation are the caller's; none is written into the file.
    description["truncation"] = description["padding"] = None
    text = json.dumps(description, ensure_ascii=False, separators=(",", ":"))
    output.write_text(text, encoding="utf-8")
    print(f"  vocabulary: {len(pieces):,} pieces, {len(keep):,} stay", flush=True)
    return keep
