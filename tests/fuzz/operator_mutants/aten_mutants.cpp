// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/operator_mutants/aten_mutants.cpp - one call of PyTorch: the sample arguments of
// tests/import/aten where there are some, then wrong in one to three of them.
#include <map>
#include <sstream>

#include "tests/fuzz/operator_mutants/mutation.h"
#include "tools/import/aten/lower.h"
#include "tools/import/aten/schema.h"

namespace ingot::mutants {
namespace {

using aten::Parameter;
using aten::Schema;
using aten::Value;
using Type = Parameter::Type;

struct Row {
  const char* ops;
  const char* arguments;
};
const Row kRows[] = {
#include "tests/import/aten/argument_rows.inc"
};

struct Form {
  const Schema* schema = nullptr;
  std::map<std::string, std::string> given;
};
const std::vector<Form>& forms() {
  static const std::vector<Form> kForms = [] {
    std::map<std::string, const Row*> rows;
    for (const Row& row : kRows) {
      std::istringstream names(row.ops);
      for (std::string name; names >> name;) rows[name] = &row;
    }
    std::vector<Form> all;
    for (const auto& [name, schemas] : aten::operator_table().all()) {
      for (const Schema& schema : schemas) {
        Form form;
        form.schema = &schema;
        const auto overload = rows.find(schema.name + "." + schema.overload),
                   plain = rows.find(schema.name);
        const Row* row = overload != rows.end() ? overload->second
                         : plain != rows.end()  ? plain->second
                                                : nullptr;
        std::istringstream words(row ? row->arguments : "");
        for (std::string word; words >> word;)
          if (const size_t at = word.find_first_of("=~"); word[at] == '=')
            form.given[word.substr(0, at)] = word.substr(at + 1);
        all.push_back(std::move(form));
      }
    }
    return all;
  }();
  return kForms;
}

class Arguments {
 public:
  Arguments(aten::Builder* builder, graph::Model* model, Dice* dice)
      : builder_(builder), model_(model), dice_(dice) {}

  Value usual(const Parameter& p, const std::string* given) {
    if (given) return spelled(p, *given);
    if (p.type == Type::kTensor) return tensor('f', {2, 3, 4});
    if (p.type == Type::kTensors)
      return Value::list({tensor('f', {2, 3, 4}), tensor('f', {2, 3, 4})});
    if (p.otherwise) return *p.otherwise;
    if (p.optional) return Value::none();
    switch (p.type) {
      case Type::kInt: return whole(1);
      case Type::kInts: return list({1});
      case Type::kFloat: return Value::of(0.5);
      case Type::kBool: return Value::of(false);
      case Type::kScalar: return whole(3);
      default: return Value::of(std::string("none"));
    }
  }
  Value wrong(const Parameter& p, const std::string* given) {
    static const char kTypes[] = {'f', 'f', 'i', 'b', 'h', 'u'};
    if (dice_->chance(8)) return Value::none();
    if (p.type == Type::kTensor) {
      char type = given && given->size() > 1 && (*given)[1] == '[' ? (*given)[0] : 'f';
      std::vector<int64_t> dims = given && given->size() > 2 && (*given)[1] == '['
                                      ? numbers(given->substr(1))
                                      : std::vector<int64_t>{2, 3, 4};
      if (dice_->chance(80)) dims = wrong_shape(dims, dice_);
      if (dice_->chance(25)) type = dice_->one_of(kTypes);
      return tensor(type, dims);
    }
    if (p.type == Type::kTensors) {
      std::vector<Value> all;
      for (uint64_t i = 0; i < dice_->below(4); i++)
        all.push_back(tensor('f', wrong_shape({2, 3, 4}, dice_)));
      return Value::list(std::move(all));
    }
    switch (p.type) {
      case Type::kInt: return whole(dice_->number());
      case Type::kInts:
        return list(wrong_numbers(
            given && (*given)[0] == '[' ? numbers(*given) : std::vector<int64_t>{1, 1}, dice_));
      case Type::kFloat: return Value::of(dice_->real());
      case Type::kBool: return Value::of(dice_->chance(50));
      case Type::kScalar:
        return dice_->chance(50) ? whole(dice_->number()) : Value::of(dice_->real());
      default: return Value::of(std::string(dice_->chance(50) ? "mean" : "floor"));
    }
  }

