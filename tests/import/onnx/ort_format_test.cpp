// SPDX-License-Identifier: Apache-2.0
// tests/import/onnx/ort_format_test.cpp - ONNX Runtime's own file format gives what the protobuf
// gives, and hostile files end with one line. Real ones:
// tests/frameworks/onnxruntime/optimized_networks.py.
#include "tools/import/onnx/ort_format.h"

#include "ort_format_generated.h"
#include "tests/import/onnx/import_helpers.h"
#include "tools/graph/tensor_math.h"

using namespace ingot;
using namespace ingot::test;
namespace ort = ingot::onnx::fb;

namespace {

/// y = relu(x + w), x of [n, 3]; what a case asks for is wrong.
struct OrtGiven {
  const char* op = "Relu";
  const char* output = "y";
  int kind = 0, attribute = 0, same_attributes = 0, nested = 0, same_inputs = 1, rank = 2;
  bool has_weights = true, has_graph = true;
};

using Builder = flatbuffers::FlatBufferBuilder;

flatbuffers::Offset<ort::OrtGraph> inner_graph(Builder& b, int nested) {
  if (nested == 0) return ort::CreateOrtGraph(b);
  const auto inside = inner_graph(b, nested - 1);
  ort::OrtAttributeBuilder branch(b);
  branch.add_type(onnx::kAttributeGraph);
  branch.add_graph(inside);
  const auto attributes = b.CreateVector(std::vector{branch.Finish()});
  const auto op = b.CreateString("If");
  ort::OrtNodeBuilder node(b);
  node.add_op(op);
  node.add_attributes(attributes);
  const auto nodes = b.CreateVector(std::vector{node.Finish()});
  ort::OrtGraphBuilder graph(b);
  graph.add_nodes(nodes);
  return graph.Finish();
}

std::string ort_bytes(const OrtGiven& given) {
  Builder b;
  const auto dimension = [&](int64_t number, const char* symbol) {
    return ort::CreateOrtDimension(
        b, ort::CreateOrtDimensionValueDirect(b, symbol ? 2 : 1, number, symbol));
  };
  const auto value = [&](const char* name) {
    std::vector all{dimension(0, "n"), dimension(3, nullptr)};
    all.resize(size_t(given.rank), all.back());
    const auto dims = b.CreateVector(all);
    const auto type = ort::CreateOrtTensorType(b, onnx::kFloat, ort::CreateOrtShape(b, dims));
    return ort::CreateOrtValueInfoDirect(
        b, name, nullptr, ort::CreateOrtTypeInfo(b, 0, ort::OrtType::OrtTensorType, type.Union()));
  };
  const auto texts = [&](std::vector<std::string> all) { return b.CreateVectorOfStrings(all); };
  const float numbers[] = {1, -2, 0.5f};
  const auto raw = b.CreateVector(reinterpret_cast<const uint8_t*>(numbers), sizeof numbers);
  const auto extents = b.CreateVector(std::vector<int64_t>{3});
  const auto weights =
      ort::CreateOrtTensor(b, b.CreateString("w"), 0, extents, onnx::kFloat,
                           given.has_weights ? raw : 0, 0, given.has_weights ? -1 : 64);
  std::vector<flatbuffers::Offset<ort::OrtAttribute>> attributes;
  if (given.attribute) {
    const auto name = b.CreateString("a");
    ort::OrtAttributeBuilder one(b);
    one.add_name(name);
    one.add_type(given.attribute);
    attributes.push_back(one.Finish());
  }
  if (given.same_attributes) {
    const auto ints = b.CreateVector(std::vector<int64_t>(4096, 7));
    ort::OrtAttributeBuilder one(b);
    one.add_ints(ints);
    attributes.assign(size_t(given.same_attributes), one.Finish());
  }
  if (given.nested) {
    const auto inside = inner_graph(b, given.nested);
    ort::OrtAttributeBuilder one(b);
    one.add_type(onnx::kAttributeGraph);
    one.add_graph(inside);
    attributes.push_back(one.Finish());
  }
  const auto node = [&](const char* op, std::vector<std::string> in, std::string out, bool last) {
    const auto name = b.CreateString(op), provider = b.CreateString("NPU");
    const auto ins = texts(in), outs = texts({out});
    const auto its = b.CreateVector(last ? attributes : decltype(attributes){});
    ort::OrtNodeBuilder made(b);
    made.add_name(name);
    made.add_op(name);
    made.add_kind(last ? given.kind : 0);
    made.add_provider(provider);
    made.add_inputs(ins);
    made.add_outputs(outs);
    made.add_attributes(its);
    return made.Finish();
  };
  const auto nodes = b.CreateVector(
      std::vector{node("Add", {"x", "w"}, "sum", false), node(given.op, {"sum"}, "y", true)});
  const auto values = b.CreateVector(std::vector{value("x"), value("sum"), value("y")});
  const auto initializers = b.CreateVector(std::vector{weights});
  const auto inputs = texts(std::vector<std::string>(size_t(given.same_inputs), "x")),
             outputs = texts({given.output});
  const auto graph = ort::CreateOrtGraph(b, initializers, values, nodes, 2, inputs, outputs);
  const auto opsets = b.CreateVector(std::vector{ort::CreateOrtOpsetDirect(b, "", 17)});
  const auto producer = b.CreateString("test");
  ort::OrtModelBuilder model(b);
  model.add_ir_version(9);
  model.add_opsets(opsets);
  model.add_producer_name(producer);
  if (given.has_graph) model.add_graph(graph);
  const auto made = model.Finish();
  ort::FinishOrtFileBuffer(b, ort::CreateOrtFile(b, 0, made));
  return {reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()};
}

bool says(const graph::ConversionError& error, const char* text) {
  return error.message.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("ort: a graph, its weights and dynamic dimensions") {
  const std::string bytes = ort_bytes({});
  const graph::Model model = onnx::import_onnx_bytes(bytes, "test.ort", "");
  CHECK(operators(model.graph) == "Add Relu");
  CHECK(output_type(model) == "f32[n, 3]");
  const graph::ValueId w = model.graph.nodes[0].inputs[1];
  REQUIRE(model.constant(w));
  CHECK((graph::read_numbers(*model.constant(w)) == std::vector<double>{1, -2, 0.5}));
}

TEST_CASE("ort: what is missing or another's is refused by name") {
  OrtGiven given;
  given.has_graph = false;
  CHECK(says(import_error(ort_bytes(given)), "it holds no graph"));
  given = {};
  given.output = "z";
  CHECK(says(import_error(ort_bytes(given)), "'z' is no value of the graph"));
  given = {};
  given.op = "";
  CHECK(says(import_error(ort_bytes(given)), "a node without operator"));
  given = {};
  given.attribute = onnx::kAttributeTensor;
  CHECK(says(import_error(ort_bytes(given)), "attribute 'a' has no value"));
  given.attribute = onnx::kAttributeGraph;
  CHECK(says(import_error(ort_bytes(given)), "attribute 'a' has no value"));
  given = {};
  given.kind = 1;
  graph::ConversionError error = import_error(ort_bytes(given));
  CHECK(error.exit_code == 4);
  CHECK(says(error, "compiled by ONNX Runtime for 'NPU'"));
  given = {};
  given.has_weights = false;
  error = import_error(ort_bytes(given));
  CHECK(error.exit_code == 4);
  CHECK(says(error, "the weights of 'w' are in a file of their own"));
}

TEST_CASE("ort: shared parts and deep graphs are bounded") {
  OrtGiven given;
  given.same_attributes = 1000;  // 32 MB of numbers from 40 KB
  CHECK(says(import_error(ort_bytes(given)), "the same parts again and again"));
  given = {};
  given.same_inputs = 1000;  // 24 MB of dims
  given.rank = 1000;
  CHECK(says(import_error(ort_bytes(given)), "the same parts again and again"));
  given = {};
  given.nested = 60;
  CHECK(says(import_error(ort_bytes(given)), "nested too deep"));
}

TEST_CASE("ort: every beginning of a file, and every byte changed, ends with a model or a line") {
  const std::string whole = ort_bytes({});
  int refused = 0;
  for (size_t size = 0; size < whole.size(); size++)
    refused += import_error(whole.substr(0, size)).exit_code != 0;
  CHECK(refused == int(whole.size()));
  for (size_t at = 0; at < whole.size(); at++)
    for (const char to : {'\x00', '\x7f', '\xff'}) {
      std::string changed = whole;
      changed[at] = to;
      const int code = import_error(changed).exit_code;
      CHECK((code == 0 || code == 2 || code == 4 || code == 5));
    }
}
