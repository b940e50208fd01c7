#!/usr/bin/env python3
"""Opens the pages of `ingot why --html` and `ingot compare --html` in a real browser: they draw, a click answers, nothing is
fetched, no script fails. Usage: pages.py --ingot BINARY [--keep FOLDER]   (needs chromium; numpy for nothing)"""
import argparse
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Clicks what a person would and leaves what it saw in an element of its own.
CLICKS = """<script>
window.addEventListener('load', () => {
  const out = document.createElement('pre'); out.id = 'seen';
  const g = document.querySelector('g.node');
  if (g) g.dispatchEvent(new MouseEvent('click', {bubbles: true}));
  const panel = document.getElementById('panel');
  const boxes = [...document.querySelectorAll('svg rect, svg circle')].map(r => r.getBoundingClientRect());
  out.textContent = JSON.stringify({svgs: document.querySelectorAll('svg').length, shapes: boxes.length,
    drawn: boxes.filter(b => b.width > 0 && b.height > 0).length, panel: panel ? panel.textContent : '',
    chosen: document.querySelectorAll('g.chosen').length, requests: performance.getEntriesByType('resource').length});
  document.body.appendChild(out);
});
</script>"""


def browser(arguments, page):
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=3000", "--enable-logging=stderr",
             "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND"]
    return subprocess.run([PROGRAM, *flags, *arguments, page.as_uri()], capture_output=True, text=True, timeout=180, errors="replace")


def picture_size(path):
    head = path.read_bytes()[:24]
    return struct.unpack(">II", head[16:24]) if head[:8] == b"\x89PNG\r\n\x1a\n" else (0, 0)


def look_at(page, clicks_nodes):
    """Everything that is wrong with a page."""
    wrong = []
    shot = page.with_suffix(".png")
    ran = browser(["--window-size=1200,1400", f"--screenshot={shot}"], page)
    if not shot.exists() or picture_size(shot) != (1200, 1400) or shot.stat().st_size < 15000:
        wrong.append(f"no picture, or an empty one: {ran.stderr[-300:]}")
    wrong += [line for line in ran.stderr.splitlines() if "CONSOLE" in line and ("Error" in line or "error" in line)]
    clicked = page.with_name(page.stem + "-clicked.html")
    clicked.write_text(page.read_text().replace("</body>", CLICKS + "</body>"))
    dom = browser(["--dump-dom"], clicked).stdout
    seen = re.search(r'<pre id="seen">(.*?)</pre>', dom, re.S)
    if not seen:
        return wrong + ["the page's scripts did not come to their end"]
    seen = json.loads(seen.group(1).replace("&quot;", '"').replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
    if seen["svgs"] < 1 or seen["drawn"] < 2:
        wrong.append(f"hardly anything is drawn: {seen}")
    if seen["requests"]:
        wrong.append(f"{seen['requests']} requests were made")
    if clicks_nodes and (seen["chosen"] != 1 or "instruction" not in seen["panel"]):
        wrong.append(f"a click on a node shows nothing: {seen['panel'][:200]}")
    return wrong


def main():
    global PROGRAM
    parser = argparse.ArgumentParser()
    parser.add_argument("--ingot", required=True)
    parser.add_argument("--keep", help="leave pages and pictures in this folder")
    arguments = parser.parse_args()
    PROGRAM = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if not PROGRAM:
        print("[skip] no browser (chromium) to look at the pages with")
        return 0
    folder = pathlib.Path(arguments.keep or tempfile.mkdtemp(prefix="ingot-pages-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    source, file = HERE / "examples/digits/digits.onnx", folder / "digits.ingot"
    ingot = lambda *words: subprocess.run([arguments.ingot, *map(str, words)], capture_output=True, text=True)
    failed = passed = 0
    pages = {
        "why": (["why", file, "--html"], False),
        "compare": (["compare", source, file, "--html"], True),
        "compare-wrong": (["compare", HERE / "tests/cli/data/linear.onnx", "--golden", HERE / "tests/cli/data/linear_wrong.npz", "--html"], True),
    }
    made = ingot("convert", source, "-o", file)
    if made.returncode:
        print(made.stderr)
        return 1
    for name, (words, clicks_nodes) in pages.items():
        page = folder / f"{name}.html"
        ran = ingot(*words, page)
        wrong = [] if page.exists() else [f"no page: {ran.stderr.strip()}"]
        if page.exists():
            wrong = look_at(page, clicks_nodes)
        failed += bool(wrong)
        passed += not wrong
        for line in wrong:
            print(f"[fail] {name}: {line}")
    print(f"browser: {passed} passed, {failed} failed")
    if not arguments.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return failed > 0


sys.exit(main())
