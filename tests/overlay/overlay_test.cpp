// Weights of one file in the architecture of another: names, prefixes, keys, renames, order, and what is refused.
#include "tools/overlay/overlay.h"

#include <doctest/doctest.h>

#include <cstring>

#include "tools/checkpoint/safetensors.h"
#include "tools/files/output_file.h"

using namespace ingot;
using graph::ValueId;

namespace {

struct Item {
  std::string name;
  std::vector<int64_t> dims;
};

int64_t count(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

/// An architecture whose weights are all zero.
struct Architecture {
  graph::Model model;
  std::vector<ValueId> ids;
  explicit Architecture(const std::vector<Item>& items) {
    for (const Item& item : items) {
      const std::vector<float> zeros(size_t(count(item.dims)));
      ids.push_back(model.add_constant(item.name, graph::make_constant(DType::kF32, item.dims, zeros.data())));
    }
  }
  const float* of(size_t i) const { return model.constant(ids[i])->as<float>(); }
  std::string notes() const {
    std::string all;
    for (const std::string& note : model.notes) all += note + "\n";
    return all;
  }
};

/// A file whose k-th tensor holds 100 k, 100 k + 1, ...
std::string save(const host::TemporaryPath& file, const std::vector<Item>& items, bool half = false) {
  std::vector<checkpoint::Tensor> tensors;
  for (size_t k = 0; k < items.size(); k++) {
    checkpoint::Tensor t;
    t.dims = items[k].dims;
    t.strides.assign(t.dims.size(), 1);
    for (size_t d = t.dims.size(); d-- > 1;) t.strides[d - 1] = t.strides[d] * t.dims[d];
    std::vector<uint8_t> bytes;
    for (int64_t i = 0; i < count(t.dims); i++) {
      const float x = float(100 * k + size_t(i));
      uint8_t raw[4];
      std::memcpy(raw, &x, 4);
      if (half)
        bytes.insert(bytes.end(), raw + 2, raw + 4);  // bfloat16
      else
        bytes.insert(bytes.end(), raw, raw + 4);
    }
    if (half) t.type = checkpoint::ElementType::kBf16;
    t.storage = checkpoint::memory_storage(std::move(bytes));
    tensors.push_back(std::move(t));
  }
  std::vector<checkpoint::NamedTensor> named;
  for (size_t k = 0; k < items.size(); k++) named.push_back({items[k].name, &tensors[k]});
  checkpoint::write_safetensors(file.path(), named, {});
  return file.path();
}

overlay::OverlayOptions from(const std::string& path) {
  overlay::OverlayOptions options;
  options.checkpoint = path;
  return options;
}

int exit_of(Architecture* a, const overlay::OverlayOptions& options, std::string* message = nullptr) {
  try {
    overlay::overlay_weights(a->model, a->ids, options);
  } catch (const graph::CastError& error) {
    if (message) *message = error.message;
    return error.exit_code;
  }
  return 0;
}

const std::vector<Item> kNet = {{"fc.weight", {2, 3}}, {"fc.bias", {5}}};

}  // namespace

TEST_CASE("weights are found by name, behind the usual prefixes") {
  const host::TemporaryPath file(".safetensors");
  for (const std::string prefix : {"", "module.", "model.", "_orig_mod.", "module._orig_mod.", "state_dict.model."}) {
    CAPTURE(prefix);
    save(file, {{prefix + "fc.bias", {5}}, {prefix + "fc.weight", {2, 3}}, {prefix + "fc.num_batches_tracked", {1}}});
    Architecture a(kNet);
    REQUIRE(exit_of(&a, from(file.path())) == 0);
    CHECK(a.of(0)[0] == 100);
    CHECK(a.of(0)[5] == 105);
    CHECK(a.of(1)[4] == 4);
    CHECK(a.notes().find("2 by name") != std::string::npos);
  }
}

TEST_CASE("a prefix that is said, and names that are mapped") {
  const host::TemporaryPath file(".safetensors");
  save(file, {{"student/net.weight", {2, 3}}, {"student/net.bias", {5}}});
  Architecture a(kNet);
  overlay::OverlayOptions options = from(file.path());
  options.strip_prefix = "student/";
  overlay::add_rename(options, "net.*=fc.*");
  REQUIRE(exit_of(&a, options) == 0);
  CHECK(a.of(0)[1] == 1);
  CHECK(a.of(1)[0] == 100);
  CHECK_THROWS_AS(overlay::add_rename(options, "nothing"), graph::CastError);
  CHECK_THROWS_AS(overlay::add_rename(options, "a.*.*=b"), graph::CastError);
  options.key = "nowhere";
  CHECK(exit_of(&a, options) == 5);
}

TEST_CASE("half-size floats are widened and it is said") {
  const host::TemporaryPath file(".safetensors");
  save(file, {{"fc.weight", {2, 3}}, {"fc.bias", {5}}}, true);
  Architecture a(kNet);
  REQUIRE(exit_of(&a, from(file.path())) == 0);
  CHECK(a.of(0)[3] == 3);
  CHECK(a.notes().find("2 tensors of bfloat16 are widened") != std::string::npos);
}

TEST_CASE("what an exporter renamed is found by shape, a product's weights transposed") {
  const host::TemporaryPath file(".safetensors");
  save(file, {{"fc.weight", {3, 2}}, {"fc.bias", {5}}});
  Architecture a({{"onnx::MatMul_7", {2, 3}}, {"fc.bias", {5}}});
  REQUIRE(exit_of(&a, from(file.path())) == 0);
  CHECK(a.of(0)[0] == 0);
  CHECK(a.of(0)[1] == 2);
  CHECK(a.of(0)[3] == 1);
  CHECK(a.notes().find("fc.weight for onnx::MatMul_7 transposed") != std::string::npos);
}

TEST_CASE("an order that nothing confirms is not guessed") {
  const host::TemporaryPath file(".safetensors");
  save(file, {{"b.weight", {6}}, {"a.weight", {6}}});
  Architecture a({{"x", {6}}, {"y", {6}}});
  std::string message;
  CHECK(exit_of(&a, from(file.path()), &message) == 5);
  CHECK(message.find("guess") != std::string::npos);
  CHECK(a.of(0)[1] == 0);
}

TEST_CASE("other shapes, missing weights and folded normalisations are refused with the reason") {
  const host::TemporaryPath file(".safetensors");
  std::string message;
  save(file, {{"fc.weight", {3, 3}}, {"fc.bias", {5}}});
  Architecture a(kNet);
  CHECK(exit_of(&a, from(file.path()), &message) == 5);
  CHECK(message.find("fc.weight is [2,3], the checkpoint has [3,3]") != std::string::npos);
  save(file, {{"fc.weights", {7, 3}}, {"fc.bias", {5}}});
  CHECK(exit_of(&a, from(file.path()), &message) == 5);
  CHECK(message.find("nearest: 'fc.weights'") != std::string::npos);
  CHECK(message.find("--map-key") != std::string::npos);
  save(file, {{"conv.weight", {8, 3, 3, 3}},
              {"bn.weight", {8}},
              {"bn.bias", {8}},
              {"bn.running_mean", {8}},
              {"bn.running_var", {8}}});
  Architecture folded({{"onnx::Conv_9", {8, 3, 3, 3}}, {"onnx::Conv_10", {8}}});
  CHECK(exit_of(&folded, from(file.path()), &message) == 4);
  CHECK(message.find("folded") != std::string::npos);
}
