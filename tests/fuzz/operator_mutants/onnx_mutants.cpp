// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/operator_mutants/onnx_mutants.cpp - one node of ONNX, com.microsoft or ai.onnx.ml:
// right, then wrong in one to three places.
#include <cstring>
#include <fstream>
#include <sstream>

#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/operator_mutants/mutation.h"
#include "tools/compile/convert/convert.h"

namespace ingot::mutants {
namespace {

struct Operand {
  char type = 'f';  // '-': missing
  std::vector<int64_t> dims, numbers;
  bool constant = false;
};
struct Attribute {
  std::string name, text;
  char kind = 'i';
  std::vector<int64_t> ints;
  std::vector<float> floats;
};
struct Template {
  std::string domain, op;
  int64_t opset = 1, outputs = 1;
  std::vector<Operand> inputs;
  std::vector<Attribute> attributes;
};
std::vector<Template> templates[2];  // of ONNX; of the other domains

template <class T>
std::vector<T> list_of(const std::string& text) {
  std::vector<T> out;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');) {
    if constexpr (std::is_same_v<T, float>)
      out.push_back(std::strtof(word.c_str(), nullptr));
    else
      out.push_back(std::strtoll(word.c_str(), nullptr, 10));
  }
  return out;
}
Operand operand_of(const std::string& word) {
  Operand out;
  out.type = word[0];
  if (out.type == '-') return out;
  const size_t end = word.find(']');
  out.dims = list_of<int64_t>(word.substr(2, end - 2));
  if (end + 1 < word.size() && word[end + 1] == '=') {
    out.numbers = list_of<int64_t>(word.substr(end + 2));
    out.constant = true;
  }
  return out;
}
Attribute attribute_of(const std::string& word) {
  Attribute out;
  const size_t at = word.find('=');
  out.name = word.substr(0, at), out.kind = word[at + 1], out.text = word.substr(at + 2);
  if (out.kind == 'i' || out.kind == 'I') out.ints = list_of<int64_t>(out.text);
  if (out.kind == 'f' || out.kind == 'F') out.floats = list_of<float>(out.text);
  return out;
}

/// Fields of protocol buffers.
class Wire {
 public:
  void varint(uint32_t field, uint64_t n) { raw(field << 3), raw(n); }
  void bytes(uint32_t field, std::string_view text) {
    raw(field << 3 | 2), raw(text.size());
    out.append(text);
  }
  void real(uint32_t field, float x) {
    raw(field << 3 | 5);
    char four[4];
    memcpy(four, &x, 4);
    out.append(four, 4);
  }
  std::string out;

