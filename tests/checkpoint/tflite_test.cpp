// SPDX-License-Identifier: Apache-2.0
// Constants of TFLite models made here: every way to hold bytes, quantization, and tables that lie.
#include <doctest/doctest.h>

#include "tests/checkpoint/support.h"
#include "tflite_generated.h"
#include "tools/checkpoint/tensors/readers.h"
#include "tools/files/output_file.h"

using namespace ingot;
using namespace ingot::checkpoint;
using namespace ingot::test;

namespace {

struct Given {
  const char* name;
  tflite::fb::TensorType type;
  std::vector<int32_t> shape;
  std::string bytes;
  std::vector<float> scales = {};
  std::vector<int64_t> zeros = {};
  int32_t axis = 0;
  bool outside = false;  // bytes behind the tables
  bool sparse = false;
};

std::string model_of(const std::vector<Given>& tensors) {
  std::string tables, behind;
  // Offsets are known once the tables are; their size does not depend on them.
  for (int pass = 0; pass < 2; pass++) {
    flatbuffers::FlatBufferBuilder b;
    b.ForceDefaults(true);
    behind.clear();
    std::vector<flatbuffers::Offset<tflite::fb::Buffer>> buffers = {tflite::fb::CreateBuffer(b)};
    std::vector<flatbuffers::Offset<tflite::fb::Tensor>> list;
    for (const Given& g : tensors) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(g.bytes.data());
      if (g.outside) {
        buffers.push_back(
            tflite::fb::CreateBuffer(b, 0, tables.size() + behind.size(), g.bytes.size()));
        behind += g.bytes;
      } else {
        buffers.push_back(tflite::fb::CreateBuffer(b, b.CreateVector(bytes, g.bytes.size())));
      }
      const auto quantization =
          tflite::fb::CreateQuantization(b, 0, 0, b.CreateVector(g.scales), b.CreateVector(g.zeros),
                                         tflite::fb::QuantizationDetails::NONE, 0, g.axis);
      list.push_back(tflite::fb::CreateTensor(
          b, b.CreateVector(g.shape), g.type, uint32_t(buffers.size() - 1), b.CreateString(g.name),
          quantization, false, g.sparse ? tflite::fb::CreateSparsity(b) : 0));
    }
    list.push_back(tflite::fb::CreateTensor(b, 0, tflite::fb::TensorType::float32, 0,
                                            b.CreateString("computed")));
    const std::vector<flatbuffers::Offset<tflite::fb::SubGraph>> graphs = {
        tflite::fb::CreateSubGraph(b, b.CreateVector(list), 0, 0, 0, b.CreateString("main"))};
    b.Finish(tflite::fb::CreateModel(b, 3, 0, b.CreateVector(graphs), b.CreateString("made here"),
                                     b.CreateVector(buffers)),
             "TFL3");
    tables.assign(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
  }
  return tables + behind;
}

const std::vector<Given> kTensors = {
    {"w", tflite::fb::TensorType::float32, {2, 2}, raw(std::vector<float>{1, 2, 3, 4})},
    {"half", tflite::fb::TensorType::float16, {2}, raw(std::vector<uint16_t>{0x3c00, 0xc000})},
    {"q",
     tflite::fb::TensorType::int8,
     {2, 3},
     std::string("\1\2\3\4\5\xff"),
     {0.5f, 0.25f},
     {0, 0},
     0},
    {"bias",
     tflite::fb::TensorType::int32,
     {2},
     raw(std::vector<int32_t>{1, 2}),
     {0.5f, 0.25f},
     {0, 0},
     3},
    {"one", tflite::fb::TensorType::uint8, {2}, std::string("\x80\x81"), {0.125f}, {128}},
    {"four", tflite::fb::TensorType::int4, {3}, std::string("\x21\x0f"), {1.f}},
    {"far", tflite::fb::TensorType::int32, {2}, raw(std::vector<int32_t>{5, -6}), {}, {}, 0, true},
    {"w", tflite::fb::TensorType::boolean, {1}, std::string("\1")},
};

}  // namespace

