// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/schema.h - the operators: for each overload the names, types and defaults of
// its arguments in PyTorch's order, and the function that lowers it.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/import/aten/value.h"

namespace ingot::aten {

class Operands;
using Results = std::vector<Value>;
using Lower = std::function<Results(Operands&)>;

struct Parameter {
  enum class Type : uint8_t {
    kTensor,
    kTensors,
    kInt,
    kInts,
    kFloat,
    kFloats,
    kBool,
    kBools,
    kScalar,
    kString,
    kAny
  };
  Type type = Type::kAny;
  bool optional = false;  // None is allowed
  std::string name;
  std::optional<Value> otherwise;
};

struct Schema {
  std::string name, overload;  // "conv2d", "padding"; "" is the default overload
  std::vector<Parameter> parameters;
  size_t positional = SIZE_MAX;  // so many may be passed by position; the others stand behind "*"
  Lower lower;
  std::string text() const;  // "conv2d.padding(Tensor input, ...)"
  std::string declared;      // the arguments as they were written
};

class Table {
 public:
  /// "conv2d" or "conv2d.padding" of PyTorch, "torchvision::roi_align" of others; arguments as
  /// "Tensor input, Tensor? bias=None, int[] stride=1, *, int? dtype=None".
  void add(const std::string& name, const std::string& arguments, const Lower& lower);
  /// Same arguments for several operators, separated by blanks.
  void add_all(const std::string& names, const std::string& arguments, const Lower& lower);
  /// Null when there is none of that name.
  const std::vector<Schema>* find(const std::string& name) const;
  const std::map<std::string, std::vector<Schema>>& all() const { return schemas_; }

 private:
  std::map<std::string, std::vector<Schema>> schemas_;
};
const Table& operator_table();

/// True when a value can be passed for the parameter.
bool accepts(const Parameter& parameter, const Value& value);

// One per family, in lower_<family>.cpp.
void add_elementwise(Table& table);
void add_convolutions(Table& table);
void add_products(Table& table);
void add_activations(Table& table);
void add_normalizations(Table& table);
void add_pools(Table& table);
void add_views(Table& table);
void add_movement(Table& table);
void add_indexing(Table& table);
void add_generators(Table& table);
void add_reductions(Table& table);
void add_attention(Table& table);
void add_layers(Table& table);
void add_sampling(Table& table);
void add_detection(Table& table);
void add_random(Table& table);
void add_composed(Table& table);
void add_recurrent(Table& table);
void add_cells(Table& table);
void add_quantized(Table& table);
void add_quantized_recurrent(Table& table);
void add_torchao(Table& table);
void add_decomposed(Table& table);
void add_complex(Table& table);
void add_fourier(Table& table);
void add_frames(Table& table);
void add_scans(Table& table);
void add_orders(Table& table);
void add_special(Table& table);
void add_matrices(Table& table);
void add_contractions(Table& table);
void add_found(Table& table);
void add_arrangements(Table& table);
void add_losses(Table& table);
void add_packed(Table& table);
void add_strided(Table& table);

}  // namespace ingot::aten
