// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/value.h - what a PyTorch program computes with while it is read: tensors of the
// graph that is being built, and the plain values around them, which exist during conversion alone.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/graph/graph.h"

namespace ingot::aten {

using graph::Dim;
using graph::Dims;
using graph::ValueId;

/// A tensor as Python sees one: an object that may be written in place and looked at through views.
/// Builder::read() gives the value of the graph that it holds at this point of the program. Copies
/// of the pointer are the same tensor.
class Cell;
using Tensor = std::shared_ptr<Cell>;

/// What a reader of programs adds to the values: modules, dictionaries, functions. No operator
/// takes one.
struct Foreign {
  virtual ~Foreign() = default;
};

/// One level of a list in a list, while it is walked. A program can build lists of any depth, and
/// lists that hold themselves. @throws graph::ConversionError(kUnsupported) where they are nested
/// too deeply; charges a step of work.
class Nesting {
 public:
  Nesting();
  ~Nesting();
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
};

struct Value {
  enum class Kind : uint8_t {
    // made by something that was refused; whatever touches it is unknown too, and not reported
    // again
    kUnknown,
    kNone,
    kTensor,
    kInt,  // symbolic where a dimension is; ScalarType and MemoryFormat are numbers of c10
    kFloat,
    kBool,
    kString,  // devices too
    kList,    // the items are shared: a list is an object
    kTuple,
    kForeign,
  };
  Kind kind = Kind::kNone;
  Tensor tensor;
  Dim integer;
  double number = 0;
  bool truth = false;
  // a tensor of rank 0 whose type counts as that of a plain number does where types are promoted
  bool wrapped = false;
  std::string text;  // of kUnknown: why it is not there, where nobody has said yet
  std::shared_ptr<std::vector<Value>> items;
  std::shared_ptr<Foreign> foreign;

  static Value unknown();
  /// A result that is not made: unknown, and the first call that reads it is refused for this
  /// reason.
  static Value unavailable(std::string why);
  static Value none() { return {}; }
  static Value of(Tensor tensor);
  static Value of(Dim integer);
  static Value of(double number);
  static Value of(bool truth);
  static Value of(std::string text);
  static Value of(std::shared_ptr<Foreign> foreign);
  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);
  static Value tensors(const std::vector<Tensor>& items);
  static Value dims(const Dims& items);

  bool is(Kind k) const { return kind == k; }
  bool has_unknown() const;  // itself or an item
  // of the first unavailable one among itself and its items; "" when there is none
  std::string reason() const;
  /// "a tensor", "the number 3", "a list of 2".
  std::string describe() const;
};

/// What is dropped one after another, however deeply it is nested: for destructors of what holds
/// values.
void drop_values(std::vector<Value>&& values);
/// Charges what a list of `count` items, or more of them, takes.
void charge_items(size_t count);

}  // namespace ingot::aten