 private:
  static Value whole(int64_t n) { return Value::of(aten::Dim(n)); }
  static Value list(const std::vector<int64_t>& all) {
    return Value::dims(aten::Dims(all.begin(), all.end()));
  }
  static std::vector<int64_t> numbers(const std::string& bracketed) {
    std::vector<int64_t> out;
    std::istringstream stream(bracketed.substr(1, bracketed.find(']') - 1));
    for (std::string item; std::getline(stream, item, ',');)
      out.push_back(std::strtoll(item.c_str(), nullptr, 10));
    return out;
  }
  Value tensor(char type, const std::vector<int64_t>& dims) {
    const DType dtype = type == 'i'   ? DType::kI64
                        : type == 'b' ? DType::kBool
                        : type == 'h' ? DType::kF16
                        : type == 'u' ? DType::kU8
                                      : DType::kF32;
    graph::Dims extents;
    for (const int64_t n : dims) extents.push_back(graph::Dim(n < 0 ? 1 : n));
    if (!extents.empty() && dice_->chance(5)) extents[0] = graph::Dim::symbol("N");
    if (type == 'z') {  // complex numbers are pairs
      if (extents.empty()) extents.emplace_back();
      extents.back() = graph::Dim(2);
    }
    const graph::ValueId id = model_->add_value("t" + std::to_string(model_->values.size()), dtype);
    model_->values[size_t(id)].dims = std::move(extents);
    model_->values[size_t(id)].shape_known = true;
    model_->graph.inputs.push_back(id);
    Value made = Value::of(builder_->own(id));
    if (type == 'q') aten::Builder::set_quantization(made.tensor, {DType::kU8, 0.125, 7});
    if (type == 'z') made = Value::of(builder_->complex(made.tensor));
    return made;
  }
  Value spelled(const Parameter& p, const std::string& text) {
    if (text.size() > 2 && text[1] == '[') {
      if (p.type != Type::kTensors) return tensor(text[0], numbers(text.substr(1)));
      std::vector<Value> all;
      std::istringstream stream(text);
      for (std::string item; std::getline(stream, item, '+');)
        all.push_back(tensor(item[0], numbers(item.substr(1))));
      return Value::list(std::move(all));
    }
    if (text == "None") return Value::none();
    if (text == "True" || text == "False") return Value::of(text == "True");
    if (text[0] == '\'') return Value::of(text.substr(1, text.size() - 2));
    if (text[0] == '[') return list(numbers(text));
    if (text.find_first_of(".e") != std::string::npos)
      return Value::of(std::strtod(text.c_str(), 0));
    return whole(std::strtoll(text.c_str(), nullptr, 10));
  }

  aten::Builder* builder_;
  graph::Model* model_;
  Dice* dice_;
};

}  // namespace

void try_aten(uint64_t index) {
  const std::vector<Form>& all = forms();
  const Form& form = all[index % all.size()];
  const Schema& schema = *form.schema;
  tell("aten " + std::to_string(index) + ": " + schema.text().substr(0, 200));
  Dice dice(index);
  graph::Model model;
  aten::Builder builder(model);
  Arguments arguments(&builder, &model, &dice);
  std::vector<bool> spoiled(schema.parameters.size());
  if (!stays_right(index, all.size()) && !spoiled.empty())
    for (uint64_t k = 0; k <= dice.below(3); k++) spoiled[dice.below(spoiled.size())] = true;
  aten::Call call;
  call.name = (schema.name.find("::") == std::string::npos ? "aten::" : "") + schema.name;
  call.overload = schema.overload.empty() ? "default" : schema.overload;
  call.node = "node";
  for (size_t i = 0; i < schema.parameters.size(); i++) {
    const Parameter& p = schema.parameters[i];
    const auto given = form.given.find(p.name);
    const std::string* text = given == form.given.end() ? nullptr : &given->second;
    call.keywords.emplace_back(p.name,
                               spoiled[i] ? arguments.wrong(p, text) : arguments.usual(p, text));
  }
  (void)aten::lower_call(builder, call);
}

}  // namespace ingot::mutants
