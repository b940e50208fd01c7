// SPDX-License-Identifier: Apache-2.0
// What is offered where a GPU's memory does not suffice: smaller dimensions, --precision fp16, both
// or neither; each offer is tried, and the bytes that it names are those that such a file asks for.
#include "tests/cli/tune_cases.h"

using namespace cli_test;

namespace {

constexpr uint8_t kFp16 = 2;
const char* const kFp16Words = "converted with --precision fp16";

/// Rows of `width` numbers times a square matrix; rows: 0: left open, as "N". Behind it a 3x3
/// convolution of `channels` to as many.
struct Network {
  int64_t width = 32, rows = 0, channels = 0;
};
std::string make(const Folder& folder, const Network& n, uint8_t precision, bool winograd = false) {
  convert::FileSpec file;
  convert::ProgramSpec& p = file.program;
  p.precision = precision;
  const Dim rows = n.rows ? Dim(n.rows) : p.add_symbol("N", 1, 1 << 24);
  const int32_t u = p.add_value(test::input("u", {rows, n.width})),
                v = p.add_value(test::output("v", {rows, n.width}));
  const int32_t m = p.add_value(weights("m", {n.width, n.width}));
  p.add_instruction(LinearAttributes(), {u, m}, {v});
  if (n.channels) {
    const int32_t x = p.add_value(test::input("x", {1, 8, 8, n.channels}));
    const int32_t y = p.add_value(test::output("y", {1, 8, 8, n.channels}));
    const Packing packing = winograd ? Packing::kWinogradF43 : Packing::kPanels16;
    const int32_t w = p.add_value(weights("w", {n.channels, 3, 3, n.channels}, packing));
    Conv2dAttributes conv;
    conv.kernel_h = conv.kernel_w = 3,
    conv.pad_top = conv.pad_left = conv.pad_bottom = conv.pad_right = 1;
    conv.method = winograd ? ConvMethod::kWinogradF43 : ConvMethod::kDirect;
    p.add_instruction(conv, {x, w}, {y});
  }
  test::add_ports(&file);
  std::string path = folder / "precision" + std::to_string(precision) + ".ingot";
  convert::write_file(file, path);
  return path;
}

Ran bench(const std::string& file, int64_t rows, const char* mib = "1") {
  std::vector<std::string> words = {"bench", file, "--device", "cuda", "--seconds", "0"};
  if (rows) words.insert(words.end(), {"--dim", "N=" + std::to_string(rows)});
  return run_on(words, {{"FAKE_CUDA_MIB", mib}});
}
std::string refusal(const Ran& ran) {
  CAPTURE(ran.err);
  CHECK(ran.exit == 7);
  CHECK(is_one_error_line(ran.err));
  CHECK(has(ran.err, "device memory: needs "));
  return ran.err;
}
/// The number behind `words`; -1: none.
int64_t number_behind(const std::string& text, const std::string& words) {
  const size_t at = text.find(words);
  if (at == std::string::npos) return -1;
  int64_t number = 0;
  for (size_t i = at + words.size(); isdigit(text[i]) || (text[i] == ',' && isdigit(text[i + 1]));
       i++)
    if (text[i] != ',') number = number * 10 + (text[i] - '0');
  return number;
}
/// That the file in f16 runs, and in how many bytes: those of `offered`.
void check_fp16(const std::string& file, int64_t rows, const std::string& offered) {
  const Ran ran = bench(file, rows);
  CHECK_MESSAGE(ran.exit == 0, ran.err);
  CHECK(number_behind(offered, ", in ") ==
        number_behind(refusal(bench(file, rows, "0")), "needs "));
}

}  // namespace

