#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chat templates through a conversion, of GGUF and of a folder of Hugging Face: the prompt that
`ingot generate --chat` makes, its ids, what inspect says, templates that are refused or missing.

  chat_test.py --ingot BIN
"""

import json
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
from testing import Checks, Ingot, ingot_parser, numpy_or_skip, work_folder  # noqa: E402

numpy_or_skip("chat templates of small language models")
from decoder_test import CONTEXT, VOCABULARY, folder_of  # noqa: E402
from decoder_test import small_llama, write_safetensors  # noqa: E402
from gguf_writer import write_gguf  # noqa: E402

NAMED = ["<unk>", "<s>", "</s>", "<|system|>", "<|user|>", "<|bot|>"]
LETTERS = list("abcdefghijklmnopqrstuvwxyz:.!?")
TEMPLATE = """{%- for m in messages %}
    {{- '<|' + m.role + '|>' + m.content }}
{%- endfor %}
{%- if mood is defined %}{{ mood }}{% endif %}
{%- if tools %}{{ tools[0].name }}{% endif %}
{%- if add_generation_prompt %}{{ '<|bot|>' }}{% endif %}"""
UNKNOWN = "a\n{{ messages | frob }}"


def tokenizer():
    tokens = NAMED + LETTERS + ["\u2581"]
    tokens += [f"<0x{i:02X}>" for i in range(VOCABULARY - len(tokens))]
    kinds = [2] + [3] * (len(NAMED) - 1) + [1] * (len(LETTERS) + 1)
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": kinds + [6] * (VOCABULARY - len(kinds)),
        "tokenizer.ggml.scores": [float(-i) for i in range(VOCABULARY)],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.add_space_prefix": False,
    }


def prompt(ingot, *options):
    done = ingot("generate", ingot.file, "--chat", "--show-prompt", *options)
    return done.stdout if done.returncode == 0 else done.output


def text_of(ingot):
    return json.loads(ingot("inspect", ingot.file, "--json").stdout)["text"]


def check_gguf(checks, ingot, folder):
    metadata, tensors = small_llama()
    source = folder / "llama.gguf"

    def convert(template, *options, **own):
        own.update({"tokenizer.chat_template": template} if template else {})
        own.update({"general.license": "mit", "general.sampling.temp": 0.5})
        write_gguf(source, {**metadata, **tokenizer(), **own}, tensors)
        return ingot.convert(source, "--context", CONTEXT, *options)

    checks.report("convert", convert(TEMPLATE).error)
    text = text_of(ingot)
    checks.check(text["pieces"] == VOCABULARY, "inspect counts pieces", str(text))
    checks.check(text["chat_template"]["refused"] == "", "inspect has a template", str(text))
    shown = ingot("inspect", ingot.file).stdout
    for words in ("SentencePiece pairs), a chat template", "licence", " mit\n",
                  "Control tokens: 1 <s>, 2 </s>, 3 <|system|>, 4 <|user|>, 5 <|bot|>\n",
                  "Sampling that the source asks for: temperature 0.5\n",
                  "  keys.0 to keys.1      2 x f32 ["):
        checks.check(words in shown, f"inspect says {words.strip()!r}", shown)
    said = prompt(ingot, "--prompt", "hi", "--system", "be")
    checks.check(said == "<|system|>be<|user|>hi<|bot|>", "the prompt", said)
    said = prompt(ingot, "--prompt", "hi", "--template-option", "mood=!", "--template-option",
                  "add_generation_prompt=false")
    checks.check(said == "<|user|>hi!", "options of the template", said)
    messages = folder / "messages.json"
    messages.write_text(json.dumps({"messages": [{"role": "user", "content": "x"}],
                                    "tools": [{"name": "t"}]}))
    checks.check(prompt(ingot, "--messages", messages) == "<|user|>xt<|bot|>", "messages of a file")
    done = ingot("generate", ingot.file, "--chat", "--prompt", "hi", "--tokens", 3, "--json")
    checks.report("generate", done.error)
    ids = json.loads(done.stdout)["prompt_ids"] if not done.error else None
    wanted = [4, len(NAMED) + LETTERS.index("h"), len(NAMED) + LETTERS.index("i"), 5]
    checks.check(ids == wanted, "control tokens are ids, and none is added", str(ids))
    done = ingot("generate", ingot.file, "--prompt", "a", "--lookup", 1)
    checks.report("look-up in a file without", done.refusal(5, "--lookup 1", "at most 0"))
    for name, text, code, words in (
        ("no JSON", "{", 2, ["messages.json"]),
        ("no messages", "{}", 5, ["is no conversation"]),
        ("no content", '[{"role": "user"}]', 5, ["line 2", "a value is undefined"]),
    ):
        messages.write_text(text)
        done = ingot("generate", ingot.file, "--chat", "--messages", messages)
        checks.report(name, done.refusal(code, *words))
    for name, words in {
        "two sources of messages": ["--chat", "--messages", messages, "--system", "a"],
        "an option without a value": ["--chat", "--prompt", "a", "--template-option", "mood"],
        "a system without a chat": ["--prompt", "a", "--system", "b"],
        "messages and a prompt": ["--chat", "--messages", messages, "--prompt", "a"],
        "messages and a file": ["--chat", "--messages", messages, "--file", messages],
    }.items():
        checks.report(name, ingot("generate", ingot.file, *words).refusal(1))
    for path, word in ((folder / "none", "no such file"), (folder, "is a folder")):
        for words in (["generate", ingot.file, "--file", path],
                      ["generate", ingot.file, "--chat", "--messages", path],
                      ["tokenize", ingot.file, "--file", path]):
            checks.report(f"{words[0]} {words[-2]}: {word}", ingot(*words).refusal(7, word))
    done = ingot("generate", ingot.file, "--prompt", "a" * 100)
    checks.report("a long prompt", done.refusal(5, f"a context of {CONTEXT} tokens, found 10"))
    done = convert(UNKNOWN)
    checks.report("convert with an unknown template", done.error)
    reason = "chat template, line 2: not known: the filter 'frob'"
    checks.check(reason in done.output, "a note names line and construct", done.output)
    checks.check(reason in text_of(ingot)["chat_template"]["refused"], "inspect has the reason")
    done = ingot("generate", ingot.file, "--chat", "--prompt", "a")
    checks.report("--chat of an unknown template", done.refusal(4, reason))
    done = ingot("generate", ingot.file, "--prompt", "a", "--tokens", 1)
    checks.report("without --chat", done.error)
    checks.report("convert without a template", convert(None).error)
    done = ingot("generate", ingot.file, "--chat", "--prompt", "a")
    checks.report("--chat without a template", done.refusal(5, "has no chat template"))
    draft, other = folder / "draft.ingot", folder / "other.ingot"
    shutil.copy(ingot.file, draft)
    tokens = tokenizer()["tokenizer.ggml.tokens"]
    tokens[7] = "B"
    checks.report("convert with a B", convert(TEMPLATE, **{"tokenizer.ggml.tokens": tokens}).error)
    shutil.copy(ingot.file, other)
    checks.report("convert with look-up", convert(TEMPLATE, "--lookup", 3).error)
    check_lookup(checks, ingot)
    check_draft(checks, ingot, draft, other)


def check_lookup(checks, ingot):
    """@pre the file was converted with --lookup 3"""
    words = ["--prompt", "abab", "--ignore-end", "--json", "--bias", f"{len(NAMED)}=1e6"]
    said = [json.loads(ingot("generate", ingot.file, *words, *more).succeeded().stdout)
            for more in ([], ["--lookup", 0], ["--lookup", 3])]
    checks.check(all(s["ids"] == said[0]["ids"] for s in said), "look-up: the same answer")
    counts = [s["lookup"] for s in said]
    checks.check(counts[0] == counts[2], "look-up as the file has it", counts)
    checks.check(counts[1] == {"proposed": 0, "accepted": 0}, "no look-up", counts)
    checks.check(counts[0]["accepted"] > 5, "look-up: fewer runs", counts)
    done = ingot("generate", ingot.file, "--prompt", "a", "--lookup", 4)
    checks.report("more look-up than the file's", done.refusal(5, "--lookup 4", "at most 3"))


def check_draft(checks, ingot, draft, other):
    """@pre as check_lookup(); `draft` has the same weights, `other` another token"""
    words = ["--prompt", "abab", "--ignore-end", "--temperature", 0.5, "--seed", 1, "--json"]
    with_draft = [*words, "--draft", draft]
    plain, said = (json.loads(ingot("generate", ingot.file, *w).succeeded().stdout)
                   for w in ([*words, "--lookup", 0], with_draft))
    checks.check(said["ids"] == plain["ids"], "a draft: the same answer")
    counts = said["draft"]
    checks.check(counts["accepted"] == counts["proposed"] > 5, "its own draft is right", counts)
    need = said["arena_bytes"] + counts["arena_bytes"]
    checks.check(said["arena_bytes"] == plain["arena_bytes"] > 0, "the draft's memory is its own")
    done = ingot("generate", ingot.file, *with_draft, "--arena-bytes", need)
    checks.report("--arena-bytes of both", done.error)
    done = ingot("generate", ingot.file, *with_draft, "--arena-bytes", need - 1)
    checks.report("a byte less", done.refusal(7, "draft.ingot"))
    chats = [ingot("chat", ingot.file, "--tokens", 5, *more, input="ab\nc\n").succeeded().stdout
             for more in ([], ["--draft", draft])]
    checks.check(chats[0] == chats[1], "a chat with a draft", chats)
    done = ingot("generate", ingot.file, *words, "--draft", other)
    checks.report("another vocabulary", done.refusal(5, "token 7 is 'B', expected 'b'"))
    done = ingot("generate", draft, *words, "--draft", draft)
    checks.report("a draft of a file without look-up", done.refusal(5, "--lookup N"))


def check_folder(checks, ingot, folder):
    _, tensors = small_llama()
    config, own = folder_of(tensors)
    place = folder / "llama"
    place.mkdir()
    write_safetensors(place / "model.safetensors", own)
    (place / "config.json").write_text(json.dumps(config))
    pieces = {letter: i for i, letter in enumerate(LETTERS)}
    added = [{"id": len(LETTERS) + i, "content": name, "special": True}
             for i, name in enumerate(NAMED)]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False}
    (place / "tokenizer.json").write_text(json.dumps(
        {"model": {"type": "BPE", "vocab": pieces, "merges": []}, "pre_tokenizer": byte_level,
         "decoder": {"type": "ByteLevel"}, "added_tokens": added}))
    settings = place / "tokenizer_config.json"
    ends = {"bos_token": "<s>", "eos_token": {"content": "</s>"}}
    shown = "{{ bos_token }}%s{{ messages[0].content }}{{ eos_token }}"

    def converted(template):
        settings.write_text(json.dumps({**ends, "chat_template": template}))
        done = ingot.convert(place, "--context", CONTEXT)
        return done.error or prompt(ingot, "--prompt", "hi")

    checks.check(converted(shown % "a") == "<s>ahi</s>", "a template of tokenizer_config.json")
    named = [{"name": "tool_use", "template": "t"}, {"name": "default", "template": shown % "d"}]
    checks.check(converted(named) == "<s>dhi</s>", "the default of several templates")
    (place / "chat_template.jinja").write_text(shown % "j")
    checks.check(converted(shown % "a") == "<s>jhi</s>", "chat_template.jinja comes first")
    asked = place / "generation_config.json"
    for draws, expected in ((True, {"top_k": "20", "top_p": "0.95"}), (False, {})):
        asked.write_text(json.dumps({"do_sample": draws, "top_k": 20, "top_p": 0.95}))
        checks.report("convert with generation_config.json", ingot.convert(place).error)
        found = json.loads(ingot("inspect", ingot.file, "--json").stdout)["sampling"]
        checks.check(found == expected, f"the sampling it asks for, do_sample {draws}", str(found))
    check_merges(checks, ingot, place)
    settings.write_text("{")
    checks.report("damaged", ingot.convert(place).refusal(2, "tokenizer_config.json"))


def check_merges(checks, ingot, place):
    """vocab.json and merges.txt in the place of tokenizer.json."""
    said = json.loads((place / "tokenizer.json").read_text())
    vocabulary = {**said["model"]["vocab"], "hi": VOCABULARY - 2, "hih": VOCABULARY - 1}
    said["model"].update(vocab=vocabulary, merges=["h i", "hi h"])
    settings = place / "tokenizer_config.json"
    begin = {"bos_token": {"content": "<s>"}, "eos_token": "</s>"}

    def ids(**own):
        settings.write_text(json.dumps({**begin, **own}))
        done = ingot.convert(place, "--context", CONTEXT)
        words = ["--prompt", "ahihb.", "--tokens", 1, "--json"]
        said = done.error or ingot("generate", ingot.file, *words)
        return said if done.error else said.error or json.loads(said.stdout)["prompt_ids"]

    (place / "tokenizer.json").write_text(json.dumps(said))
    wanted = ids()
    checks.check(VOCABULARY - 1 in wanted, "pairs merge", wanted)
    (place / "tokenizer.json").unlink()
    (place / "vocab.json").write_text(json.dumps(vocabulary))
    (place / "merges.txt").write_text("#version: 0.2\nh i\r\nhi h\n")
    added = {token["content"]: token["id"] for token in said["added_tokens"]}
    (place / "added_tokens.json").write_text(json.dumps(added))
    checks.check(ids() == wanted, "vocab.json and merges.txt", ids())
    first = ids(add_bos_token=True)
    checks.check(first == [added["<s>"], *wanted], "add_bos_token", first)
    (place / "added_tokens.json").unlink()
    fewer = {text: id for text, id in vocabulary.items() if text not in added}
    (place / "vocab.json").write_text(json.dumps(fewer))
    by_id = {str(id): {"content": text, "special": True} for text, id in added.items()}
    said = ids(added_tokens_decoder=by_id)
    checks.check(said == wanted, "added_tokens_decoder", said)
    ends = ids(added_tokens_decoder=by_id, add_eos_token=True)
    checks.check(ends == [*wanted, added["</s>"]], "add_eos_token", ends)
    for own, words in (
        ({"tokenizer_class": "Qwen2Tokenizer"}, (4, "tokenizer_class", "tokenizer.json")),
        ({"added_tokens_decoder": {"7.5": {"content": "a"}}}, (2, "id 7.5", "whole number")),
        ({"added_tokens_decoder": {"7": "a"}}, (2, "added token 7", "content")),
    ):
        settings.write_text(json.dumps({**begin, **own}))
        done = ingot.convert(place)
        checks.report(str(own), done.refusal(words[0], "tokenizer_config.json", *words[1:]))
    settings.write_text(json.dumps({**begin, "add_prefix_space": True}))
    done = ingot.convert(place)
    checks.report("a space in front", done.refusal(4, "tokenizer_config.json", "add_prefix_space"))
    for name in ("vocab.json", "added_tokens.json"):
        (place / name).write_text("[1]")
        settings.write_text("{}")
        done = ingot.convert(place)
        checks.report(f"{name} is a list", done.refusal(2, name, "no JSON object"))
        (place / name).write_text("{}")
    (place / "merges.txt").write_text("h\n")
    done = ingot.convert(place)
    checks.check(done.returncode in (2, 4, 5) and done.output.count("\n") < 3, done.output)


def main():
    args = ingot_parser(__doc__).parse_args()
    checks = Checks("chats")
    with work_folder() as folder:
        ingot = Ingot(args.ingot, folder, suffix=".gguf")
        check_gguf(checks, ingot, pathlib.Path(folder))
        check_folder(checks, ingot, pathlib.Path(folder))
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
