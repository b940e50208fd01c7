// SPDX-License-Identifier: Apache-2.0
// tools/graph/graph.h - the one graph that every importer makes and every pass rewrites. Semantics
// are those of ONNX opset 23 after normalization (tools/graph/operators.def lists every operator with
// its inputs and attributes): what ONNX once kept in attributes and later in inputs is an attribute
// here when constant. Importers translate, they do not optimize.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "runtime/op/tensor.h"
#include "tools/files/failure.h"
#include "tools/graph/attribute.h"
#include "tools/graph/dim.h"
#include "tools/graph/operator.h"

namespace ingot::graph {

/// Dense row-major constant. Bytes may be shared with a mapped source file; they are never written
/// in place.
struct Constant {
  DType dtype = DType::kF32;
  CheckedList<int64_t, ListKind::kDimensions> dims;
  std::shared_ptr<const std::vector<uint8_t>> bytes;  // null for an empty tensor
  int64_t elements() const;
  template <class T>
  Elements<T> as() const {
    if (!bytes) return {nullptr, 0};
    return {reinterpret_cast<const T*>(bytes->data()), bytes->size() / sizeof(T)};
  }
};
Constant make_constant(DType dtype, std::vector<int64_t> dims, const void* data);

using ValueId = int32_t;  // index into Graph::values; -1: absent optional input
constexpr ValueId kAbsent = -1;
using Operands = CheckedList<ValueId, ListKind::kOperands>;

struct Value {
  std::string name;
  DType dtype = DType::kInvalid;  // kInvalid until inferred
  bool shape_known = false;
  Dims dims;
  std::shared_ptr<const Constant> constant;  // set for initializers and folded values
  // "" or "NHWC" where a pass changed the order from the source's
  std::string layout;
  // the value after the import whose elements it holds, where passes know
  ValueId source = kAbsent;
  // dimension k is dimension order[k] of that one; -1: a dimension of 1 that was added
  std::vector<int64_t> order;
};

struct Graph;
using Attribute =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                 std::vector<std::string>, Constant, Dims, std::shared_ptr<Graph>>;

using Attributes = std::map<AttributeName, Attribute>;

struct Node {
  Operator op = Operator::kNone;
  std::string name;  // of the source node
  Operands inputs;
  Operands outputs;  // kAbsent where an optional output is not wanted
  Attributes attributes;
  std::map<std::string, Attribute> custom;  // attributes of a plugin's operator, by its names
  std::vector<uint32_t> sources;            // indices into Model::source_nodes
  bool dead = false;                        // removed by a pass; swept by Graph::compact()

  // Of an attribute that is absent or of another type: `otherwise`, empty or null.
  int64_t integer(AttributeName key, int64_t otherwise) const;
  double number(AttributeName key, double otherwise) const;  // a whole number too
  std::string text(AttributeName key, const std::string& otherwise) const;
  std::vector<int64_t> integers(AttributeName key) const;
  std::vector<double> numbers(AttributeName key) const;
  Dims dims(AttributeName key) const;
  std::shared_ptr<Graph> subgraph(AttributeName key) const;
  // The same of a name that is known here: another type than its row's does not compile.
  template <unsigned Types>
  auto integer(AttributeKey<Types> key, int64_t otherwise) const {
    static_assert(Types & attribute_types::Integer);
    return integer(key.name, otherwise);
  }
  template <unsigned Types>
  auto number(AttributeKey<Types> key, double otherwise) const {
    static_assert(Types & attribute_types::Number);
    return number(key.name, otherwise);
  }
  template <unsigned Types>
  auto text(AttributeKey<Types> key, const std::string& otherwise) const {
    static_assert(Types & attribute_types::Text);
    return text(key.name, otherwise);
  }
  template <unsigned Types>
  auto integers(AttributeKey<Types> key) const {
    static_assert(Types & attribute_types::Integers);
    return integers(key.name);
  }
  template <unsigned Types>
  auto numbers(AttributeKey<Types> key) const {
    static_assert(Types & attribute_types::Numbers);
    return numbers(key.name);
  }
  template <unsigned Types>
  auto dims(AttributeKey<Types> key) const {
    static_assert(Types & attribute_types::Dims);
    return dims(key.name);
  }
  template <unsigned Types>
  auto subgraph(AttributeKey<Types> key) const {
    static_assert(Types & attribute_types::Graph);
    return subgraph(key.name);
  }
  std::vector<std::shared_ptr<Graph>> subgraphs() const;  // branches or body
  bool has(AttributeName key) const { return attributes.count(key) != 0; }
  /// Null where the attribute is absent or of another type.
  template <class T>
  const T* find(AttributeName key) const {
    const auto found = attributes.find(key);
    return found == attributes.end() ? nullptr : std::get_if<T>(&found->second);
  }
};

/// A subgraph (branch of If, body of Loop: its inputs are the iteration and what is carried) shares
/// `values` with its owner through ids of the one table in Model.
struct Graph {
  std::string name;
  std::vector<Node> nodes;  // topological order
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;

