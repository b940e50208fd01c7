#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Encoders of random weights as folders and as GGUF: vectors of `ingot embed` against NumPy in
double, poolings, texts that are cut, a decoder that gives vectors, what is refused.

  encoders_test.py --ingot BIN
"""

import json
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
from testing import Checks, Ingot, ingot_parser, largest_error, run, work_folder  # noqa: E402
from testing import numpy_or_skip  # noqa: E402

np = numpy_or_skip("small encoders")
from decoder_test import CONTEXT as LLAMA_CONTEXT  # noqa: E402
from decoder_test import folder_of, small_llama  # noqa: E402
from encoder_models import BERT, CONTEXT, DENSE, GEMMA, HEADS, HIDDEN, LAYERS, NAMES  # noqa: E402
from encoder_models import VOCABULARY, WIDTH, random_weights, rows_of, vector_of  # noqa: E402
from encoder_models import write_folder  # noqa: E402
from gguf_writer import write_gguf  # noqa: E402
from random_models import BOTH, LLAMA_LAYER  # noqa: E402

TEXTS = ["Catty cats, 12!", "a", "The quick brown fox jumps."]
TOLERANCE = 2e-5


def embedded(ingot, *words):
    """What `ingot embed --json` says of each text."""
    done = ingot("embed", ingot.file, "--json", "-q", *words)
    return json.loads(done.succeeded().stdout)["texts"]


def ids_of(ingot, text):
    return json.loads(ingot("tokenize", ingot.file, text, "--json").succeeded().stdout)["ids"]


def check_vectors(checks, ingot, config, weights, name, pooling="mean", normalize=True, dense=()):
    """Of each text, whatever was computed before it."""
    texts = [word for text in TEXTS for word in ("--text", text)]
    answers = embedded(ingot, *texts)
    for text, answer in zip(TEXTS, answers):
        ids = ids_of(ingot, text)
        wanted = vector_of(rows_of(config, weights, ids), pooling, normalize, dense)
        error = largest_error(np.array(answer["embedding"]), wanted, 1e-3)
        checks.check(error < TOLERANCE, f"{name}: '{text}' differs by {error:.1e}")
        checks.check(answer["tokens"] == len(ids) and not answer["cut"], f"{name}: tokens")
    alone = embedded(ingot, "--text", TEXTS[-1])[0]["embedding"]
    checks.check(alone == answers[-1]["embedding"], f"{name}: a text alone gives the same bits")
    return answers


def check_tokenizers(checks, ingot, folder, answers):
    """vocab.txt in the place of tokenizer.json, and one that is longer than any configuration."""
    texts = [word for text in TEXTS for word in ("--text", text)]
    path, words = folder / "tokenizer.json", folder / "vocab.txt"
    path.write_text(path.read_text() + " " * (2 << 20))
    ingot.convert(folder / "config.json").succeeded()
    checks.check(embedded(ingot, *texts) == answers, "a long tokenizer.json")
    path.unlink()
    words.write_text("\n".join(VOCABULARY) + "\n")
    ingot.convert(folder / "config.json").succeeded()
    checks.check(embedded(ingot, *texts) == answers, "vocab.txt")
    words.write_text("[UNK]\na\na\n")
    done = ingot.convert(folder / "config.json")
    checks.report("two words", done.refusal(2, "two lines are 'a'"))
    words.unlink()


def check_gguf(checks, ingot, weights, wanted):
    """The same BERT with the names and keys of llama.cpp."""
    metadata = {
        "general.architecture": "bert",
        "bert.block_count": LAYERS,
        "bert.context_length": CONTEXT,
        "bert.embedding_length": WIDTH,
        "bert.feed_forward_length": HIDDEN,
        "bert.attention.head_count": HEADS,
        "bert.attention.layer_norm_epsilon": 1e-12,
        "bert.attention.causal": False,
        "bert.pooling_type": 1,
        "tokenizer.ggml.model": "bert",
        "tokenizer.ggml.token_type_count": 2,
        "tokenizer.ggml.tokens": [
            text[2:] if text.startswith("##") else text if text[0] == "[" else "\u2581" + text
            for text in VOCABULARY
        ],
        "tokenizer.ggml.token_type": [3 if text[0] == "[" else 1 for text in VOCABULARY],
        "tokenizer.ggml.unknown_token_id": 1,
        "tokenizer.ggml.cls_token_id": 2,
        "tokenizer.ggml.seperator_token_id": 3,
    }
    layer = {
        "attention.self.query": "attn_q",
        "attention.self.key": "attn_k",
        "attention.self.value": "attn_v",
        "attention.output.dense": "attn_output",
        "attention.output.LayerNorm": "attn_output_norm",
        "intermediate.dense": "ffn_up",
        "output.dense": "ffn_down",
        "output.LayerNorm": "layer_output_norm",
    }
    whole = {
        "embeddings.word_embeddings": "token_embd",
        "embeddings.position_embeddings": "position_embd",
        "embeddings.token_type_embeddings": "token_types",
        "embeddings.LayerNorm": "token_embd_norm",
    }
    tensors = {}
    for name, array in weights.items():
        module, part = name.rsplit(".", 1)
        if module.startswith("encoder.layer."):
            number, own = module.removeprefix("encoder.layer.").split(".", 1)
            tensors[f"blk.{number}.{layer[own]}.{part}"] = array
        elif module in whole:
            tensors[f"{whole[module]}.{part}"] = array
    path = pathlib.Path(ingot.folder) / "bert.gguf"
    write_gguf(path, metadata, tensors)
    ingot.convert(path).succeeded()
    answers = embedded(ingot, *[word for text in TEXTS for word in ("--text", text)])
    same = [a["embedding"] == b["embedding"] for a, b in zip(answers, wanted)]
    checks.check(all(same), "bert as GGUF gives the bits of the folder")
    for kind, words in ((None, "pooling_type"), (4, "is 4")):
        changed = {k: v for k, v in metadata.items() if k != "bert.pooling_type"}
        write_gguf(path, changed | ({} if kind is None else {"bert.pooling_type": kind}), tensors)
        checks.report(f"pooling {kind}", ingot.convert(path).refusal(4, words, "expected 1"))


def check_gguf_of_gemma(checks, ingot, weights, wanted):
    names = {**LLAMA_LAYER, **BOTH}
    tensors = {f"dense_{i}.weight": matrix for i, matrix in enumerate(DENSE, 2)}
    for name, array in weights.items():
        array = array + np.float32(1) if "norm" in name else array
        if name.startswith("layers."):
            _, number, module = name.removesuffix(".weight").split(".", 2)
            tensors[f"blk.{number}.{names[module]}.weight"] = array
        else:
            own = {"embed_tokens.weight": "token_embd", "norm.weight": "output_norm"}[name]
            tensors[own + ".weight"] = array
    metadata = {
        "context_length": CONTEXT,
        "embedding_length": WIDTH,
        "block_count": LAYERS,
        "feed_forward_length": HIDDEN,
        "attention.head_count": HEADS,
        "attention.head_count_kv": 2,
        "attention.key_length": 8,
        "attention.value_length": 8,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "attention.sliding_window": 6,
        "attention.sliding_window_pattern": [True, False, True],
        "attention.causal": False,
        "rope.freq_base": 1e6,
        "pooling_type": 1,
        "dense_2_feat_in": WIDTH,
        "dense_2_feat_out": 40,
        "dense_3_feat_in": 40,
        "dense_3_feat_out": 12,
    }
    path = pathlib.Path(ingot.folder) / "gemma.gguf"
    ids = np.array([ids_of(ingot, TEXTS[-1])], np.int32)
    keyed = {f"gemma-embedding.{k}": v for k, v in metadata.items()}
    write_gguf(path, {"general.architecture": "gemma-embedding", **keyed}, tensors)
    ingot.convert(path).succeeded()
    same = ingot.outputs({"tokens": ids})["embedding"][0]
    wanted = np.array(wanted[-1]["embedding"], np.float32)
    checks.check(np.array_equal(same, wanted), "EmbeddingGemma as GGUF gives the folder's bits")
    keyed["gemma-embedding.dense_3_feat_in"] = 41
    write_gguf(path, {"general.architecture": "gemma-embedding", **keyed}, tensors)
    checks.report("a width", ingot.convert(path).refusal(4, "dense_3_feat_in", "expected 40"))


def check_dense(checks, ingot, source):
    """What of a matrix behind the pooling is refused."""
    path = source / "2_Dense/config.json"
    whole = json.loads(path.read_text())
    for change, words in (
        ({"activation_function": "torch.nn.modules.activation.Tanh"}, "expected Identity"),
        ({"bias": True}, "bias"),
        ({"in_features": 0}, "in_features is 0"),
        ({"out_features": 41}, "takes 40 numbers and gets 41"),
    ):
        path.write_text(json.dumps(whole | change))
        done = ingot.convert(source / "config.json")
        checks.check(done.returncode in (4, 5) and words in done.stderr, words, done.output)
    path.write_text(json.dumps(whole))
    (source / "3_Dense/model.safetensors").unlink()
    done = ingot.convert(source / "config.json")
    checks.check(done.returncode == 7, "no weights of a matrix", done.output)


def check_decoder(checks, ingot):
    """The last row of a decoder: times the tied head it is the logits, but for one factor."""
    metadata, tensors = small_llama()
    path = pathlib.Path(ingot.folder) / "llama.gguf"
    tokens = np.arange(3, 14, dtype=np.int32)[None]
    write_gguf(path, metadata, tensors)
    ingot.convert(path, "--context", LLAMA_CONTEXT).succeeded()
    logits = ingot.outputs({"tokens": tokens, "position": np.zeros(1, np.int64)})["logits"][0]
    write_gguf(path, metadata | {"llama.pooling_type": 3}, tensors)
    refused = ingot.convert(path, "--cache", "f16")
    checks.report("an embedding model has no cache", refused.refusal(5, "--cache f16", "nothing"))
    ingot.convert(path, "--context", LLAMA_CONTEXT).succeeded()
    vector = ingot.outputs({"tokens": tokens})["embedding"][0].astype(np.float64)
    found = tensors["token_embd.weight"] @ vector
    error = largest_error(found * np.linalg.norm(logits) / np.linalg.norm(found), logits, 1e-3)
    checks.check(error < TOLERANCE, f"the last row of a decoder differs by {error:.1e}")
    checks.check(abs(np.linalg.norm(vector) - 1) < 1e-6, "its length is 1")
    config, named = folder_of(tensors)
    source = pathlib.Path(ingot.folder) / "llama"  # stored without the "model." of its names
    short = {name.removeprefix("model."): array for name, array in named.items()}
    write_folder(source, config, short, "last")
    (source / "tokenizer.json").unlink()
    ingot.convert(source / "config.json", "--context", LLAMA_CONTEXT).succeeded()
    same = ingot.outputs({"tokens": tokens})["embedding"][0]
    checks.check(np.array_equal(same, vector.astype(np.float32)), "a decoder's folder is the same")
    checks.report(
        "no tokenizer", ingot("embed", ingot.file, "--text", "a").refusal(5, "no tokenizer")
    )
    done = ingot("generate", ingot.file, "--prompt", "a")
    checks.report("an embedding model generates nothing", done.refusal(5))


def check_command(checks, ingot, folder):
    """Files, prompts, and texts that are too long. The context is 9 tokens."""
    lines, output = folder / "lines.txt", folder / "out.npy"
    lines.write_text("cat\r\n" + "cat " * 20 + "\na")
    done = ingot("embed", ingot.file, "--file", lines, "-o", output).succeeded()
    checks.check("1 of 3 texts" in done.stderr and "(22)" in done.stderr, "counts", done.stderr)
    texts = embedded(ingot, "--text", "cat", "--text", "cat " * 20, "--text", "a")
    listed = np.array([one["embedding"] for one in texts], np.float32)
    checks.check(np.array_equal(np.load(output), listed), "a file has the vectors of its lines")
    checks.check([one["cut"] for one in texts] == [False, True, False], "which text was cut")
    cut = embedded(ingot, "--text", "cat " * 7)[0]
    checks.check(not cut["cut"] and cut["embedding"] == texts[1]["embedding"], "what is cut")
    asked = embedded(ingot, "--prompt", "query", "--text", "cat")
    plain = embedded(ingot, "--text", "ask cat")
    checks.check(asked == plain == embedded(ingot, "--prefix", "ask ", "--text", "cat"), "prompts")
    printed = ingot("embed", ingot.file, "-q", "--text", "cat").succeeded().stdout.split()
    checks.check(np.array_equal(np.array(printed, np.float32), listed[0]), "numbers on a line")
    refused = lambda name, code, *words, **extra: checks.report(
        name, ingot("embed", ingot.file, *extra.get("options", ())).refusal(code, *words)
    )
    before = lines.read_bytes()
    refused("over its own lines", 1, options=["--file", lines, "-o", lines])
    checks.check(lines.read_bytes() == before, "the lines are as they were")
    refused("an empty text", 5, "text 1 is empty", options=["--text", ""])
    lines.write_text("a\n\nb\n")
    refused("an empty line", 5, "text 2 is empty", options=["--file", lines])
    lines.write_text("")
    refused("no line", 5, "no text", options=["--file", lines])
    refused("both", 1, "name one", options=["--file", lines, "--text", "a"])
    refused("a prompt", 5, "no prompt 'x'", options=["--text", "a", "--prompt", "x"])


def check_search(checks, ingot, folder):
    """examples/search: each paragraph is nearest to itself."""
    example = HERE.parents[2] / "examples" / "search" / "search.py"
    notes = folder / "notes.txt"
    notes.write_text("Cats sleep\nall day.\n\nFoxes jump.\n")

    def search(*words):
        command = (sys.executable, example, ingot.file, folder / "notes.db", *words)
        return run(command, env={"INGOT": str(ingot.program)}).succeeded().stdout

    for _ in range(2):  # the second time replaces
        search("add", notes)
    found = search("find", "foxes", "jump.").splitlines()
    checks.check(found[0] == f"1.000  {notes}: Foxes jump." and len(found) == 2, "search", found)


def check_refusals(checks, ingot, folder, weights):
    source = folder / "refused"

    def refused(name, code, *words, config=BERT, change=None, **how):
        shutil.rmtree(source, ignore_errors=True)
        write_folder(source, config, weights, **how)
        if change:
            change()
        checks.report(name, ingot.convert(source / "config.json").refusal(code, *words))

    refused("the largest of rows", 4, "pooling_mode_max_tokens", pooling="max")
    refused("no modules", 7, "modules.json", change=(source / "modules.json").unlink)
    dense = [{"idx": 0, "path": "2_Dense", "type": "sentence_transformers.models.Dense"}]
    write = lambda: (source / "modules.json").write_text(json.dumps(dense))
    refused("a dense layer before a pooling", 4, "models.Dense", change=write)
    dense[0]["path"] = "../refused/2_Dense"
    refused("a module outside of the folder", 3, "../refused/2_Dense", "beside", change=write)
    refused("a dense layer of another width", 5, "takes 40", dense=DENSE[1:])
    refused("three dense layers", 4, "expected 2 at most", dense=[DENSE[0]] * 3)
    refused("positions", 4, "relative", config=BERT | {"position_embedding_type": "relative_key"})
    refused("an activation", 4, "hidden_act", config=BERT | {"hidden_act": "relu"})
    done = ingot.convert(source / "config.json", "--context", CONTEXT + 1)
    checks.check(done.returncode != 0, "more than the learned positions")


def main():
    args = ingot_parser(__doc__).parse_args()
    checks = Checks("small encoders")
    with work_folder() as work:
        folder, ingot = pathlib.Path(work), Ingot(args.ingot, work, suffix=".gguf")
        for name, config in NAMES.items():
            source, weights = folder / name, random_weights(config)
            prefix = {"bert": "bert.", "modernbert": "model."}.get(name, "")
            dense = DENSE if config is GEMMA else ()
            write_folder(source, config, weights, prefix=prefix, dense=dense)
            ingot.convert(source / "config.json").succeeded()
            back = folder / "back.safetensors"
            done = ingot("extract", ingot.file, "-o", back)
            same = ingot("diff", source / "model.safetensors", back).returncode == 0
            is_back = done.returncode == 0 and (same or dense)
            checks.check(is_back, f"{name}: its weights back", done.output)
            answers = check_vectors(checks, ingot, config, weights, name, dense=dense)
            if config is GEMMA:
                check_gguf_of_gemma(checks, ingot, weights, answers)
                check_dense(checks, ingot, source)
            if name == "bert":
                check_tokenizers(checks, ingot, source, answers)
                check_gguf(checks, ingot, weights, answers)
                write_folder(source, config, weights, "cls", most=9)
                ingot.convert(source / "config.json").succeeded()
                check_command(checks, ingot, folder)
                check_search(checks, ingot, folder)
                for pooling, normalize in (("cls", True), ("last", False)):
                    write_folder(source, config, weights, pooling, normalize, most=9)
                    ingot.convert(source / "config.json", "--context", CONTEXT).succeeded()
                    check_vectors(checks, ingot, config, weights, pooling, pooling, normalize)
                check_refusals(checks, ingot, folder, weights)
        check_decoder(checks, ingot)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