 private:
  void raw(uint64_t n) {
    for (; n >= 0x80; n >>= 7) out += char(n | 0x80);
    out += char(n);
  }
};

int element_type(char type) {
  switch (type) {
    case 'u': return 2;
    case 'c': return 3;
    case 'i': return 6;
    case 'l': return 7;
    case 'b': return 9;
    case 'h': return 10;
    case 'd': return 11;
    default: return 1;
  }
}
size_t element_bytes(char type) {
  return strchr("ucb", type) ? 1 : type == 'h' ? 2 : strchr("ld", type) ? 8 : 4;
}

std::string tensor(const Operand& operand, const std::string& name) {
  int64_t count = 1;
  for (const int64_t n : operand.dims) count *= n;
  std::string raw(size_t(count) * element_bytes(operand.type), '\0');
  for (size_t i = 0; i < size_t(count); i++) {
    const int64_t n = operand.numbers.empty() ? 1 : operand.numbers[i % operand.numbers.size()];
    const float f = float(n);
    const double d = double(n);
    const uint16_t half = 0x3c00;
    const void* from = operand.type == 'f'   ? static_cast<const void*>(&f)
                       : operand.type == 'd' ? static_cast<const void*>(&d)
                       : operand.type == 'h' ? static_cast<const void*>(&half)
                                             : &n;
    memcpy(raw.data() + i * element_bytes(operand.type), from, element_bytes(operand.type));
  }
  Wire out;
  for (const int64_t n : operand.dims) out.varint(1, uint64_t(n));
  out.varint(2, uint64_t(element_type(operand.type)));
  out.bytes(8, name);
  out.bytes(9, raw);
  return out.out;
}
std::string value_info(const Operand& operand, const std::string& name, bool symbolic) {
  Wire shape, type, kind, out;
  for (const int64_t n : operand.dims) {
    Wire dim;
    if (symbolic && &n == &operand.dims[0])
      dim.bytes(2, "N");
    else
      dim.varint(1, uint64_t(n));
    shape.bytes(1, dim.out);
  }
  type.varint(1, uint64_t(element_type(operand.type)));
  type.bytes(2, shape.out);
  kind.bytes(1, type.out);
  out.bytes(1, name);
  out.bytes(2, kind.out);
  return out.out;
}
bool is_small(const Operand& operand) {
  int64_t count = 1;
  for (const int64_t n : operand.dims)
    if (n < 0 || n > 4096 || (count *= n) > 4096) return false;
  return true;
}

std::string encoded(const Template& t, Dice* dice) {
  Wire node, graph, model;
  for (size_t i = 0; i < t.inputs.size(); i++) {
    const Operand& operand = t.inputs[i];
    const std::string name = "i" + std::to_string(i);
    node.bytes(1, operand.type == '-' ? "" : name);
    if (operand.type == '-') continue;
    if (is_small(operand) && (operand.constant ? !dice->chance(10) : dice->chance(25)))
      graph.bytes(5, tensor(operand, name));
    else
      graph.bytes(11, value_info(operand, name, dice->chance(10)));
  }
  for (int64_t k = 0; k < t.outputs; k++) node.bytes(2, "o" + std::to_string(k));
  node.bytes(4, t.op);
  for (const Attribute& a : t.attributes) {
    Wire out;
    out.bytes(1, a.name);
    switch (a.kind) {
      case 'i': out.varint(3, uint64_t(a.ints.empty() ? 0 : a.ints[0])), out.varint(20, 2); break;
      case 'f': out.real(2, a.floats.empty() ? 0 : a.floats[0]), out.varint(20, 1); break;
      case 's': out.bytes(4, a.text), out.varint(20, 3); break;
      case 'I':
        for (const int64_t n : a.ints) out.varint(8, uint64_t(n));
        out.varint(20, 7);
        break;
      default:
        for (const float x : a.floats) out.real(7, x);
        out.varint(20, 6);
    }
    node.bytes(5, out.out);
  }
  if (t.domain != "ai.onnx") node.bytes(7, t.domain);
  graph.bytes(1, node.out);
  graph.bytes(2, "g");
  for (int64_t k = 0; k < t.outputs; k++) {
    Wire info;
    info.bytes(1, "o" + std::to_string(k));
    graph.bytes(12, info.out);
  }
  model.varint(1, 10);
  model.bytes(7, graph.out);
  Wire own, usual;
  if (t.domain != "ai.onnx") {
    own.bytes(1, t.domain), own.varint(2, uint64_t(t.opset));
    model.bytes(8, own.out);
  }
  usual.varint(2, uint64_t(t.domain == "ai.onnx" ? t.opset : 23));
  model.bytes(8, usual.out);
  return model.out;
}

void spoil(Template* t, Dice* dice) {
  static const char kTypes[] = {'f', 'f', 'l', 'i', 'u', 'c', 'b', 'h', 'd'};
  static const char* const kTexts[] = {
      "",           "constant", "linear",        "nearest", "reflect", "none",
      "VALID",      "forward",  "bidirectional", "add",     "max",     "ij,jk->ik",
      "SAME_UPPER", "cubic",    "gelu",          "delta"};
  const uint64_t how = dice->below(100);
  if (how < 45 && !t->inputs.empty()) {
    Operand& one = t->inputs[dice->below(t->inputs.size())];
    one.dims = wrong_shape(one.dims, dice);
    if (one.type == '-') one.type = 'f';
  } else if (how < 55 && !t->inputs.empty()) {
    t->inputs[dice->below(t->inputs.size())].type = dice->one_of(kTypes);
  } else if (how < 63 && !t->inputs.empty()) {
    Operand& one = t->inputs[dice->below(t->inputs.size())];
    one.numbers = wrong_numbers(one.numbers.empty() ? std::vector<int64_t>{1} : one.numbers, dice);
    one.constant = true;
  } else if (how < 70 && !t->inputs.empty()) {
    t->inputs[dice->below(t->inputs.size())].type = '-';
  } else if (how < 75) {
    t->inputs.resize(dice->below(t->inputs.size() + 3));
  } else if (how < 78) {
    t->outputs = int64_t(1 + dice->below(5));
  } else if (t->attributes.empty()) {
    static const char* const kNames[] = {"axis", "axes", "keepdims", "kernel_shape", "group"};
    Attribute added;
    added.name = dice->one_of(kNames), added.ints = {dice->number()};
    t->attributes.push_back(added);
  } else {
    Attribute& a = t->attributes[dice->below(t->attributes.size())];
    if (dice->chance(10)) {
      t->attributes.erase(t->attributes.begin() + (&a - t->attributes.data()));
    } else if (a.kind == 'i' || a.kind == 'I') {
      if (a.ints.empty()) a.ints = {0};
      a.ints = a.kind == 'i' ? std::vector<int64_t>{dice->number()} : wrong_numbers(a.ints, dice);
    } else if (a.kind == 's') {
      a.text = dice->one_of(kTexts);
    } else if (!a.floats.empty()) {
      a.floats[dice->below(a.floats.size())] = float(dice->real());
      if (a.kind == 'F' && dice->chance(30)) a.floats.resize(dice->below(a.floats.size() + 2));
    }
  }
}

}  // namespace

size_t read_onnx_templates(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> columns;
    std::istringstream stream(line + "\t");
    for (std::string column; std::getline(stream, column, '\t');) columns.push_back(column);
    if (columns.size() < 5) continue;
    Template t;
    t.domain = columns[0], t.op = columns[1];
    t.opset = std::stoll(columns[2]), t.outputs = std::stoll(columns[3]);
    std::istringstream inputs(columns[4]), attributes(columns.size() > 5 ? columns[5] : "");
    for (std::string word; inputs >> word;) t.inputs.push_back(operand_of(word));
    for (std::string word; attributes >> word;) t.attributes.push_back(attribute_of(word));
    templates[t.domain != "ai.onnx"].push_back(std::move(t));
  }
  return templates[0].size() + templates[1].size();
}

void try_onnx(uint64_t index, bool contrib) {
  const std::vector<Template>& from = templates[contrib];
  Template t = from[index % from.size()];
  Dice dice(index * 2 + contrib);
  const uint64_t faults = stays_right(index, from.size()) ? 0 : 1 + dice.below(3);
  for (uint64_t i = 0; i < faults; i++) spoil(&t, &dice);
  tell((contrib ? "contrib " : "onnx ") + std::to_string(index) + ": " + t.op);
  const std::string bytes = encoded(t, &dice);
  const fuzz::MemoryFile file(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  (void)convert::convert_source(file.path(), {});
}

}  // namespace ingot::mutants
