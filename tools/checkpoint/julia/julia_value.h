// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/julia/julia_value.h - what a file of Julia objects says, as inert data:
// BSON.jl's documents and JLD2's datasets become the same tree. Nodes refer to each other by index,
// so that sharing costs nothing. Functions are names, never run.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tools/checkpoint/tensors/checkpoint.h"

namespace ingot::checkpoint {

using JuliaId = uint32_t;
constexpr JuliaId kNoJulia = 0xffffffffu;

enum class JuliaKind : uint8_t {
  kNothing,
  kBool,     // integer
  kInteger,  // integer
  kFloat,    // number
  kText,     // text; symbols too
  kArray,    // tensor: dims and strides as Julia has them, the first extent fastest
  kList,     // items: arrays of anything, tuples
  kStruct,   // type, items; names where the file has them
  kType,     // text: "Flux.Dense"; items: parameters
  kUnknown,  // text: what it is
};

struct JuliaNode {
  JuliaKind kind = JuliaKind::kNothing;
  int64_t integer = 0;
  double number = 0;
  std::string text;
  JuliaId type = kNoJulia;
  std::vector<JuliaId> items;
  std::vector<std::string> names;  // of items
  std::shared_ptr<const Tensor> tensor;
};
/// What cannot be said better than by its name.
JuliaNode unknown_node(const std::string& what);

struct JuliaTree {
  std::string file, format;
  std::deque<JuliaNode> nodes;
  JuliaId root = kNoJulia;  // a struct with names: what was saved under which name

  const JuliaNode& at(JuliaId id) const { return nodes[id]; }
  /// What it takes is charged.
  JuliaId add(JuliaNode node);
  /// "Flux.Dense" of a struct; "" for anything else.
  const std::string& type_name(JuliaId id) const;
  /// "Dense".
  std::string short_type(JuliaId id) const;
  /// A field by its name, or where the file has no names by its position. kNoJulia when there is
  /// none.
  JuliaId field(JuliaId id, const char* name, size_t position) const;
  /// "relu" of a named function; "" for anything else.
  std::string function_name(JuliaId id) const;
};

/// BSON as BSON.jl writes it. @throws host::Failure kCorrupt.
JuliaTree read_bson(const std::string& path, const ReadLimits& limits);
/// JLD2, which is HDF5. @throws host::Failure kCorrupt, kUnsupported.
JuliaTree read_jld2(const std::string& path, const ReadLimits& limits);
/// Every array of numbers with its path, plain values as facts. Kernels of convolutions are turned
/// and put in the order [out, in, rows, columns].
Checkpoint collect_julia(const JuliaTree& tree, const ReadLimits& limits);

/// The fields of Flux' layers in their order, for files that have none: null for other types.
const std::vector<std::string>* flux_fields(const std::string& short_type);
/// A convolution's kernel, (columns, rows, in, out) in Julia, as [out, in, rows, columns], turned
/// unless `correlation`.
Tensor turned_kernel(const Tensor& kernel, bool correlation);

}  // namespace ingot::checkpoint
