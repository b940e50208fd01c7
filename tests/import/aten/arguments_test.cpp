// SPDX-License-Identifier: Apache-2.0
// tests/import/aten/arguments_test.cpp - no argument is ignored: of every form in the table of
// operators each argument is changed in turn, and the program must change with it or be refused.
// What changes nothing must stand in the list of arguments without effect, and the list holds
// nothing else.
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "tests/import/aten/program.h"
#include "tests/support/graph_text.h"
#include "tools/import/aten/no_effect.h"
#include "tools/import/aten/operands.h"
#include "tools/import/aten/schema.h"

using namespace ingot;
using namespace ingot::test;
using aten::Parameter;
using aten::Schema;
using aten::Tensor;
using aten::Value;
using Kind = Value::Kind;
using Type = Parameter::Type;

namespace {

/// What the arguments of an operator are where the ordinary ones (below) do not fit:
/// `argument=value`; `argument~changed` for another value than the ordinary change. f[2,3] is a
/// tensor of f32, h, i, b and u are of f16, i64, bool and u8, q is quantized, z of pairs that are
/// complex numbers, p of packed sequences.
struct Row {
  const char* ops;  // with or without an overload
  const char* arguments;
};
const Row kRows[] = {
#include "tests/import/aten/argument_rows.inc"
};

/// One call of a form, with one of its arguments changed or none.
class Sample {
 public:
  Sample(const Schema& schema, const Row* row) : schema_(schema) {
    if (!row) return;
    std::istringstream stream(row->arguments);
    for (std::string word; stream >> word;) {
      const size_t at = word.find_first_of("=~");
      REQUIRE(at != std::string::npos);
      (word[at] == '=' ? given_ : changed_)[word.substr(0, at)] = word.substr(at + 1);
    }
    for (const auto* texts : {&given_, &changed_})
      for (const auto& entry : *texts) {
        const std::string& name = entry.first;
        const bool known = std::any_of(schema.parameters.begin(), schema.parameters.end(),
                                       [&](const Parameter& p) { return p.name == name; });
        CHECK_MESSAGE(known, "the row names '" << name << "'");
      }
  }

  /// The program as text, "refused: ..." or "" where there is no such change. `which`: the
  /// parameter that is changed, SIZE_MAX for none.
  std::string program(size_t which, size_t change) {
    Program p;
    aten::Call call;
    call.name = (schema_.name.find("::") == std::string::npos ? "aten::" : "") + schema_.name;
    call.overload = schema_.overload.empty() ? "default" : schema_.overload;
    call.node = "node";
    for (size_t i = 0; i < schema_.parameters.size(); i++) {
      Value value = ordinary(p, schema_.parameters[i]);
      if (i == which && !changed(p, schema_.parameters[i], change, &value)) return "";
      call.keywords.emplace_back(schema_.parameters[i].name, std::move(value));
    }
    std::vector<Value> results;
    try {
      results = aten::lower_call(p.builder, call);
    } catch (const graph::ConversionError& error) {
      return "refused: " + error.message;
    }
    if (!p.builder.unsupported.empty()) return "refused: " + p.refusals();
    std::string out = "gives ";
    spelled_.clear();
    for (const Value& result : results) out += text(p, result) + ";";
    return out;
  }

