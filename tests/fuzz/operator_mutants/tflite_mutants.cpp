// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/operator_mutants/tflite_mutants.cpp - one operator of TFLite: right, as
// tflite_templates.txt has it, then wrong in one to three places.
#include <cstring>
#include <fstream>
#include <sstream>

#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/operator_mutants/mutation.h"
#include "tests/import/tflite/models.h"
#include "tools/compile/convert/convert.h"

namespace ingot::mutants {
namespace of_tflite {
namespace {

using Type = tflite::fb::TensorType;

struct Operand {
  char type = 'f';  // '-': missing
  std::vector<int64_t> dims, numbers;
  bool variable = false;
  std::vector<float> scales;
  std::vector<int64_t> zeros;
  int64_t axis = 0;
};
struct Template {
  std::string name;
  int code = 0, version = 1, options = 0;
  std::vector<Operand> inputs, outputs;
  std::map<int, int32_t> fields;
  std::map<int, int8_t> bytes;
};
std::vector<Template> templates;

std::vector<int64_t> list_of(const std::string& text) {
  std::vector<int64_t> out;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');)
    out.push_back(std::strtoll(word.c_str(), nullptr, 10));
  return out;
}
Operand operand_of(std::string word) {
  Operand out;
  out.type = word[0];
  if (out.type == '-') return out;
  if (out.type == 'v') out.variable = true, word.erase(0, 1), out.type = word[0];
  const size_t end = word.find(']'), steps = word.find('@'), numbers = word.find('=');
  out.dims = list_of(word.substr(2, end - 2));
  if (steps != std::string::npos) {
    char* behind = nullptr;
    out.scales = {std::strtof(word.c_str() + steps + 1, &behind)};
    out.zeros = {std::strtoll(behind + 1, nullptr, 10)};
  }
  if (numbers != std::string::npos) out.numbers = list_of(word.substr(numbers + 1));
  return out;
}
std::vector<Operand> operands_of(const std::string& column) {
  std::vector<Operand> out;
  std::istringstream stream(column);
  for (std::string word; stream >> word;) out.push_back(operand_of(word));
  return out;
}

Type type_of(char letter) {
  switch (letter) {
    case 'h': return Type::float16;
    case 'c': return Type::int8;
    case 'u': return Type::uint8;
    case 's': return Type::int16;
    case 'i': return Type::int32;
    case 'l': return Type::int64;
    case 'b': return Type::boolean;
    default: return Type::float32;
  }
}
size_t width_of(char letter) {
  return strchr("cub", letter) ? 1 : strchr("hs", letter) ? 2 : letter == 'l' ? 8 : 4;
}

/// The numbers, again and again; "" for more than a small tensor has.
std::string bytes_of(const Operand& operand) {
  int64_t count = 1;
  for (const int64_t n : operand.dims)
    if (n < 0 || n > 65536 || (count *= n) > 65536) return "";
  std::string raw(size_t(count) * width_of(operand.type), '\0');
  for (size_t i = 0; i < size_t(count); i++) {
    const int64_t n = operand.numbers[i % operand.numbers.size()];
    const float f = float(n);
    const uint16_t half = n == 0 ? 0 : 0x3c00;
    const void* from = operand.type == 'f'   ? static_cast<const void*>(&f)
                       : operand.type == 'h' ? static_cast<const void*>(&half)
                                             : &n;
    memcpy(raw.data() + i * width_of(operand.type), from, width_of(operand.type));
  }
  return raw;
}

test::TensorGiven tensor_of(const Operand& operand, const std::string& name) {
  test::TensorGiven t;
  t.name = name, t.type = type_of(operand.type), t.variable = operand.variable;
  for (const int64_t n : operand.dims) t.shape.push_back(int32_t(n));
  if (!operand.numbers.empty()) t.bytes = bytes_of(operand);
  t.scales = operand.scales, t.zeros = operand.zeros, t.axis = int32_t(operand.axis);
  return t;
}

void spoil_steps(Operand* one, Dice* dice) {
  if (one->scales.empty() || dice->chance(20)) {
    const uint64_t channels = dice->chance(60) ? 1 : dice->below(5);
    one->scales.assign(channels, 0.5f), one->zeros.assign(channels, 0);
  }
  if (!one->scales.empty() && dice->chance(60))
    one->scales[dice->below(one->scales.size())] = float(dice->real());
  if (!one->zeros.empty() && dice->chance(60))
    one->zeros[dice->below(one->zeros.size())] = dice->number();
  if (dice->chance(20)) one->zeros.resize(dice->below(one->zeros.size() + 2));
  if (dice->chance(20)) one->axis = dice->number();
}

void spoil(Template* t, Dice* dice) {
  static const char kTypes[] = {'f', 'f', 'c', 'u', 's', 'i', 'l', 'b', 'h'};
  const uint64_t how = dice->below(100);
  std::vector<Operand>& side = dice->chance(85) || t->outputs.empty() ? t->inputs : t->outputs;
  if (side.empty()) {
    side.emplace_back();
    return;
  }
  Operand& one = side[dice->below(side.size())];
  if (how < 40) {
    one.dims = wrong_shape(one.dims, dice);
    if (one.type == '-') one.type = 'f';
  } else if (how < 50) {
    one.type = dice->one_of(kTypes);
  } else if (how < 62) {
    const bool was_constant = !one.numbers.empty();
    one.numbers = wrong_numbers(was_constant ? one.numbers : std::vector<int64_t>{1}, dice);
    if (was_constant && dice->chance(25)) one.numbers.clear();  // only the run knows it
  } else if (how < 72) {
    spoil_steps(&one, dice);
  } else if (how < 76) {
    one.type = '-';
  } else if (how < 80) {
    side.resize(dice->below(side.size() + 3));
  } else if (how < 82) {
    one.variable = !one.variable;
  } else if (how < 84) {
    t->options = int(dice->below(130));
  } else if (how < 86) {
    t->version = int(dice->below(8));
  } else if (how < 92 && !t->bytes.empty()) {
    auto at = t->bytes.begin();
    std::advance(at, long(dice->below(t->bytes.size())));
    at->second = int8_t(dice->chance(80) ? dice->below(5) : dice->below(256));
  } else if (!t->fields.empty() && dice->chance(80)) {
    auto at = t->fields.begin();
    std::advance(at, long(dice->below(t->fields.size())));
    at->second = int32_t(dice->number());
  } else {
    t->fields[int(dice->below(8))] = int32_t(dice->number());
  }
}

std::string encoded(const Template& t, Dice* dice) {
  test::GraphGiven graph;
  test::OperatorGiven node;
  node.code = t.code, node.version = t.version, node.options = t.options;
  node.fields = t.fields, node.bytes = t.bytes;
  for (const auto& [slot, value] : t.bytes) node.fields.erase(slot);
  const auto add = [&](const Operand& operand, const char* letter) {
    if (operand.type == '-') return -1;
    const int32_t at = int32_t(graph.tensors.size());
    graph.tensors.push_back(tensor_of(operand, letter + std::to_string(at)));
    return at;
  };
  for (const Operand& operand : t.inputs) {
    const int32_t at = add(operand, "i");
    node.inputs.push_back(at);
    if (at >= 0 && graph.tensors[size_t(at)].bytes.empty() && !operand.variable)
      graph.inputs.push_back(at);
    if (at >= 0 && !graph.tensors[size_t(at)].bytes.empty() && dice->chance(2))
      graph.tensors[size_t(at)].bytes.resize(
          dice->below(graph.tensors[size_t(at)].bytes.size() + 1));
  }
  for (const Operand& operand : t.outputs) {
    const int32_t at = add(operand, "o");
    node.outputs.push_back(at);
    if (at >= 0) graph.outputs.push_back(at);
  }
  graph.operators = {node};
  return test::model_file({graph});
}

size_t read(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> columns;
    std::istringstream stream(line + "\t");
    for (std::string column; std::getline(stream, column, '\t');) columns.push_back(column);
    if (columns.size() < 7) continue;
    Template t;
    t.code = std::stoi(columns[0]), t.name = columns[1];
    t.version = std::stoi(columns[2]), t.options = std::stoi(columns[3]);
    t.inputs = operands_of(columns[4]), t.outputs = operands_of(columns[5]);
    std::istringstream fields(columns[6]);
    for (std::string word; fields >> word;) {  // NUMBER=WIDTH:VALUE
      const size_t equals = word.find('=');
      const int number = std::stoi(word);
      const int64_t value = std::stoll(word.substr(equals + 3));
      if (word[equals + 1] == '1')
        t.bytes[number] = int8_t(value);
      else
        t.fields[number] = int32_t(value);
    }
    templates.push_back(std::move(t));
  }
  return templates.size();
}

void attempt(uint64_t index) {
  Template t = templates[index % templates.size()];
  Dice dice(index);
  tell("tflite " + std::to_string(index) + ": " + t.name);
  const uint64_t faults = stays_right(index, templates.size()) ? 0 : 1 + dice.below(3);
  for (uint64_t i = 0; i < faults; i++) spoil(&t, &dice);
  const std::string bytes = encoded(t, &dice);
  const fuzz::MemoryFile file(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  (void)convert::convert_source(file.path(), {});
}

}  // namespace
}  // namespace of_tflite

size_t read_tflite_templates(const std::string& path) { return of_tflite::read(path); }
void try_tflite(uint64_t index) { of_tflite::attempt(index); }

}  // namespace ingot::mutants