TEST_CASE("constants of a TFLite model") {
  const host::TemporaryPath file(".tflite");
  write_file(file.path(), model_of(kTensors));
  const Checkpoint c = read_checkpoint(file.path());
  CHECK(c.format == "tflite");
  REQUIRE(c.tensors.size() == 8);
  CHECK(values_of<float>(c.tensors[0]) == std::vector<float>{1, 2, 3, 4});
  CHECK(c.tensors[1].type == ElementType::kF16);
  const Tensor* q = find(c, "q");
  REQUIRE((q && q->quantization));
  CHECK(q->quantization->scheme == "per_channel_affine");
  CHECK(q->quantization->scales == std::vector<double>{0.5, 0.25});
  CHECK(values_of<int8_t>(*q)[5] == -1);
  const Tensor* one = find(c, "one");
  REQUIRE((one && one->quantization));
  CHECK(one->quantization->zero_points == std::vector<int64_t>{128});
  REQUIRE(find(c, "four"));
  CHECK(values_of<int8_t>(*find(c, "four")) == std::vector<int8_t>{1, 2, -1});
  REQUIRE(find(c, "far"));
  CHECK(values_of<int32_t>(*find(c, "far")) == std::vector<int32_t>{5, -6});
  CHECK(find(c, "w:7") != nullptr);  // a name that is there twice
}

TEST_CASE("TFLite models whose tables lie are refused") {
  const host::TemporaryPath file(".tflite");
  const auto opening = [&](const std::vector<Given>& tensors) {
    write_file(file.path(), model_of(tensors));
    return exit_of([&] { (void)read_checkpoint(file.path()); });
  };
  const auto f32 = tflite::fb::TensorType::float32;
  const std::string four = raw(std::vector<float>{1});
  CHECK(opening({{"w", f32, {1}, four}}) == host::Exit::kOk);
  CHECK(opening({{"w", f32, {2}, four}}) == host::Exit::kCorrupt);
  CHECK(opening({{"w", f32, {-1}, four}}) == host::Exit::kCorrupt);
  CHECK(opening({{"w", f32, {1 << 30, 1 << 30, 1 << 30}, four}}) == host::Exit::kCorrupt);
  CHECK(opening({{"w", f32, {1}, four, {1, 2}, {0, 0}}}) == host::Exit::kCorrupt);
  CHECK(opening({{"w", f32, {1}, four, {1}, {0, 0}}}) == host::Exit::kCorrupt);
  CHECK(opening({{"w", tflite::fb::TensorType::variant, {1}, four}}) == host::Exit::kUnsupported);
  CHECK(opening({{"w", tflite::fb::TensorType(99), {1}, four}}) == host::Exit::kUnsupported);
}

TEST_CASE("every cut and every changed byte of a TFLite model ends in data or in a refusal") {
  const host::TemporaryPath file(".tflite");
  const size_t refused = damaged_and_refused(
      model_of(kTensors), file.path(), [](const std::string& p) { return read_tflite(p, {}); });
  CHECK(refused > 500);
}

TEST_CASE("a sparse tensor is named, and the others are read") {
  std::vector<Given> tensors = kTensors;
  tensors.push_back({"pruned",
                     tflite::fb::TensorType::float32,
                     {4, 4},
                     raw(std::vector<float>{5}),
                     {},
                     {},
                     0,
                     false,
                     true});
  const host::TemporaryPath file(".tflite");
  write_file(file.path(), model_of(tensors));
  const Checkpoint c = read_checkpoint(file.path());
  CHECK(c.tensors.size() == kTensors.size());
  CHECK(!find(c, "pruned"));
  REQUIRE(c.notes.size() == 1);
  CHECK(c.notes[0].find("'pruned' is sparse") == 0);
}
