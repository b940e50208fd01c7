// SPDX-License-Identifier: Apache-2.0
// What is resident at most while a source of 60 MB is converted, of any kind of weights: 1.3 times
// the source and the program. Someone who holds the weights twice fails here. Needs the operator
// new of the command line, which a build with a sanitizer lacks.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/command_line.h"
#include "tests/support/onnx_writer.h"
#include "tools/files/npz/npy.h"

namespace {

using cli_test::Folder;
using ingot::test::OnnxGraph;
using ingot::test::Proto;

constexpr int64_t kSource = 60'000'000;
constexpr int64_t kProgram = 32'000'000;  // the converter itself and what it touches at a time
constexpr int kHalf = 10;                 // TensorProto.FLOAT16

/// Numbers that no pass recognizes, and no two tensors alike.
std::string numbers(int64_t bytes, uint32_t seed, bool half) {
  std::string out(size_t(bytes), '\0');
  for (size_t i = 0; i + 4 <= out.size(); i += 4) {
    seed = seed * 1664525u + 1013904223u;
    // exponents near one: 0x3c.. in f16, 0x3d.. in f32
    const uint32_t bits =
        half ? 0x30003000u | (seed >> 8 & 0x03ff03ffu) : 0x3c000000u | (seed >> 8 & 0x00ffffffu);
    std::memcpy(out.data() + i, &bits, 4);
  }
  return out;
}

Proto raw_tensor(const std::string& name, const std::vector<int64_t>& dims, const std::string& raw,
                 int type) {
  return Proto().packed_varints(1, dims).varint(2, uint64_t(type)).text(8, name).text(9, raw);
}

struct Kind {
  const char* name;
  const char* op;
  std::vector<int64_t> weights;  // of one
  int type;                      // of TensorProto
};

/// x -> op -> Relu -> op ... with as many weights as make up the source.
std::string network(const Kind& kind) {
  int64_t bytes = kind.type == kHalf ? 2 : 4;
  for (const int64_t d : kind.weights) bytes *= d;
  const int count = int(kSource / bytes);
  const std::string op = kind.op;
  OnnxGraph g;
  if (op == "Conv")
    g.input("x", {1, ingot::test::OnnxDim(int(kind.weights[1])), 8, 8}, kind.type);
  else
    g.input("x", {4, ingot::test::OnnxDim(int(kind.weights[0]))}, kind.type);
  std::string x = "x";
  for (int i = 0; i < count; i++) {
    const std::string n = std::to_string(i);
    g.proto.message(5, raw_tensor("w" + n, kind.weights,
                                  numbers(bytes, uint32_t(i + 1), kind.type == kHalf), kind.type));
    const int64_t pad = op == "Conv" ? kind.weights[2] / 2 : 0;
    std::vector<Proto> attributes;
    if (op == "Conv")
      attributes = {ingot::test::attribute("pads", std::vector<int64_t>{pad, pad, pad, pad})};
    g.node(op, {x, "w" + n}, {"m" + n}, attributes);
    g.node("Relu", {"m" + n}, {"y" + n});
    x = "y" + n;
  }
  g.output(x);
  return g.bytes(18);
}

/// Of the command line, by the system's own count.
int64_t most_resident(const std::vector<std::string>& arguments, int* status) {
  const pid_t child = fork();
  if (child == 0) {
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, 1);
    std::vector<char*> argv = {const_cast<char*>("ingot")};
    for (const std::string& argument : arguments)
      argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    execv(INGOT_BINARY, argv.data());
    _exit(127);
  }
  rusage used = {};
  wait4(child, status, 0, &used);
  return int64_t(used.ru_maxrss) * 1024;
}

}  // namespace

TEST_CASE("calibration reads an archive sample by sample") {
#ifdef INGOT_SANITIZED
  std::printf("[skip] memory of calibration: a sanitizer has its own memory\n");
  return;
#endif
  const Folder folder;
  const std::string data = folder / "data.npy",
                    digits = std::string(INGOT_MODELS) + "/../../examples/digits/digits.onnx";
  constexpr int64_t kSamples = 100'000, kGiven = 40, kBytes = 28 * 28 * 4;
  static_assert(kSamples * kBytes > 300'000'000);
  ingot::host::Array type;
  type.dtype = ingot::DType::kF32;
  type.dims = {kSamples, 1, 28, 28};
  std::string start = ingot::host::npy_header(type) + numbers(kGiven * kBytes, 1, false);
  cli_test::spill(data, start);
  std::filesystem::resize_file(data, start.size() + uint64_t(kSamples - kGiven) * kBytes);
  int status = 0;
  const int64_t most =
      most_resident({"convert", digits, "-o", folder / "m.ingot", "--dim", "n=1", "--dtype", "int8",
                     "--calibrate", data, "--calibrate-samples", std::to_string(kGiven), "-q"},
                    &status);
  CHECK(status == 0);
  CHECK_MESSAGE(most < 100'000'000, most);
}

