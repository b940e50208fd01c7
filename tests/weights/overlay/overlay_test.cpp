// SPDX-License-Identifier: Apache-2.0
// Weights of one file in the architecture of another: names, prefixes, keys, renames, order, and
// what is refused.
#include "tools/weights/overlay/overlay.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "tools/checkpoint/flat/safetensors.h"
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
  std::vector<graph::WeightReader> readers;
  explicit Architecture(const std::vector<Item>& items) {
    for (const Item& item : items) {
      const std::vector<float> zeros(size_t(count(item.dims)));
      ids.push_back(model.add_constant(item.name,
                                       graph::make_constant(DType::kF32, item.dims, zeros.data())));
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
std::string save(const host::TemporaryPath& file, const std::vector<Item>& items,
                 bool half = false) {
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

int exit_of(Architecture* a, const overlay::OverlayOptions& options,
            std::string* message = nullptr) {
  try {
    overlay::overlay_weights(a->model, {a->ids, a->readers, {}, {}}, options);
  } catch (const graph::ConversionError& error) {
    if (message) *message = error.message;
    return error.exit_code;
  }
  return 0;
}

const std::vector<Item> kNet = {{"fc.weight", {2, 3}}, {"fc.bias", {5}}};

}  // namespace

TEST_CASE("weights are found by name, behind the usual prefixes") {
  const host::TemporaryPath file(".safetensors");
  for (const std::string prefix :
       {"", "module.", "model.", "_orig_mod.", "module._orig_mod.", "state_dict.model."}) {
    CAPTURE(prefix);
    save(file, {{prefix + "fc.bias", {5}},
                {prefix + "fc.weight", {2, 3}},
                {prefix + "fc.num_batches_tracked", {1}}});
    Architecture a(kNet);
    REQUIRE(exit_of(&a, from(file.path())) == 0);
    CHECK(a.of(0)[0] == 100);
    CHECK(a.of(0)[5] == 105);
    CHECK(a.of(1)[4] == 4);
    CHECK(a.notes().find("2 by name") != std::string::npos);
  }
}

TEST_CASE("a prefix that is stated, and names that are mapped") {
  const host::TemporaryPath file(".safetensors");
  save(file, {{"student/net.weight", {2, 3}}, {"student/net.bias", {5}}});
  Architecture a(kNet);
  overlay::OverlayOptions options = from(file.path());
  options.strip_prefix = "student/";
  overlay::add_rename(options, "net.*=fc.*");
  REQUIRE(exit_of(&a, options) == 0);
  CHECK(a.of(0)[1] == 1);
  CHECK(a.of(1)[0] == 100);
  CHECK_THROWS_AS(overlay::add_rename(options, "nothing"), graph::ConversionError);
  CHECK_THROWS_AS(overlay::add_rename(options, "a.*.*=b"), graph::ConversionError);
  options.key = "nowhere";
  CHECK(exit_of(&a, options) == 5);
}

TEST_CASE("half-size floats are widened and it is reported") {
  const host::TemporaryPath file(".safetensors");
  save(file, {{"fc.weight", {2, 3}}, {"fc.bias", {5}}}, true);
  Architecture a(kNet);
  REQUIRE(exit_of(&a, from(file.path())) == 0);
  CHECK(a.of(0)[3] == 3);
  CHECK(a.notes().find("2 tensors of bfloat16 are widened") != std::string::npos);
}

namespace {

graph::WeightReader reader(graph::Operator op, const std::string& module,
                           std::vector<ValueId> operands) {
  graph::WeightReader r;
  r.op = op;
  r.module = module;
  r.operands = std::move(operands);
  return r;
}
constexpr ValueId kNone = graph::kAbsent;

/// All lines of a refusal: the message and its table.
std::string refusal(Architecture* a, const overlay::OverlayOptions& options, int exit) {
  try {
    overlay::overlay_weights(a->model, {a->ids, a->readers, {}, {}}, options);
  } catch (const graph::ConversionError& error) {
    CHECK(error.exit_code == exit);
    std::string all = error.message + "\n";
    for (const graph::Unsupported& u : error.unsupported)
      all += u.op + ": " + u.why + "; " + u.hint + "\n";
    return all;
  }
  return "nothing was refused";
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE(
    "what an exporter renamed is found by the only tensor of its shape, a product's weights "
    "transposed") {
  const host::TemporaryPath file(".safetensors");
  save(file, {{"fc.weight", {3, 2}}, {"fc.bias", {5}}});
  Architecture a({{"onnx::MatMul_7", {2, 3}}, {"fc.bias", {5}}});
  a.readers = {reader(op::MatMul, "", {kNone, a.ids[0]})};
  REQUIRE(exit_of(&a, from(file.path())) == 0);
  CHECK(a.of(0)[0] == 0);
  CHECK(a.of(0)[1] == 2);
  CHECK(a.of(0)[3] == 1);
  CHECK(has(a.notes(), "fc.weight for onnx::MatMul_7 transposed"));
}

TEST_CASE("square weights are told apart by the modules that read them, in any order") {
  const host::TemporaryPath file(".safetensors");
  save(file, {{"key.weight", {2, 2}},
              {"query.weight", {2, 2}},
              {"query.bias", {2}},
              {"out.bias", {2}},
              {"out.weight", {2, 2}}});
  Architecture a({{"onnx::MatMul_1", {2, 2}},
                  {"onnx::MatMul_2", {2, 2}},
                  {"onnx::MatMul_3", {2, 2}},
                  {"query.bias", {2}},
                  {"out.bias", {2}}});
  a.readers = {reader(op::MatMul, "query", {kNone, a.ids[0]}),
               reader(op::MatMul, "key", {kNone, a.ids[1]}),
               reader(op::MatMul, "", {kNone, a.ids[2]})};
  a.readers[2].added = a.ids[4];  // known by its bias alone
  REQUIRE(exit_of(&a, from(file.path())) == 0);
  CHECK(a.of(0)[1] == 102);
  CHECK(a.of(1)[1] == 2);
  CHECK(a.of(2)[1] == 402);
  CHECK(a.of(3)[1] == 201);
}

TEST_CASE("an order that nothing confirms is not guessed") {
  const host::TemporaryPath file(".safetensors");
  save(file, {{"b.weight", {6}}, {"a.weight", {6}}});
  Architecture a({{"x", {6}}, {"y", {6}}});
  const std::string said = refusal(&a, from(file.path()), 5);
  CHECK(has(said, "2 missing, 2 unexpected"));
  CHECK(has(said, "others share its shape"));
  CHECK(a.of(0)[1] == 0);
}

TEST_CASE("all that does not fit is reported at once, with the flag that would mend it") {
  const host::TemporaryPath file(".safetensors");
  save(file, {{"fc.weight", {3, 3}}, {"fb.bias", {5}}, {"aux.weight", {5}}});
  Architecture a({{"fc.weight", {2, 3}}, {"fc.bias", {5}}});
  const std::string said = refusal(&a, from(file.path()), 5);
  CHECK(has(said, "1 missing, 2 unexpected, 1 with another shape"));
  CHECK(has(said, "mismatched 'fc.weight': [2,3] in the architecture, the checkpoint has [3,3]"));
  CHECK(has(said, "missing 'fc.bias': [5]"));
  CHECK(has(said, "--map-key 'fb.*=fc.*'"));
  CHECK(has(said, "unexpected 'aux.weight'"));
  CHECK(has(said, "--allow-unused 'aux.*'"));
  Architecture b({{"fc.weight", {3, 3}}, {"fc.bias", {5}}, {"pos.table", {9}}});
  overlay::OverlayOptions options = from(file.path());
  overlay::add_rename(options, "fb.*=fc.*");
  CHECK(has(refusal(&b, options, 5), "--allow-missing 'pos.table'"));
  overlay::add_allowed(options.allow_unused, "--allow-unused", "aux.*");
  overlay::add_allowed(options.allow_missing, "--allow-missing", "pos.*");
  CHECK(exit_of(&b, options) == 0);
  CHECK(b.of(1)[0] == 100);
  CHECK(b.of(2)[3] == 0);
  CHECK_THROWS_AS(overlay::add_allowed(options.allow_missing, "--allow-missing", "*a*"),
                  graph::ConversionError);
}

TEST_CASE("a weight without a dot in its name is missing where a layer reads it") {
  const host::TemporaryPath file(".safetensors");
  save(file, {{"fc.weight", {2, 3}}});
  const auto code = [&](graph::Operator op) {
    Architecture a({{"fc.weight", {2, 3}}, {"w", {7}}});
    graph::WeightReader reader;
    reader.op = op;
    reader.operands = {graph::kAbsent, a.ids[1]};
    a.readers = {reader};
    return exit_of(&a, from(file.path()));
  };
  for (const graph::Operator op :
       {op::Conv, op::DeformConv, op::Gemm, op::Einsum, op::GRU, op::LayerNormalization,
        op::GroupNormalization, op::RMSNormalization, op::PRelu}) {
    CAPTURE(graph::text(op));
    CHECK(code(op) == 5);
  }
  for (const graph::Operator op : {op::Add, op::Clip, op::Reshape}) CHECK(code(op) == 0);
}

TEST_CASE(
    "two tensors of one name once prefixes are gone are refused, and so is a key that holds "
    "nothing") {
  const host::TemporaryPath file(".safetensors");
  save(file, {{"net.weight", {2, 3}}, {"fc.weight", {2, 3}}, {"fc.bias", {5}}});
  Architecture a(kNet);
  overlay::OverlayOptions options = from(file.path());
  overlay::add_rename(options, "net.*=fc.*");
  const std::string said = refusal(&a, options, 5);
  CHECK(has(said, "'net.weight' and 'fc.weight' are both called 'fc.weight'"));
  overlay::OverlayOptions keyed = from(file.path());
  keyed.key = "ema";
  CHECK(has(refusal(&a, keyed, 5), "--key 'ema' holds no tensors"));
}

TEST_CASE("wrappers inside of names are looked through") {
  const host::TemporaryPath file(".safetensors");
  save(file, {{"features.module.0.weight", {4}}, {"head._orig_mod.weight", {2, 3}}});
  Architecture a({{"features.0.weight", {4}}, {"head.weight", {2, 3}}});
  REQUIRE(exit_of(&a, from(file.path())) == 0);
  CHECK(a.of(0)[1] == 1);
  CHECK(a.of(1)[1] == 101);
}

TEST_CASE(
    "equal weights that an exporter merged get their own again; what it left out comes back") {
  const host::TemporaryPath file(".safetensors");
  save(file, {{"a.weight", {4}},
              {"a.bias", {4}},
              {"b.weight", {4}},
              {"b.bias", {4}},
              {"fc.weight", {4, 4}},
              {"fc.bias", {4}}});
  Architecture a({{"b.weight", {4}},
                  {"a.bias", {4}},
                  {"b.weight'", {4}},
                  {"a.bias'", {4}},
                  {"fc.weight", {4, 4}},
                  {"no bias", {4}}});
  a.readers = {reader(op::LayerNormalization, "a", {kNone, a.ids[0], a.ids[1]}),
               reader(op::LayerNormalization, "b", {kNone, a.ids[2], a.ids[3]}),
               reader(op::Gemm, "", {kNone, a.ids[4], a.ids[5]})};
  a.readers[2].flipped = true;
  overlay::overlay_weights(
      a.model, {a.ids, a.readers, {{a.ids[2], a.ids[0]}, {a.ids[3], a.ids[1]}}, {a.ids[5]}},
      from(file.path()));
  CHECK(a.of(0)[1] == 1);
  CHECK(a.of(1)[1] == 101);
  CHECK(a.of(2)[1] == 201);
  CHECK(a.of(3)[1] == 301);
  CHECK(a.of(5)[1] == 501);
}

TEST_CASE("a module that is called again reads its own weights again") {
  const host::TemporaryPath file(".safetensors");
  save(file, {{"norm.bias", {4}}, {"norm.running_mean", {4}}, {"head.weight", {4}}});
  Architecture a({{"norm.bias", {4}},
                  {"norm.running_mean", {4}},
                  {"norm.bias'", {4}},
                  {"norm.running_mean'", {4}},
                  {"head.weight", {4}}});
  a.readers = {reader(op::BatchNormalization, "norm", {kNone, kNone, a.ids[0], a.ids[1], kNone}),
               reader(op::BatchNormalization, "norm_1", {kNone, kNone, a.ids[2], a.ids[3], kNone})};
  overlay::overlay_weights(a.model,
                           {a.ids, a.readers, {{a.ids[2], a.ids[0]}, {a.ids[3], a.ids[1]}}, {}},
                           from(file.path()));
  CHECK(a.of(2)[1] == 1);
  CHECK(a.of(3)[1] == 101);
  CHECK(a.of(4)[1] == 201);
}

TEST_CASE(
    "a tensor that is another one bit by bit needs no place of its own, unless it is uniform") {
  const host::TemporaryPath file(".safetensors");
  std::vector<float> values = {1, 2, 3, 4};
  std::vector<checkpoint::Tensor> tensors;
  for (int k = 0; k < 4; k++) {
    checkpoint::Tensor t;
    t.dims = {4};
    t.strides = {1};
    std::vector<uint8_t> bytes(16);
    if (k < 2) std::memcpy(bytes.data(), values.data(), 16);
    t.storage = checkpoint::memory_storage(std::move(bytes));
    tensors.push_back(std::move(t));
  }
  checkpoint::write_safetensors(file.path(),
                                {{"embed.weight", &tensors[0]}, {"head.weight", &tensors[1]}}, {});
  Architecture a({{"embed.weight", {4}}});
  REQUIRE(exit_of(&a, from(file.path())) == 0);
  CHECK(has(a.notes(), "'head.weight' is 'embed.weight' under another name"));
  checkpoint::write_safetensors(file.path(), {{"a.bias", &tensors[2]}, {"b.bias", &tensors[3]}},
                                {});
  Architecture b({{"a.bias", {4}}});
  CHECK(has(refusal(&b, from(file.path()), 5), "1 unexpected"));
}

TEST_CASE("gates of torch's recurrent layers are put into the order of ONNX") {
  const host::TemporaryPath file(".safetensors");
  save(file, {{"r.weight_ih_l0", {8, 3}},
              {"r.weight_hh_l0", {8, 2}},
              {"r.bias_ih_l0", {8}},
              {"r.bias_hh_l0", {8}}});
  Architecture a({{"W", {1, 8, 3}}, {"R", {1, 8, 2}}, {"B", {1, 16}}});
  a.readers = {reader(op::LSTM, "r", {kNone, a.ids[0], a.ids[1], a.ids[2]})};
  REQUIRE(exit_of(&a, from(file.path())) == 0);
  // i f g o becomes i o f g: two rows each.
  CHECK(a.of(0)[0] == 0);
  CHECK(a.of(0)[2 * 3] == 6 * 3);
  CHECK(a.of(0)[4 * 3] == 2 * 3);
  CHECK(a.of(0)[6 * 3] == 4 * 3);
  CHECK(a.of(1)[2 * 2] == 100 + 6 * 2);
  CHECK(a.of(2)[2] == 206);
  CHECK(a.of(2)[8 + 4] == 302);
  CHECK(has(a.notes(), "the gates of 1 recurrent layer are put into the order"));
  // Two layers of one shape, without the modules that they are: either could be either.
  save(file, {{"r.weight_ih_l0", {8, 2}},
              {"r.weight_hh_l0", {8, 2}},
              {"s.weight_ih_l0", {8, 2}},
              {"s.weight_hh_l0", {8, 2}}});
  Architecture two({{"W1", {1, 8, 2}}, {"R1", {1, 8, 2}}, {"W2", {1, 8, 2}}, {"R2", {1, 8, 2}}});
  two.readers = {reader(op::LSTM, "", {kNone, two.ids[0], two.ids[1]}),
                 reader(op::LSTM, "", {kNone, two.ids[2], two.ids[3]})};
  CHECK(has(refusal(&two, from(file.path()), 5), "4 missing, 4 unexpected"));
}

TEST_CASE(
    "folded normalizations are multiplied in when epsilon is stated, and refused when it is not") {
  const host::TemporaryPath file(".safetensors");
  save(file, {{"conv.weight", {2, 1, 1, 1}},
              {"bn.weight", {2}},
              {"bn.bias", {2}},
              {"bn.running_mean", {2}},
              {"bn.running_var", {2}}});
  Architecture a({{"onnx::Conv_9", {2, 1, 1, 1}}, {"onnx::Conv_10", {2}}});
  a.readers = {reader(op::Conv, "conv", {kNone, a.ids[0], a.ids[1]})};
  const std::string said = refusal(&a, from(file.path()), 4);
  CHECK(has(said, "1 batch normalization folded"));
  CHECK(has(said, "--bn-eps"));
  overlay::OverlayOptions options = from(file.path());
  overlay::set_batch_norm_epsilon(options, "0.5");
  REQUIRE(exit_of(&a, options) == 0);
  // weight 0 1, gain 100 101, beta 200 201, mean 300 301, variance 400 401
  CHECK(a.of(0)[1] == doctest::Approx(101 / std::sqrt(401.5)));
  CHECK(a.of(1)[0] == doctest::Approx(200 - 300 * 100 / std::sqrt(400.5)));
  CHECK(has(a.notes(), "1 batch normalization is multiplied into the layers before"));
  CHECK_THROWS_AS(overlay::set_batch_norm_epsilon(options, "small"), graph::ConversionError);
  CHECK_THROWS_AS(overlay::set_batch_norm_epsilon(options, "-1"), graph::ConversionError);

  SUBCASE("where order and names contradict each other nothing is folded") {
    save(file, {{"conv2.weight", {2, 1, 1, 1}},
                {"bn1.running_mean", {2}},
                {"bn1.running_var", {2}},
                {"conv1.weight", {2, 1, 1, 1}},
                {"bn2.running_mean", {2}},
                {"bn2.running_var", {2}}});
    Architecture b({{"conv1.weight", {2, 1, 1, 1}},
                    {"conv1.bias", {2}},
                    {"conv2.weight", {2, 1, 1, 1}},
                    {"conv2.bias", {2}}});
    b.readers = {reader(op::Conv, "", {kNone, b.ids[0], b.ids[1]}),
                 reader(op::Conv, "", {kNone, b.ids[2], b.ids[3]})};
    CHECK(has(refusal(&b, options, 5), "unexpected 'bn1.running_mean'"));
  }
}

TEST_CASE("values that are no numbers are counted and said") {
  const host::TemporaryPath file(".safetensors");
  std::vector<float> values = {1, NAN, INFINITY, 2};
  checkpoint::Tensor t;
  t.dims = {4};
  t.strides = {1};
  std::vector<uint8_t> bytes(16);
  std::memcpy(bytes.data(), values.data(), 16);
  t.storage = checkpoint::memory_storage(std::move(bytes));
  checkpoint::write_safetensors(file.path(), {{"a.weight", &t}}, {});
  Architecture a({{"a.weight", {4}}});
  REQUIRE(exit_of(&a, from(file.path())) == 0);
  CHECK(has(a.notes(), "'a.weight' holds 2 values that are NaN or infinite"));
}
