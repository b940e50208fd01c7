// SPDX-License-Identifier: Apache-2.0
// Every line of "Bad input": what is wrong, its exit code, and nothing left behind.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "tests/cli/command_line.h"
#include "tools/files/npz/npz.h"

using namespace cli_test;
namespace fs = std::filesystem;

namespace {

/// One line, that exit code, those words, and the folder as it was.
void refused(const Folder& folder, const std::vector<std::string>& arguments, int exit,
             const std::vector<std::string>& says, const RunOptions& options = {}) {
  std::string line;
  for (const std::string& word : arguments) line += word + " ";
  CAPTURE(line);
  const auto before = folder.names();
  const Ran ran = run(arguments, options);
  CAPTURE(ran.err);
  CHECK(ran.signal == 0);
  CHECK(ran.exit == exit);
  CHECK(is_one_error_line(ran.err));
  for (const std::string& word : says) {
    CAPTURE(word);
    CHECK(ran.err.find(word) != std::string::npos);
  }
  CHECK(folder.names() == before);
}

std::vector<std::string> convert_words(const Folder& folder, const std::string& source) {
  return {"convert", source, "-o", folder / "o.ingot"};
}

}  // namespace

TEST_CASE(
    "bad source: missing, folder, empty, LFS pointer, HTML page, other formats, our own file") {
  const Folder folder;
  refused(folder, convert_words(folder, folder / "absent.onnx"), 7, {"no such file"});
  refused(folder, convert_words(folder, folder.path()), 7, {"is a folder"});
  spill(folder / "empty.onnx", "");
  refused(folder, convert_words(folder, folder / "empty.onnx"), 2, {"is empty"});
  spill(folder / "lfs.onnx",
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 98765\n");
  refused(folder, convert_words(folder, folder / "lfs.onnx"), 2,
          {"git-LFS pointer", "98765", "git lfs pull"});
  spill(folder / "page.onnx", "<!DOCTYPE html>\n<html><body>404</body></html>\n");
  refused(folder, convert_words(folder, folder / "page.onnx"), 2, {"HTML", "download it again"});
  spill(folder / "text.onnx", "hello\n");
  refused(folder, convert_words(folder, folder / "text.onnx"), 2, {"found text"});
  spill(folder / "lite.onnx", std::string("\x1c\0\0\0TFL3abcdefgh", 16));
  refused(folder, convert_words(folder, folder / "lite.onnx"), 2,
          {"no sound TFLite model", "download is incomplete"});
  spill(folder / "weights.pth", std::string("\x80\x02}q\x01.", 6));
  const std::string weights = folder / "weights.pth";
  refused(folder, convert_words(folder, weights), 4,
          {"weights and no program", "ingot convert NETWORK --weights " + weights});
  const std::string model = converted(folder, "linear");
  refused(folder, convert_words(folder, model), 1, {"is an .ingot file already"});
}

TEST_CASE("bad source: a bundle of TFLite models says which it holds") {
  const auto number = [](uint32_t n, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; i++) out += char(n >> (8 * i));
    return out;
  };
  // A zip of one empty member.
  const std::string name = "hand.tflite", sizes(12, 0), none(2, 0);
  const std::string local = "PK\3\4" + number(20, 2) + std::string(8, 0) + sizes +
                            number(uint32_t(name.size()), 2) + none + name;
  const std::string entry = "PK\1\2" + number(20, 2) + number(20, 2) + std::string(8, 0) + sizes +
                            number(uint32_t(name.size()), 2) + std::string(16, 0) + name;
  const std::string end = "PK\5\6" + std::string(4, 0) + number(1, 2) + number(1, 2) +
                          number(uint32_t(entry.size()), 4) + number(uint32_t(local.size()), 4) +
                          none;
  const Folder folder;
  spill(folder / "hand.task", local + entry + end);
  refused(folder, convert_words(folder, folder / "hand.task"), 4,
          {"bundle of TFLite models", "'hand.tflite'", "--member"});
  const auto with = [&](const std::string& source, const std::string& member) {
    std::vector<std::string> words = convert_words(folder, source);
    words.insert(words.end(), {"--member", member});
    return words;
  };
  refused(folder, with(folder / "hand.task", "face.tflite"), 5,
          {"'face.tflite'", "there are 'hand.tflite'"});
  refused(folder, with(folder / "hand.task", "hand.tflite"), 2, {"hand.task!hand.tflite"});
  refused(folder, with(data("truncated.onnx"), "hand.tflite"), 5, {"this is none"});
}

