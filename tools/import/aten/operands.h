// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/operands.h - the arguments of one call, bound to the names of its schema: what
// a lowering function is written with. Every getter refuses an argument that it cannot give, by
// name, and remembers that the argument was read: what a lowering left unread is refused at its end
// unless it says nothing (no_effect.h). Inside tools/import/aten only.
#pragma once
#include <string>
#include <vector>

#include "tools/import/aten/builder.h"
#include "tools/import/aten/schema.h"

namespace ingot::aten {

class Operands {
 public:
  Operands(Builder& builder, const Schema& schema, std::vector<Value> values)
      : b(builder), schema_(schema), values_(std::move(values)), read_(values_.size(), false) {}
  Builder& b;

  const std::string& op() const { return schema_.name; }  // without "_"
  const std::string& overload() const { return schema_.overload; }
  std::string qualified() const {
    return schema_.name.find("::") == std::string::npos ? "aten::" + op() : op();
  }
  bool has(const char* name) const;    // the operator has such an argument
  bool given(const char* name) const;  // it is there and not None
  const Value& value(const char* name) const;
  Tensor tensor(const char* name) const;
  ValueId read(const char* name) { return b.read(tensor(name)); }
  ValueId read_or_absent(const char* name) { return given(name) ? read(name) : graph::kAbsent; }
  ValueId floating(const char* name);  // integers become float32, for operators that give floats
  std::vector<ValueId> read_all(const char* name);  // of a list without None
  Dim dim(const char* name) const { return value(name).integer; }
  Dims dims(const char* name) const;  // one number is a list of one
  int64_t integer(const char* name) const;
  std::vector<int64_t> integers(const char* name) const;
  /// As many as there are axes: one number counts for each.
  std::vector<int64_t> integers(const char* name, size_t count) const;
  double number(const char* name) const;
  double known_number(const char* name);  // or that of a tensor of one element
  bool flag(const char* name) const;
  std::string text(const char* name) const;
  /// >= 0. Rank 0 counts as rank 1, as in PyTorch.
  int64_t axis(const char* name, int64_t rank) const;
  /// Sorted as given, >= 0; None and an empty list mean all.
  std::vector<int64_t> axes(const char* name, int64_t rank) const;
  DType dtype(const char* name, DType otherwise) const;

  /// Refuses the first argument that nobody read and whose value is not the default. To be called
  /// when the lowering is done.
  void refuse_unread() const;
  [[noreturn]] void refuse(const std::string& argument, const std::string& why,
                           const std::string& hint = "") const;
  [[noreturn]] void corrupt(const std::string& what) const;
  Results result(ValueId id) { return {Value::of(b.own(id))}; }

 private:
  const Schema& schema_;
  std::vector<Value> values_;
  mutable std::vector<bool> read_;
};

/// For a row of an operator that is one node of `self`: attributes that PyTorch does not state, and
/// those that arguments of these names give.
Lower one_node(graph::Operator op, Attributes fixed = {},
               std::vector<std::pair<graph::AttributeName, const char*>> numbers = {});
/// The same where integers become float32.
Lower one_node_of_floats(graph::Operator op);

/// kInvalid for types that no tensor of ours has.
DType dtype_of_c10(int64_t scalar_type);
/// "torch.complex64"; of a number that PyTorch gave later, "element type 99".
std::string name_of_c10(int64_t scalar_type);
/// >= 0, or corrupt.
int64_t wrapped_axis(int64_t axis, int64_t rank, const std::string& owner);

}  // namespace ingot::aten
