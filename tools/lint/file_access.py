#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses host code that opens files past tools/files: what is read has to be known, so that
nothing is written over it.

Reading  host::open_input(), open_input_stream(), InputStream (tools/files/input_file.h). A library
that opens by name is
         told of beforehand: host::remember_input() within the three lines above the call.
Writing  host::OutputFile, TemporaryPath (tools/files/output_file.h), OutputFolder
         (tools/files/output_folder.h); "-" in standard_streams.h. A registry: tools/registry.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOORS = (
    "tools/files/input_file.",
    "tools/files/output_file.",
    "tools/files/output_folder.",
    "tools/files/standard_streams.",
    "tools/files/spill_file.",
    "tools/registry/change.",  # writes in its registry's hidden folder alone
)  # a file without a name
REMEMBER = "remember_input("
# What opens, creates or renames files, and the C and C++ streams.
FORBIDDEN = re.compile(
    r"""
    (?<![\w.>:])(?:::|std::)?(?:fopen|fopen64|freopen|creat|openat|open64|truncate)\s*\(
  | \brename\s*\([^;]*c_str  |  \bstd::rename\b
  | (?<![\w.>])::open\s*\(  |  (?<![\w.>:])open\s*\(.*\bO_  |  \bmk\w*temp\s*\(
  | \b(?:ifstream|ofstream|fstream|filebuf)\b
  | \bfilesystem::(?:copy|copy_file|rename|resize_file|remove|create_\w+)\s*\(  | 
  \bfs::(?:copy|copy_file|rename|resize_file)\s*\(
""",
    re.VERBOSE,
)
# Functions of libraries that open a file by its name.
BY_NAME = re.compile(
    r"\b(?:zip_open|source_from_path|ingot_model_open|png_image_begin_read_from_file|H5Fopen|gzopen)\s*\(|\bModel::open\s*\("
)
# What is no file of a user: the peak of memory is reset by a word to /proc.
ALLOWED = {("tools/cli/commands/bench.cpp", 'std::ofstream("/proc/self/clear_refs")'): 1}


def without_comments(line):
    return re.sub(r"//.*", "", line)


def faults(path, text):
    allowed = {words: count for (file, words), count in ALLOWED.items() if file == path}
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        code = without_comments(line)
        for words in allowed:
            if words in code and allowed[words] > 0:
                allowed[words] -= 1
                code = code.replace(words, "", 1)
        if "#include" in code:
            continue
        code = re.sub(r'"(?:[^"\\]|\\.)*"', '""', code)
        if not path.startswith(DOORS) and FORBIDDEN.search(code):
            yield (
                number,
                f"{FORBIDDEN.search(code).group(0).strip()}: open files through tools/files/input_file.h and output_file.h",
            )
        if BY_NAME.search(code) and not any(
            REMEMBER in earlier for earlier in lines[max(0, number - 4) : number]
        ):
            yield (
                number,
                f"{BY_NAME.search(code).group(0).strip()}: host::remember_input() has to stand right above it",
            )
    for words, count in allowed.items():
        if count:
            yield 0, f"'{words}' is allowed here and is not there: mend tools/lint/file_access.py"


def self_test():
    bad = [
        'std::ifstream file(path);',
        'FILE* f = fopen(p, "r");',
        'int d = ::open(p, O_RDONLY);',
        'int d = open(p, O_RDONLY);',
        'std::ofstream(path) << 1;',
        'if (rename(a.c_str(), b) != 0)',
        'std::filesystem::copy_file(a, b);',
        'zip_open(p, 0, &e);',
        'auto m = Model::open(p, options);',
        'std::fopen(p, "rb")',
        'int d = open(name().c_str(), O_RDONLY);',
        'mkstemp(name);',
    ]
    good = [
        'host::InputStream file(path);',
        'archive->open(path);',
        'Archive::open(path);',
        'c.rename(a);',
        'MappedFile::open(path)',
        '// fopen(path)',
        'overlay::rename_flag(a, b)',
        'host::remember_input(p); zip_open(p, 0, &e);',
        'stream_.open(path);',
        'return open();',
    ]
    missed = [line for line in bad if not list(faults("tools/x.cpp", line))]
    blamed = [line for line in good if list(faults("tools/x.cpp", line))]
    for line in missed:
        print(f"file_access: does not see: {line}")
    for line in blamed:
        print(f"file_access: blames: {line}")
    return not missed and not blamed


def main():
    files = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "tools/*.h", "tools/*.cpp"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    wrong = 0
    for path in files:
        for number, why in faults(path, (ROOT / path).read_text(errors="replace")):
            print(f"{path}:{number}: {why}")
            wrong += 1
    print(f"file access: {len(files)} files, {wrong} wrong")
    sys.exit(0 if self_test() and not wrong and files else 1)


main()
