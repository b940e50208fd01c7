// SPDX-License-Identifier: Apache-2.0
// tests/cli/tune_cases.h - networks to be tuned, and commands over the fake driver, whose clock is
// told how long each kernel takes.
#pragma once
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/command_line.h"
#include "tests/format/small_files.h"
#include "tools/compile/lower/packing.h"
#include "tools/compile/write/file_writer.h"
#include "tools/compile/write/tunings.h"
#include "tools/files/npz/npz.h"
#include "tools/session/file_parts.h"

namespace cli_test {

using namespace ingot;
using Json = nlohmann::json;
using Environment = std::vector<std::pair<std::string, std::string>>;

enum Precision : uint8_t { kExact = 0, kFast = 1 };

inline convert::ValueSpec weights(const std::string& name, std::vector<int64_t> dims,
                                  Packing packing = Packing::kPanels16) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::vector<float> dense(static_cast<size_t>(count));
  for (size_t i = 0; i < dense.size(); i++) dense[i] = float(int(i * 37 % 101) - 50) / 400;
  const std::vector<float> packed = pack_weights(packing, dims, dense);
  convert::ValueSpec value = test::constant(name, {dims.begin(), dims.end()}, packing);
  const auto* bytes = reinterpret_cast<const uint8_t*>(packed.data());
  value.bytes = {
      std::make_shared<std::vector<uint8_t>>(bytes, bytes + packed.size() * sizeof(float)),
      nullptr};
  return value;
}

/// A 3x3 convolution, and beside it rows times a matrix with sums of 512 summands; `open`: how many
/// rows is left open.
inline std::string make_network(const Folder& folder, Precision precision, bool open = false) {
  convert::FileSpec file;
  convert::ProgramSpec& p = file.program;
  p.precision = precision;
  const Dim rows = open ? p.add_symbol("N", 1, 64) : Dim(6);
  const int32_t x = p.add_value(test::input("x", {1, 6, 6, 8})),
                u = p.add_value(test::input("u", {rows, 512}));
  const int32_t w = p.add_value(weights("w", {16, 3, 3, 8})),
                m = p.add_value(weights("m", {40, 512}));
  const int32_t y = p.add_value(test::output("y", {1, 6, 6, 16})),
                v = p.add_value(test::output("v", {rows, 40}));
  Conv2dAttributes conv;
  conv.kernel_h = conv.kernel_w = 3,
  conv.pad_top = conv.pad_left = conv.pad_bottom = conv.pad_right = 1;
  p.add_instruction(conv, {x, w}, {y});
  p.add_instruction(LinearAttributes(), {u, m}, {v});
  test::add_ports(&file);
  const std::string path = folder / "net.ingot";
  convert::write_file(file, path);
  return path;
}
inline std::string make_chain(const Folder& folder) {
  convert::FileSpec file;
  convert::ProgramSpec& p = file.program;
  const int32_t x = p.add_value(test::input("x", {4, 8})),
                y = p.add_value(test::output("y", {4, 8}));
  p.add_instruction(test::step(ElementwiseOp::kRelu), {x}, {y});
  test::add_ports(&file);
  const std::string path = folder / "plain.ingot";
  convert::write_file(file, path);
  return path;
}

inline Ran run_on(const std::vector<std::string>& words, Environment environment = {}) {
  environment.push_back({"INGOT_CUDA_DRIVER", INGOT_FAKE_CUDA});
  return run(words, {environment, {}});
}
inline Ran must(const std::vector<std::string>& words, const Environment& environment = {}) {
  Ran ran = run_on(words, environment);
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  return ran;
}
inline Json tune(const std::string& file, const Environment& environment = {},
                 std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"tune", file, "--time", "0", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return Json::parse(must(words, environment).out);
}
inline Json variants(const std::string& file, const Environment& environment = {},
                     std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"place", file, "--device", "cuda", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return Json::parse(must(words, environment).out)["variants"];
}

/// The outputs' bytes, and how often each kernel ran.
struct Answer {
  std::vector<std::vector<uint8_t>> outputs;
  std::map<std::string, int> kernels;
};
inline Answer answer(const Folder& folder, const std::string& file, const std::string& device,
                     Environment environment = {}) {
  host::Array x, u;
  x.name = "x", x.dtype = DType::kF32, x.dims = {1, 6, 6, 8}, x.bytes.resize(36 * 8 * 4);
  u.name = "u", u.dtype = DType::kF32, u.dims = {6, 512}, u.bytes.resize(6 * 512 * 4);
  for (host::Array* array : {&x, &u})
    for (size_t i = 0; i < array->bytes.size() / 4; i++)
      reinterpret_cast<float*>(array->bytes.data())[i] = float(i * 13 % 97) / 48 - 1;
  host::write_npz(folder / "in.npz", {x, u});
  environment.push_back({"FAKE_CUDA_REPORT", folder / "report"});
  must({"run", file, "--device", device, "--inputs", folder / "in.npz", "--outputs",
        folder / "out.npz"},
       environment);
  Answer out;
  for (const host::Array& array : host::read_npz(folder / "out.npz"))
    out.outputs.push_back(array.bytes);
  std::istringstream report(slurp(folder / "report"));
  std::string name;
  for (int count = 0; report >> name >> count;)
    if (name.rfind("kernel:ingot_", 0) == 0) out.kernels[name.substr(13)] = count;
  return out;
}

inline std::vector<convert::TuningSpec> tunings_of(const std::string& file) {
  return convert::decode_tunings(cli::FileParts(file).read(PartKind::kTunings), file);
}
/// The file with other tunings, whole and with right hashes.
inline void rewrite(const std::string& file, const std::vector<uint8_t>& part) {
  cli::FileParts parts(file);
  parts.put(PartKind::kTunings, part);
  parts.raise_minor(kTuningsMinor);
  host::OutputFile out(file);
  parts.write(&out);
  out.commit();
}

inline const Environment kNarrowIsQuick = {
    {"FAKE_CUDA_TIMES", "conv2d_narrow=200000,conv2d_small=5000000"}};

}  // namespace cli_test