TEST_CASE("gpu memory: a smaller dimension fits, f16 does not") {
  const Folder folder;
  const Network network = {.width = 64};
  const std::string said = refusal(bench(make(folder, network, kExact), 100'000));
  CHECK_MESSAGE(!has(said, "fp16"), said);
  const int64_t rows = number_behind(said, "it would fit with --dim N=");
  REQUIRE(rows > 1);
  CHECK(bench(folder / "precision0.ingot", rows).exit == 0);
  CHECK(bench(make(folder, network, kFp16), 100'000).exit == 7);
}

TEST_CASE("gpu memory: f16 fits, and no dimension is left open") {
  const Folder folder;
  const Network network = {.width = 640, .rows = 3};
  for (const uint8_t precision : {uint8_t(kExact), uint8_t(kFast)}) {
    const std::string said = refusal(bench(make(folder, network, precision), 0));
    CAPTURE(said);
    CHECK(has(said, std::string("; it would fit ") + kFp16Words + ", in "));
    CHECK_FALSE(has(said, "--dim"));
    check_fp16(make(folder, network, kFp16), 0, said);
  }
}

TEST_CASE("gpu memory: f16 fits, and no smaller dimension does") {
  const Folder folder;
  const Network network = {.width = 640};
  const std::string said = refusal(bench(make(folder, network, kExact), 8));
  CAPTURE(said);
  CHECK(has(said, std::string("; it would fit ") + kFp16Words + ", in "));
  check_fp16(make(folder, network, kFp16), 8, said);
}

TEST_CASE("gpu memory: either fits") {
  const Folder folder;
  const Network network = {.width = 480};
  const std::string said = refusal(bench(make(folder, network, kExact), 64));
  CAPTURE(said);
  const int64_t rows = number_behind(said, "it would fit with --dim N=");
  REQUIRE(rows > 1);
  CHECK(bench(folder / "precision0.ingot", rows).exit == 0);
  CHECK(has(said, "--dim N=" + std::to_string(rows) + ", or " + kFp16Words + ", in "));
  check_fp16(make(folder, network, kFp16), 64, said);
}

TEST_CASE("gpu memory: only both together fit") {
  const Folder folder;
  const Network network = {.width = 640};
  const std::string said = refusal(bench(make(folder, network, kExact), 4000));
  CAPTURE(said);
  const int64_t rows =
      number_behind(said, std::string("it would fit ") + kFp16Words + " and --dim N=");
  REQUIRE(rows > 1);
  const std::string f16 = make(folder, network, kFp16);
  check_fp16(f16, rows, said);
  CHECK(bench(f16, 4000).exit == 7);
}

TEST_CASE("gpu memory: neither fits") {
  const Folder folder;
  for (const int64_t rows : {0, 1}) {
    const Network network = {.width = 1024, .rows = rows};
    const std::string said = refusal(bench(make(folder, network, kExact), rows ? 0 : 20));
    CAPTURE(said);
    CHECK_FALSE(has(said, "it would fit"));
    CHECK(has(
        said,
        rows ? "the file leaves no dimension open, and --precision fp16 would not do either: take"
             : "no smaller dimension would fit, and --precision fp16 would not do either: take"));
    // Of a file that has it already nothing is reported.
    const std::string f16 = refusal(bench(make(folder, network, kFp16), rows ? 0 : 20));
    CHECK_MESSAGE(!has(f16, "--precision"), f16);
  }
}

TEST_CASE("gpu memory: what was converted to Winograd is direct in f16") {
  const Folder folder;
  const Network network = {.width = 32, .rows = 2, .channels = 96};
  const std::string said = refusal(bench(make(folder, network, kExact, true), 0));
  CAPTURE(said);
  CHECK(has(said, std::string("; it would fit ") + kFp16Words));
  check_fp16(make(folder, network, kFp16), 0, said);
}

TEST_CASE("gpu memory: the same of a program in parts, by what its rules leave to the GPU") {
  const Folder folder;
  const std::string net = make(folder, {.width = 640, .rows = 3, .channels = 32}, kExact);
  const auto bench_on = [&](const std::string& file, const char* mib) {
    return run_on({"bench", file, "--device", "cpu", "--place", "m=cuda", "--seconds", "0"},
                  {{"FAKE_CUDA_MIB", mib}});
  };
  const std::string said = refusal(bench_on(net, "1"));
  CAPTURE(said);
  CHECK(has(said, std::string("; it would fit ") + kFp16Words + ", in "));
  const std::string f16 = make(folder, {.width = 640, .rows = 3, .channels = 32}, kFp16);
  CHECK(bench_on(f16, "1").exit == 0);
}
