#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses words of our own where the field has one: names in code, and phrases in documents and in
what users read. docs/glossary.md has those that stay. Refuses more words of Markdown than
DOCUMENT_WORDS, which may only shrink.

FORBIDDEN is data: a pattern, what to write instead, and the files where it may stand (beginnings of
paths). tests/lint/words_test.py plants one of each."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of all Markdown but the facts that layers.py wants of each folder, as `wc -w` counts.
DOCUMENT_WORDS = 51100
FACTS = ("- **Owns**", "- **Checks**")
# What lists the words themselves, and samples of the tests.
LEFT_OUT = (
    "tools/lint/words.py",
    "tests/lint/words_test.py",
    "tests/golden/",
    "tests/fuzz/seeds/",
)
ENDINGS = (".h", ".hpp", ".cpp", ".c", ".inl", ".cu", ".cuh", ".def", ".fbs", ".md", ".py", ".sh")
FORBIDDEN = [
    (
        r"(?i)(quant|recogn|normal|canonical|initial|material|optim|serial|synchron)is"
        r"(e|ed|er|ers|es|ing|ations?)(?![a-z])",
        "American spelling, as in quantized",
        (),
    ),
    (r"\b[Cc]rew\b", "thread team", ()),
    (r"\bStretch(Pieces|Scan)?\b", "GraphSegment", ("docs/images.md",)),
    (r"\b([Cc]ulprit|[Dd]epartures?|find_departure)\b", "divergence, DivergenceCause", ()),
    (r"\b(Residence|WhyThere)\b", "WeightPlacement, PlacementReason", ()),
    (r"\b(NamedShare|Lack)\b", "DeviceShareReport, MissingKernel", ()),
    (r"\bk?Pairs(Code|Place)\b", "F16WeightPacker, F16WeightPlace", ()),
    (r"\b[Cc]arver\b", "BumpAllocator", ()),
    (r"\bDraft(\w*)?\b", "LoweredProgram", ("runtime/generate/", "tests/generate/")),
    (r"\b(GpuRow|ArenaWishes)\b", "GpuKernelEntry, ArenaOptions", ()),
    (r"\bkMost\w*", "kMax...", ()),
    (r"\b(ControlTold|tell_control)\b", "ControlMailbox, publish_condition", ()),
    (r"\b(WayTimer|WayClock|WayTimes|list_ways|GpuWay|TunedWay)\b", "VariantTimer and so on", ()),
    (r"\b(Gpu|Device|Named)Choices?\b|\bChoice(List|Source|Query)\b", "GpuVariant and so on", ()),
    (r"\b(ingot_(model_)?choice\w*|INGOT_CHOICE_\w+)\b", "ingot_variant, INGOT_VARIANT_...", ()),
    (r"\bINGOT_UNTUNED\b", "INGOT_IGNORE_TUNINGS", ()),
    (r"\b(Graph)?Judge[ds]?\b|\bjudge_\w+", "GraphChecker, check_...", ()),
    (
        r"\bCast(Options|Report|Result)\b|\bcast_(model|source)\b",
        "ConvertOptions and so on",
        ("tools/import/tflite/", "tests/import/tflite/", "tests/frameworks/litert/"),  # TFLite's own name
    ),
    (r"--picture\b", "--image", ("tools/cli/main.cpp", "tests/cli/image_test.cpp")),
    (r"\b(said|says?|saying|counted) aloud\b", "reported, counted", ()),
    (r"\bcast files?\b", "converted file", ()),
    (
        r"\bcast::|namespace (ingot::)?cast\b|\bCastError\b|\bthrow_cast_error\b|\btests/cast\b"
        r"|\b(while|is|are|be) cast(ing)?\b|\bcastable\b",
        "convert, ConversionError; a cast is a change of data type",
        (),
    ),
    (r"\bProved by\b", "Tested by", ()),
    (
        r"\bprove_\w+|\bprove\.h\b|\bproves\b|\b[Pp]roofs?\b",
        "validate, check; what bounds say of an expression is proved",
        ("tools/graph/", "tests/import/onnx/control_test.cpp", "schema/released/"),
    ),
    (
        r"\bmeasured(/|\.h|_test|_by| (symbol|extent|dim))|\b(is|reads|bind|read|show)_measured\b"
        r"|\bMeasure(Hook|dSymbol)\b|\"Measure\"",
        "data_dependent, resolve",
        (),
    ),
    (
        r"\bPicture\w*|\bk\w*Pictures?\b|\w_pictures?\b|\bpicture_\w+"
        r"|(?<![\"`/-])\bpictures?\b(?!\.(pt2|bson|npz)|[\"`])",
        "image, ImageInput, NhwcView",
        ("tests/import/", "tests/frameworks/", "schema/released/"),
    ),
    (r"\bmeasured/|\bcuda/(picture|products)/|\bcpu/picture/", "the folders of kernels/", ()),
    (
        r"\bconst Steps&|\b(Row|Image|Group|Weight|Softmax|Quantize|Wide|Block)Steps\b",
        "QuantParams: a scale and a zero point",
        (),
    ),
    (
        r"\bis_word\b|\bis_word_type\b|\bWord(Row|Reciprocal|Block|Ends|Table)\b|\blower_words\b"
        r"|\bByte(Graph|Tile\w*|Conv\w+|Band|Halo|Chain|Means)\b",
        "int16, int8 (Int16Row, Int8Graph)",
        (),
    ),
    (
        r"\bHalves::|\benum class Halves\b|(int|Halves) kHalves\b",
        "ReducedPrecision, kStepsPerStage",
        (),
    ),
    (
        r"\bPairWeights\b|session/pairs\b|product_\w+_of_pairs\b|quantized_pairs\b",
        "packed f16 weights",
        (),
    ),
    (r"quick_weights|weights_quick|quick_functions|elementwise_quick", "relaxed, vectorized", ()),
    (r"\b\w*few_rows\w*|\bk?FewRows\w*", "skinny", ()),
    (r"\b(plain|tensors)\.inl\b", "scalar_kernels.inl, vector_kernels.inl", ()),
    (
        r"\b(keep_precision|enough_elements|keep_apart|large_blocks|spell_out\w*)\b|aten/found\.h",
        "precision_fallback, suggest_dim_bound, refuse_path_overlap, spill_file, decompose",
        (),
    ),
    (r"\b[Oo]pen (dimension|extent)s?\b", "dynamic dimension", ()),
    (r"\b([Dd]rawn|[Mm]ade) inputs?\b", "random inputs", ()),
    (r"[Bb]eside (the peers\b(?! kern)|torch\b(?!')|onnxruntime\b)", "compared with", ()),
    (r"\b(which|that|it|this) is said\b|\b(nothing|what \w+ \w+) is said\b", "is reported", ()),
    (r"ConversionError ?\(?[1-8]\b", "the class of error: ConversionError(kUnsupported)", ()),
]


