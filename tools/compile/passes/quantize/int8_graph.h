// SPDX-License-Identifier: Apache-2.0
// tools/compile/passes/quantize/int8_graph.h - a graph in which QuantizeLinear and DequantizeLinear
// of 8 bits with one scale are Quantize and Dequantize of u8, and what stands between them.
#pragma once
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "tools/compile/passes/common/editor.h"

namespace ingot::passes::quantize {

/// A byte q stands for (q - zero) * scale. Bytes of a signed source have 128 added, and so has
/// zero.
struct QuantParams {
  float scale = 1;
  int64_t zero = 0;
  friend bool operator==(const QuantParams& a, const QuantParams& b) {
    return a.scale == b.scale && a.zero == b.zero;
  }
};
/// round(x / scale) + zero, ties to even, as a byte.
int64_t byte_of(const QuantParams& params, float x);

/// What becomes bytes behind an operator: their parameters, and the bytes to which they are
/// limited.
struct Output {
  QuantParams params;
  int64_t low = 0, high = 255;
  const Node* from = nullptr;  // whose name and place the new nodes have
};

/// A constant behind DequantizeLinear, of any integer type.
struct Quantized {
  const Constant* integers = nullptr;
  Integers perm;  // of a Transpose behind it; empty for none
  std::vector<float> scales;
  std::vector<int64_t> zeros;
  int64_t axis = 0;  // of more than one scale, before the Transpose
};

class Int8Graph {
 public:
  explicit Int8Graph(Editor& editor) : e(editor) {}
  Editor& e;

  /// Takes the nodes to Quantize and Dequantize. They, and no others, are what is rewritten: those
  /// that an importer gives have the arithmetic of their source.
  void open();
  const std::vector<Node*>& quantizes() const { return quantizes_; }
  const std::vector<Node*>& dequantizes() const { return dequantizes_; }

  /// Of an f32 value that is made of bytes: behind a Dequantize, a constant one, or movement
  /// behind such. None for another.
  std::optional<QuantParams> quant_params(ValueId x) const;
  /// The bytes, in its dims. @pre it has quant_params().
  ValueId bytes(ValueId x);
  std::optional<Quantized> quantized_constant(ValueId x) const;

  /// Its elements keep their numbers: one input (operand 0) of which each output is a part.
  bool moves(const Node& node) const;
  /// Output `which` of such a node from the bytes of its operand.
  ValueId moved(const Node& node, ValueId bytes, const QuantParams& params, size_t which);

  /// The bytes of x, which has `from`, as those of the output.
  ValueId rescaled(ValueId x, const QuantParams& from, const Output& to, const Node& node);

  /// u8 by a table of 256; x itself where that is what the table says.
  ValueId lookup(ValueId x, const std::vector<int64_t>& table, const Node& from);

 private:
  bool is_mine(const Node* node) const { return node && mine_.count(node) != 0; }
  void open_quantize(Node& node);
  void open_dequantize(Node& node);
  void open_movement(Node& node);
  const Node* source_of(ValueId x, std::vector<std::pair<Node*, size_t>>* between) const;

  std::vector<Node*> quantizes_, dequantizes_;
  std::set<const Node*> mine_;
  std::unordered_map<ValueId, ValueId> bytes_, offset_;  // by f32 value; u8 of i8
};

/// Rules: bytes of the first output of `root`, or kAbsent where it is computed in floating point.
ValueId recognize_convolution(Int8Graph& g, const Node& root, const Output& to);
ValueId recognize_transposed_convolution(Int8Graph& g, const Node& root, const Output& to);
ValueId recognize_product(Int8Graph& g, const Node& root, const Output& to);
ValueId recognize_sum(Int8Graph& g, const Node& root, const Output& to);  // and Sub, Mul
ValueId recognize_average(Int8Graph& g, const Node& root, const Output& to);
ValueId recognize_rows(Int8Graph& g, const Node& root, const Output& to);  // Softmax
ValueId recognize_concat(Int8Graph& g, const Node& root, const Output& to);
/// Any function of one byte; `x` is the f32 value that `root` makes.
ValueId recognize_function(Int8Graph& g, ValueId x, const Output& to);
/// Numbers of one tensor that each channel has another function of.
ValueId recognize_channels(Int8Graph& g, ValueId x, const Output& to);
ValueId recognize_choice(Int8Graph& g, const Node& root, const Output& to);  // Max, Min, Where
ValueId recognize_extreme(Int8Graph& g, const Node& root,
                          const Output& to);  // ReduceMax, ReduceMin

/// A product of bytes and quantized weights whose numbers are read as such. False for another.
bool recognize_float_product(Int8Graph& g, Node& node);
/// MaxPool of bytes.
ValueId largest_bytes(Int8Graph& g, const Node& node, ValueId bytes);

/// QuantizeLinear and DequantizeLinear, or Quantize and Dequantize of a Int8Graph, in f32.
void decompose(Editor& e, Node& node);
/// DynamicQuantizeLinear, MatMulInteger and ConvInteger in f32. @throws
/// ConversionError(kUnsupported)
uint32_t decompose_integers(Editor& e);
/// QuantizeLinear of constants, as weights that were trained so have it.
uint32_t compute_quantized_constants(Editor& e);

}  // namespace ingot::passes::quantize