 private:
  Value tensor(Program& p, const std::string& name, const std::string& spelled) {
    const size_t bracket = spelled.find('[');
    const char kind = spelled[0];
    const DType dtype = kind == 'i'   ? DType::kI64
                        : kind == 'b' ? DType::kBool
                        : kind == 'h' ? DType::kF16
                        : kind == 'u' ? DType::kU8
                                      : DType::kF32;
    graph::Dims dims;
    for (const int64_t n : numbers(spelled.substr(bracket))) dims.push_back(graph::Dim(n));
    Value made = p.input(name, dtype, dims);
    if (kind == 'q') aten::Builder::set_quantization(made.tensor, {DType::kU8, 0.125, 7});
    if (kind == 'z') made = Value::of(p.builder.complex(made.tensor));
    if (kind == 'p') made = packed(p, made);
    return made;
  }
  static Value packed(Program& p, const Value& padded) {
    const graph::ValueId x = p.builder.read(padded.tensor);
    const Value lengths = p.input("lengths", DType::kI32, {p.builder.dims(x)[1]});
    return Value::of(p.builder.packed(x, p.builder.read(lengths.tensor)));
  }
  /// Another tensor of the same kind.
  static Value another(Program& p, const Tensor& tensor) {
    const Tensor pairs = aten::Builder::pairs(tensor);
    const auto sequences = aten::Builder::packed(tensor);
    const graph::ValueId id =
        sequences ? sequences->padded : p.builder.read(pairs ? pairs : tensor);
    const Value made = p.input("changed", p.builder.dtype(id), p.builder.dims(id));
    if (sequences) return packed(p, made);
    return pairs ? Value::of(p.builder.complex(made.tensor)) : made;
  }
  static std::vector<int64_t> numbers(const std::string& list) {
    std::vector<int64_t> out;
    std::istringstream stream(list.substr(1, list.size() - 2));
    for (std::string item; std::getline(stream, item, ',');) out.push_back(std::stoll(item));
    return out;
  }
  static bool is_tensor(const std::string& spelled) {
    return spelled.size() > 2 && spelled[1] == '[' &&
           std::strchr("fhibuqzp", spelled[0]) != nullptr;
  }
  /// "None", "True", "3", "0.5", "[1,2]", "'same'", "f[2,3]", "f[2,3]+f[2,3]" (a list of tensors).
  Value value(Program& p, const std::string& name, const std::string& spelled,
              const Parameter& parameter) {
    if (is_tensor(spelled)) {
      if (parameter.type != Type::kTensors) return tensor(p, name, spelled);
      std::vector<Value> all;
      std::istringstream stream(spelled);
      for (std::string item; std::getline(stream, item, '+');)
        all.push_back(tensor(p, name + std::to_string(all.size()), item));
      return Value::list(std::move(all));
    }
    if (spelled == "None") return Value::none();
    if (spelled == "True" || spelled == "False") return Value::of(spelled == "True");
    if (spelled[0] == '\'') return Value::of(spelled.substr(1, spelled.size() - 2));
    if (spelled[0] == '[') return list(numbers(spelled));
    if (spelled.find_first_of(".e") != std::string::npos) return Value::of(std::stod(spelled));
    return whole(std::stoll(spelled));
  }
  Value ordinary(Program& p, const Parameter& parameter) {
    const auto given = given_.find(parameter.name);
    if (given != given_.end()) return value(p, parameter.name, given->second, parameter);
    if (parameter.type == Type::kTensor) return value(p, parameter.name, "f[2,3,4]", parameter);
    if (parameter.type == Type::kTensors)
      return value(p, parameter.name, "f[2,3,4]+f[2,3,4]", parameter);
    if (parameter.otherwise) return *parameter.otherwise;
    if (parameter.optional) return Value::none();
    switch (parameter.type) {
      case Type::kInt: return whole(1);
      case Type::kInts: return list({1});
      case Type::kFloat: return real(0.5);
      case Type::kBool: return Value::of(false);
      case Type::kScalar: return whole(3);
      default: break;
    }
    FAIL_CHECK("a row must give '" << parameter.name << "'");
    return Value::none();
  }
  /// The `change`-th other value; false: there are no more.
  bool changed(Program& p, const Parameter& parameter, size_t change, Value* at) {
    const auto written = changed_.find(parameter.name);
    if (written != changed_.end()) {
      if (change > 0 || written->second == "never") return false;
      *at = value(p, parameter.name + "_changed", written->second, parameter);
      return true;
    }
    if (at->is(Kind::kTensor)) {
      if (change == 1 && parameter.optional) {
        *at = Value::none();
        return true;
      }
      *at = another(p, at->tensor);
      return change == 0;
    }
    if (at->items) {
      if (change >= at->items->size()) return false;
      auto items = std::make_shared<std::vector<Value>>(*at->items);
      Value& item = (*items)[change];
      if (item.is(Kind::kTensor)) {
        item = another(p, item.tensor);
      } else if (item.is(Kind::kInt)) {
        item.integer = item.integer + graph::Dim(1);
      }
      at->items = std::move(items);
      return true;
    }
    if (change > 0) return false;
    switch (at->kind) {
      case Kind::kInt: at->integer = at->integer + graph::Dim(1); return true;
      case Kind::kFloat: at->number = at->number * 1.25 + 0.25; return true;
      case Kind::kBool: at->truth = !at->truth; return true;
      case Kind::kString: at->text = "another"; return true;
      case Kind::kNone: break;
      default: FAIL_CHECK("cannot change '" << parameter.name << "'"); return false;
    }
    switch (parameter.type) {
      case Type::kTensor: *at = value(p, "changed", "f[2,3,4]", parameter); return true;
      case Type::kInt: *at = whole(parameter.name == "dtype" ? 7 : 1); return true;
      case Type::kInts: *at = list({1}); return true;
      case Type::kFloat: *at = real(0.75); return true;
      case Type::kBool: *at = Value::of(true); return true;
      case Type::kScalar: *at = real(0.25); return true;
      case Type::kString: *at = Value::of(std::string("another")); return true;
      default: *at = whole(1); return true;
    }
  }

