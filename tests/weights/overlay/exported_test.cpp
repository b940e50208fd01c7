// SPDX-License-Identifier: Apache-2.0
// What an overlay is told of an ONNX graph: modules, weights that exporters merged or left out, and
// that the graph is as it was where nothing is replaced.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/import/onnx/import_helpers.h"
#include "tools/import/onnx/separate_weights.h"

using namespace ingot;
using test::OnnxGraph;
using test::Proto;

namespace {

/// A node with a name and what torch.onnx.export says of the modules around it.
void add(OnnxGraph* graph, const std::string& op, const std::string& name,
         const std::vector<std::string>& inputs, const std::string& output,
         const std::string& scopes = "") {
  Proto node;
  for (const std::string& input : inputs) node.text(1, input);
  node.text(2, output).text(3, name).text(4, op);
  if (!scopes.empty())
    node.message(9, Proto().text(1, "pkg.torch.onnx.name_scopes").text(2, scopes));
  graph->proto.message(1, node);
}

/// Two norms that share a weight directly and a bias through Identities, a product without bias
/// behind them.
OnnxGraph merged() {
  OnnxGraph g;
  g.input("x", {2, 3}).output("y");
  g.initializer<float>("a.weight", {3}, {1, 1, 1}).initializer<float>("a.bias", {3}, {0, 0, 0});
  g.initializer<float>("fc.weight", {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  add(&g, "Identity", "i2", {"same"}, "b.bias");  // before what it reads
  add(&g, "Identity", "i1", {"a.bias"}, "same");
  add(&g, "LayerNormalization", "/a/LayerNormalization", {"x", "a.weight", "a.bias"}, "p");
  add(&g, "LayerNormalization", "node_7", {"p", "a.weight", "b.bias"}, "q",
      "['', 'b', 'layer_norm_1']");
  add(&g, "Gemm", "/fc/Gemm", {"q", "fc.weight"}, "y");
  return g;
}

std::string module_of(const std::string& name, const std::string& scopes = "") {
  onnx::Node node;
  node.name = name;
  node.module_scopes = scopes;
  return onnx::module_of(node);
}

}  // namespace

TEST_CASE("the module of a node is read from its name or its metadata") {
  CHECK(module_of("/conv1/Conv") == "conv1");
  CHECK(module_of("/layer1/layer1.0/conv1/Conv_2") == "layer1.0.conv1");
  CHECK(module_of("/features/features.1/features.1.0/block/block.0/block.0.0/Conv") ==
        "features.1.0.block.0.0");
  CHECK(module_of("/Add") == "");
  CHECK(module_of("Conv_12") == "");
  CHECK(module_of("") == "");
  CHECK(module_of("node_3", "['', 'blocks', 'blocks.0', 'blocks.0.attn', 'linear']") ==
        "blocks.0.attn");
  CHECK(module_of("node_3", "['', 'cat']") == "");
  CHECK(module_of("node_3", "['unclosed") == "");
}

TEST_CASE("every reader of a merged weight has its own, and a missing bias is zero") {
  importer::ImportOptions options;
  graph::WeightSites seen;
  std::vector<std::string> names;
  options.replace_weights = [&](graph::Model& model, const graph::WeightSites& sites) {
    seen = sites;
    for (const graph::ValueId id : sites.initializers)
      names.push_back(model.values[size_t(id)].name);
    for (size_t k = 0; k < sites.initializers.size(); k++) {  // k-th: all k + 1
      auto& place = model.values[size_t(sites.initializers[k])].constant;
      const std::vector<float> values(size_t(place->elements()), float(k + 1));
      place = std::make_shared<graph::Constant>(
          graph::make_constant(DType::kF32, place->dims, values.data()));
    }
  };
  const graph::Model model = test::import(merged(), 17, options);
  CHECK(names == std::vector<std::string>{"a.weight", "a.bias", "fc.weight", "same", "b.bias",
                                          "a.weight'", "bias of fc.weight"});
  REQUIRE(seen.readers.size() == 3);
  CHECK(seen.readers[0].module == "a");
  CHECK(seen.readers[1].module == "b");
  CHECK(seen.readers[2].module == "fc");
  CHECK(seen.readers[1].operands[1] == seen.initializers[5]);
  CHECK(seen.readers[1].operands[2] == seen.initializers[4]);
  CHECK(seen.readers[2].operands[2] == seen.initializers[6]);
  CHECK(seen.zeros == std::set<graph::ValueId>{seen.initializers[6]});
  CHECK(seen.copies.count(seen.initializers[4]) == 0);  // has a name of its own
  CHECK(seen.copies.at(seen.initializers[5]) == seen.initializers[0]);
  std::vector<float> read;  // what the nodes read in the end
  for (const graph::Node& node : model.graph.nodes)
    for (const graph::ValueId id : node.inputs)
      if (const graph::Constant* constant = model.constant(id))
        read.push_back(constant->as<float>()[0]);
  for (const float expected : {1.f, 2.f, 6.f, 5.f, 3.f, 7.f})
    CHECK(std::count(read.begin(), read.end(), expected) == 1);
}

TEST_CASE("where nothing is replaced the graph is what it was") {
  importer::ImportOptions options;
  options.replace_weights = [](graph::Model&, const graph::WeightSites&) {};
  const graph::Model plain = test::import(merged(), 17), same = test::import(merged(), 17, options);
  CHECK(test::operators(plain.graph) == test::operators(same.graph));
  CHECK(plain.graph.nodes.back().inputs.size() == same.graph.nodes.back().inputs.size());
}

TEST_CASE("graphs that nobody exports") {
  importer::ImportOptions options;
  size_t called = 0;
  options.replace_weights = [&](graph::Model&, const graph::WeightSites&) { called++; };
  OnnxGraph circle;  // Identities in a circle, one that is made twice, one that is an output
  circle.input("x", {2}).output("y").initializer<float>("w", {2}, {1, 2});
  add(&circle, "Identity", "a", {"v"}, "u");
  add(&circle, "Identity", "b", {"u"}, "v");
  add(&circle, "Add", "c", {"x", "w"}, "y");
  CHECK(test::import_error(circle.bytes(13), options).exit_code == 2);
  OnnxGraph twice;
  twice.input("x", {2}).output("y").initializer<float>("w", {2}, {1, 2});
  add(&twice, "Identity", "a", {"w"}, "v");
  add(&twice, "Identity", "b", {"w"}, "v");
  add(&twice, "Add", "c", {"x", "v"}, "y");
  CHECK(test::import_error(twice.bytes(13), options).exit_code == 2);
  OnnxGraph port;
  port.input("x", {2}).output("y").output("z").initializer<float>("w", {2}, {1, 2});
  add(&port, "Identity", "a", {"w"}, "z");
  add(&port, "Add", "c", {"x", "w"}, "y");
  CHECK(test::import(port, 13, options).graph.outputs.size() == 2);
  OnnxGraph wide;  // a transposed convolution that says more groups than it has channels
  wide.input("x", {1, 4, 8, 8}).output("y").initializer<float>("w", {4, 1, 1, 1}, {1, 2, 3, 4});
  wide.node("ConvTranspose", {"x", "w"}, {"y"}, {test::attribute("group", int64_t(1) << 40)});
  CHECK(test::import_error(wide.bytes(13), options).exit_code == 2);
  CHECK(called >= 3);
}
