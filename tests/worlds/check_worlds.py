#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The packages of packaging/worlds, held to what their worlds ask for.

  check_worlds.py --ingot BIN --sources LIST --work DIR            their forms: seconds
  check_worlds.py .. --build [--conan BIN] [--platformio BIN] [WORLD..]    built, run: minutes

What is not there is a line [skip] that names it. The last line counts."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, run, text_parser  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ANSWER = "ingot: every byte as on the host"
# As Arduino's and ESP-IDF's cores compile: no flags of ours but those that a package can set.
CXX = ["-std=gnu++17", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"]
SECTIONS = ["-ffunction-sections", "-fdata-sections", "-Os"]


class Failed(Exception):
    pass


def expect(holds, text):
    if not holds:
        raise Failed(text)


def call(command, seconds=600, **options):
    done = run(command, seconds=seconds, stdin=subprocess.DEVNULL, **options)
    expect(not done.error, f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.output}")
    return done.output


def version():
    return re.search(r"project\(ingot VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def tree(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


class Worlds(Checks):
    def __init__(self, options):
        super().__init__("worlds", verbose=True)
        self.options = options
        self.work = options.work
        self.worlds = options.work / "worlds"

    def holds(self, name, body):
        try:
            body()
            self.report(name, "")
        except (Failed, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as failure:
            self.report(name, str(failure))

    # --- forms ---

    def written(self):
        call([sys.executable, ROOT / "packaging/worlds/worlds.py", "--ingot", self.options.ingot,
              "--sources", self.options.sources, "--out", self.worlds])  # fmt: skip
        for path in self.worlds.rglob("*"):
            if path.is_file() and path.suffix != ".xz":
                left = re.search(rb"@[A-Z_0-9]+@", path.read_bytes())
                expect(not left, f"{path}: {left and left[0]} was not filled in")
                expect("@" not in path.name, f"{path}: its name was not filled in")
        for world in self.worlds.iterdir():
            for name in ("LICENSE", "NOTICE"):
                expect((world / name).is_file(), f"{world}: {name} is missing")
            expect("How far this was checked" in (world / "README.md").read_text(),
                   f"{world}: README.md does not say how far it was checked")  # fmt: skip

    def one_core(self):
        cores = {w: tree(self.worlds / w / "src") for w in ("platformio", "zephyr", "esp-idf")}
        arduino = tree(self.worlds / "arduino/src")
        expect(arduino.pop("Ingot.h", None), "arduino/src/Ingot.h is missing")
        for world, core in cores.items():
            expect(core == arduino, f"{world}/src is another core than arduino/src")
        names = " ".join(arduino)
        for needed in ("ingot/micro.h", "runtime/micro/validate.cpp", "kernels/cpu/simd/scalar.h"):
            expect(needed in names, f"src/{needed} is missing")
        rules = arduino["runtime/op/rules.h"].decode()
        defined, asked = rules.find("#define INGOT_FIRMWARE"), rules.find("#ifdef INGOT_FIRMWARE")
        expect(0 <= defined < asked, "runtime/op/rules.h does not define INGOT_FIRMWARE")

    def arduino(self):
        folder = self.worlds / "arduino"
        lines = (folder / "library.properties").read_text().splitlines()
        properties = dict(line.split("=", 1) for line in lines)
        for key in ("name", "version", "author", "maintainer", "sentence", "paragraph", "category",
                    "url", "architectures"):  # fmt: skip
            expect(properties.get(key), f"library.properties: {key} is missing")
        expect(properties["version"] == version(), f"version {properties['version']}")
        expect((folder / "src" / properties["includes"]).is_file(), "includes: no such header")
        sketch = folder / "examples/digits/digits.ino"
        expect(sketch.is_file(), f"{sketch}: a sketch has its folder's name")
        call(["g++", *CXX, "-fsyntax-only", "-I", folder / "src", "-I", sketch.parent,
              sketch.parent / "kernels.cpp"])  # fmt: skip
        self.sketch_compiles("g++", "-fsyntax-only")
        old = run("g++", "-std=gnu++14", "-fsyntax-only", folder / "src/Ingot.h")
        expect("Ingot needs C++17" in old.stderr, "C++14 is not refused by name")

    def sketch_compiles(self, compiler, *flags):
        folder = self.worlds / "arduino"
        source = self.work / "sketch.cpp"
        text = (folder / "examples/digits/digits.ino").read_text()
        port = "SerialPort Serial;\nint main() { setup(); return 0; }\n"
        source.write_text(f'#include "Arduino.h"\n{text}{port}')
        call([compiler, *CXX, *flags, "-I", HERE, "-I", folder / "src", "-I",
              folder / "examples/digits", source])  # fmt: skip

    def platformio(self):
        library = json.loads((self.worlds / "platformio/library.json").read_text())
        expect(library["name"] == "Ingot" and library["version"] == version(), "name or version")
        expect((self.worlds / "platformio/src" / library["headers"]).is_file(), "headers")
        for example in library["examples"]:
            for name in example["files"]:
                place = self.worlds / "platformio" / example["base"] / name
                expect(place.is_file(), f"{place} is not there")

    def zephyr(self):
        folder = self.worlds / "zephyr"
        module = (folder / "zephyr/module.yml").read_text()
        expect(re.search(r"^  cmake: zephyr$", module, re.M), "module.yml: build.cmake")
        expect((folder / "zephyr/CMakeLists.txt").is_file(), "no zephyr/CMakeLists.txt")
        kconfig = re.search(r"^  kconfig: (.+)$", module, re.M)[1]
        symbols = re.findall(r"^config (\w+)$", (folder / kconfig).read_text(), re.M)
        expect(symbols == ["INGOT"], f"Kconfig has {symbols}")
        sample = folder / "samples/digits"
        listed = re.findall(r"src/[\w.]+", (sample / "CMakeLists.txt").read_text())
        for name in listed:
            expect((sample / name).is_file(), f"{sample / name} is not there")
        expect("CONFIG_INGOT=y" in (sample / "prj.conf").read_text(), "prj.conf: CONFIG_INGOT")
        expect(ANSWER in (sample / "sample.yaml").read_text(), "sample.yaml awaits another line")

    def registered(self, place):
        listing = self.work / "registered"
        call(["cmake", f"-DFILE={place / 'CMakeLists.txt'}", f"-DOUT={listing}", "-P",
              HERE / "idf_functions.cmake"])  # fmt: skip
        found = {"source": [], "include": [], "option": [], "requires": []}
        for line in listing.read_text().splitlines():
            kind, _, value = line.partition(" ")
            found[kind].append(value)
        return found

    def esp_idf(self):
        folder = self.worlds / "esp-idf"
        core = self.registered(folder)
        expect(len(core["source"]) > 40, f"{len(core['source'])} sources are no core")
        example = self.registered(folder / "examples/digits/main")
        for name in [*core["source"], *example["source"], *core["include"], *example["include"]]:
            expect(os.path.exists(name), f"{name} is not there")
        expect(example["requires"] == [folder.name], f"requires {example['requires']}")
        described = (folder / "idf_component.yml").read_text()
        expect(f'version: "{version()}"' in described, "idf_component.yml: version")

    def archive(self, place):
        name = f"ingot-{version()}"
        with tarfile.open(place / f"{name}.tar.xz") as archive:
            names = set(archive.getnames())
        for needed in ("LICENSE", "NOTICE", "schema/ingot.fbs", "runtime/base/status.h"):
            expect(f"{name}/{needed}" in names, f"{place}/{name}.tar.xz lacks {needed}")

    def yocto(self):
        folder = self.worlds / "yocto/recipes-support/ingot"
        recipe = (folder / f"ingot_{version()}.bb").read_text()
        self.archive(folder / "files")
        checksum = re.search(r"file://LICENSE;md5=(\w+)", recipe)[1]
        license_sum = hashlib.md5((ROOT / "LICENSE").read_bytes()).hexdigest()
        expect(checksum == license_sum, "LIC_FILES_CHKSUM is another license's")
        variables = re.findall(r"^(\w[\w:${}-]*) *\+?= *\"", recipe, re.M)
        needed = {"SUMMARY", "LICENSE", "LIC_FILES_CHKSUM", "SRC_URI", "DEPENDS", "EXTRA_OECMAKE"}
        expect(needed <= set(variables), f"the recipe lacks {needed - set(variables)}")
        options = re.search(r"EXTRA_OECMAKE = \"(.*?)\"", recipe, re.S)[1]
        self.options_are_known(re.findall(r"-D(INGOT_\w+)=", options))
        layer = (self.worlds / "yocto/conf/layer.conf").read_text()
        expect("LAYERSERIES_COMPAT_ingot" in layer, "layer.conf: LAYERSERIES_COMPAT")

    def options_are_known(self, names):
        files = ("CMakeLists.txt", "schema/CMakeLists.txt", "cmake/IngotCuda.cmake")
        text = "".join((ROOT / name).read_text() for name in files)
        known = set(re.findall(r"(INGOT_\w+)", text)) | {"INGOT_FLATBUFFERS_HEADERS"}
        expect(names and set(names) <= known, f"no option of the build: {set(names) - known}")

    def conan(self):
        folder = self.worlds / "conan"
        self.archive(folder)
        for name in ("conanfile.py", "test_package/conanfile.py"):
            compile((folder / name).read_text(), name, "exec")
        text = (folder / "conanfile.py").read_text()
        expect(f'version = "{version()}"' in text, "conanfile.py: version")

    def vcpkg(self):
        port = self.worlds / "vcpkg/ports/ingot"
        self.archive(port)
        manifest = json.loads((port / "vcpkg.json").read_text())
        named = (manifest["name"], manifest["version-semver"])
        expect(named == ("ingot", version()), f"vcpkg.json is of {named}")
        names = re.findall(r"-D(INGOT_\w+)=", (port / "portfile.cmake").read_text())
        self.options_are_known(names)

    # --- builds ---

    def objects(self, compiler, flags, sources, folder):
        """`compiler`: what gcc's and g++'s names begin with."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        made, running = [], []
        for number, source in enumerate(sources):
            made.append(folder / f"{number}_{pathlib.Path(source).stem}.o")
            is_cpp = str(source).endswith(".cpp")
            language = [f"{compiler}++", *CXX] if is_cpp else [f"{compiler}cc", "-std=gnu11"]
            command = [*language, *SECTIONS, *flags, "-c", str(source), "-o", str(made[-1])]
            log = open(folder / f"{number}.log", "w+")
            running.append((subprocess.Popen(command, stdout=log, stderr=log), log, source))
            if len(running) == (os.cpu_count() or 2):
                self.wait_for(running.pop(0))
        for process in running:
            self.wait_for(process)
        return made

    def wait_for(self, running):
        process, log, source = running
        code = process.wait()
        log.seek(0)
        expect(code == 0, f"{source}: exit {code}\n{log.read()}")
        log.close()

    def run_on_board(self, board, compiler, flags, sources, folder):
        """Links with start, memory and output of a project of `ingot firmware`, and runs it."""
        project = self.work / f"project-{board}"
        shutil.rmtree(project, ignore_errors=True)
        call([self.options.ingot, "convert", ROOT / "examples/digits/digits.onnx", "-q", "-o",
              self.work / "f32.ingot", "--target", "mcu", "--dim", "n=1"])  # fmt: skip
        call([self.options.ingot, "firmware", self.work / "f32.ingot", "-o", project, "--board",
              board])  # fmt: skip
        board_text = (project / "board.mk").read_text()
        cpu = re.search(r"^CPU_FLAGS = (.*)$", board_text, re.M)[1].split()
        link = re.search(r"^LINK_FLAGS = (.*)$", board_text, re.M)[1].split()
        libraries = re.search(r"^LIBRARIES = (.*)$", board_text, re.M)[1].split()
        cxx = re.search(r"^CXX_HEADERS = (.*)$", board_text, re.M)[1].split()
        cxx = [str(project / c) if c.startswith("cxx") else c for c in cxx]
        qemu = re.search(r"^QEMU \?= (.*)$", board_text, re.M)[1].split()
        sources = [*sources, project / "startup.c", project / "fmaf.c"]
        made = self.objects(compiler, [*cpu, *flags, *cxx, "-I", str(project)], sources, folder)
        image = folder / "image.elf"
        call([f"{compiler}cc", *cpu, "-nostartfiles", *link, "-T", "image.ld", "-Wl,--gc-sections",
              *made, *libraries, "-o", image], cwd=project)  # fmt: skip
        text = call([*qemu, "-kernel", image], seconds=120)
        expect(ANSWER in text, f"{board} says: {text}")

    def build_arduino(self):
        folder = self.worlds / "arduino"
        self.sketch_compiles("g++", "-fsyntax-only")  # writes sketch.cpp
        sources = [*sorted((folder / "src").rglob("*.cpp")), self.work / "sketch.cpp",
                   *sorted((folder / "examples/digits").glob("*.c*"))]  # fmt: skip
        flags = ["-I", folder / "src", "-I", folder / "examples/digits", "-I", HERE]
        self.run_on_board("mps2-an386", "arm-none-eabi-g", list(map(str, flags)), sources,
                          self.work / "arduino")  # fmt: skip

    def build_esp_idf(self):
        core = self.registered(self.worlds / "esp-idf")
        example = self.registered(self.worlds / "esp-idf/examples/digits/main")
        flags = [*core["option"], *example["option"]]
        for folder in [*core["include"], *example["include"]]:
            flags += ["-I", folder]
        start = self.work / "app_main.c"
        start.write_text("void app_main(void);\nint main(void) { app_main(); return 0; }\n")
        output = self.work / "fputs.c"  # of the C library, over the board's output
        output.write_text("#include <stdio.h>\n#undef fputs\nvoid board_print(const char*);\n"
                          "int fputs(const char* t, FILE* f) {\n"
                          "  (void)f;\n  board_print(t);\n  return 0;\n}\n"
                          "#undef stdout\nFILE* const stdout = 0;\n")  # fmt: skip
        sources = [*core["source"], *example["source"], start, output]
        self.run_on_board("riscv32-virt", "riscv64-unknown-elf-g", flags, sources,
                          self.work / "esp-idf")  # fmt: skip

    def build_vcpkg(self):
        port, root = self.worlds / "vcpkg/ports/ingot", self.work / "vcpkg"
        for linkage, build in (("static", "OFF"), ("dynamic", "ON")):
            call(["cmake", f"-DPORT={port}", f"-DROOT={root}", f"-DLINKAGE={linkage}",
                  f"-DVERSION={version()}", f"-DBUILD={build}", "-P",
                  HERE / "vcpkg_functions.cmake"], seconds=3000)  # fmt: skip
        for name in ("include/ingot/ingot.h", "lib/libingot.so", "lib/libingot_cpu.a"):
            expect((root / "packages/ingot" / name).is_file(), f"no {name}")

    def build_yocto(self):
        recipe = self.worlds / "yocto/recipes-support/ingot"
        text = (recipe / f"ingot_{version()}.bb").read_text()
        options = re.search(r"EXTRA_OECMAKE = \"(.*?)\"", text, re.S)[1].replace("\\\n", " ")
        options = options.replace("${STAGING_INCDIR}", "/usr/include")
        options = options.replace("${STAGING_BINDIR_NATIVE}", "/usr/bin").split()
        root = self.work / "yocto"
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        with tarfile.open(recipe / f"files/ingot-{version()}.tar.xz") as archive:
            archive.extractall(root, filter="data")
        toolchain = root / f"ingot-{version()}/cmake/toolchains/aarch64.cmake"
        call(["cmake", "-S", root / f"ingot-{version()}", "-B", root / "build", "-G", "Ninja",
              "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_INSTALL_PREFIX=/usr",
              f"-DCMAKE_TOOLCHAIN_FILE={toolchain}", *options])  # fmt: skip
        call(["cmake", "--build", root / "build"], seconds=3000)
        call(["cmake", "--install", root / "build"], env={**os.environ, "DESTDIR": str(root / "d")})
        found = call(["file", "-L", next((root / "d/usr").rglob("libingot.so"))])
        expect("aarch64" in found, found)

    def build_conan(self):
        environment = {**os.environ, "CONAN_HOME": str(self.work / "conan-home")}
        conan = self.options.conan
        call([conan, "profile", "detect", "--force"], env=environment)
        text = call([conan, "create", self.worlds / "conan", "-o", "&:system_flatbuffers=True",
                     "-s", "compiler.cppstd=gnu17"], seconds=3000, env=environment)  # fmt: skip
        expect("refused as it must be" in text, text[-2000:])

    def build_platformio(self):
        environment = {**os.environ, "PLATFORMIO_CORE_DIR": str(self.work / "platformio-home"),
                       "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "no"}  # fmt: skip
        tool, folder = self.options.platformio, self.worlds / "platformio"
        packed = self.work / "ingot-platformio.tar.gz"
        packed.unlink(missing_ok=True)
        # The name of the license is looked up in a network: all but that is validated.
        copy = self.work / "platformio-copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        library = json.loads((copy / "library.json").read_text())
        del library["license"]
        (copy / "library.json").write_text(json.dumps(library))
        call([tool, "pkg", "pack", copy, "-o", packed], env=environment)
        with tarfile.open(packed) as archive:
            expect("library.json" in archive.getnames(), "the packed library has no library.json")
        try:
            call([tool, "pkg", "install", "-g", "-p", "native"], seconds=120, env=environment)
        except (Failed, subprocess.TimeoutExpired):
            return self.skip("platformio: a build: PlatformIO's registry cannot be reached")
        example = folder / "examples/digits"
        call([tool, "run", "-d", example, "-e", "host"], seconds=1800, env=environment)
        text = call([example / ".pio/build/host/program"])
        expect(ANSWER in text, text)

    def forms(self):
        self.holds("each world is written", self.written)
        self.holds("one core", self.one_core)
        for world in ("arduino", "platformio", "zephyr", "esp_idf", "yocto", "conan", "vcpkg"):
            self.holds(world, getattr(self, world))

    def builds(self):
        arm, riscv = "arm-none-eabi-g++", "riscv64-unknown-elf-g++"
        tools = (
            ("arduino", self.build_arduino, (arm, "qemu-system-arm")),
            ("esp-idf", self.build_esp_idf, (riscv, "qemu-system-riscv32")),
            ("vcpkg", self.build_vcpkg, ("flatc",)),
            ("yocto", self.build_yocto, ("flatc", "aarch64-linux-gnu-g++")),
            ("conan", self.build_conan, (self.options.conan or "conan",)),
            ("platformio", self.build_platformio, (self.options.platformio or "pio",)),
        )
        for world, body, needed in tools:
            if self.options.worlds and world not in self.options.worlds:
                continue
            missing = [tool for tool in needed if not shutil.which(tool)]
            if missing:
                self.skip(f"{world}: built: {', '.join(missing)} is not there")
            else:
                self.holds(f"{world}: built", body)
        if not self.options.worlds or "zephyr" in self.options.worlds:
            self.skip("zephyr: built: Zephyr's sources are not there")


def main():
    parser = text_parser(__doc__)
    parser.add_argument("--ingot", required=True, type=pathlib.Path, help="the command line")
    parser.add_argument("--sources", required=True, type=pathlib.Path, help="list of the core")
    parser.add_argument("--work", required=True, type=pathlib.Path, help="a folder of its own")
    parser.add_argument("--build", action="store_true", help="build and run them too")
    parser.add_argument("worlds", nargs="*", metavar="WORLD", help="with --build: those alone")
    parser.add_argument("--conan", help="Conan 2; `conan` of PATH without it")
    parser.add_argument("--platformio", help="PlatformIO; `pio` of PATH without it")
    options = parser.parse_args()
    options.work = options.work.resolve()
    options.ingot = options.ingot.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    checks = Worlds(options)
    checks.forms()
    if options.build:
        checks.builds()
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