  /// What a result is computed from, and how.
  std::string text(Program& p, const Value& result) {
    if (const auto nested =
            result.is(Kind::kTensor) ? aten::Builder::nested(result.tensor) : std::nullopt)
      return text(p, nested->padded) + " where " + text(p, nested->kept);
    if (const auto sequences =
            result.is(Kind::kTensor) ? aten::Builder::packed(result.tensor) : std::nullopt)
      return text(p, sequences->padded) + " of lengths " + text(p, sequences->lengths);
    if (result.is(Kind::kTensor) && aten::Builder::pairs(result.tensor))
      return "complex " + text(p, p.builder.read(aten::Builder::pairs(result.tensor)));
    if (result.is(Kind::kTensor)) return text(p, p.builder.read(result.tensor));
    if (!result.items) return result.describe();
    std::string out = "(";
    for (const Value& item : *result.items) out += text(p, item) + ",";
    return out + ")";
  }
  std::string text(Program& p, graph::ValueId id) {
    if (id == graph::kAbsent) return "-";
    const graph::Value& v = p.model.values[size_t(id)];
    if (v.constant) return text(*v.constant);
    for (const graph::ValueId input : p.model.graph.inputs)
      if (input == id) return v.name;
    const auto [place, first] = spelled_.emplace(id, spelled_.size());
    if (!first) return "#" + std::to_string(place->second);
    for (const graph::Node& node : p.model.graph.nodes)
      for (size_t k = 0; k < node.outputs.size(); k++) {
        if (node.outputs[k] != id) continue;
        std::string out = graph::text(node.op) + "{";
        for (const auto& [key, attribute] : node.attributes)
          out += graph::text(key) + "=" +
                 std::visit([&](const auto& x) { return text(x); }, attribute) + " ";
        out += "}" + std::to_string(k) + graph::text(v.dims) + std::to_string(int(v.dtype)) + "(";
        for (const graph::ValueId input : node.inputs) out += text(p, input) + ",";
        return out + ")";
      }
    FAIL("a value that nothing makes");
    return "";
  }
  template <class T>
  static std::string text(const T& x) {
    return GraphText::text(x);
  }
  static std::string text(const std::shared_ptr<graph::Graph>&) { return "graph"; }

