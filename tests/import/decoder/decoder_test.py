#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small Llama as GGUF on the command line: a prompt in parts, positions that do not fit, where
keys and values are written, split files; and the same as a folder of Hugging Face.

  decoder_test.py --ingot BIN
"""

import json
import pathlib
import re
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
from testing import Checks, Ingot, ingot_parser, numpy_or_skip, work_folder  # noqa: E402

np = numpy_or_skip("small language models")
from gguf_writer import write_gguf  # noqa: E402

LAYERS, WIDTH, HEADS, KV_HEADS, HIDDEN, VOCABULARY, CONTEXT = 2, 32, 4, 2, 48, 61, 24


def small_llama(width=WIDTH):
    metadata = {
        "general.architecture": "llama",
        "llama.block_count": LAYERS,
        "llama.context_length": 64,
        "llama.embedding_length": width,
        "llama.feed_forward_length": HIDDEN,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KV_HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
    }
    rng = np.random.default_rng(1)
    matrix = lambda rows, columns: (rng.standard_normal((rows, columns)) / 4).astype(np.float32)
    tensors = {"token_embd.weight": matrix(VOCABULARY, width)}
    row = width // HEADS * KV_HEADS
    for layer in range(LAYERS):
        for name, rows, columns in (
            ("attn_q", width, width),
            ("attn_k", row, width),
            ("attn_v", row, width),
            ("attn_output", width, width),
            ("ffn_gate", HIDDEN, width),
            ("ffn_up", HIDDEN, width),
            ("ffn_down", width, HIDDEN),
        ):
            tensors[f"blk.{layer}.{name}.weight"] = matrix(rows, columns)
        for name in ("attn_norm", "ffn_norm"):
            tensors[f"blk.{layer}.{name}.weight"] = np.ones(width, np.float32)
    tensors["output_norm.weight"] = np.ones(width, np.float32)
    return metadata, tensors


class Run:
    """One conversation: tokens go in, what the last one gives comes out."""

    def __init__(self, ingot, name):
        self.ingot, self.at = ingot, 0
        self.state = pathlib.Path(ingot.folder) / f"{name}.state"

    def __call__(self, tokens):
        tokens = np.asarray(tokens, np.int32).reshape(1, -1)
        fed = {"tokens": tokens, "position": np.array([self.at], np.int64)}
        self.at += tokens.shape[1]
        return self.ingot.outputs(fed, state=self.state)["logits"]


def check_parts(checks, ingot, tokens):
    """The bits of the last token do not depend on how what is before it was given."""
    whole = Run(ingot, "whole")(tokens)
    for sizes in ([1] * len(tokens), [5, len(tokens) - 6, 1], [len(tokens) - 1, 1]):
        run, at = Run(ingot, "parts" + "_".join(map(str, sizes))), 0
        for size in sizes:
            found = run(tokens[at : at + size])
            at += size
        checks.check(
            np.array_equal(whole, found), f"{len(sizes)} runs give the bits of one", str(sizes)
        )
    again = Run(ingot, "whole")  # a new conversation over the caches of the last one
    checks.check(np.array_equal(again(tokens), whole), "position 0 begins anew")


def check_slots(checks, ingot, source, tokens, *words):
    """Two of three slots in one run, row by row in turns, have the bits of lone runs."""
    checks.report("convert", ingot.convert(source, *words).error)
    prompts = {2: tokens, 0: tokens[::-1]}
    lone = [Run(ingot, f"lone{slot}")(prompt) for slot, prompt in prompts.items()]
    checks.report("convert with slots", ingot.convert(source, "--slots", 3, *words).error)
    state = pathlib.Path(ingot.folder) / "slots.state"
    last = len(tokens) - 1
    for begin, end in ((0, last), (last, last + 1)):
        rows = [(prompts[s][at], at, s) for at in range(begin, end) for s in prompts]
        token, position, slot = np.array(rows, np.int64).T[:, None]
        chosen = np.arange(len(rows))[None] - 2
        fed = {"tokens": token.astype(np.int32), "position": position, "slot": slot}
        logits = ingot.outputs({**fed, "rows": chosen % len(rows)}, state=state)["logits"]
    for i, wanted in enumerate(lone):
        checks.check(np.array_equal(logits[i : i + 1], wanted), f"slot {i}: the bits of a lone run")


def check_lookup(checks, ingot, source, tokens, *words):
    """Logits of several tokens of one run have the bits of lone runs."""
    checks.report("convert", ingot.convert(source, *words).error)
    lone = [Run(ingot, f"until{count}")(tokens[:count]) for count in (9, 11, 12)]
    checks.report("convert with look-up", ingot.convert(source, "--lookup", 2, *words).error)
    rows = np.zeros((1, 12), np.int64)
    rows[0, :3] = 8, 10, 11
    fed = {"tokens": np.array([tokens], np.int32), "position": np.zeros(1, np.int64), "rows": rows}
    found = ingot.outputs(fed)["logits"]
    checks.check(np.array_equal(found, np.concatenate(lone)), "rows that are asked for")


def check_bounds(checks, ingot):
    folder = pathlib.Path(ingot.folder)

    def refused(tokens, position, name):
        fed = {
            "in:tokens": np.array([tokens], np.int32),
            "in:position": np.array([position], np.int64),
        }
        np.savez(folder / "bad.npz", **fed)
        files = ("--inputs", folder / "bad.npz", "--outputs", folder / "o.npz")
        done = ingot("run", ingot.file, "-q", *files)
        checks.check(done.returncode != 0 and "index" in done.stderr, name, done.output)

    refused([1, 2, 3], CONTEXT - 2, "a position + T beyond the context is refused")
    refused([1], CONTEXT, "a position behind the context is refused")
    refused([1], -1, "a position of -1 is refused")
    refused([1], -(2**63), "the least position is refused")
    refused([1], 2**63 - 1, "the largest position is refused")
    refused([VOCABULARY], 0, "a token beyond the vocabulary is refused")
    refused([-1], 0, "a token of -1 is refused")


def check_in_place(checks, ingot):
    """Rows are scattered into the caches, and nothing copies one."""
    listed = ingot("inspect", ingot.file, "--ops").output
    rows = [line for line in listed.splitlines() if re.match(r"\s*\d+ ", line)]
    scatters = [row for row in rows if " scatter_nd " in row]
    copies = [row for row in rows if re.search(r" (copy|concat|slice|transpose) ", row)]
    checks.check(len(scatters) == 2 * LAYERS, "a scatter for each cache", listed)
    checks.check(not copies, "nothing copies a cache", "\n".join(copies))


def check_cache(checks, ingot, source, kind, tokens, *words):
    """Caches of another type: fewer bytes, near the logits of f32, and the same bits among
    themselves."""
    dtype, share, most = {"f16": ("f16", 1 / 2, 2e-3), "q8": ("u8", 9 / 32, 4e-2)}[kind]

    def state_bytes():
        return json.loads(ingot("why", ingot.file, "--json").stdout)["memory"]["state"]

    for saved in pathlib.Path(ingot.folder).glob("*.state"):
        saved.unlink()
    checks.report("convert", ingot.convert(source, *words).error)
    bytes_of_f32, whole = state_bytes(), Run(ingot, "f32")(tokens)
    words = (*words, "--cache", kind)
    checks.report(f"convert with {kind}", ingot.convert(source, *words).error)
    checks.check(state_bytes() == share * bytes_of_f32, f"bytes of {kind}", state_bytes())
    checks.check(f"{dtype} [" in ingot("inspect", ingot.file).output, "inspect names the type")
    found = Run(ingot, kind)(tokens)
    error = np.abs(found - whole).max() / np.abs(whole).max()
    checks.check(0 < error < most, f"{kind} differs by {error:.1e} of the largest logit")
    check_parts(checks, ingot, tokens)
    check_bounds(checks, ingot)
    check_slots(checks, ingot, source, tokens[:12], *words)
    check_lookup(checks, ingot, source, tokens[:12], *words)


def check_split(checks, ingot, metadata, tensors, whole, tokens):
    folder = pathlib.Path(ingot.folder)
    names = list(tensors)
    parts = [names[:5], names[5:6], names[6:]]
    for i, part in enumerate(parts):
        own = {"split.no": i, "split.count": 3}
        path = folder / f"split-{i + 1:05d}-of-00003.gguf"
        write_gguf(path, {**own, **(metadata if i == 0 else {})}, {n: tensors[n] for n in part})
    first = folder / "split-00001-of-00003.gguf"
    checks.report("split file", ingot.convert(first, "--context", CONTEXT).error)
    split = Run(ingot, "split")(tokens)
    checks.check(np.array_equal(split, whole), "a split file is the same model")
    (folder / "split-00002-of-00003.gguf").unlink()
    checks.report("missing part", ingot.convert(first).refusal(7, "split-00002-of-00003.gguf"))
    checks.report(
        "second part",
        ingot.convert(folder / "split-00003-of-00003.gguf").refusal(5, "not its first"),
    )


def write_safetensors(path, tensors):
    kinds = {"float32": "F32", "float16": "F16", "int32": "I32", "int64": "I64", "uint8": "U8"}
    kinds["uint16"], kinds["void8"] = "BF16", "F8_E4M3"  # their bits
    header, data = {}, b""
    for name, array in tensors.items():
        offsets, kind = [len(data), len(data) + array.nbytes], kinds[array.dtype.name]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": offsets}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def folder_of(tensors):
    """Configuration and tensors, rows of q and k as halves."""
    width = len(tensors["output_norm.weight"])
    config = {
        "model_type": "llama",
        "hidden_size": width,
        "intermediate_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "max_position_embeddings": 64,
        "rms_norm_eps": 1e-5,
        "vocab_size": VOCABULARY,
        "tie_word_embeddings": True,
        "hidden_act": "silu",
        "torch_dtype": "float32",
    }
    names = {
        "attn_q": "self_attn.q_proj",
        "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj",
        "ffn_gate": "mlp.gate_proj",
        "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
        "attn_norm": "input_layernorm",
        "ffn_norm": "post_attention_layernorm",
    }
    out = {}
    for name, array in tensors.items():
        if name in ("token_embd.weight", "output_norm.weight"):
            out["model.embed_tokens.weight" if "embd" in name else "model.norm.weight"] = array
            continue
        _, layer, kind, _ = name.split(".")
        if kind in ("attn_q", "attn_k"):
            halves = array.reshape(-1, width // HEADS // 2, 2, width).swapaxes(1, 2)
            array = np.ascontiguousarray(halves.reshape(array.shape))
        out[f"model.layers.{layer}.{names[kind]}.weight"] = array
    return config, out


def check_folder(checks, ingot, tensors, whole, tokens):
    folder = pathlib.Path(ingot.folder) / "llama"
    folder.mkdir()
    config, own = folder_of(tensors)
    write_safetensors(folder / "model.safetensors", own)

    def convert(changed=None, text=None):
        written = {**config, **(changed or {})}
        (folder / "config.json").write_text(text or json.dumps(written))
        return ingot.convert(folder, "--context", CONTEXT)

    done = convert({"mystery": 3})
    checks.report("folder", done.error)
    checks.check("mystery" in done.output, "what is not read is named", done.output)
    own = Run(ingot, "folder")(tokens)
    checks.check(np.array_equal(own, whole), "a folder has the bits of the GGUF file")
    refusals = {
        "an unknown model_type": ({"model_type": "lama"}, 4, ["'lama'", "nearest is 'llama'"]),
        "quantized weights": ({"quantization_config": {"bits": 4}}, 4, ["quant_method", "awq"]),
        "experts": ({"num_local_experts": 8}, 4, ["num_local_experts"]),
        "another activation": ({"hidden_act": "gelu_new"}, 4, ["hidden_act", "gelu_new"]),
        "an unknown rope": ({"rope_scaling": {"type": "spiral"}}, 4, ["spiral", "longrope"]),
        "a head that is missing": ({"tie_word_embeddings": False}, 5, ["lm_head.weight"]),
        "another width": ({"hidden_size": 64}, 5, ["[61, 32], expected [61, 64]"]),
        "a width beyond reason": ({"hidden_size": 1e30}, 4, ["hidden_size"]),
        "a text for a number": ({"num_hidden_layers": "2"}, 4, ["num_hidden_layers"]),
        "no layers": ({"num_hidden_layers": 0}, 4, ["num_hidden_layers"]),
        "more layers": ({"num_hidden_layers": 3}, 5, ["model.layers.2.", "is missing"]),
        "fewer layers": ({"num_hidden_layers": 1}, 5, ["model.layers.1.", "not expected"]),
        "a larger vocabulary": ({"vocab_size": 62}, 5, ["62", "61 rows"]),
    }
    for name, (changed, code, words) in refusals.items():
        checks.report(name, convert(changed).refusal(code, *words))
    checks.report("no object", convert(text="[1]").refusal(2, "no JSON object"))
    checks.report("no JSON", convert(text="{").refusal(2, "config.json"))
    checks.report("deep JSON", convert(text="[" * 9999).refusal(2, "config.json"))
    (folder / "model.safetensors").unlink()
    checks.report("no weights", convert().refusal(7, "pytorch_model.bin or the index of shards"))


def main():
    args = ingot_parser(__doc__).parse_args()
    checks = Checks("decoder")
    metadata, tensors = small_llama()
    tokens = np.random.default_rng(2).integers(0, VOCABULARY, CONTEXT - 4)
    with work_folder() as folder:
        ingot = Ingot(args.ingot, folder, suffix=".gguf")
        source = pathlib.Path(folder) / "llama.gguf"
        write_gguf(source, metadata, tensors)
        done = ingot.convert(source, "--context", CONTEXT)
        checks.report("convert", done.error)
        checks.check("--context" in done.output, "a note names --context", done.output)
        check_parts(checks, ingot, tokens)
        whole = Run(ingot, "first")(tokens)
        check_bounds(checks, ingot)
        check_in_place(checks, ingot)
        version2 = pathlib.Path(folder) / "v2.gguf"
        write_gguf(version2, metadata, tensors, version=2)
        checks.report("version 2", ingot.convert(version2, "--context", CONTEXT).error)
        checks.check(np.array_equal(Run(ingot, "v2")(tokens), whole), "version 2 is the same model")
        check_split(checks, ingot, metadata, tensors, whole, tokens)
        check_slots(checks, ingot, source, tokens[:12], "--context", CONTEXT)
        check_lookup(checks, ingot, source, tokens[:12], "--context", CONTEXT)
        check_cache(checks, ingot, source, "f16", tokens, "--context", CONTEXT)
        refused = ingot.convert(source, "--cache", "q4")
        checks.report("an unknown type", refused.refusal(1, "--cache q4: expected f32, f16 or q8"))
        refused = ingot.convert(source, "--cache", "q8")
        checks.report("heads of 8", refused.refusal(5, "--cache q8: heads are 8 wide", "32"))
        wide = pathlib.Path(folder) / "wide.gguf"
        write_gguf(wide, *small_llama(32 * HEADS))
        check_cache(checks, ingot, wide, "q8", tokens, "--context", CONTEXT)
        refused = ingot.convert(source, "--context", CONTEXT, "--lookup", CONTEXT)
        checks.report("a look-up of all tokens of a run", refused.refusal(5, "--lookup 24"))
        refused = ingot.convert(source, "--context", CONTEXT, "--slots", CONTEXT + 1)
        checks.report("more slots than tokens of a run", refused.refusal(5, "--slots 25", "24"))
        check_folder(checks, ingot, tensors, whole, tokens)
        checks.report(
            "--weights",
            ingot.convert(source, "--weights", source).refusal(4, "language model"),
        )
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
