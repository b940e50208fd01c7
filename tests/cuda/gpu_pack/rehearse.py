#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A pack on machines that are as bad as they can be: an empty root (a shell, the C library, the
fake driver under the driver's name; no network, no processes but its own) where starts take
seconds, calls fail, kernels never end, disks are full, processes do not go,
and the call is cut off.
Whatever happens, what comes back is a sound report.

  rehearse.py PACK LIBFAKE_CUDA [--only WORD] [--minutes N]

A line for each check. --minutes N: before that one whole call of N minutes with everything in the
pack, into PACK.rehearsed. Wants root (unshare, chroot); no time over the fake driver means
anything.
"""

import io
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import run, text_parser, work_folder  # noqa: E402

PARTS = (
    "doctor modules fragments ladder conformance fast replays counters torch profile pipeline tune "
    "models sanitizers branches networks"
).split()
FILES = ("report.md", "results.json", "state.tar")
LIBRARIES = "ld-linux-x86-64.so.2 libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1".split()
# Few cases, of kernels that nothing else launches.
SMALL = {
    "PACK_REPLAYS": "5",
    "PACK_SECONDS": "0.02",
    "PACK_TUNE": "100ms",
    "PACK_SHARDS": "4",
    "PACK_CASES": "cumsum: axes*,arg_reduce*,*contract refuses*",
    "PACK_FAST_CASES": "cumsum: axes*",
    "PACK_START": "3",
    "PACK_NETWORKS": "small_network,branching_network,if",
}
MOUNTS = """mount -t proc proc "$0/proc" && mount -t tmpfs -o size=${TMP_SIZE:-4G} none "$0/tmp" &&
mount -t tmpfs -o size=${OUT_SIZE:-1G} none "$0/out" && mount --bind /dev "$0/dev" || exit 99
cp -r "$0"/kept/. "$0/out" 2>/dev/null
chroot "$0" /bin/sh -c "$1" & child=$!
[ -z "$CUT" ] || { sleep "$CUT"; kill -"${CUT_BY:-TERM}" $(cat "$0/tmp/pid"); }
wait $child; status=$?
cp -r "$0"/out/. "$0/result"
exit $status"""


class Machine:
    """An empty root with the pack."""

    def __init__(self, root, pack, fake):
        self.root, self.fake, self.passed, self.failed = root, fake, 0, 0
        for folder in "bin lib64 proc dev tmp out kept result drivers lib/x86_64-linux-gnu".split():
            (root / folder).mkdir(parents=True)
        shutil.copy(pathlib.Path("/bin/sh").resolve(), root / "bin/sh")
        for name in LIBRARIES:
            source = pathlib.Path("/lib/x86_64-linux-gnu", name).resolve()
            shutil.copy(source, root / "lib/x86_64-linux-gnu" / name)
        shutil.copy(root / "lib/x86_64-linux-gnu" / LIBRARIES[0], root / "lib64")
        with tarfile.open(f"{pack}.tar.gz") as archive:  # as it is brought along
            archive.extractall(root)
        (root / pack.name).rename(root / "pack")
        self.driver = None
        self.place_driver("drivers")

    def place_driver(self, folder):
        if self.driver:
            self.driver.unlink()
        self.driver = None
        if folder:
            (self.root / folder).mkdir(parents=True, exist_ok=True)
            self.driver = self.root / folder / "libcuda.so.1"
            shutil.copy(self.fake, self.driver)

    def run(self, words="", kept=(), before="", **variables):
        """PACK/run; sets said, status, seconds, report, results, files."""
        result, kept_folder = self.root / "result", self.root / "kept"
        for folder in (result, kept_folder):
            shutil.rmtree(folder)
            folder.mkdir()
        for name, content in kept:
            (kept_folder / name).write_bytes(content)
        command = f"{before} echo $$ >/tmp/pid; exec /pack/run --out /out {words}"
        environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "LD_LIBRARY_PATH": "/drivers",
            "FAKE_CUDA_AWAKE": "/tmp/awake",
            "FAKE_CUDA_MIB": "140000",
            **SMALL,
            **variables,
        }
        began = time.monotonic()
        done = subprocess.run(
            ["unshare", "-nmpf", "bash", "-c", MOUNTS, str(self.root), command],
            env={k: v for k, v in environment.items() if v is not None},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        self.seconds = time.monotonic() - began
        self.said, self.status = done.stdout, done.returncode
        self.files = {p.name: p.read_bytes() for p in result.iterdir() if p.is_file()}
        self.flat = all(p.is_file() for p in result.iterdir())
        self.report = self.files.get("report.md", b"").decode(errors="replace")

    def check(self, what, ok, *shown):
        self.passed += bool(ok)
        self.failed += not ok
        print(("[ok]   " if ok else "[fail] ") + what, flush=True)
        if not ok:
            for text in shown or (self.said[-1500:], self.report[:3000]):
                print("    " + str(text).replace("\n", "\n    "))

    def sound(self, what):
        """The three files are whole, small and flat, and the report has a line for every part."""
        wrong = []
        if sorted(self.files) != sorted(FILES) or not self.flat:
            wrong.append(f"files {sorted(self.files)}")
        if sum(map(len, self.files.values())) > 8 * 16 << 20 or any(
            len(f) > 16 << 20 for f in self.files.values()
        ):
            wrong.append("too large")
        try:
            self.results = json.loads(self.files["results.json"])
            with tarfile.open(fileobj=io.BytesIO(self.files["state.tar"])) as archive:
                names = archive.getnames()
            if "state.tsv" not in names:
                wrong.append(f"state.tar has {names}")
        except (KeyError, ValueError, tarfile.TarError) as error:
            self.results = {}
            wrong.append(repr(error))
        lacking = [p for p in PARTS if not re.search(rf"^\| {p} \| \w", self.report, re.M)]
        if lacking:
            wrong.append(f"no line for {lacking}")
        self.check(f"{what}: a sound report", not wrong, wrong, self.said[-1500:])

    def part(self, name):
        return next((p for p in self.results.get("parts", ()) if p["name"] == name), {})


def whole(m):
    """The driver on the library path alone, two seconds in cuInit."""
    m.run("--minutes 2", FAKE_CUDA_INIT_MS="2000")
    m.sound("slow starts")
    m.check("slow starts: exit 0", m.status == 0)
    m.check("the driver that was taken is named", "/drivers/libcuda.so.1" in m.report)
    processes = len(m.results.get("jobs", ()))
    m.check(
        f"a context is held in the background: {processes} processes in {m.seconds:.0f} s",
        processes > 30 and m.seconds < 25 + processes / 2,
    )
    figures = m.results.get("figures", [])
    m.check(
        "each network has figures beside a prediction",
        len(figures) >= 2 and all(f["p50_ms"] > 0 and f["predicted_ms"] > 0 for f in figures),
        figures,
    )
    m.check("torch is skipped, with what is missing", "python3 is not on this machine" in m.report)
    m.state = m.files.get("state.tar", b"")


def resumed(m):
    m.run("--minutes 1 --state /out/old.tar doctor conformance", kept=[("old.tar", m.state)])
    m.files.pop("old.tar", None)
    m.sound("a second call")
    m.check(
        "a second call goes on from the state of the first, its folder empty",
        m.status == 0 and m.part("replays").get("state") == "done before" and m.seconds < 15,
    )
    half = m.state[: len(m.state) // 2]
    m.run("--minutes 1 --state /out/old.tar doctor", kept=[("old.tar", half)])
    m.files.pop("old.tar", None)
    m.sound("a state that is cut off")
    m.check("a state that is cut off is named", "is cut off" in m.report)


def drivers(m):
    m.place_driver("usr/local/nvidia/lib64")
    m.run("--minutes 1 doctor modules", LD_LIBRARY_PATH=None)
    m.sound("a driver in a usual folder")
    m.check("a driver in a usual folder is found", "/usr/local/nvidia/lib64" in m.report)
    m.place_driver(None)
    m.run("--minutes 1")
    m.sound("no driver")
    m.check("no driver: named, exit 1", "no CUDA driver" in m.report and m.status == 1)
    m.place_driver("drivers")
    m.run("--minutes 1", FAKE_CUDA_SM="61")
    m.sound("another architecture")
    m.check(
        "another architecture: named, with what to do; the doctor ran",
        "--pack ARCH" in m.report and m.status == 1 and m.part("doctor").get("state") == "done",
    )
    m.run("--minutes 1", FAKE_CUDA_INIT_MS="100000")
    m.sound("a driver that does not start")
    m.check("a driver that does not start is named", "did not start within 3 s" in m.report)
    m.run("--minutes 1 doctor conformance", FAKE_CUDA_COMPUTE_MODE="-3")
    m.sound("a GPU for one process at a time")
    m.check("a GPU for one process at a time: nothing in parallel", "at a time" in m.report)


def failures(m):
    for call in (40, 300):
        m.run("--minutes 1 conformance", FAKE_CUDA_FAIL=f"{call}:700")
        m.sound(f"call {call} of each process fails")
        m.check(
            f"call {call} of each process fails: the case is named, others ran",
            re.search(r"case \d+ \w.*ended its process.*CUDA_ERROR", m.report)
            and re.search(r"[1-9]\d* cases", m.report),
        )
    m.run("--minutes 1 conformance", FAKE_CUDA_WRONG="cumsum")
    m.sound("a kernel that computes nothing")
    m.check(
        "a failing case has kernel, grid, element and both numbers",
        re.search(r"cumsum.*element \d+ .*: \S+ instead of \S+", m.report)
        and re.search(r"on the GPU ran: .*cumsum\w* grid \d+x\d+x\d+", m.report),
    )
    m.check(
        "and all other cases came out right",
        not re.search(r"conformance: arg_reduce", m.report)
        and re.search(r"[1-9]\d* cases, 0 failed", json.dumps(m.results)),
    )
    m.run("--minutes 1 conformance", FAKE_CUDA_HANG="cumsum", PACK_STALL="8")
    m.sound("a kernel that never ends")
    m.check(
        "a kernel that never ends: its cases are named, others ran",
        re.search(r"case \d+ cumsum.* did not end", m.report)
        and re.search(r"[1-9]\d* cases, 0 failed", json.dumps(m.results)),
    )
    stuck = {"FAKE_CUDA_HANG": "cumsum", "FAKE_CUDA_UNKILLABLE": "1", "PACK_STALL": "8"}
    m.run("--minutes 1 doctor conformance", **stuck)
    m.sound("processes that cannot be ended")
    m.check(
        "processes that cannot be ended are left, and named",
        "could not be ended and was left" in m.report and m.seconds < 60,
    )


def retreats(m):
    for what, rung in (
        ("early", "ordered"),
        ("early,branches", "serial"),
        ("early,branches,conditions", "host"),
        ("graphs", "none"),
    ):
        m.run("--minutes 1 ladder models", FAKE_CUDA_REFUSES=what)
        m.sound(f"a driver that refuses {what}")
        m.check(
            f"a driver that refuses {what}: retreats to '{rung}', and says so",
            f"run with INGOT_CUDA_GRAPHS={rung}" in m.report
            and "graphs 'full' do not" in m.report
            and m.part("models").get("state") == "done",
        )
    m.run("--minutes 1 ladder models", FAKE_CUDA_RACES="1")
    m.check(
        "kernels that start early and do not wait: other bits, retreats to 'ordered'",
        "other bits" in m.report and "run with INGOT_CUDA_GRAPHS=ordered" in m.report,
    )
    m.run("--minutes 1 replays", FAKE_CUDA_REFUSES="early", PACK_NETWORKS="branching_network")
    m.sound("a part that meets the fault first")
    m.check(
        "a network that fails is tried again with less",
        re.search(r"replays branching_network\.\S+: graphs 'full' do not", m.report)
        and re.search(r"replays branching_network\.\S+: graphs 'ordered' do", m.report),
    )


def disks(m):
    m.run("--minutes 1 doctor conformance", before="ulimit -f 600;")
    m.sound("a limit of files")
    m.run("--minutes 1 doctor conformance", before="ulimit -n 40;")
    m.sound("few open files")
    m.run("--minutes 1 doctor modules", OUT_SIZE="24k")
    m.check(
        "a full disk: named, the report is on the screen, exit 1",
        "could not be written" in m.said and "| doctor | done" in m.said and m.status == 1,
    )
    m.run("--minutes 1", TMP_SIZE="300k")
    m.sound("no room to work in")
    m.check("no room to work in: another folder is taken", "works in /" in m.report)


def cuts(m, times=(0.4, 1.1, 2.3, 4)):
    for by in ("TERM", "KILL"):
        for seconds in times:
            m.run("--minutes 1", CUT=str(seconds), CUT_BY=by, FAKE_CUDA_INIT_MS="300")
            m.sound(f"SIG{by} after {seconds} s")
            if by == "TERM":
                m.check(
                    f"SIGTERM after {seconds} s: it says so",
                    "by signal 15" in m.report or "everything" in m.report,
                )


def damaged(m):
    program = m.root / "pack/bin/gpu_runner"
    content = program.read_bytes()
    program.write_bytes(content[:100000])
    m.run("--minutes 1")
    m.check(
        "a file cut off: named with both sizes, exit 2",
        "bin/gpu_runner expected" in m.said and m.status == 2,
    )
    program.write_bytes(content)
    manifest = m.root / "pack/manifest.tsv"
    content = manifest.read_bytes()
    manifest.write_bytes(content[:500])
    m.run("--minutes 1")
    m.check("a manifest cut off: named", "copy the pack again" in m.said and m.status == 2)
    manifest.write_bytes(content)


CASES = (whole, resumed, drivers, failures, retreats, disks, cuts, damaged)


def long_call(m, minutes, to):
    """Everything in the pack, with real sizes, in one call."""
    real = {name: None for name in SMALL}
    m.run(f"--minutes {minutes}", FAKE_CUDA_INIT_MS="2000", **real)
    print(m.said)
    m.sound(f"one call of {minutes} minutes")
    m.check(f"it ends in its {minutes} minutes: {m.seconds:.0f} s", m.seconds <= minutes * 60 + 5)
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(m.root / "result", to)


def main():
    parser = text_parser(__doc__)
    parser.add_argument("pack", type=pathlib.Path)
    parser.add_argument("fake", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--minutes", type=int)
    args = parser.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if run("unshare", "-nmpf", "true").returncode:
        print("[skip] rehearsal of the pack: unshare is not allowed here (it wants root)")
        return
    with work_folder() as folder:
        machine = Machine(folder, args.pack, args.fake)
        if args.minutes:
            long_call(machine, args.minutes, f"{args.pack}.rehearsed")
        for case in CASES if not args.minutes else ():
            if args.only in case.__name__ or (case is whole and args.only == "resumed"):
                case(machine)
    print(f"pack_rehearsal: {machine.passed} passed, {machine.failed} failed")
    sys.exit(1 if machine.failed else 0)


main()