  void compact();             // drops dead nodes, also of subgraphs
  bool has_integers() const;  // a node is_of_integers(), also of subgraphs
};

struct SourceNode {
  std::string name, op, output;
};

struct SymbolBounds {
  int64_t low = 1, high = 0;
};  // high 0: unbounded

/// A dim that only the data tells: the number in `by`, an i64 scalar, at most `bound`.
struct DataDependentSymbol {
  ValueId by = kAbsent;
  Dim bound;
};

/// A reference to one, or to its dimensions, outlives the making of others.
using Values = CheckedList<Value, ListKind::kValues, std::deque<Value>>;

/// What an importer gives and the passes work on.
struct Model {
  std::string name;
  Values values;  // of the main graph and every subgraph
  Graph graph;
  std::vector<SourceNode> source_nodes;
  std::map<std::string, SymbolBounds> symbols;
  std::map<std::string, DataDependentSymbol> data_dependent;
  std::map<std::string, std::string> metadata;
  std::string source_format, source_producer;
  // elements that folding may still make, so that a small file stays a small model
  int64_t fold_budget = int64_t(1) << 24;
  int64_t source_elements = 0;  // that allow_folding() was told of
  // the most that a size which only the data tell may be, where nobody said; 0: refused
  int64_t max_elements = 0;
  // reported: "BatchNormalization was saved in training mode; converted in inference form"
  std::vector<std::string> notes;

  ValueId add_value(const std::string& name, DType dtype = DType::kInvalid);
  ValueId add_constant(const std::string& name, Constant constant);
  /// For elements that the source has: a weight is often made of another in ten steps.
  void allow_folding(int64_t elements) {
    fold_budget += 16 * elements;
    source_elements += elements;
  }
  const Constant* constant(ValueId id) const {
    return id < 0 ? nullptr : values[size_t(id)].constant.get();
  }
};

/// Everything that stands in the way of conversion, not only the first: gathered, then reported
/// whole with exit code 4.
struct Unsupported {
  std::string op, attribute, node, output, why, hint;
  bool wants_bound = false;  // `hint` leaves a number open: bound_hint.h
};

/// What the line of an error has of the only one in its list.
enum class Says : uint8_t { kNothing, kWhy, kWhyAndHint };

/// An error of the source or the caller. What catches it on its way may say where it was.
struct ConversionError {
  host::Exit exit_code = host::Exit::kCorrupt;
  std::string message;  // where: what is wrong, expected and found; what to do
  std::vector<Unsupported> unsupported = {};
  std::string begin = {};  // what `message` begins with: a file, a node, or all of it
  Says says = Says::kNothing;

  /// "NAME: " in front of the message, unless it begins so.
  void add_place(const std::string& name);
};
/// "BEGIN: WHY", or one line.
[[noreturn]] void fail_conversion(host::Exit exit_code, const std::string& begin,
                                  const std::string& why = "");
[[noreturn]] void fail_usage(const std::string& begin, const std::string& why = "");
[[noreturn]] void fail_corrupt(const std::string& begin, const std::string& why = "");
[[noreturn]] void fail_unsafe(const std::string& begin, const std::string& why = "");
[[noreturn]] void fail_unsupported(const std::string& begin, const std::string& why = "");
[[noreturn]] void fail_mismatch(const std::string& begin, const std::string& why = "");
[[noreturn]] void fail_unavailable(const std::string& begin, const std::string& why = "");
[[noreturn]] void fail_internal(const std::string& begin, const std::string& why = "");

/// All of `unsupported` as one error, each once. @pre !unsupported.empty()
ConversionError refusal(const std::string& place, const std::vector<Unsupported>& unsupported);

}  // namespace ingot::graph
