// tests/mutants/tflite_mutants.cpp - one operator of TFLite with operands and options at random,
// shapes and numbers from those that its kind usually has.
#include "tests/fuzz/memory_file.h"
#include "tests/mutants/mutation.h"
#include "tests/tflite/models.h"
#include "tools/compile/convert/convert.h"
#include "tools/import/tflite/call.h"

namespace ingot::mutants {
namespace {

using Shape = std::vector<int64_t>;
constexpr int kMaxCode = 220;  // beyond the last builtin operator

struct Operator {
  int code = 0, options = 0;
  const char* name = "";
};
const std::vector<Operator>& operators() {
  static const std::vector<Operator> kAll = [] {
    std::vector<Operator> all;
    for (int code = 0; code < kMaxCode; code++) {
      const tflite::OperatorRow* row = tflite::find_operator({code, 1, ""});
      if (row && row->translate && !row->second) all.push_back({code, row->options, row->name});
    }
    return all;
  }();
  return kAll;
}

/// Operands that some operator takes together.
const std::vector<std::vector<Shape>>& operand_lists() {
  static const std::vector<std::vector<Shape>> kLists = {
      {{1, 8, 8, 4}},
      {{1, 8, 8, 4}, {1, 8, 8, 4}},
      {{1, 8, 8, 4}, {3, 3, 3, 4}, {3}},
      {{1, 8, 8, 4}, {1, 3, 3, 4}, {4}},
      {{4}, {3, 3, 3, 4}, {1, 4, 4, 4}, {3}},
      {{1, 6, 6, 6, 4}, {3, 3, 3, 4, 3}, {3}},
      {{2, 4}, {3, 4}, {3}},
      {{2, 3, 4}, {2}},
      {{2, 3, 4}, {3}, {3}, {3}},
      {{2, 3, 4}, {}},
      {{2, 3, 4}, {3, 2}},
      {{2, 3, 4}, {2, 2}, {2}},
      {{2, 3}, {2, 4, 3}},
      {{2, 3, 4}, {2, 3, 4}, {2, 3, 4}},
      {{}, {}, {}, {}},
      {{1, 5, 4}, {3, 4}, {3, 3}, {3}, {1, 3}},
      {{2, 4}, {6, 4}, {6, 5}, {6}, {2, 30}},
      {{1, 5, 4}, {3, 4}, {3, 4}, {3, 4}, {3, 4}, {3, 3}, {3, 3}, {3, 3}, {3, 3}, {},
       {},        {},     {3},    {3},    {3},    {3},    {},     {},     {1, 3}, {1, 3}},
  };
  return kLists;
}

std::vector<int32_t> narrow(const Shape& dims) {
  std::vector<int32_t> out;
  for (const int64_t n : dims) out.push_back(int32_t(n));
  return out;
}

}  // namespace

size_t read_tflite_seeds(const std::vector<std::string>&) { return operators().size(); }

void try_tflite(uint64_t index) {
  using Type = tflite::fb::TensorType;
  static const Type kTypes[] = {Type::float32, Type::float32, Type::int8,  Type::uint8,
                                Type::int16,   Type::int32,   Type::int64, Type::boolean};
  const Operator& op = operators()[index % operators().size()];
  Dice dice(index);
  tell("tflite " + std::to_string(index) + ": " + op.name);
  std::vector<Shape> shapes = dice.one_of(operand_lists());
  for (uint64_t k = 0; k < dice.below(3); k++) {
    Shape& one = shapes[dice.below(shapes.size())];
    one = wrong_shape(one, &dice);
  }
  if (dice.chance(15)) shapes.resize(dice.below(shapes.size() + 3), {2});
  const Type main = dice.one_of(kTypes);
  test::GraphGiven graph;
  test::OperatorGiven node;
  node.code = op.code, node.options = dice.chance(95) ? op.options : int(dice.below(130));
  for (size_t i = 0; i < shapes.size(); i++) {
    test::TensorGiven t;
    t.name = "i" + std::to_string(i);
    const bool is_list = shapes[i].size() == 1 && shapes[i][0] <= 4 && i > 0;
    t.type = is_list && dice.chance(60) ? Type::int32
             : dice.chance(85)          ? main
                                        : dice.one_of(kTypes);
    t.shape = narrow(shapes[i]);
    if (t.type != Type::float32 && dice.chance(80)) {
      const uint64_t channels = dice.chance(80) ? 1 : dice.below(5);
      t.scales.assign(channels, dice.chance(95) ? 0.5f : float(dice.real()));
      t.zeros.assign(channels, dice.chance(80) ? 0 : dice.number());
      t.axis = int32_t(dice.chance(80) ? 0 : dice.number());
    }
    int64_t count = 1;
    for (const int64_t n : shapes[i]) count = n < 0 || n > 4096 || count > 4096 ? 4097 : count * n;
    const bool constant = i > 0 && count <= 4096 && dice.chance(is_list ? 85 : 50);
    if (constant) {
      const size_t width = t.type == Type::float32 || t.type == Type::int32 ? 4
                           : t.type == Type::int64                          ? 8
                           : t.type == Type::int16                          ? 2
                                                                            : 1;
      t.bytes.assign(size_t(count) * width, '\0');
      for (size_t at = 0; at < size_t(count); at++)
        t.bytes[at * width] = char(dice.chance(90) ? dice.below(4) : dice.below(256));
      if (t.type == Type::int32 && !t.bytes.empty() && dice.chance(10))
        t.bytes[3] = char(dice.below(256));
      if (dice.chance(3)) t.bytes.resize(dice.below(t.bytes.size() + 1));
    } else {
      graph.inputs.push_back(int32_t(i));
    }
    if (dice.chance(5)) t.variable = true;
    node.inputs.push_back(dice.chance(96) ? int32_t(i) : -1);
    graph.tensors.push_back(std::move(t));
  }
  const uint64_t outputs = dice.chance(80) ? 1 : dice.below(4);
  for (uint64_t i = 0; i < outputs; i++) {
    test::TensorGiven t;
    t.name = "o" + std::to_string(i), t.type = dice.chance(85) ? main : dice.one_of(kTypes);
    t.shape = narrow(dice.chance(50) || shapes.empty() ? Shape{1, 4, 4, 3}
                                                       : wrong_shape(shapes[0], &dice));
    if (t.type != Type::float32) t.scales = {0.5f}, t.zeros = {0};
    node.outputs.push_back(int32_t(graph.tensors.size()));
    graph.outputs.push_back(int32_t(graph.tensors.size()));
    graph.tensors.push_back(std::move(t));
  }
  for (int field = 0; field < int(dice.below(10)); field++)
    node.fields[field] = int32_t(dice.chance(70) ? int64_t(dice.below(4)) : dice.number());
  graph.operators = {node};
  const std::string bytes = test::model_file({graph});
  const fuzz::MemoryFile file(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  (void)convert::convert_source(file.path(), {});
}

}  // namespace ingot::mutants
