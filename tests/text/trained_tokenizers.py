# SPDX-License-Identifier: Apache-2.0
"""Tokenizers that the library `tokenizers` (PyPI) trains here, one of each kind, and random and
adversarial texts for them (against_tokenizers.py)."""

import json
import pathlib
import random
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parents[2]

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN35 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+"
    r"[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LARGE, SMALL = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
BEFORE, BEHIND = r"[^\r\n\p{L}\p{N}]?", r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
GPT4O = (
    f"{BEFORE}{LARGE}*{SMALL}+{SHORT}|{BEFORE}{LARGE}+{SMALL}*{SHORT}" + r"|\p{N}{1,3}" + BEHIND
)
TEKKEN = f"{BEFORE}{LARGE}*{SMALL}+|{BEFORE}{LARGE}+{SMALL}*" + r"|\p{N}" + BEHIND
DEEPSEEK3 = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^""" + "\r\n" + r"\p{L}\p{P}\p{S}]?"
    r"[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[" + "\r\n]*" + r"|\s*[" + "\r\n]+" + r"|\s+(?!\S)|\s+"
)
HAN_KANA = "[一-龥぀-ゟ゠-ヿ]+"
HAN_HANGUL = "[一-龥ࠀ-一가-\ud7ff]+"


def byte_pairs(stages, ignore_merges=False, use_regex=False, behind=(), nfc=False):
    """A byte-level tokenizer between these stages."""
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    split = [
        (
            pre_tokenizers.Split(Regex(stage), "isolated")
            if isinstance(stage, str)
            else stage(pre_tokenizers)
        )
        for stage in stages
    ]
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)
    t = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    t.pre_tokenizer = pre_tokenizers.Sequence(
        [*split, byte_level, *(pre_tokenizers.Split(Regex(stage), "isolated") for stage in behind)]
    )
    t.decoder = decoders.ByteLevel()
    if nfc:
        t.normalizer = normalizers.NFC()
    return t, "BpeTrainer", {"initial_alphabet": pre_tokenizers.ByteLevel.alphabet()}


def sentence_pairs(metaspace):
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if metaspace:
        t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
        t.decoder = decoders.Sequence(
            [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
        )
    else:
        t.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        )
        t.decoder = decoders.Sequence(
            [
                decoders.Replace("▁", " "),
                decoders.ByteFallback(),
                decoders.Fuse(),
                decoders.Strip(" ", 1, 0),
            ]
        )
    special = ["<unk>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    return t, "BpeTrainer", {"special_tokens": special, "max_token_length": 12}


def unigram():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    t = Tokenizer(models.Unigram())
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    return t, "UnigramTrainer", {"special_tokens": ["<unk>"], "unk_token": "<unk>"}


def words(lowercase):
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece(cleanup=False)
    return t, "WordPieceTrainer", {"special_tokens": ["[UNK]", "[CLS]", "[SEP]"]}


def tokenizers():
    """name -> (tokenizer, its trainer, what the trainer takes)"""
    digits = lambda p: p.Digits(individual_digits=True)
    marks = lambda p: p.Punctuation("contiguous")
    deepseek_coder = ["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", HAN_HANGUL, digits]
    return {
        "llama3": byte_pairs([LLAMA3], True),
        "qwen2": byte_pairs([LLAMA3.replace("{1,3}", "")], nfc=True),
        "qwen35": byte_pairs([QWEN35]),
        "gpt4o": byte_pairs([GPT4O]),
        "tekken": byte_pairs([TEKKEN], True),
        "deepseek3": byte_pairs([r"\p{N}{1,3}", HAN_KANA, DEEPSEEK3]),
        "deepseek-coder": byte_pairs(deepseek_coder),
        "starcoder": byte_pairs([digits], use_regex=True),
        "falcon": byte_pairs([marks], use_regex=True, behind=["[0-9][0-9][0-9]"]),
        "bloom": byte_pairs([r" ?[^(\s|[.,!?…。，、।۔،])]+"]),
        "sentence pairs": sentence_pairs(False),
        "metaspace": sentence_pairs(True),
        "unigram": unigram(),
        "words": words(True),
        "words, cased": words(False),
    }


def train(name, maker, folder):
    """The tokenizer of that name, and its file."""
    from tokenizers import AddedToken, Tokenizer, processors, trainers

    t, trainer, options = tokenizers()[name]
    corpus, path = maker.corpus, folder / "tokenizer.json"
    if name == "unigram":  # which wants all characters in its vocabulary
        corpus = [text for text in corpus if text.isascii()] + Texts.PIECES
    made = getattr(trainers, trainer)(vocab_size=4000, show_progress=False, **options)
    t.train_from_iterator(corpus, made)
    if name in ("metaspace", "sentence pairs"):  # of the special tokens bytes are pieces again
        made = json.loads(t.to_str())
        added = made["added_tokens"]
        made["added_tokens"] = [a for a in added if not a["content"].startswith("<0x")]
        t = Tokenizer.from_str(json.dumps(made))
    t.add_tokens([AddedToken("<tool>", normalized=False)])
    t.add_special_tokens(["<|end|>"])
    if name in ("words", "llama3"):
        first, last = ("[CLS]", "[SEP]") if name == "words" else ("<|end|>", "<tool>")
        pair = [(first, t.token_to_id(first)), (last, t.token_to_id(last))]
        t.post_processor = processors.TemplateProcessing(
            single=f"{first} $A {last}", special_tokens=pair
        )
    t.save(str(path))
    return path, t


class Texts:
    """Random texts out of pieces that patterns and models treat apart."""

    PIECES = (
        "a b c the The THE ing HelloWorld ABCdef it's I'LL 'RE 'ſ 'Ve ' '' ’s "
        "don't\tx 1 12 123 1234567 ½ Ⅷ ٣ 一二 中文 日本語 カタカナ 한국어 각 é É e\u0301 ñ Å ﬁ ß İ "
        "ı ſ Σ ς ǅ Ǆ ᾳ Ωμ Ж ї א ש ع م ก ำ เ ไ ั ा ि क ्ष ௌ 😀 👩‍🔬 🇩🇪 🏳️‍🌈 ❤️ ™ © € ₿ "
        "$ + < = > ^ ` | ~ ! ? . , ; : - _ / // \\ … 。 「 ！ ～ 　 « » ‘x’ “ \u00ad "
        "\u200b \u200d \ufeff \u2028 \x00 \x01 \x1f \x7f \x85 \ue000 <tool> <|end|> "
        "<|end <unk> <0x41> ▁ ▁▁ ## ##ing [CLS] [UNK]"
    ).split(" ")
    SPACES = ["", "", "", " ", " ", "  ", "    ", "\n", "\n\n", " \n", "\r\n", "\t"]
    SPACES += ["\u00a0", "\u3000"]

    def __init__(self, seed):
        self.random = random.Random(seed)
        # What every version of Unicode in use agrees on; without the few spacing marks whose order
        # decomposition may change, which BERT's folding here does not.
        self.codes = [
            code
            for code in range(0x3134F)
            if unicodedata.category(chr(code)) not in ("Cs", "Cn", "Co")
            and (not unicodedata.combining(chr(code)) or unicodedata.category(chr(code)) == "Mn")
            and unicodedata.ucd_3_2_0.category(chr(code)) == unicodedata.category(chr(code))
        ]
        files = sorted((ROOT / "docs").rglob("*.md")) + sorted((ROOT / "runtime").rglob("*.cpp"))
        rows = range(0, len(self.codes), 64)
        self.corpus = [path.read_text(encoding="utf-8") for path in files[:120]]
        self.corpus += ["".join(chr(code) for code in self.codes[at : at + 64]) for at in rows]

    def one(self):
        r = self.random
        kind = r.random()
        if kind < 0.25:
            text = r.choice(self.corpus)
            begin = r.randrange(len(text) + 1)
            return text[begin : begin + r.randrange(1, 400)]
        if kind < 0.45:
            return "".join(chr(r.choice(self.codes)) for _ in range(r.randrange(1, 30)))
        if kind < 0.5:
            return r.choice(self.PIECES + self.SPACES) * r.randrange(1, 200)
        if kind < 0.55:  # characters that come apart and marks
            marks = [0x301, 0x323, 0x308, 0x5B0, 0x93C, 0x9BE, 0x1161, 0x11A8, 0x345, 0x300]
            heads = [0x61, 0x45, 0xE2, 0x1EAD, 0x3B1, 0x1100, 0xAC00, 0x9C7, 0x212B, 0x915, 0x20]
            return "".join(chr(r.choice(heads + marks + marks)) for _ in range(r.randrange(40)))
        return "".join(
            r.choice(self.PIECES) + r.choice(self.SPACES) for _ in range(r.randrange(0, 20))
        )