TEST_CASE("inspect: a TFLite model is called one") {
  const Folder folder;
  spill(folder / "lite.tflite", std::string("\x1c\0\0\0TFL3abcdefgh", 16));
  const Ran ran = run({"inspect", folder / "lite.tflite"});
  CHECK((ran.out + ran.err).find("checkpoint") == std::string::npos);
}

TEST_CASE("bad source: truncated, cyclic, data outside its folder, unknown operators and domains") {
  const Folder folder;
  refused(folder, convert_words(folder, data("truncated.onnx")), 2, {"truncated.onnx"});
  refused(folder, convert_words(folder, data("cyclic.onnx")), 2, {"cyclic.onnx"});
  refused(folder, convert_words(folder, data("external_outside.onnx")), 3,
          {"external_outside.onnx"});
  refused(folder, convert_words(folder, data("unsupported.onnx")), 4,
          {"Frobnicate", "com.acme", "NoSuchOperator", "second", "third"});
}

TEST_CASE("bad options for a source: no such input, no such dimension, the source as the output") {
  const Folder folder;
  auto with = [&](const char* source, std::vector<std::string> more) {
    std::vector<std::string> arguments = convert_words(folder, data(source));
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  refused(folder, with("linear.onnx", {"--input-shape", "xx=1x4"}), 5, {"xx"});
  refused(folder, with("linear.onnx", {"--input-shape", "x=2x4"}), 5, {"x"});
  refused(folder, with("batch.onnx", {"--dim", "M=4"}), 5, {"M"});
  refused(folder, with("batch.onnx", {"--dim", "N=4..2"}), 1, {"N"});
  refused(folder, with("linear.onnx", {"--exact-to", "xnnpack"}), 1, {"litert, builtin, tflm"});
  refused(folder, with("linear.onnx", {"--exact-to", "tflm"}), 5, {"the integers of onnx"});
  refused(folder, with("linear.onnx", {"--exact-to", "onnx"}), 5, {"nothing in integers"});
  std::vector<std::string> tflite =
      convert_words(folder, INGOT_CHECKOUT "/tests/fuzz/seeds/fuzz_tflite/constants.tflite");
  tflite.insert(tflite.end(), {"--exact-to", "onnx"});
  refused(folder, tflite, 5, {"--exact-to onnx"});
  spill(folder / "net.onnx", slurp(data("linear.onnx")));
  refused(folder, {"convert", folder / "net.onnx", "-o", folder / "net.onnx"}, 1,
          {"is the source itself"});
  fs::create_symlink("net.onnx", folder / "link.ingot");
  refused(folder, {"convert", folder / "net.onnx", "-o", folder / "link.ingot"}, 1,
          {"is the source itself"});
  CHECK(slurp(folder / "net.onnx") == slurp(data("linear.onnx")));
}

TEST_CASE(
    "bad input arrays: wrong name, shape, type, missing, out of range, and no archive at all") {
  const Folder folder;
  const std::string linear = converted(folder, "linear"), embed = converted(folder, "embed"),
                    batch = converted(folder, "batch");
  const auto run_on = [&](const std::string& model, const std::string& inputs) {
    return std::vector<std::string>{"run",  model,       "--inputs",
                                    inputs, "--outputs", folder / "o.npz"};
  };
  refused(folder, run_on(linear, data("linear_name.npz")), 5, {"'x'", "'xx'"});
  refused(folder, run_on(linear, data("linear_shape.npz")), 5, {"'x'", "[1,4]", "[4,1]"});
  refused(folder, run_on(linear, data("embed.npz")), 5, {"'x'"});
  refused(folder, run_on(embed, data("embed_range.npz")), 5, {"gather"});
  refused(folder, run_on(linear, data("linear.onnx")), 2, {"no .npz or .npy"});
  refused(folder, run_on(linear, folder / "absent.npz"), 7, {"absent.npz"});
  auto arrays = ingot::host::read_npz(data("linear.npz"));
  arrays.resize(1);
  arrays[0].name = std::string("x");
  arrays[0].dtype = ingot::DType::kI32;
  write_npz(folder / "i32.npz", arrays);
  refused(folder, run_on(linear, folder / "i32.npz"), 5, {"expected f32", "found i32", "astype"});
}

TEST_CASE("bad dimensions: unbound, unknown, out of bounds, contradicting the inputs") {
  const Folder folder;
  const std::string batch = converted(folder, "batch");
  refused(folder, {"kernels", batch}, 5, {"--dim N=NUMBER"});
  // takes one, and says which
  CHECK(run({"bench", batch, "--seconds", "0"}).out.find("N = ") != std::string::npos);
  refused(folder, {"bench", batch, "--seconds", "0", "--dim", "M=2"}, 5, {"--dim M", "'N'"});
  refused(
      folder,
      {"run", batch, "--inputs", data("batch.npz"), "--outputs", folder / "o.npz", "--dim", "N=3"},
      5, {"N is 3 by --dim"});
  const Ran bounded =
      run({"convert", data("batch.onnx"), "-o", folder / "bounded.ingot", "--dim", "N=2..8"});
  CHECK(bounded.exit == 0);
  refused(folder, {"bench", folder / "bounded.ingot", "--seconds", "0", "--dim", "N=9"}, 5,
          {"9", "8"});
  CHECK(run({"bench", folder / "bounded.ingot", "--seconds", "0", "--dim", "N=8"}).exit == 0);
}

TEST_CASE("bad devices: one that is not there is exit 7, whatever the command") {
  const Folder folder;
  const std::string linear = converted(folder, "linear");
  refused(folder, {"bench", linear, "--seconds", "0", "--device", "cuda:7"}, 7, {"linear.ingot"});
  refused(folder, {"check", linear, "--golden", data("linear.npz"), "--device", "cuda"}, 7,
          {"linear.ingot"});
  CHECK(run({"bench", linear, "--seconds", "0", "--device", "cpu"}).exit == 0);
}

TEST_CASE("bad goldens: no outputs, a shape that differs, meta that lies") {
  const Folder folder;
  const std::string linear = converted(folder, "linear");
  refused(folder, {"check", linear, "--golden", data("linear_no_out.npz")}, 5, {"out:NAME"});
  refused(folder, {"check", linear, "--golden", data("linear_name.npz")}, 5, {"'xx'", "'x'"});
  refused(folder, {"check", linear, "--golden", data("linear_bad_meta.npz")}, 2, {"meta.steps"});
  refused(folder, {"check", linear, "--golden", data("stream.npz")}, 5, {"input"});
}

TEST_CASE("bad .ingot files: a source, cut off, flipped, from a newer format") {
  const Folder folder;
  const std::string model = converted(folder, "linear");
  const std::string sound = slurp(model);
  refused(folder, {"bench", data("linear.onnx")}, 2, {"expected an .ingot file", "ingot convert"});
  spill(folder / "cut.ingot", sound.substr(0, sound.size() / 2));
  refused(folder, {"bench", folder / "cut.ingot"}, 2, {"cut.ingot"});
  spill(folder / "head.ingot", sound.substr(0, 20));
  refused(folder, {"verify", folder / "head.ingot"}, 2, {"head.ingot"});
  std::string newer = sound;
  newer[8] = 9;  // major version
  spill(folder / "newer.ingot", newer);
  refused(folder, {"inspect", folder / "newer.ingot"}, 4, {"newer.ingot"});
  std::string flipped = sound;
  flipped[40] = char(flipped[40] ^ 0x55);  // in the header's hash
  spill(folder / "flipped.ingot", flipped);
  refused(folder,
          {"run", folder / "flipped.ingot", "--inputs", data("linear.npz"), "--outputs",
           folder / "o.npz"},
          2, {"flipped.ingot"});
}

TEST_CASE("bad places to write: full device, size limit, missing folder, a folder, no permission") {
  const Folder folder;
  const std::string model = converted(folder, "linear"), source = data("linear.onnx");
  refused(folder, {"convert", source, "-o", "/dev/full"}, 7, {"/dev/full"});
  refused(folder, {"run", model, "--inputs", data("linear.npz"), "--outputs", "/dev/full"}, 7,
          {"/dev/full"});
  refused(folder, {"convert", source, "-o", folder / "no/o.ingot"}, 7, {"no/o.ingot"});
  refused(folder, {"convert", source, "-o", folder.path()}, 7, {folder.path()});
  const auto limit = [] {
    const rlimit few = {200, 200} /* room for the error line */;
    setrlimit(RLIMIT_FSIZE, &few);
  };
  refused(folder, {"convert", source, "-o", folder / "o.ingot"}, 7, {"o.ingot"}, {{}, limit});
  refused(folder, {"run", model, "--inputs", data("linear.npz"), "--outputs", folder / "o.npz"}, 7,
          {"o.npz"}, {{}, limit});
  if (!nobody_can_run()) return;
  fs::permissions(folder.path(), fs::perms(0555));
  refused(folder, {"convert", source, "-o", folder / "o.ingot"}, 7, {"o.ingot", "may write"},
          {{}, become_nobody});
  refused(folder, {"run", model, "--inputs", data("linear.npz"), "--outputs", folder / "o.npz"}, 7,
          {"o.npz", "may write"}, {{}, become_nobody});
}
