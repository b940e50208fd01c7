#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the pages of `ingot why --html`, `ingot report` and `ingot compare --html` in a real
browser: they draw, a click answers, nothing is fetched, no script fails, also of a network of five
thousand nodes, in bounded time.

  pages.py --ingot BINARY [--keep FOLDER]

Needs chromium; onnx and numpy for the large network."""

import json
import pathlib
import re
import shutil
import struct
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, ingot_parser, run  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parents[2]
DATA = HERE / "tests/cli/data"
LIMIT_S = 60  # of two starts of the browser on one page
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Clicks what a person would and leaves what it saw in an element of its own.
CLICKS = """<script>
function find(text) {
  const box = document.getElementById('find');
  if (!box) return '';
  box.value = text;
  box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}));
  return document.getElementById('panel').textContent;
}
window.addEventListener('load', () => {
  const out = document.createElement('pre'); out.id = 'seen';
  const g = [...document.querySelectorAll('g.node')].pop();
  if (g) g.dispatchEvent(new MouseEvent('click', {bubbles: true}));
  const panel = document.getElementById('panel');
  const boxes = [...document.querySelectorAll('svg rect, svg circle')].map(r => r.getBoundingClientRect());
  out.textContent = JSON.stringify({svgs: document.querySelectorAll('svg').length, shapes: boxes.length,
    drawn: boxes.filter(b => b.width > 0 && b.height > 0).length, panel: panel ? panel.textContent : '',
    nodes: document.querySelectorAll('g.node').length, blocks: document.querySelectorAll('#memory rect').length,
    chosen: document.querySelectorAll('g.chosen').length, found: find('/last'), requests: performance.getEntriesByType('resource').length});
  document.body.appendChild(out);
});
</script>"""


def browser(arguments, page):
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--virtual-time-budget=3000",
        "--enable-logging=stderr",
        "--disable-dev-shm-usage",
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ]
    return run(PROGRAM, flags, arguments, page.as_uri(), seconds=180)


def deep_network(path, blocks=260, channels=8):
    """An image's network with five nodes a block, two of which read the same value; no two of its
    weights are alike."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save

    rng, nodes, weights, x = np.random.default_rng(11), [], [], "x"
    for b in range(blocks):
        for side in ("left", "right"):
            weight = rng.standard_normal((channels, channels, 1, 1)).astype(np.float32) * 0.25
            weights.append(numpy_helper.from_array(weight, f"w{b}{side}"))
            nodes.append(
                helper.make_node(
                    "Conv", [x, f"w{b}{side}"], [f"c{b}{side}"], name=f"/block{b}/{side}"
                )
            )
        nodes.append(
            helper.make_node(
                "MaxPool",
                [f"c{b}left"],
                [f"p{b}"],
                name=f"/block{b}/pool",
                kernel_shape=[3, 3],
                pads=[1] * 4,
            )
        )
        nodes.append(helper.make_node("Tanh", [f"p{b}"], [f"t{b}"], name=f"/block{b}/tanh"))
        last = b + 1 == blocks
        x = "y" if last else f"a{b}"
        nodes.append(
            helper.make_node(
                "Add", [f"t{b}", f"c{b}right"], [x], name="/last" if last else f"/block{b}/add"
            )
        )
    ports = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, channels, 8, 8]) for n in ("x", "y")
    ]
    graph = helper.make_graph(nodes, "deep", ports[:1], ports[1:], weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return len(nodes)


def image_size(path):
    head = path.read_bytes()[:24]
    return struct.unpack(">II", head[16:24]) if head[:8] == b"\x89PNG\r\n\x1a\n" else (0, 0)


def look_at(page, clicks_nodes, nodes=0, blocks=0):
    """Everything that is wrong with a page; `nodes` and `blocks` are the least that a graph and a
    map of memory have to show."""
    wrong, began = [], time.monotonic()
    shot = page.with_suffix(".png")
    ran = browser(["--window-size=1200,1400", f"--screenshot={shot}"], page)
    if not shot.exists() or image_size(shot) != (1200, 1400) or shot.stat().st_size < 15000:
        wrong.append(f"no image, or an empty one: {ran.stderr[-300:]}")
    wrong += [
        line
        for line in ran.stderr.splitlines()
        if "CONSOLE" in line and ("Error" in line or "error" in line)
    ]
    clicked = page.with_name(page.stem + "-clicked.html")
    clicked.write_text(page.read_text().replace("</body>", CLICKS + "</body>"))
    dom = browser(["--dump-dom"], clicked).stdout
    seen = re.search(r'<pre id="seen">(.*?)</pre>', dom, re.S)
    if not seen:
        return wrong + ["the page's scripts did not come to their end"]
    seen = json.loads(
        seen.group(1)
        .replace("&quot;", '"')
        .replace("&amp;", "&")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
    )
    if seen["svgs"] < 1 or seen["drawn"] < 2:
        wrong.append(f"hardly anything is drawn: {seen}")
    if seen["requests"]:
        wrong.append(f"{seen['requests']} requests were made")
    took = time.monotonic() - began
    if took > LIMIT_S:
        wrong.append(f"drawn twice in {took:.0f} s, expected at most {LIMIT_S}")
    if seen["nodes"] < nodes or seen["blocks"] < blocks:
        wrong.append(
            f"{seen['nodes']} nodes and {seen['blocks']} values in memory, expected {nodes} and {blocks}"
        )
    if nodes and "/last" not in seen["found"]:
        wrong.append(f"searching the last node shows: {seen['found'][:200]}")
    if nodes or blocks:
        print(
            f"{page.stem}: {page.stat().st_size / 1e6:.1f} MB, {max(seen['nodes'], seen['blocks'])} shapes, drawn twice in {took:.1f} s"
        )
    if clicks_nodes and (seen["chosen"] != 1 or "instruction" not in seen["panel"]):
        wrong.append(f"a click on a node shows nothing: {seen['panel'][:200]}")
    return wrong


def main():
    global PROGRAM
    parser = ingot_parser(__doc__)
    parser.add_argument("--keep", help="leave pages and images in this folder")
    arguments = parser.parse_args()
    PROGRAM = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if not PROGRAM:
        print("[skip] no browser (chromium) to look at the pages with")
        return 0
    folder = pathlib.Path(arguments.keep or tempfile.mkdtemp(prefix="ingot-pages-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    source, file = HERE / "examples/digits/digits.onnx", folder / "digits.ingot"
    checks = Checks("browser")
    pages = {
        "why": (["why", file, "--html"], {"clicks_nodes": False}),
        "report": (["report", file, "-o"], {"clicks_nodes": True, "blocks": 2}),
        "compare": (["compare", source, file, "--html"], {"clicks_nodes": True}),
        "compare-wrong": (
            ["compare", DATA / "linear.onnx", "--golden", DATA / "linear_wrong.npz", "--html"],
            {"clicks_nodes": True},
        ),
    }
    conversions = [(source, file)]
    try:
        deep, deep_file = folder / "deep.onnx", folder / "deep.ingot"
        count = deep_network(deep)
        conversions.append((deep, deep_file))
        pages["why-deep"] = (["why", deep_file, "--html"], {"clicks_nodes": False, "blocks": 500})
        huge, huge_file = folder / "huge.onnx", folder / "huge.ingot"
        deep_network(huge, blocks=1300)
        conversions.append((huge, huge_file))
        pages["report-huge"] = (
            ["report", huge_file, "-o"],
            {"clicks_nodes": True, "nodes": 5000, "blocks": 2500},
        )
        pages["compare-deep"] = (
            ["compare", deep, deep_file, "--html"],
            {"clicks_nodes": True, "nodes": count},
        )
    except ImportError as missing:
        checks.skip(f"pages of a large network: {missing.name} is not to be had")
    for one, converted in conversions:
        run(arguments.ingot, "convert", one, "-o", converted).succeeded()
    for name, (words, expected) in pages.items():
        page = folder / f"{name}.html"
        out = page.with_suffix("") if words[0] == "report" else page  # a folder with the page
        ran = run(arguments.ingot, words, out)
        if out.is_dir():
            (out / "index.html").rename(page)
        wrong = look_at(page, **expected) if page.exists() else [f"no page: {ran.stderr.strip()}"]
        checks.report(name, "; ".join(wrong))
    if not arguments.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return checks.finish()


sys.exit(main())