  const Schema& schema_;
  std::map<std::string, std::string> given_, changed_;
  std::map<graph::ValueId, size_t> spelled_;  // what text() has spelled out already, and when
};

/// Those of the overload, else of the operator, else none.
std::vector<const Row*> rows_of(const Schema& schema) {
  const std::string full = schema.name + "." + schema.overload;
  std::vector<const Row*> exact, any;
  for (const Row& row : kRows) {
    std::istringstream names(row.ops);
    for (std::string name; names >> name;) {
      if (name == full) exact.push_back(&row);
      if (name == schema.name) any.push_back(&row);
    }
  }
  if (!exact.empty()) return exact;
  return any.empty() ? std::vector<const Row*>{nullptr} : any;
}

/// Changes every argument of a sample; what is ignored for a stated reason goes into `seen`.
struct Counts {
  size_t forms = 0, changes = 0, refusals = 0;
  std::set<const aten::NoEffect*> seen;
};
void change_each(const Schema& schema, const Row* row, Counts* counts) {
  const std::string form = schema.text();
  CAPTURE(form);
  Sample sample(schema, row);
  const std::string plain = sample.program(SIZE_MAX, 0);
  counts->forms++;
  // refused whatever is given
  for (const char* const whole : {"which is not converted", "is known only at run time"})
    if (plain.find(whole) != std::string::npos) return;
  const bool good = plain.rfind("refused", 0) != 0;
  CHECK_MESSAGE(good, plain);
  if (!good) return;
  for (size_t i = 0; i < schema.parameters.size(); i++) {
    const std::string& name = schema.parameters[i].name;
    for (size_t k = 0;; k++) {
      const std::string other = sample.program(i, k);
      if (other.empty()) break;
      counts->changes++;
      counts->refusals += other.rfind("refused", 0) == 0;
      if (other != plain) continue;
      const char* const reason = aten::no_effect(schema, name);
      CHECK_MESSAGE(reason, "'" << name << "' is ignored: " << plain.substr(0, 400));
      for (const aten::NoEffect& each : aten::arguments_without_effect())
        if (each.reason == reason && (!std::strcmp(each.op, "*") || schema.name == each.op) &&
            (!std::strcmp(each.argument, "*") || name == each.argument))
          counts->seen.insert(&each);
    }
  }
}

}  // namespace

TEST_CASE("no argument of an operator is ignored") {
  Counts counts;
  for (const auto& entry : aten::operator_table().all())
    for (const Schema& schema : entry.second)
      for (const Row* row : rows_of(schema)) change_each(schema, row, &counts);
  for (const aten::NoEffect& row : aten::arguments_without_effect())
    CHECK_MESSAGE(counts.seen.count(&row), "nothing ignores '" << std::string(row.argument)
                                                               << "' of " << std::string(row.op));
  MESSAGE(counts.forms << " samples, " << counts.changes << " changed arguments, of which "
                       << counts.refusals << " refused");
}

TEST_CASE("what a lowering does not read is refused by name") {
  // As a newer PyTorch could give it: an operator whose lowering reads x alone.
  aten::Table table;
  table.add("ours", "Tensor x, int[] window=[], float slope=0.5, Any layout=None, Any device=None",
            [](aten::Operands& o) { return o.result(o.read("x")); });
  const Schema& schema = table.find("ours")->at(0);
  const auto refused = [&](Value window, Value slope, Value layout, Value device) {
    Program p;
    aten::Operands operands(p.builder, schema, {p.floats({1}, {1}), window, slope, layout, device});
    (void)schema.lower(operands);
    try {
      operands.refuse_unread();
    } catch (const aten::Refused& why) {
      return why.argument + " " + why.why;
    }
    return std::string();
  };
  const Value none = Value::none(), cpu = Value::of(std::string("cpu"));
  CHECK(refused(list({}), real(0.5), none, cpu) == "");
  CHECK(refused(list({}), real(0.5), whole(0), cpu) == "");  // strided
  CHECK(refused(list({1, 2}), real(0.5), none, none) ==
        "window is the list [1, 2], which is not supported");
  CHECK(refused(list({}), real(0.25), none, none).find("slope is the number 0.25") == 0);
  CHECK(refused(list({}), real(0.5), whole(1), none).find("layout is the number 1") == 0);
}