def findings(name, text):
    if name.startswith(LEFT_OUT) or not name.endswith(ENDINGS):
        return
    for pattern, instead, allowed in FORBIDDEN:
        if name.startswith(allowed or "\0"):
            continue
        for found in re.finditer(pattern, text):
            line = text.count("\n", 0, found.start()) + 1
            yield f"{name}:{line}: '{found.group(0)}': write {instead} (tools/lint/words.py)"


def suspected(names):
    """Those of `names` that break a rule somewhere: git searches in a twentieth of Python's time.
    All of them where git was built without it."""
    rules = [word for pattern, _, _ in FORBIDDEN for word in ("-e", pattern)]
    search = ["git", "grep", "--untracked", "-lzP", *rules]
    found = subprocess.run(search, cwd=ROOT, capture_output=True, text=True)
    return names if found.returncode > 1 else sorted({*found.stdout.split("\0")} & {*names})


def words_of(texts):
    def counted(name, text):
        paragraphs = text.split("\n\n")
        if name.endswith("README.md"):
            paragraphs = [one for one in paragraphs if not one.startswith(FACTS)]
        return sum(len(one.split()) for one in paragraphs)

    return {name: counted(name, text) for name, text in texts.items() if name.endswith(".md")}


def too_many(texts, limit=DOCUMENT_WORDS):
    """Names the longest pages if Markdown has more words than the limit."""
    words = words_of(texts)
    if sum(words.values()) <= limit:
        return []
    longest = sorted(words, key=words.get, reverse=True)[:3]
    pages = ", ".join(f"{name} {words[name]}" for name in longest)
    return [
        f"Markdown: {sum(words.values())} words, limit {limit} (tools/lint/words.py): shorten what "
        f"your change added, or another page; the longest are {pages}"
    ]


def main():
    tree = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    names = [name for name in tree if name.endswith(ENDINGS) and (ROOT / name).exists()]
    texts = {name: (ROOT / name).read_text(errors="replace") for name in names}
    suspects = suspected(names)
    wrong = [line for name in suspects for line in findings(name, texts[name])]
    wrong += too_many(texts)
    summary = f"{len(names)} files, {sum(words_of(texts).values())} words of Markdown"
    print("\n".join(wrong + [f"words: {summary}, {len(wrong)} wrong"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
