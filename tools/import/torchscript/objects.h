// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/objects.h - what a TorchScript program computes with besides the values
// that operators take.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/import/aten/value.h"
#include "tools/import/torchscript/syntax.h"

namespace ingot::torchscript {

using aten::Value;

/// An instance of a class of the program: a module, a plain object, a named tuple. Shared by
/// everything that refers to it.
struct Object : aten::Foreign {
  ~Object() override;
  std::string type;  // "__torch__.torch.nn.modules.linear.Linear"
  // from the program's own module: "layer1.0.conv1"; "" for that itself and what the program made
  std::string path;
  std::map<std::string, Value> attributes;
  std::vector<std::string> slots;  // names of attributes in the order of the file
  std::optional<Value> state;      // of which its __setstate__() is still to make the attributes
};

/// Keys are plain values, in the order of their insertion.
struct Dictionary : aten::Foreign {
  ~Dictionary() override;
  std::vector<std::pair<Value, Value>> items;
};

/// A function or a class that was given a name: `_1 = __torch__.torch.nn.functional.pad`.
struct Named : aten::Foreign {
  std::string name;
};

/// A tensor that no program of ours computes with; it may be there as long as nothing touches it.
struct Unreadable : aten::Foreign {
  std::string why;
};

/// A table of bytes whose rows have a scale and a zero point in floating point each: that of an
/// embedding, which nothing else reads.
struct QuantizedRows : aten::Foreign {
  Value bytes, scales, zero_points;  // u8 [rows, columns], f32 [rows, 1]
};

/// Containers that were given another one: such a one may hold itself, and what holds itself is
/// never given back by counting references. Whoever is done with a program empties them.
class Containers {
 public:
  Containers() = default;
  ~Containers() { empty(); }
  Containers(const Containers&) = delete;
  Containers& operator=(const Containers&) = delete;
  /// `container`, a list, a dictionary or an object, now holds `item`.
  void note(const Value& container, const Value& item);

 private:
  void empty();
  // by address: a container is noted once, however often it is changed
  std::map<const void*, std::weak_ptr<std::vector<Value>>> lists_;
  std::map<const void*, std::weak_ptr<aten::Foreign>> others_;
};

template <class T>
T* as(const Value& value) {
  return dynamic_cast<T*>(value.foreign.get());
}

/// True when two plain values are equal for sure; tensors and objects when they are the same one.
bool same(const Value& a, const Value& b);
/// "an object of class Linear", or what the value itself says.
std::string describe(const Value& value);

}  // namespace ingot::torchscript
