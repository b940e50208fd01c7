// SPDX-License-Identifier: Apache-2.0
// numpy's arrays and archives, torch.export's archives: made here, read, damaged.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/checkpoint/stored_zip.h"
#include "tests/checkpoint/support.h"
#include "tools/checkpoint/tensors/readers.h"
#include "tools/files/output_file.h"

using namespace ingot;
using namespace ingot::checkpoint;
using namespace ingot::test;

namespace {

std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                bool fortran = false) {
  std::string header = "{'descr': '" + descr +
                       "', 'fortran_order': " + (fortran ? "True" : "False") +
                       ", 'shape': " + shape + ", }";
  header.resize((header.size() + 10 + 63) / 64 * 64 - 10, ' ');
  return std::string("\x93NUMPY\1\0", 8) + little(header.size(), 2) + header + data;
}

std::string big_endian(std::string bytes, size_t width) {
  for (size_t i = 0; i + width <= bytes.size(); i += width)
    std::reverse(bytes.begin() + long(i), bytes.begin() + long(i + width));
  return bytes;
}

const std::vector<float> kSix = {0, 1, 2, 3, 4, 5};

}  // namespace

TEST_CASE("arrays of numpy in either order and either byte order") {
  const host::TemporaryPath file(".npy");
  const auto read = [&](const std::string& bytes) {
    write_file(file.path(), bytes);
    return read_checkpoint(file.path());
  };
  Checkpoint c = read(npy("<f4", "(2, 3)", raw(kSix)));
  REQUIRE(c.tensors.size() == 1);
  CHECK(c.format == "npy");
  CHECK(c.tensors[0].path == Path{"array"});
  CHECK(c.tensors[0].dims == std::vector<int64_t>{2, 3});
  CHECK(values_of<float>(c.tensors[0]) == kSix);
  CHECK(values_of<float>(read(npy("<f4", "(3, 2)", raw(kSix), true)).tensors[0]) ==
        std::vector<float>{0, 3, 1, 4, 2, 5});
  CHECK(values_of<float>(read(npy(">f4", "(6,)", big_endian(raw(kSix), 4))).tensors[0]) == kSix);
  c = read(npy("<c8", "(3,)", raw(kSix)));
  CHECK(c.tensors[0].type == ElementType::kC64);
  CHECK(c.tensors[0].dims == std::vector<int64_t>{3});
  CHECK(read(npy("|V2", "()", "ab")).tensors[0].type == ElementType::kBf16);
  CHECK(read(npy("<i8", "(0, 4)", "")).tensors[0].elements() == 0);
}

TEST_CASE("arrays whose header lies, or that hold objects, are refused") {
  const host::TemporaryPath file(".npy");
  const auto opening = [&](const std::string& bytes) {
    write_file(file.path(), bytes);
    return exit_of([&] { (void)read_checkpoint(file.path()); });
  };
  CHECK(opening(npy("<f4", "(2, 4)", raw(kSix))) == host::Exit::kCorrupt);
  CHECK(opening(npy("<f4", "(2, 2)", raw(kSix))) == host::Exit::kCorrupt);
  CHECK(opening(npy("<f4", "(4294967296, 4294967296, 4294967296)", raw(kSix))) ==
        host::Exit::kCorrupt);
  CHECK(opening(npy("|O", "(1,)", raw(kSix))) == host::Exit::kUnsafe);
  CHECK(opening(npy("<f16", "(1,)", std::string(16, '\0'))) == host::Exit::kUnsupported);
  CHECK(opening(npy("<M8[s]", "(1,)", std::string(8, '\0'))) == host::Exit::kCorrupt);
}

TEST_CASE("an archive of arrays; texts are facts") {
  const host::TemporaryPath file(".npz");
  const std::string whole =
      stored_zip({{"layer/w.npy", npy("<f4", "(2, 3)", raw(kSix), true)},
                  {"b.npy", npy("<i4", "(2,)", raw(std::vector<int32_t>{7, -8}))},
                  {"note.npy", npy("<U2", "()", raw(std::vector<uint32_t>{'h', 0xe9}))}});
  write_file(file.path(), whole);
  const Checkpoint c = read_checkpoint(file.path());
  CHECK(c.format == "npz");
  REQUIRE(c.tensors.size() == 2);
  CHECK(c.tensors[0].path == Path{"layer/w"});
  CHECK(values_of<float>(c.tensors[0]) == std::vector<float>{0, 2, 4, 1, 3, 5});
  CHECK(values_of<int32_t>(c.tensors[1]) == std::vector<int32_t>{7, -8});
  REQUIRE(c.facts.size() == 1);
  CHECK(std::get<std::string>(c.facts[0].value) == "h\xc3\xa9");
  CHECK(damaged_and_refused(whole, file.path(),
                            [](const std::string& p) { return read_checkpoint(p); }) > 1000);
}

