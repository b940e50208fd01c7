// SPDX-License-Identifier: Apache-2.0
// The importer of TFLite: what it makes of models, and what of models that lie, call themselves or
// hold what is not supported.
#include "tools/import/tflite/import.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/checkpoint/support.h"
#include "tests/import/tflite/models.h"
#include "tools/checkpoint/tensors/storage.h"
#include "tools/files/output_file.h"
#include "tools/graph/tensor_math.h"
#include "tools/import/tflite/model_file.h"

using namespace ingot;
using namespace ingot::test;
using graph::ConversionError;

namespace {

constexpr int kAdd = 0, kConv = 3, kDequantize = 6, kCustom = 32, kQuantize = 114, kCall = 31;
const auto kF32 = lite::TensorType::float32;

/// y = relu(x + c), with the name of each.
GraphGiven sum(std::map<int, int8_t> bytes = {{0, 1}}, std::map<int, int32_t> fields = {}) {
  GraphGiven g;
  g.tensors = {{"x", kF32, {1, 2}, ""},
               {"c", kF32, {2}, raw(std::vector<float>{1, -2})},
               {"y", kF32, {1, 2}, ""}};
  g.operators = {{kAdd, {0, 1}, {2}, 11, fields, bytes, ""}};
  g.inputs = {0};
  g.outputs = {2};
  return g;
}

struct Outcome {
  int code = 0;
  std::string message;
  std::vector<graph::Unsupported> unsupported;
  tflite::Program program;
};
Outcome imported(const std::string& bytes, const importer::ImportOptions& options = {}) {
  const host::TemporaryPath file(".tflite");
  write_file(file.path(), bytes);
  Outcome out;
  try {
    out.program = tflite::import_tflite(file.path(), options);
  } catch (const ConversionError& error) {
    out.code = error.exit_code;
    out.message = error.message;
    out.unsupported = error.unsupported;
    CHECK(error.message.find('\n') == std::string::npos);
  } catch (const host::Failure& failure) {
    out.code = int(failure.exit());
    out.message = failure.message();
  }
  return out;
}
bool says(const Outcome& out, const std::string& word) {
  if (out.message.find(word) != std::string::npos) return true;
  for (const graph::Unsupported& u : out.unsupported)
    if ((u.op + " " + u.attribute + " " + u.why).find(word) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("a sum with a function behind it") {
  const Outcome out = imported(model_file({sum()}));
  REQUIRE(out.code == 0);
  const graph::Model& model = out.program.model;
  REQUIRE(model.graph.nodes.size() == 2);
  CHECK(model.graph.nodes[0].op == op::Add);
  CHECK(model.graph.nodes[1].op == op::Relu);
  CHECK(model.values[size_t(model.graph.inputs[0])].name == "x");
  CHECK(model.values[size_t(model.graph.outputs[0])].name == "y");
  CHECK(out.program.states.empty());
}

TEST_CASE("dynamic dimensions are symbols, bound by options") {
  GraphGiven g = sum();
  g.tensors[0].signature = {-1, 2};
  const Outcome open = imported(model_file({g}));
  REQUIRE(open.code == 0);
  CHECK(graph::text(open.program.model.values[size_t(open.program.model.graph.inputs[0])].dims) ==
        "[N, 2]");
  importer::ImportOptions three;
  three.dims["N"] = {3, 3};
  const Outcome bound = imported(model_file({g}), three);
  REQUIRE(bound.code == 0);
  CHECK(
      graph::text(bound.program.model.values[size_t(bound.program.model.graph.outputs[0])].dims) ==
      "[3, 2]");
}

TEST_CASE("entry points by name") {
  GraphGiven other = sum({{0, 0}});
  const std::string bytes = model_file({sum(), other}, {{"first", 0, {{"in", 0}}, {{"out", 2}}},
                                                        {"second", 1, {{"a", 0}}, {{"b", 2}}}});
  importer::ImportOptions options;
  options.signature = "second";
  const Outcome out = imported(bytes, options);
  REQUIRE(out.code == 0);
  CHECK(out.program.model.graph.nodes.size() == 1);
  CHECK(out.program.model.values[size_t(out.program.model.graph.outputs[0])].name == "b");
  options.signature = "third";
  const Outcome none = imported(bytes, options);
  CHECK(none.code == 5);
  CHECK(says(none, "'first', 'second'"));
  const host::TemporaryPath file(".tflite");
  write_file(file.path(), bytes);
  const tflite::Description d = tflite::describe_tflite(file.path());
  REQUIRE(d.signatures.size() == 2);
  CHECK(d.signatures[1].name == "second");
  CHECK(d.subgraphs == 2);
}

TEST_CASE("an option that nothing reads is refused, also one of a newer TFLite") {
  CHECK(imported(model_file({sum({{0, 0}, {1, 1}})})).code == 0);  // pot_scale_int16: no effect
  CHECK(imported(model_file({sum({{0, 0}, {2, 0}})})).code == 0);  // unknown, and zero
  const Outcome newer = imported(model_file({sum({{0, 0}, {2, 1}})}));
  CHECK(newer.code == 4);
  CHECK(says(newer, "field 2"));
  const Outcome sign_bit = imported(model_file({sum({{0, 5}})}));
  CHECK(sign_bit.code == 4);
  CHECK(says(sign_bit, "fused_activation_function"));
}

TEST_CASE("everything that is not supported is listed at once") {
  GraphGiven g = sum();
  g.tensors.push_back({"q", lite::TensorType::int16, {1, 2}, "", {}, {0.5f}, {5}});
  g.tensors.push_back({"s", lite::TensorType::string, {1, 2}, ""});
  g.tensors.push_back({"z", kF32, {1, 2}, ""});
  g.tensors.push_back({"w", lite::TensorType::int2, {2}, std::string("\1"), {}, {0.5f}, {0}});
  g.operators.push_back({kQuantize, {2}, {3}});
  g.operators.push_back({kCustom, {3}, {4}, 0, {}, {}, "Detect"});
  g.operators.push_back({kCustom, {3}, {4}, 0, {}, {}, "FlexErf"});
  g.operators.push_back({kAdd, {3, 3}, {3}, 11});
  g.operators.push_back({kAdd, {2, 6}, {5}, 11});
  g.operators.push_back({kAdd, {4, 4}, {5}, 11});
  g.operators.push_back({51, {2}, {5}});
  const Outcome out = imported(model_file({g}));
  CHECK(out.code == 4);
  for (const char* word : {"QUANTIZE", "quantized int16", "CUSTOM Detect", "CUSTOM FlexErf",
                           "int2 weights", "type string", "DELEGATE"}) {
    CAPTURE(word);
    CHECK(says(out, word));
  }
}

TEST_CASE("models that lie are refused") {
  const auto code = [](const GraphGiven& g) { return imported(model_file({g})).code; };
  GraphGiven g = sum();
  g.operators[0].inputs = {0, 9};
  CHECK(code(g) == 2);
  g = sum();
  g.operators[0].inputs = {0, -1};
  CHECK(code(g) == 2);
  g = sum();
  g.operators[0].inputs = {0};
  CHECK(code(g) == 2);
  g = sum();
  g.outputs = {-1};
  CHECK(code(g) == 2);
  g = sum();
  g.operators.clear();  // nothing makes the output
  CHECK(code(g) == 2);
  g = sum();
  g.inputs.clear();
  CHECK(code(g) == 2);
  g = sum();
  g.tensors[0].shape = {-2, 2};
  CHECK(code(g) == 2);
  g = sum();
  g.tensors[0].signature = {-1};
  CHECK(code(g) == 2);
  g = sum();
  g.tensors[1].shape = {3};  // 8 bytes
  CHECK(code(g) == 2);
  g = sum();
  g.tensors[1].shape = {1 << 30, 1 << 30, 1 << 30};
  CHECK(code(g) == 2);
  g = sum();
  g.tensors[1] = {"c", lite::TensorType::int8, {2}, std::string("\1\2"), {}, {0.5f, 1.f, 2.f}, {0}};
  CHECK(code(g) == 2);  // more scales than channels
  for (const float scale : {std::nanf(""), -1.f, INFINITY}) {
    g.tensors[1].scales = {scale};
    CHECK(code(g) == 2);
  }
  CHECK(imported(model_file({sum()}, {}, 2)).code == 4);
  CHECK(imported(model_file({})).code == 2);
  CHECK(imported(model_file({sum()}, {{"s", 7, {}, {}}})).code == 2);
  CHECK(imported(model_file({sum()}, {{"s", 0, {{"x", 99}}, {}}})).code == 2);
  CHECK(imported(std::string("\x1c\0\0\0TFL3", 8)).code == 2);
  g = sum();
  g.operators = {{kCall, {0}, {2}, 16, {{0, 0}}}};  // itself
  CHECK(code(g) == 2);
  g.operators = {{kCall, {0}, {2}, 16, {{0, 5}}}};  // none
  CHECK(code(g) == 2);
  g = sum();
  g.operators[0].options = 1;  // a convolution's
  CHECK(code(g) == 4);
}

TEST_CASE("constants that are dequantized or sparse are computed while converting") {
  GraphGiven g = sum({{0, 0}});
  g.tensors[1] = {"q", lite::TensorType::int8, {2}, std::string("\3\xfe"), {}, {0.5f, 2.f}, {1, 0}};
  g.tensors.push_back({"c", kF32, {2}, ""});
  g.operators = {{kDequantize, {1}, {3}}, {kAdd, {0, 3}, {2}, 11}};
  const Outcome out = imported(model_file({g}));
  REQUIRE(out.code == 0);
  const graph::Model& model = out.program.model;
  REQUIRE(model.graph.nodes.size() == 1);
  const graph::Constant* c = model.constant(model.graph.nodes[0].inputs[1]);
  REQUIRE(c);
  CHECK(graph::read_numbers(*c) == std::vector<double>{1, -4});
}

TEST_CASE("constants behind the tables") {
  GraphGiven g = sum({{0, 0}});
  g.tensors[1].outside = true;
  const std::string whole = model_file({g});
  const Outcome out = imported(whole);
  REQUIRE(out.code == 0);
  const graph::Model& model = out.program.model;
  const graph::Constant* c = model.constant(model.graph.nodes[0].inputs[1]);
  REQUIRE(c);
  CHECK(graph::read_numbers(*c) == std::vector<double>{1, -2});
  const Outcome cut = imported(whole.substr(0, whole.size() - 1));
  CHECK(cut.code == 2);
  CHECK(says(cut, "download is incomplete"));
}

TEST_CASE("buffers that lie in one another") {
  GraphGiven g = sum({{0, 0}});
  g.tensors.push_back({"d", kF32, {2}, raw(std::vector<float>{3, 4})});
  g.operators.push_back({kAdd, {2, 3}, {4}, 11, {}, {{0, 0}}, ""});
  g.tensors.push_back({"z", kF32, {1, 2}, ""});
  g.outputs = {4};
  g.tensors[1].outside = g.tensors[3].outside = true;
  const std::string whole = model_file({g});
  REQUIRE(imported(whole).code == 0);
  // both are the last 16 bytes, of which the second says where it begins
  const auto with_second_at = [&](uint64_t at) {
    std::string changed = whole;
    const std::string old = raw(std::vector<uint64_t>{whole.size() - 8});
    const size_t place = changed.find(old);
    REQUIRE(place != std::string::npos);
    return imported(changed.replace(place, 8, raw(std::vector<uint64_t>{at})));
  };
  CHECK(with_second_at(whole.size() - 16).code == 0);  // the same bytes
  const Outcome within = with_second_at(whole.size() - 12);
  CHECK(within.code == 2);
  CHECK(says(within, "overlap at byte " + std::to_string(whole.size() - 12)));
}

TEST_CASE("a variable is an input and an output, beginning with what CALL_ONCE writes") {
  constexpr int kCallOnce = 129, kHandle = 142, kRead = 143, kAssign = 144;
  const auto resource = lite::TensorType::resource;
  const auto graphs = [&](const std::vector<float>& first) {
    GraphGiven start, main;
    start.tensors = {{"h", resource, {}, ""}, {"first", kF32, {2}, raw(first)}};
    start.operators = {{kHandle, {}, {0}}, {kAssign, {0, 1}, {}}};
    main.tensors = {{"x", kF32, {2}, ""},
                    {"h", resource, {}, ""},
                    {"was", kF32, {2}, ""},
                    {"y", kF32, {2}, ""}};
    main.operators = {{kCallOnce, {}, {}, 103, {{0, 1}}},
                      {kHandle, {}, {1}},
                      {kRead, {1}, {2}},
                      {kAdd, {2, 0}, {3}, 11},
                      {kAssign, {1, 3}, {}}};
    main.inputs = {0};
    main.outputs = {3};
    return std::vector<GraphGiven>{main, start};
  };
  const Outcome out = imported(model_file(graphs({0.5f, 0.5f})));
  REQUIRE(out.code == 0);
  REQUIRE(out.program.states.size() == 1);
  CHECK(out.program.states[0].init == 0.5);
  CHECK(out.program.model.graph.inputs.size() == 2);
  CHECK(out.program.model.graph.outputs.size() == 2);
  const Outcome uneven = imported(model_file(graphs({0.5f, 1.f})));
  CHECK(uneven.code == 4);
  CHECK(says(uneven, "different numbers"));
  auto lost = graphs({0.5f, 0.5f});
  lost[0].operators.erase(lost[0].operators.begin());  // nothing initializes it: zero
  const Outcome zero = imported(model_file(lost));
  REQUIRE(zero.code == 0);
  CHECK(zero.program.states[0].init == 0);
}

TEST_CASE("every cut and every changed byte of a model ends in a graph or in a refusal") {
  GraphGiven g;
  g.tensors = {{"x", kF32, {1, 4, 4, 1}, "", {-1, 4, 4, 1}},
               {"w", kF32, {2, 1, 1, 1}, raw(std::vector<float>{1, 2})},
               {"b", kF32, {2}, raw(std::vector<float>{1, 2})},
               {"y", kF32, {1, 4, 4, 2}, ""}};
  g.operators = {{kConv, {0, 1, 2}, {3}, 1, {{1, 1}, {2, 1}, {4, 1}, {5, 1}}, {{0, 1}, {3, 3}}}};
  g.inputs = {0};
  g.outputs = {3};
  const std::string whole =
      model_file({g, sum()}, {{"s", 0, {{"x", 0}}, {{"y", 3}}}, {"t", 1, {{"x", 0}}, {{"y", 2}}}});
  REQUIRE(imported(whole).code == 0);
  size_t refused = 0;
  const auto tries = [&](const std::string& bytes) {
    const Outcome out = imported(bytes);
    CHECK(out.code != 8);
    CHECK(out.code != 1);
    refused += out.code != 0;
  };
  for (size_t n = 0; n < whole.size(); n += 3) tries(whole.substr(0, n));
  for (size_t i = 0; i < whole.size(); i++)
    for (const int mask : {0x01, 0x80, 0xff}) {
      std::string bytes = whole;
      bytes[i] = char(bytes[i] ^ mask);
      tries(bytes);
    }
  CHECK(refused > 500);
}

TEST_CASE("text at the borders of a model names the numbers beside it") {
  constexpr int kLookup = 10;
  GraphGiven in;  // word -> its number -> twice that
  in.tensors = {{"word", lite::TensorType::string, {1}, ""},
                {"ids", lite::TensorType::int32, {1}, ""},
                {"y", lite::TensorType::int32, {1}, ""}};
  in.operators = {{kLookup, {0}, {1}}, {kAdd, {1, 1}, {2}, 11}};
  in.inputs = {0}, in.outputs = {2};
  Outcome out = imported(model_file({in}));
  CHECK(out.code == 4);
  REQUIRE(!out.unsupported.empty());
  CHECK(out.unsupported[0].op == "input");
  CHECK(out.unsupported[0].why.find("is text") == 0);
  CHECK(out.unsupported[0].hint.find("from 'ids' on") != std::string::npos);

  GraphGiven made = sum();
  made.tensors.push_back({"label", lite::TensorType::string, {1}, ""});
  made.operators.push_back({kLookup, {2}, {3}});
  made.outputs = {3};
  out = imported(model_file({made}));
  CHECK(out.code == 4);
  const auto is_output = [](const graph::Unsupported& u) { return u.op == "output"; };
  const auto found = std::find_if(out.unsupported.begin(), out.unsupported.end(), is_output);
  REQUIRE(found != out.unsupported.end());
  CHECK(found->hint.find("end in 'y'") != std::string::npos);
}
