# SPDX-License-Identifier: Apache-2.0
"""What a package contains of other projects, as SPDX 2.3 in JSON, and their licenses.

bill_of_materials.py PACKAGE.. --version V --time SECONDS [--sources FOLDER] [--zig FOLDER]
                     [--licenses FOLDER]

Writes PACKAGE.spdx.json beside each package (a .deb, a .tar.gz or a wheel), whole or not at all.
With --licenses it writes no document but the texts of the licenses that a static command line has
to bring along. SOURCES are the source packages that packaging/static/libraries.sh fetched, ZIG the
folder of the Python package ziglang.
"""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

# Headers that are compiled into each program: the Debian package that has them, and their license.
HEADERS = {
    "flatbuffers": ("libflatbuffers-dev", "Apache-2.0"),
}
HEADERS_OF_TOOLS = {
    "protozero": ("libprotozero-dev", "BSD-2-Clause AND Apache-2.0"),
    "CLI11": ("libcli11-dev", "BSD-3-Clause"),
    "nlohmann-json": ("nlohmann-json3-dev", "MIT"),
}
HEADERS_OF_SERVER = {
    "CLI11": HEADERS_OF_TOOLS["CLI11"],
    "nlohmann-json": HEADERS_OF_TOOLS["nlohmann-json"],
    "boost": ("libboost-dev", "BSL-1.0"),
}
LIBRARIES_OF_SERVER = ("zlib", "libzip")
# Libraries of the command line: the source package that is linked in, the binary package whose
# shared library a wheel carries, and the license.
LIBRARIES = {
    "zlib": ("zlib", "zlib1g-dev", "Zlib"),
    "libpng": ("libpng1.6", "libpng-dev", "libpng-2.0"),
    "libjpeg-turbo": ("libjpeg-turbo", "libjpeg-dev", "IJG AND BSD-3-Clause AND Zlib"),
    "libzip": ("libzip", "libzip-dev", "BSD-3-Clause"),
    "mimalloc": ("mimalloc", "libmimalloc-dev", "MIT"),
}
# Of a static command line, from the compiler's package: where its license lies, and the license.
TOOLCHAIN = {
    "musl": ("lib/libc/musl/COPYRIGHT", "MIT"),
    "libc++": ("lib/libcxx/LICENSE.TXT", "Apache-2.0 WITH LLVM-exception"),
    "libc++abi": ("lib/libcxxabi/LICENSE.TXT", "Apache-2.0 WITH LLVM-exception"),
    "libunwind": ("lib/libunwind/LICENSE.TXT", "Apache-2.0 WITH LLVM-exception"),
    "zig compiler-rt": ("LICENSE", "MIT"),
}


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def version_of_package(package):
    return output_of("dpkg-query", "-W", "-f=${Version}\n", package)


def source_folder(sources, package):
    found = [path for path in pathlib.Path(sources).glob(package + "-*") if path.is_dir()]
    if len(found) != 1:
        sys.exit(f"bill_of_materials: {sources}: {len(found)} folders of {package}, 1 is needed")
    return found[0]


def version_of_source(sources, package):
    changes = source_folder(sources, package) / "debian" / "changelog"
    return output_of("dpkg-parsechangelog", "-l", str(changes), "-S", "Version")


def version_of_zig(zig):
    return output_of(str(pathlib.Path(zig) / "zig"), "version")


def parts_of(name, options):
    """(part, version, license, relationship) of each other project in a package of that name."""
    has_tools = not name.startswith(("libingot0", "libingot-dev"))
    is_server = name.startswith("ingot-serve")
    headers = dict(HEADERS_OF_SERVER if is_server else HEADERS_OF_TOOLS if has_tools else {})
    headers.update(HEADERS)
    for part, (package, license_) in headers.items():
        yield part, version_of_package(package), license_, "CONTAINS"
    if not has_tools:
        return
    for part, (source, package, license_) in LIBRARIES.items():
        if is_server and part not in LIBRARIES_OF_SERVER:
            continue
        if name.endswith(".whl") and not name.endswith("aarch64.whl"):
            version = version_of_package(package)
        elif part == "mimalloc" and name.endswith(".tar.gz"):
            continue  # libraries.sh says why
        else:
            version = version_of_source(options.sources, source)
        yield part, version, license_, "CONTAINS"
    if name.endswith((".tar.gz", "aarch64.whl")):
        for part, (_, license_) in TOOLCHAIN.items():
            if part == "musl" and name.endswith(".whl"):
                continue
            yield part, version_of_zig(options.zig), license_, "CONTAINS"


def identifier(name):
    return "SPDXRef-" + "".join(c if c.isalnum() or c in ".-" else "-" for c in name)


def document_of(path, options):
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    made = datetime.datetime.fromtimestamp(options.time, datetime.timezone.utc)
    own = identifier(path.name)
    packages = [
        {
            "SPDXID": own,
            "name": path.name,
            "versionInfo": options.version,
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False,
            "checksums": [{"algorithm": "SHA256", "checksumValue": sha256}],
            "licenseConcluded": "Apache-2.0",
            "licenseDeclared": "Apache-2.0",
            "copyrightText": "NOASSERTION",
        }
    ]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own)]
    for part, version, license_, how in parts_of(path.name, options):
        packages.append(
            {
                "SPDXID": identifier(part),
                "name": part,
                "versionInfo": version,
                "downloadLocation": "NOASSERTION",
                "filesAnalyzed": False,
                "licenseConcluded": license_,
                "licenseDeclared": license_,
                "copyrightText": "NOASSERTION",
            }
        )
        relations.append((own, how, identifier(part)))
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": path.name,
        "documentNamespace": f"https://ingot.example/spdx/{path.name}-{sha256[:16]}",
        "creationInfo": {
            "created": made.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: ingot-bill-of-materials"],
        },
        "packages": packages,
        "relationships": [
            {"spdxElementId": a, "relationshipType": how, "relatedSpdxElement": b}
            for a, how, b in relations
        ],
    }


def write_whole(path, text):
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text)
    os.replace(temporary, path)


def copy_licenses(options):
    options.licenses.mkdir(parents=True, exist_ok=True)
    for part, (package, _) in {**HEADERS, **HEADERS_OF_TOOLS}.items():
        shutil.copyfile(f"/usr/share/doc/{package}/copyright", options.licenses / part)
    for part, (package, _, _) in LIBRARIES.items():
        text = source_folder(options.sources, package) / "debian" / "copyright"
        shutil.copyfile(text, options.licenses / part)
    for part, (text, _) in TOOLCHAIN.items() if options.zig else ():
        shutil.copyfile(pathlib.Path(options.zig) / text, options.licenses / part.replace(" ", "-"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="*", type=pathlib.Path)
    parser.add_argument("--version", default="")
    parser.add_argument("--time", type=int, default=0, help="seconds since 1970, of the commit")
    parser.add_argument("--sources", help="source packages of the static libraries")
    parser.add_argument("--zig", help="the folder of the Python package ziglang")
    parser.add_argument("--licenses", type=pathlib.Path)
    options = parser.parse_args()
    if options.licenses:
        copy_licenses(options)
    for path in options.packages:
        text = json.dumps(document_of(path, options), indent=1) + "\n"
        write_whole(path.with_name(path.name + ".spdx.json"), text)


if __name__ == "__main__":
    main()
