// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/tensors/checkpoint.h - what every reader of weights gives: tensors by path, and
// the facts around them.
// Errors   host::Failure with the exit codes of failure.h: kCorrupt (damaged), kUnsafe (asks to be
//          executed), kUnsupported (a kind that is not read), kUnavailable (file, memory).
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tools/checkpoint/tensors/element_type.h"
#include "tools/checkpoint/tensors/storage.h"

namespace ingot::checkpoint {

/// Keys from the root of the file: {"state_dict", "conv1.weight"}; list items by number.
using Path = std::vector<std::string>;
/// "state_dict/conv1.weight"
std::string path_text(const Path& path);

struct Quantization {
  std::string scheme;  // "per_tensor_affine", "per_channel_affine"
  std::vector<double> scales;
  std::vector<int64_t> zero_points;
  // in their place those of "per_channel_affine_float_qparams", which are no whole numbers
  std::vector<double> float_zero_points;
  int64_t axis = 0;
};

/// A view of a storage, validated to lie inside it. Strides count elements; a sparse tensor is
/// given as its parts.
struct Tensor {
  Path path;
  ElementType type = ElementType::kF32;
  std::vector<int64_t> dims, strides;
  std::shared_ptr<const Storage> storage;
  uint64_t offset = 0;                       // elements
  bool swapped = false;                      // the storage has the other byte order
  bool negated = false, conjugated = false;  // torch's lazy views
  bool is_parameter = false;
  std::string location;  // as saved: "cpu", "cuda:0", "mps"; "" where the format has none
  std::optional<Quantization> quantization;

  int64_t elements() const;
  uint64_t bytes() const { return uint64_t(elements()) * element_bytes(type); }
};

using FactValue = std::variant<std::monostate, bool, int64_t, double, std::string>;
/// Anything plain that the file says besides tensors.
struct Fact {
  Path path;
  FactValue value;
};

struct Checkpoint {
  std::string file;
  std::string format;           // "torch zip", "torch legacy", "safetensors", ...
  std::vector<Tensor> tensors;  // in the file's order
  std::deque<Fact> facts;
  std::vector<std::string> notes;  // reported

  // one more of each, charged as metadata (tools/files/work_budget.h)
  void say(Path path, FactValue value);
  void add(Tensor tensor);
  void note(std::string text);
};

struct ReadLimits {
  // reading a shard: another index is refused, or two could name each other for ever
  bool inside_index = false;
  uint64_t entries = 4u << 20;  // tensors and facts; a small file can name more by sharing
  // a view may have that many times its storage's elements (and 1M more)
  uint64_t widening = 64;
};

/// The content decides which reader. Tensors refer to the file, which must not change as long as
/// they live.
Checkpoint read_checkpoint(const std::string& path, const ReadLimits& limits = {});

/// Sets dims, strides and so on after validating that the view lies inside its storage. `owner`
/// names the tensor for errors. @throws Failure kCorrupt.
void validate_view(const Tensor& tensor, const ReadLimits& limits, const std::string& owner);

/// Of a row-major tensor. Where they overflow they are wrong without harm: validate_view() refuses
/// such dims, or there are no elements.
std::vector<int64_t> dense_strides(const std::vector<int64_t>& dims);

/// Row-major, little endian, dense; negation and conjugation done. `emit` is called with pieces in
/// order.
void read_tensor(const Tensor& tensor, const std::function<void(const void*, size_t)>& emit);
std::vector<uint8_t> tensor_bytes(const Tensor& tensor);

}  // namespace ingot::checkpoint
