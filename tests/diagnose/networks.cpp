// SPDX-License-Identifier: Apache-2.0
#include "tests/diagnose/networks.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/onnx_writer.h"
#include "tools/diagnose/graph/check_graph.h"
#include "tools/files/npz/npz.h"
#include "tools/import/onnx/import.h"

namespace ingot::test {
namespace {

using Ints = std::vector<int64_t>;

/// Nodes one after another, each named by its output.
struct Net {
  OnnxGraph graph;
  uint64_t seed = 7;

  float random() {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return float(double(int64_t(seed >> 40)) / double(1 << 23) - 1);
  }
  std::string weights(const std::string& name, const Ints& dims, float scale = 0.3f,
                      float shift = 0) {
    int64_t n = 1;
    for (const int64_t d : dims) n *= d;
    std::vector<float> all;
    for (int64_t i = 0; i < n; i++) all.push_back(shift + scale * random());
    graph.initializer(name, dims, all);
    return name;
  }
  std::string number(const std::string& name, float x) {
    graph.initializer(name, {}, std::vector<float>{x});
    return name;
  }
  std::string node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::string& output, const std::vector<Proto>& attributes = {}) {
    Proto made;
    for (const std::string& input : inputs) made.text(1, input);
    made.text(2, output).text(3, output).text(4, op);
    for (const Proto& each : attributes) made.message(5, each);
    graph.proto.message(1, made);
    return output;
  }
  void loop(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
            const Net& body) {
    Proto made;
    for (const std::string& input : inputs) made.text(1, input);
    for (const std::string& output : outputs) made.text(2, output);
    made.text(3, outputs[0]).text(4, "Loop").message(5, graph_attribute("body", body.graph.proto));
    graph.proto.message(1, made);
  }
  void save(const std::string& path) const {
    std::ofstream(path, std::ios::binary) << graph.bytes(14);
  }
};

std::vector<Proto> window(const Ints& kernel, const Ints& pads, int64_t group = 1) {
  return {attribute("kernel_shape", kernel), attribute("pads", pads), attribute("group", group)};
}

void write_image(const std::string& path) {
  Net n;
  n.graph.input("x", {1, 3, 14, 14});
  n.node("Conv", {"x", n.weights("w1", {8, 3, 3, 3}), n.weights("b1", {8})}, "conv1",
         window({3, 3}, {1, 1, 1, 1}));
  n.node("BatchNormalization",
         {"conv1", n.weights("s1", {8}, 0.4f, 1), n.weights("h1", {8}), n.weights("m1", {8}),
          n.weights("v1", {8}, 0.4f, 1)},
         "norm1");
  n.node("Relu", {"norm1"}, "relu1");
  n.graph.shape_input("around", {0, 0, 1, 1, 0, 0, 1, 1});
  n.node("Pad", {"relu1", "around"}, "pad1");
  n.node("Conv", {"pad1", n.weights("wd", {8, 1, 3, 3})}, "depth1",
         window({3, 3}, {0, 0, 0, 0}, 8));
  n.node("Clip", {"depth1", n.number("low", 0), n.number("high", 1)}, "clip1");
  n.node("Conv", {"clip1", n.weights("wp", {16, 8, 1, 1})}, "point1", window({1, 1}, {0, 0, 0, 0}));
  n.node("Sigmoid", {"point1"}, "gate1");
  n.node("Mul", {"point1", "gate1"}, "silu1");
  n.node("Conv", {"silu1", n.weights("w2", {16, 16, 3, 3}), n.weights("b2", {16})}, "conv2",
         window({3, 3}, {1, 1, 1, 1}));
  n.node("Add", {"conv2", "silu1"}, "sum2");
  n.node("LeakyRelu", {"sum2"}, "relu2", {attribute("alpha", 0.1f)});
  n.node("MaxPool", {"relu2"}, "pool2",
         {attribute("kernel_shape", Ints{2, 2}), attribute("strides", Ints{2, 2})});
  n.graph.initializer("scales", {4}, std::vector<float>{1, 1, 2, 2});
  n.node("Resize", {"pool2", "", "scales"}, "large", {attribute("mode", std::string("linear"))});
  n.node("Sub", {"large", "relu2"}, "minus");
  n.node("Tanh", {"minus"}, "curve");
  n.node("Mul", {"curve", "large"}, "times");
  n.node("Concat", {"times", "relu2"}, "joined", {attribute("axis", int64_t(1))});
  n.node("AveragePool", {"joined"}, "mean3",
         {attribute("kernel_shape", Ints{3, 3}), attribute("pads", Ints{1, 1, 1, 1})});
  n.node("GlobalAveragePool", {"mean3"}, "whole");
  n.node("Flatten", {"whole"}, "flat");
  n.node("Gemm", {"flat", n.weights("wf", {32, 32}), n.weights("bf", {32})}, "dense",
         {attribute("transB", int64_t(1))});
  n.node("Softmax", {"dense"}, "chance", {attribute("axis", int64_t(1))});
  n.node("Transpose", {"relu2"}, "turned", {attribute("perm", Ints{0, 1, 3, 2})});
  n.graph.output("chance").output("turned");
  n.save(path);
}

void write_rows(const std::string& path) {
  Net n;
  n.graph.input("x", {2, 6, 16});
  n.graph.shape_input("last", {-1});
  n.node("ReduceMean", {"x"}, "mean", {attribute("axes", Ints{-1})});
  n.node("Sub", {"x", "mean"}, "centred");
  n.node("Mul", {"centred", "centred"}, "squares");
  n.node("ReduceMean", {"squares"}, "variance", {attribute("axes", Ints{-1})});
  n.node("Add", {"variance", n.number("epsilon", 1e-5f)}, "safe");
  n.node("Sqrt", {"safe"}, "deviation");
  n.node("Div", {"centred", "deviation"}, "unit");
  n.node("Mul", {"unit", n.weights("gain", {16}, 0.4f, 1)}, "scaled");
  n.node("Add", {"scaled", n.weights("offset", {16})}, "norm");
  n.node("MatMul", {"norm", n.weights("wq", {16, 16})}, "query");
  n.node("Add", {"query", n.weights("bq", {16})}, "queries");
  n.node("MatMul", {"norm", n.weights("wk", {16, 16})}, "keys");
  n.node("Transpose", {"keys"}, "keys_turned", {attribute("perm", Ints{0, 2, 1})});
  n.node("MatMul", {"queries", "keys_turned"}, "scores");
  n.node("Mul", {"scores", n.number("quarter", 0.25f)}, "soft_scores");
  n.node("Relu", {"soft_scores"}, "kept");
  n.node("MatMul", {"kept", "norm"}, "mixed");
  n.graph.initializer("which", {3}, std::vector<int64_t>{4, 0, 3});
  n.node("Gather", {"mixed", "which"}, "chosen", {attribute("axis", int64_t(1))});
  n.graph.shape_input("from", {1}).shape_input("to", {4}).shape_input("axis", {1});
  n.node("Slice", {"mixed", "from", "to", "axis"}, "middle");
  n.node("Exp", {"middle"}, "grown");
  n.node("Sub", {"grown", "chosen"}, "rest");
  n.node("Transpose", {"rest"}, "by_time", {attribute("perm", Ints{1, 0, 2})});
  n.node("LSTM",
         {"by_time", n.weights("w", {1, 64, 16}), n.weights("r", {1, 64, 16}),
          n.weights("b", {1, 128})},
         "states", {attribute("hidden_size", int64_t(16))});
  n.node("ReduceSum", {"states", "last"}, "sums", {attribute("keepdims", int64_t(0))});
  n.node("Conv", {"x", n.weights("wc", {4, 6, 3}), n.weights("bc", {4})}, "along",
         window({3}, {1, 1}));
  n.node("Elu", {"along"}, "bent", {attribute("alpha", 0.7f)});
  n.node("Softmax", {"bent"}, "shares", {attribute("axis", int64_t(-1))});
  n.node("CumSum", {"shares", "axis"}, "running");
  n.graph.output("sums").output("running");
  n.save(path);
}

/// h and what it was before go through 5 turns, h through 3 more of an inner loop; a gain for every
/// turn.
void write_loops(const std::string& path) {
  const std::vector<OnnxDim> row = {2, 16};
  Net halves;
  halves.graph.input("j", {}, 7).input("j_go", {}, 9).input("u", row);
  halves.node("Mul", {"u", "half"}, "half_u");
  halves.node("Sub", {"half_u", "tuned"}, "minus");
  halves.node("Tanh", {"minus"}, "curve");
  halves.node("Softmax", {"curve"}, "share", {attribute("axis", int64_t(1))});
  halves.node("Add", {"curve", "share"}, "u_next");
  halves.node("Identity", {"j_go"}, "j_still");
  halves.graph.output("j_still").output("u_next");
  Net turns;
  turns.graph.input("i", {}, 7).input("go", {}, 9).input("h", row).input("before", row);
  turns.node("Gather", {"gains", "i"}, "gain", {attribute("axis", int64_t(0))});
  turns.node("MatMul", {"h", "wl"}, "hw");
  turns.node("Add", {"hw", "before"}, "mixed");
  turns.node("Tanh", {"mixed"}, "bent");
  turns.node("Mul", {"bent", "gain"}, "tuned");
  turns.loop({"three", "", "tuned"}, {"small"}, halves);
  turns.node("Identity", {"go"}, "still");
  turns.node("Identity", {"h"}, "h_before");
  turns.graph.output("still").output("small").output("h_before").output("tuned");
  Net n;
  n.graph.input("x", row);
  n.weights("wl", {16, 16});
  n.graph.initializer("gains", {5}, std::vector<float>{1, 0.5f, 2, 1.5f, 0.75f});
  n.number("half", 0.5f);
  n.graph.initializer("five", {}, std::vector<int64_t>{5})
      .initializer("three", {}, std::vector<int64_t>{3});
  n.node("Sigmoid", {"x"}, "start");
  n.loop({"five", "", "start", "x"}, {"last", "old", "all"}, turns);
  n.node("Softmax", {"last"}, "chance", {attribute("axis", int64_t(1))});
  n.node("ReduceSum", {"all"}, "sums", {attribute("keepdims", int64_t(0))});
  n.graph.output("chance").output("sums").output("old");
  n.save(path);
}

/// A state that no instruction can compute where it lies: the product reads it while it writes.
void write_kept(const std::string& path) {
  Net n;
  n.graph.input("x", {1, 16}).input("s", {1, 16});
  n.node("MatMul", {"s", n.weights("w", {16, 16})}, "turned");
  n.node("Add", {"turned", "x"}, "sn");
  n.node("Softmax", {"sn"}, "y", {attribute("axis", int64_t(1))});
  n.graph.output("y").output("sn");
  n.save(path);
}

host::Array input_of(const graph::Model& model, graph::ValueId id) {
  compare::Tensor t;
  for (const graph::Dim& dim : model.values[size_t(id)].dims) t.dims.push_back(*dim.value());
  Net numbers;
  numbers.seed = 99;
  for (int64_t i = 0, n = t.elements(); i < n; i++) t.at.push_back(double(numbers.random()));
  return compare::to_array(t, DType::kF32, "in:" + model.values[size_t(id)].name);
}

}  // namespace

