// SPDX-License-Identifier: Apache-2.0
// Customs of MediaPipe's landmark networks: options and shapes that lie; every cut and every
// changed byte of the options. Their numbers are compared with their definition in landmarks.py.
#include <doctest/doctest.h>
#include <flatbuffers/flexbuffers.h>

#include <cmath>

#include "tests/import/tflite/imported.h"
#include "tools/import/tflite/flex_map.h"

using namespace ingot;
using namespace ingot::test;

namespace {

constexpr int kCustomCode = 32;
const auto kF32 = lite::TensorType::float32;

struct BoxGiven {
  std::map<std::string, int> integers = {{"left_rotation_idx", 0},
                                         {"right_rotation_idx", 2},
                                         {"output_height", 4},
                                         {"output_width", 3}};
  std::map<std::string, double> floats = {
      {"scale_x", 1.5}, {"scale_y", 1}, {"target_rotation_radians", 0}};
  std::vector<int> around = {0, 1, 2, 3};
  bool is_typed = true;
};
std::string flex(const BoxGiven& given) {
  flexbuffers::Builder b;
  b.Map([&] {
    for (const auto& [name, value] : given.integers) b.Int(name.c_str(), value);
    for (const auto& [name, value] : given.floats) b.Float(name.c_str(), float(value));
    const auto all = [&] {
      for (const int place : given.around) b.Int(place);
    };
    if (given.is_typed)
      b.TypedVector("subset_idxs", all);
    else
      b.Vector("subset_idxs", all);
  });
  b.Finish();
  return std::string(b.GetBuffer().begin(), b.GetBuffer().end());
}
Made versioned(GraphGiven g, int version) {
  g.operators[0].version = version;
  return made_of(g);
}
GraphGiven box_of(const std::string& options, std::vector<int32_t> dims = {1, 4, 3}) {
  GraphGiven g;
  g.tensors = {{"points", kF32, dims, ""}, {"y", kF32, {1, 4, 4}, ""}};
  g.operators = {{kCustomCode, {0}, {1}, 0, {}, {}, "Landmarks2TransformMatrix", options}};
  g.inputs = {0};
  g.outputs = {1};
  return g;
}
GraphGiven moving(const char* name, std::vector<int32_t> dims, std::vector<int32_t> matrix,
                  const std::string& options) {
  GraphGiven g;
  g.tensors = {{"x", kF32, dims, ""}, {"matrix", kF32, matrix, ""}, {"y", kF32, {1}, ""}};
  g.operators = {{kCustomCode, {0, 1}, {2}, 0, {}, {}, name, options}};
  g.inputs = {0, 1};
  g.outputs = {2};
  return g;
}

}  // namespace

TEST_CASE("the box around landmarks is a matrix, however the list of them is written") {
  for (const bool is_typed : {false, true}) {
    BoxGiven given;
    given.is_typed = is_typed;
    const Made out = versioned(box_of(flex(given)), 2);
    REQUIRE(out.code == 0);
    const graph::ValueId y = out.model.graph.outputs[0];
    CHECK(out.model.values[size_t(y)].dims == graph::Dims{1, 4, 4});
  }
}

TEST_CASE("what a box around landmarks cannot be is refused") {
  const auto refused = [](const BoxGiven& given, const char* word) {
    const Made out = versioned(box_of(flex(given)), 2);
    CHECK(out.code == 2);
    CHECK(says(out, word));
  };
  for (const int place : {-1, 4, 1 << 30}) {
    BoxGiven given;
    given.integers["left_rotation_idx"] = place;
    refused(given, "left_rotation_idx");
    given = {};
    given.around[1] = place;
    refused(given, "subset_idxs names landmark");
  }
  for (const double scale : {0.0, -1.0, double(NAN), double(INFINITY)}) {
    BoxGiven given;
    given.floats["scale_y"] = scale;
    refused(given, "scale_y");
  }
  BoxGiven given;
  given.around.clear();
  refused(given, "subset_idxs is missing, empty");
  given = {};
  given.integers["output_width"] = 0;
  refused(given, "output_width");
  CHECK(versioned(box_of(flex({}), {2, 4, 3}), 2).code == 2);
  CHECK(versioned(box_of(flex({}), {1, 4, 2}), 2).code == 2);
  const Made first = versioned(box_of(flex({})), 1);
  CHECK(first.code == 4);
  CHECK(says(first, "is version 1"));
}

TEST_CASE("what is moved by a matrix has the extents for it") {
  const char* const names[] = {"TransformLandmarks", "TransformTensorBilinear"};
  CHECK(versioned(moving(names[0], {1, 5, 3}, {1, 4, 4}, ""), 2).code == 0);
  CHECK(versioned(moving(names[0], {1, 5, 4}, {1, 4, 4}, ""), 2).code == 2);
  CHECK(versioned(moving(names[0], {1, 5, 3}, {1, 3, 4}, ""), 2).code == 2);
  flexbuffers::Builder b;
  b.Map([&] {
    b.Int("output_height", 2);
    b.Int("output_width", 3);
  });
  b.Finish();
  const std::string size(b.GetBuffer().begin(), b.GetBuffer().end());
  CHECK(versioned(moving(names[1], {1, 5, 4, 2}, {1, 4, 4}, size), 2).code == 0);
  CHECK(versioned(moving(names[1], {2, 5, 4, 2}, {1, 4, 4}, size), 2).code == 2);
  CHECK(versioned(moving(names[1], {1, 5, 4, 2}, {1, 4, 4}, ""), 2).code == 2);
}

TEST_CASE("options cut off and changed byte by byte end with a model or a line") {
  for (const bool is_typed : {false, true}) {
    BoxGiven given;
    given.is_typed = is_typed;
    const std::string whole = flex(given);
    const auto read = [](const std::string& bytes) {
      // a copy of its own, so that a sanitizer sees what is read beyond it
      const std::vector<uint8_t> own(bytes.begin(), bytes.end());
      auto map = tflite::FlexMap::read(own.data(), own.size());
      return map ? map->integers("subset_idxs") : std::nullopt;
    };
    REQUIRE(read(whole) == std::vector<int64_t>{0, 1, 2, 3});
    for (size_t size = 0; size < whole.size(); size++) read(whole.substr(0, size));
    for (size_t at = 0; at < whole.size(); at++)
      for (int to = 0; to < 256; to++) {
        std::string changed = whole;
        changed[at] = char(to);
        const auto found = read(changed);
        CHECK((!found || found->size() < 256));
      }
  }
}