namespace {

constexpr const char* kConfig = R"({"config": {
  "a.weight": {"path_name": "weight_0", "is_param": true, "use_pickle": false,
    "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 3}, {"as_int": 2}], "requires_grad": true,
    "device": {"type": "cuda", "index": 1},
    "strides": [{"as_int": 1}, {"as_int": 3}], "storage_offset": {"as_int": 0}, "layout": 7}},
  "tied": {"path_name": "weight_0", "is_param": true, "use_pickle": false,
    "tensor_meta": {"dtype": 7,
    "sizes": [{"as_int": 2}], "requires_grad": true, "device": {"type": "cpu", "index": null},
    "strides": [{"as_int": 1}], "storage_offset": {"as_int": 4}, "layout": 7}}}})";

std::string pt2(const std::string& config, const std::string& weight) {
  return stored_zip(
      {{"net/archive_format", "pt2"},
       {"net/byteorder", "little"},
       {"net/models/m.json", R"({"graph_module": {"deep": [1, [2]]}, "torch_version": "2.9.0"})"},
       {"net/data/weights/m_weights_config.json", config},
       {"net/data/weights/weight_0", weight},
       {"net/data/constants/m_constants_config.json",
        R"({"config": {"c": {"path_name": "tensor_0", "is_param": false, "use_pickle": false,
                          "tensor_meta": {"dtype": 5, "sizes": [], "device": {"type": "cpu", "index": null},
                          "strides": [], "storage_offset": {"as_int": 0}, "layout": 7}}}})"},
       {"net/data/constants/tensor_0", little(9, 8)}});
}

}  // namespace

TEST_CASE("weights and constants of an exported program") {
  const host::TemporaryPath file(".pt2");
  write_file(file.path(), pt2(kConfig, raw(kSix)));
  const Checkpoint c = read_checkpoint(file.path());
  CHECK(c.format == "torch pt2");
  REQUIRE(c.tensors.size() == 3);
  const Tensor* a = find(c, "a.weight");
  REQUIRE(a);
  CHECK(a->location == "cuda:1");
  CHECK(a->is_parameter);
  CHECK(values_of<float>(*a) == std::vector<float>{0, 3, 1, 4, 2, 5});
  REQUIRE(find(c, "tied"));
  CHECK(values_of<float>(*find(c, "tied")) == std::vector<float>{4, 5});
  REQUIRE(find(c, "constants/c"));
  CHECK(values_of<int64_t>(*find(c, "constants/c")) == std::vector<int64_t>{9});
  REQUIRE(c.facts.size() == 1);
  CHECK(std::get<std::string>(c.facts[0].value) == "2.9.0");
}

TEST_CASE("an exported program whose description lies is refused") {
  const host::TemporaryPath file(".pt2");
  const auto opening = [&](const std::string& config, const std::string& weight) {
    write_file(file.path(), pt2(config, weight));
    return exit_of([&] { (void)read_checkpoint(file.path()); });
  };
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = kConfig;
    return text.replace(text.find(from), from.size(), to);
  };
  CHECK(opening(kConfig, raw(kSix)) == host::Exit::kOk);
  CHECK(opening(kConfig, raw(kSix).substr(4)) == host::Exit::kCorrupt);
  CHECK(opening(with("weight_0", "weight_1"), raw(kSix)) == host::Exit::kCorrupt);
  CHECK(opening(with("weight_0", "weight_/../../x"), raw(kSix)) == host::Exit::kCorrupt);
  CHECK(opening(with("{\"as_int\": 3}", "{\"as_int\": 4}"), raw(kSix)) == host::Exit::kCorrupt);
  CHECK(opening(with("{\"as_int\": 3}", "{\"as_int\": -3}"), raw(kSix)) == host::Exit::kCorrupt);
  CHECK(opening(with("{\"as_int\": 3}", "{\"as_expr\": 3}"), raw(kSix)) == host::Exit::kCorrupt);
  CHECK(opening(with("\"dtype\": 7", "\"dtype\": 99"), raw(kSix)) == host::Exit::kUnsupported);
  CHECK(opening(with("\"layout\": 7", "\"layout\": 2"), raw(kSix)) == host::Exit::kUnsupported);
  CHECK(opening("{\"config\": 1}", raw(kSix)) == host::Exit::kCorrupt);
  CHECK(opening("{", raw(kSix)) == host::Exit::kCorrupt);
}