Networks::Networks() {
  folder_ = (std::filesystem::temp_directory_path() / "ingot-compare-XXXXXX").string();
  if (!mkdtemp(folder_.data())) throw std::runtime_error("no folder for temporary files");
  write_image(source("image"));
  write_rows(source("rows"));
  write_loops(source("loops"));
  write_kept(source("kept"));
}

Networks::~Networks() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Networks::make_goldens(const std::string& name) {
  if (made_[name]) return;
  made_[name] = true;
  graph::Model model = onnx::import_onnx(source(name));
  std::vector<host::Array> all;
  std::map<std::string, compare::Tensor> inputs;
  for (const graph::ValueId id : model.graph.inputs) {
    all.push_back(input_of(model, id));
    inputs[model.values[size_t(id)].name] = compare::to_tensor(all.back());
  }
  compare::GraphChecker check(inputs, {});
  check.observe("import", model);
  for (const auto& [output, tensor] : check.outputs())
    all.push_back(compare::to_array(tensor, DType::kF32, "out:" + output));
  host::write_npz(folder_ + "/" + name + "-outputs.npz", all);
  for (const compare::SourceState& state : check.source()) {
    const compare::Tensor* tensor = check.reference_values(state.outputs[0]);
    const std::string value = model.values[size_t(state.outputs[0])].name;
    if (tensor && !check.outputs().count(value))
      all.push_back(compare::to_array(*tensor, DType::kF32, "mid:" + value));
  }
  host::write_npz(folder_ + "/" + name + ".npz", all);
}

std::string Networks::golden(const std::string& name) {
  make_goldens(name);
  return folder_ + "/" + name + ".npz";
}

std::string Networks::outputs_golden(const std::string& name) {
  make_goldens(name);
  return folder_ + "/" + name + "-outputs.npz";
}

}  // namespace ingot::test