TEST_CASE("conversion holds the weights about once") {
#ifdef INGOT_SANITIZED
  std::printf("[skip] memory of conversion: a sanitizer has its own memory\n");
  return;
#endif
  // The writer of the model stays small itself: a child's count begins with what its parent had.
  const Kind kinds[] = {{"MatMul", "MatMul", {1024, 1024}, 1},
                        {"MatMul with many small weights", "MatMul", {192, 192}, 1},
                        {"one weight", "MatMul", {3750, 4000}, 1},
                        {"Conv", "Conv", {256, 256, 3, 3}, 1},
                        {"MatMul in f16", "MatMul", {1024, 1024}, kHalf}};
  for (const Kind& kind : kinds) {
    CAPTURE(kind.name);
    const Folder folder;
    const pid_t writer = fork();
    if (writer == 0) {
      cli_test::spill(folder / "net.onnx", network(kind));
      _exit(0);
    }
    int status = 0;
    waitpid(writer, &status, 0);
    const int64_t source = int64_t(std::filesystem::file_size(folder / "net.onnx"));
    REQUIRE(source > kSource * 9 / 10);
    const int64_t most =
        most_resident({"convert", folder / "net.onnx", "-o", folder / "net.ingot"}, &status);
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 0);
    std::printf("memory of conversion: %s: source %lld, resident at most %lld, %.2f times\n",
                kind.name, static_cast<long long>(source), static_cast<long long>(most),
                double(most) / double(source));
    CHECK(most <= source / 10 * 13 + kProgram);
  }
}

TEST_CASE("conversion asks for the memory of all files of a source") {
  const Folder folder;
  constexpr int64_t kRows = 5000, kColumns = 5000;  // 100 MB, of which nothing is written
  OnnxGraph g;
  g.input("x", {4, int(kRows)});
  const auto entry = [](const char* key, const std::string& value) {
    return Proto().text(1, key).text(2, value);
  };
  g.proto.message(5, Proto()
                         .packed_varints(1, {kRows, kColumns})
                         .varint(2, 1)
                         .text(8, "w")
                         .message(13, entry("location", "net.data"))
                         .varint(14, 1));
  g.node("MatMul", {"x", "w"}, {"y"});
  g.output("y");
  cli_test::spill(folder / "net.onnx", g.bytes(18));
  cli_test::spill(folder / "net.data", "");
  std::filesystem::resize_file(folder / "net.data", kRows * kColumns * 4);
  cli_test::RunOptions limited;
  limited.environment = {{"INGOT_MEMORY_LIMIT", "100M"}};
  const std::vector<std::string> call = {"convert", folder / "net.onnx", "-o",
                                         folder / "net.ingot"};
  cli_test::Ran ran = cli_test::run(call, limited);
  CHECK(ran.exit == 7);
  CHECK(cli_test::is_one_error_line(ran.err));
  CHECK(ran.err.find(" needs 130000") != std::string::npos);
  CHECK(ran.err.find(" 104857600 can be had") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder / "net.ingot"));

  std::vector<std::string> stated = call;
  stated.insert(stated.end(), {"--memory-limit", "90M"});
  ran = cli_test::run(stated);
  CHECK(ran.exit == 7);
  CHECK(ran.err.find(" 94371840 can be had") != std::string::npos);

  // Shards of a checkpoint, and a limit of the system's own.
  cli_test::spill(folder / "small.onnx",
                  OnnxGraph().input("x", {4}).node("Relu", {"x"}, {"y"}).output("y").bytes(18));
  cli_test::spill(folder / "all.index.json", R"({"weight_map": {"w": "net.data"}})");
  ran = cli_test::run({"convert", folder / "small.onnx", "--weights", folder / "all.index.json"},
                      limited);
  CHECK(ran.exit == 7);
  CHECK(ran.err.find(" needs 130000") != std::string::npos);
#ifndef INGOT_SANITIZED
  cli_test::RunOptions small;
  small.in_child = [] {
    const rlimit most = {120u << 20, 120u << 20};
    setrlimit(RLIMIT_AS, &most);
  };
  ran = cli_test::run(call, small);
  CHECK(ran.exit == 7);
  CHECK(cli_test::is_one_error_line(ran.err));
  CHECK(ran.err.find("ulimit -v") != std::string::npos);
#endif
}

TEST_CASE("--memory-limit: of sessions, and words that are no bytes") {
  const Folder folder;
  const std::string model = cli_test::converted(folder, "linear");
  for (const char* command : {"run", "bench", "check", "verify", "compare", "tune", "convert"}) {
    CAPTURE(command);
    const cli_test::Ran ran = cli_test::run({command, "--memory-limit", "many", model});
    CHECK(ran.exit == 1);
    CHECK(ran.err.find("--memory-limit") != std::string::npos);
  }
  CHECK(cli_test::run({"bench", model, "--seconds", "0.01", "--memory-limit", "1G"}).exit == 0);
}
