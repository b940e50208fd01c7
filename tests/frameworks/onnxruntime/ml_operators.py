#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators of ai.onnx.ml, drawn at random, against onnxruntime: tree ensembles in all their forms,
linear models and support vectors, scalers, encoders, imputers, normalizers. With --time what
ensembles of 10 to 1,000 trees take in both.

  ml_operators.py --ingot BIN [--seeds N] [--time] [name ...]

Needs the packages onnx and onnxruntime."""

import json
import pathlib
import sys
import time

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, RunError, Ingot, ingot_parser, work_folder  # noqa: E402

ML = "ai.onnx.ml"
KINDS = {
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "int64": TensorProto.INT64,
}
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]
TOLERANCE = 2e-5  # of the largest: sums of trees in another order


class Case:
    def __init__(self, rng):
        self.rng, self.fed, self.ports, self.node, self.version = rng, {}, [], None, 3

    def feed(self, array):
        name = f"x{len(self.fed)}"
        self.fed[name] = array
        kind = KINDS[array.dtype.name]
        self.ports.append(helper.make_tensor_value_info(name, kind, ["N", *array.shape[1:]]))
        return name

    def rows(self, features, whole=False):
        """Numbers on a coarse grid, so that thresholds are met exactly."""
        x = self.rng.integers(-8, 9, (int(self.rng.integers(1, 40)), features)) / 4
        return self.feed(x.astype(np.int64 if whole else np.float32))

    def op(self, op, inputs, outputs=1, **attributes):
        self.node = helper.make_node(
            op, inputs, [f"y{i}" for i in range(outputs)], domain=ML, **attributes
        )

    def model(self):
        ports = [helper.make_tensor_value_info(n, 0, None) for n in self.node.output]
        graph = helper.make_graph([self.node], "drawn", self.ports, ports)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, self.version)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        for port in model.graph.output:
            port.ClearField("type")
        return model


def grow(rng, features, depth, modes, lists, tree):
    """One tree: its nodes into lists; gives the leaves."""
    leaves, count = [], 0

    def node(level):
        nonlocal count
        at = count
        count += 1
        for key in lists:
            lists[key].append(0)
        place = len(lists["treeids"]) - 1
        lists["treeids"][place], lists["nodeids"][place] = tree, at
        leaf = level == depth or (level > 0 and rng.random() < 0.2)
        lists["modes"][place] = "LEAF" if leaf else str(rng.choice(modes))
        if leaf:
            leaves.append(at)
            return at
        lists["featureids"][place] = int(rng.integers(0, features))
        lists["values"][place] = float(rng.integers(-8, 9) / 4)
        lists["missing_value_tracks_true"][place] = int(rng.integers(0, 2))
        lists["truenodeids"][place] = node(level + 1)
        lists["falsenodeids"][place] = node(level + 1)
        return at

    node(0)
    return leaves


KEYS = "treeids nodeids modes featureids values missing_value_tracks_true truenodeids falsenodeids"


def forest(rng, features, trees, depth, modes):
    lists = {key: [] for key in KEYS.split()}
    leaves = [(t, n) for t in range(trees) for n in grow(rng, features, depth, modes, lists, t)]
    return {f"nodes_{key}": value for key, value in lists.items()}, leaves


def some_modes(rng):
    kind = rng.integers(0, 3)
    return ["BRANCH_LEQ"] if kind == 0 else MODES if kind == 1 else [str(rng.choice(MODES))]


def with_nan(c, name):
    if c.rng.random() < 0.4:
        c.fed[name][c.rng.random(c.fed[name].shape) < 0.2] = np.nan


def regressor(c):
    features, targets = int(c.rng.integers(1, 7)), int(c.rng.integers(1, 4))
    nodes, leaves = forest(c.rng, features, int(c.rng.integers(1, 9)), 4, some_modes(c.rng))
    aggregate = str(c.rng.choice(["SUM", "AVERAGE", "MIN", "MAX"]))
    x = c.rows(features)
    with_nan(c, x)
    every = [(t, n, k) for t, n in leaves for k in range(targets)]
    more = {}
    if c.rng.random() < 0.5:
        more["base_values"] = c.rng.standard_normal(targets).tolist()
    c.op(
        "TreeEnsembleRegressor",
        [x],
        n_targets=targets,
        aggregate_function=aggregate,
        post_transform=str(c.rng.choice(TRANSFORMS)) if targets > 1 else "NONE",
        target_treeids=[t for t, _, _ in every],
        target_nodeids=[n for _, n, _ in every],
        target_ids=[k for _, _, k in every],
        target_weights=c.rng.standard_normal(len(every)).tolist(),
        **nodes,
        **more,
    )


def classifier(c):
    features, classes = int(c.rng.integers(1, 7)), int(c.rng.integers(2, 5))
    nodes, leaves = forest(c.rng, features, int(c.rng.integers(1, 9)), 4, some_modes(c.rng))
    x = c.rows(features)
    with_nan(c, x)
    single = classes == 2
    every = [(t, n, k) for t, n in leaves for k in ([0] if single else range(classes))]
    weights = c.rng.uniform(0, 1, len(every)) - (0.5 if c.rng.random() < 0.5 else 0)
    if single and weights.min() >= 0:
        weights /= int(nodes["nodes_treeids"][-1]) + 1
    transform = str(c.rng.choice(["NONE", "LOGISTIC"] if single else TRANSFORMS))
    c.op(
        "TreeEnsembleClassifier",
        [x],
        2,
        classlabels_int64s=[int(n) for n in c.rng.permutation(9)[:classes]],
        post_transform=transform,
        class_treeids=[t for t, _, _ in every],
        class_nodeids=[n for _, n, _ in every],
        class_ids=[k for _, _, k in every],
        class_weights=weights.tolist(),
        **nodes,
    )


def ensemble(c):
    """The form of opset 5, with sets among the modes."""
    rng, targets = c.rng, int(c.rng.integers(1, 3))
    features, trees = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    dtype = np.float64 if rng.random() < 0.4 else np.float32
    lists = {k: [] for k in "featureids splits modes trueids falseids trueleafs falseleafs".split()}
    weights, ids, members, roots = [], [], [], []

    def leaf():
        weights.append(float(rng.standard_normal()))
        ids.append(int(rng.integers(0, targets)))
        return len(weights) - 1

    def node(level):
        at = len(lists["modes"])
        for values in lists.values():
            values.append(0)
        lists["featureids"][at] = int(rng.integers(0, features))
        mode = int(rng.integers(0, 7))
        lists["modes"][at] = mode
        lists["splits"][at] = float(rng.integers(-8, 9) / 4)
        if mode == 6:
            members.append([float(v) for v in rng.integers(0, 3, int(rng.integers(1, 4)))])
        for side in ("true", "false"):
            last = level == 3 or rng.random() < 0.3
            lists[f"{side}leafs"][at] = int(last)
            lists[f"{side}ids"][at] = leaf() if last else node(level + 1)
        return at

    for _ in range(trees):
        roots.append(node(0))
    # sets stand in the order of the nodes
    sets = np.array([v for m in members for v in [*m, np.nan]], dtype)
    tensor = lambda values, kind: numpy_helper.from_array(np.array(values, kind))  # noqa: E731
    c.version = 5
    x = (rng.integers(-8, 9, (int(rng.integers(1, 40)), features)) / 4).astype(dtype)
    c.op(
        "TreeEnsemble",
        [c.feed(x)],
        n_targets=targets,
        aggregate_function=1,
        post_transform=0,
        tree_roots=roots,
        nodes_featureids=lists["featureids"],
        nodes_splits=tensor(lists["splits"], dtype),
        nodes_modes=tensor(lists["modes"], np.uint8),
        nodes_truenodeids=lists["trueids"],
        nodes_falsenodeids=lists["falseids"],
        nodes_trueleafs=lists["trueleafs"],
        nodes_falseleafs=lists["falseleafs"],
        leaf_targetids=ids,
        leaf_weights=tensor(weights, dtype),
        **({"membership_values": numpy_helper.from_array(sets)} if members else {}),
    )


def linear_regressor(c):
    features, targets = int(c.rng.integers(1, 9)), int(c.rng.integers(1, 4))
    c.op(
        "LinearRegressor",
        [c.rows(features)],
        targets=targets,
        coefficients=c.rng.standard_normal(features * targets).tolist(),
        intercepts=c.rng.standard_normal(targets).tolist(),
    )


def linear_classifier(c):
    features, classes = int(c.rng.integers(1, 9)), int(c.rng.integers(2, 5))
    rows = 1 if classes == 2 and c.rng.random() < 0.5 else classes
    c.op(
        "LinearClassifier",
        [c.rows(features)],
        2,
        coefficients=c.rng.standard_normal(features * rows).tolist(),
        intercepts=c.rng.standard_normal(rows).tolist(),
        classlabels_ints=[int(n) for n in c.rng.permutation(9)[:classes]],
        post_transform=str(
            c.rng.choice(["NONE", "SOFTMAX", "LOGISTIC"] if rows > 1 else ["NONE", "LOGISTIC"])
        ),
    )


def kernel(c):
    kind = str(c.rng.choice(["LINEAR", "POLY", "RBF", "SIGMOID"]))
    return {"kernel_type": kind, "kernel_params": [0.2, 0.5, 2.0]}


def svm_regressor(c):
    features, count = int(c.rng.integers(1, 9)), int(c.rng.integers(1, 9))
    c.op(
        "SVMRegressor",
        [c.rows(features)],
        n_supports=count,
        one_class=int(c.rng.random() < 0.2),
        coefficients=c.rng.standard_normal(count).tolist(),
        support_vectors=c.rng.standard_normal(count * features).tolist(),
        rho=[float(c.rng.standard_normal())],
        **kernel(c),
    )


def svm_classifier(c):
    features, classes = int(c.rng.integers(1, 9)), int(c.rng.integers(2, 5))
    each = [int(n) for n in c.rng.integers(1, 5, classes)]
    count = sum(each)
    c.op(
        "SVMClassifier",
        [c.rows(features)],
        2,
        classlabels_ints=list(range(classes)),
        vectors_per_class=each,
        coefficients=c.rng.standard_normal((classes - 1) * count).tolist(),
        support_vectors=c.rng.standard_normal(count * features).tolist(),
        rho=c.rng.standard_normal(classes * (classes - 1) // 2).tolist(),
        **kernel(c),
    )


def scaler(c):
    n = int(c.rng.integers(1, 6))
    c.op(
        "Scaler",
        [c.rows(n, c.rng.random() < 0.3)],
        offset=c.rng.standard_normal(n).tolist(),
        scale=c.rng.standard_normal(n).tolist(),
    )


def imputer(c):
    n = int(c.rng.integers(1, 6))
    if c.rng.random() < 0.4:
        values = [int(v) for v in c.rng.integers(0, 9, n)]
        return c.op(
            "Imputer", [c.rows(n, True)], imputed_value_int64s=values, replaced_value_int64=1
        )
    x = c.rows(n)
    missing = float("nan") if c.rng.random() < 0.5 else 0.25
    with_nan(c, x)
    values = c.rng.standard_normal(n if c.rng.random() < 0.5 else 1).tolist()
    c.op("Imputer", [x], imputed_value_floats=values, replaced_value_float=missing)


def normalizer(c):
    x = c.rows(4)
    c.fed[x][0] = 0
    c.fed[x] = np.abs(c.fed[x])
    c.op("Normalizer", [x], norm=str(c.rng.choice(["MAX", "L1", "L2"])))


def binarizer(c):
    c.op("Binarizer", [c.rows(3)], threshold=0.25)


def choose(c):
    whole = np.array([c.rng.integers(0, 4, int(c.rng.integers(1, 5)))])
    x = c.rows(4)
    c.ports.append(helper.make_tensor_value_info("i", TensorProto.INT64, whole.shape))
    c.fed["i"] = whole
    c.op("ArrayFeatureExtractor", [x, "i"])


def join(c):
    x = c.rows(3)
    y = c.feed(c.fed[x][:, :2] * 2)
    c.op("FeatureVectorizer", [x, y], inputdimensions=[3, 2])


def encode(c):
    keys = [int(k) for k in c.rng.permutation(9)[:5] - 3]
    if c.rng.random() < 0.5:
        values = c.rng.standard_normal(5).tolist()
        return c.op(
            "LabelEncoder",
            [c.rows(3, True)],
            keys_int64s=keys,
            values_floats=values,
            default_float=0.5,
        )
    values = [int(v) for v in c.rng.integers(0, 99, 5)]
    c.op(
        "LabelEncoder",
        [c.rows(3)],
        keys_floats=[float(k) for k in keys],
        values_int64s=values,
        default_int64=-7,
    )


def one_hot(c):
    c.op("OneHotEncoder", [c.rows(2, True)], cats_int64s=[-2, 0, 1, 2], zeros=1)


CASES = {
    "TreeEnsembleRegressor": regressor,
    "TreeEnsembleClassifier": classifier,
    "TreeEnsemble": ensemble,
    "LinearRegressor": linear_regressor,
    "LinearClassifier": linear_classifier,
    "SVMRegressor": svm_regressor,
    "SVMClassifier": svm_classifier,
    "Scaler": scaler,
    "Imputer": imputer,
    "Normalizer": normalizer,
    "Binarizer": binarizer,
    "ArrayFeatureExtractor": choose,
    "FeatureVectorizer": join,
    "LabelEncoder": encode,
    "OneHotEncoder": one_hot,
}


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def compare(ingot, case):
    model = case.model().SerializeToString()
    expected = dict(zip(case.node.output, session_of(model).run(None, case.fed)))
    rows = next(iter(case.fed.values())).shape[0]
    try:
        found = ingot.computed(model, case.fed)
    except RunError as error:
        return str(error)
    for name, wanted in expected.items():
        wanted = np.asarray(wanted)
        if found[name].shape != wanted.shape:
            return f"{name}: {found[name].shape} is not {wanted.shape} ({rows} rows)"
        if wanted.dtype.kind in "iu":
            if not np.array_equal(found[name], wanted):
                return f"{name}: {found[name].ravel()[:6]} is not {wanted.ravel()[:6]}"
            continue
        most = max(float(np.nanmax(np.abs(wanted), initial=0)), 1.0)
        same = np.isclose(found[name], wanted, rtol=0, atol=TOLERANCE * most, equal_nan=True)
        if not same.all():
            at = tuple(int(i[0]) for i in np.nonzero(~same))
            return f"{name}{list(at)}: {found[name][at]} is not {wanted[at]}"
    return ""


def session_of_threads(model, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def median_ms(session, name, batches):
    """Of a run. Each gets rows that the runs before it did not have: a processor that sees a few
    thousand branches again guesses them all."""
    times = []
    for rows in batches:
        start = time.perf_counter()
        session.run(None, {name: rows})
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times))


def measure(ingot):
    """Milliseconds of a run of both, 20 features, 7 levels; 0 threads: as many as each chooses."""
    rng = np.random.default_rng(1)
    print(
        "| trees | batch | threads | ingot ms | onnxruntime ms |\n| --- | --- | --- | --- | --- |"
    )
    slower = total = 0
    for trees in (10, 100, 1000):
        nodes, leaves = forest(rng, 20, trees, 7, ["BRANCH_LEQ"])
        case = Case(rng)
        x = case.feed(rng.uniform(-2, 2, (1, 20)).astype(np.float32))
        case.op(
            "TreeEnsembleRegressor", [x], n_targets=1,
            target_treeids=[t for t, _ in leaves], target_nodeids=[n for _, n in leaves],
            target_ids=[0] * len(leaves), target_weights=rng.standard_normal(len(leaves)).tolist(),
            **nodes,
        )  # fmt: skip
        model = case.model().SerializeToString()
        ingot.convert(model, "-q").succeeded()
        for batch in (1, 1000):
            batches = rng.uniform(-2, 2, (200 if batch == 1 else 50, batch, 20)).astype(np.float32)
            for threads in (0, 1, 2):
                theirs = median_ms(session_of_threads(model, threads), x, batches)
                options = ("--dim", f"N={batch}", "--threads", threads, "--json")
                done = ingot("bench", ingot.file, *options).succeeded()
                ours = json.loads(done.stdout)["median_ms"]
                slower, total = slower + (ours > theirs), total + 1
                print(f"| {trees} | {batch} | {threads} | {ours:.4f} | {theirs:.4f} |", flush=True)
    print(f"{total - slower} of {total} at least as fast as onnxruntime")


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--time", action="store_true")
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_intermixed_args()
    checks = Checks("ml_operators")
    with work_folder() as folder:
        ingot = Ingot(args.ingot, folder)
        if args.time:
            return measure(ingot)
        for name, draw in CASES.items():
            if args.names and not any(n in name for n in args.names):
                continue
            for seed in range(args.seeds):
                case = Case(np.random.default_rng([seed, *name.encode()]))
                draw(case)
                checks.report(f"{name}, seed {seed}", compare(ingot, case))
    sys.exit(checks.finish())


if __name__ == "__main__":
    main()
