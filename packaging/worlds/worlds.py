#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ingot as packages of other worlds: the templates beside this file, filled in.

  worlds.py --ingot BIN --sources LIST --out DIR [WORLD..]

LIST names the sources of the core for microcontrollers, a line each, as cmake/IngotFirmware.cmake
writes it. WORLD is a row of the table WORLDS; all of them without one."""

import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# What a build of the runtime for Linux takes; the rest of the repository is tests and documents.
TREE = ("CMakeLists.txt", "LICENSE", "NOTICE", "cmake", "runtime", "kernels", "schema", "packaging")

# Where a world has the core's sources ("": it has none), where its example, and where the archive
# of the sources for Linux.
WORLDS = {
    "arduino": ("src", "examples/digits", ""),
    "platformio": ("src", "examples/digits/src", ""),
    "zephyr": ("src", "samples/digits/src", ""),
    "esp-idf": ("src", "examples/digits/main", ""),
    "yocto": ("", "", "recipes-support/ingot/files"),
    "conan": ("", "", "."),
    "vcpkg": ("", "", "ports/ingot"),
}


def version():
    return re.search(r"project\(ingot VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def substituted(text):
    license_sum = hashlib.md5((ROOT / "LICENSE").read_bytes()).hexdigest()
    return text.replace("@VERSION@", version()).replace("@LICENSE_MD5@", license_sum)


def copy_template(world, folder):
    for path in sorted((HERE / world).rglob("*")):
        if path.is_file():
            place = folder / substituted(path.relative_to(HERE / world).as_posix())
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(substituted(path.read_text()))
    for name in ("LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, folder)


def in_firmware(text):
    """A source as firmware compiles it, in worlds whose libraries cannot choose flags."""
    if not re.search(r"^#if.*INGOT_FIRMWARE", text, re.M):
        return text
    line = "#ifndef INGOT_FIRMWARE\n#define INGOT_FIRMWARE\n#endif\n"
    line += '#pragma GCC optimize("fp-contract=off")  // the bits of the host\n'
    first = re.search(r"^#", text, re.M).start()
    return text[:first] + line + text[first:]


def copy_core(sources, folder):
    for name in sources.read_text().split():
        if name.startswith(("runtime/", "kernels/")):
            place = folder / name.removeprefix("runtime/include/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(in_firmware((ROOT / name).read_text()))


def call(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"worlds: {' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}")


def write_digits(ingot, work):
    """The digit reader in bytes, as `ingot firmware` writes it."""
    sys.path.insert(0, str(ROOT / "tests/firmware"))
    import make_digits

    make_digits.write_samples(work / "samples.npz")
    options = ["--target", "mcu", "--dim", "n=1", "--dtype", "int8", "-q"]
    call(ingot, "convert", ROOT / "examples/digits/digits.onnx", "-o", work / "digits.ingot",
         "--calibrate", work / "samples.npz", *options)  # fmt: skip
    call(ingot, "firmware", work / "digits.ingot", "-o", work / "project")
    return work / "project"


def copy_example(project, folder):
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(project / "models.h", folder)
    shutil.copy(project / "models/digits.c", folder)
    shutil.copy(project / "kernels.cpp", folder)
    for path in sorted((HERE / "example").iterdir()):
        shutil.copy(path, folder)


def write_archive(folder):
    """The sources for Linux, the same bytes for the same commit."""
    name = f"ingot-{version()}"
    listing = subprocess.run(["git", "ls-files", *TREE], cwd=ROOT, capture_output=True, text=True)
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))

    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = seconds
        entry.mode = 0o755 if entry.mode & 0o100 else 0o644
        return entry

    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / f"{name}.tar.xz", "w:xz") as archive:
        for path in sorted(listing.stdout.split("\n")):
            if path and not path.startswith("packaging/worlds/"):
                archive.add(ROOT / path, f"{name}/{path}", recursive=False, filter=plain)


def write_world(world, out, sources, project):
    core, example, archive = WORLDS[world]
    folder = out / world
    shutil.rmtree(folder, ignore_errors=True)
    copy_template(world, folder)
    if core:
        copy_core(sources, folder / core)
        copy_example(project, folder / example)
    if archive:
        write_archive(folder / archive)
    count = sum(path.is_file() for path in folder.rglob("*"))
    print(f"{folder}: {count} files")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ingot", required=True, help="the command line")
    parser.add_argument("--sources", required=True, type=pathlib.Path, help="list of the core")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="a folder for each world")
    parser.add_argument("worlds", nargs="*", metavar="WORLD", help=", ".join(WORLDS))
    options = parser.parse_args()
    unknown = [world for world in options.worlds if world not in WORLDS]
    if unknown:
        parser.error(f"'{unknown[0]}' is no world; expected one of {', '.join(WORLDS)}")
    with tempfile.TemporaryDirectory() as work:
        project = write_digits(pathlib.Path(options.ingot).resolve(), pathlib.Path(work))
        for world in options.worlds or WORLDS:
            write_world(world, options.out, options.sources, project)


if __name__ == "__main__":
    main()
