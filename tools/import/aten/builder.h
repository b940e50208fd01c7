// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/builder.h - the graph while a PyTorch program is translated into it: nodes,
// types, and tensors that are written in place. Shapes and types of every value are known as soon
// as it is made (tools/graph/infer/incremental_inference.h), because PyTorch's operators decide by
// them.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/graph/infer/incremental_inference.h"
#include "tools/import/aten/memory_order.h"
#include "tools/import/aten/value.h"

namespace ingot::aten {

using Attributes = graph::Attributes;

/// Thrown while one call is lowered; lower_call() gathers it.
struct Refused {
  std::string argument, why, hint;
};
/// Thrown where the graph refused a node, which it has reported itself.
struct Reported {};

/// A quantized tensor of PyTorch: integers q of a type that stand for (q - zero_point) * scale. In
/// the graph such a tensor is these numbers.
struct TensorQuantization {
  DType integers = DType::kU8;
  double scale = 1;
  int64_t zero_point = 0;
};

class Builder {
 public:
  explicit Builder(graph::Model& model) : model(model), inference_(model, &unsupported) {}
  graph::Model& model;
  std::vector<graph::Unsupported> unsupported;  // everything that stands in the way so far
  std::function<void(const Tensor& owner)>
      on_write;  // called before a tensor that owns its values gets others; may be empty
  // called after a view was taken out of its owner anew; may be empty
  std::function<void(const Tensor& view)> on_take;
  // called before dims and strides change; may be empty
  std::function<void(const Tensor& tensor)> on_change_view;

  // Tensors.
  using Forward = std::function<ValueId(Builder&, ValueId whole)>;
  using Backward = std::function<ValueId(Builder&, ValueId whole, ValueId part)>;
  /// A tensor of its own.
  Tensor own(ValueId value);
  /// A view: `forward` takes it out of what `of` holds, `backward` gives the whole with the part
  /// replaced. An empty backward: writing through the view is refused. `now`: what forward would
  /// give, where the caller has it already.
  Tensor view(const Tensor& of, Forward forward, Backward backward, Strides strides,
              ValueId now = graph::kAbsent);
  /// A view of `of` or a copy, which the program does not show. Once one of them is written,
  /// reading the other is refused.
  Tensor view_or_copy(const Tensor& of, ValueId value);
  /// A list of sequences of different lengths: rows of `padded` [B, T, ...] where `kept` [B, T]
  /// holds. Reading it as a tensor is refused.
  Tensor nested(ValueId padded, ValueId kept);
  struct Nested {
    ValueId padded, kept;
  };
  static std::optional<Nested> nested(const Tensor& tensor);
  /// The rows of sequences of different lengths, as pack_padded_sequence() makes them: `padded` [T,
  /// B, ...] of which sequence b has `lengths` [B] rows. Reading it as a tensor is refused.
  Tensor packed(ValueId padded, ValueId lengths);
  struct Packed {
    ValueId padded, lengths;
  };
  static std::optional<Packed> packed(const Tensor& tensor);
  /// Complex numbers: `pairs` [..., 2] of real and imaginary parts. Writing `pairs` is seen here;
  /// reading it as a plain tensor is refused.
  Tensor complex(const Tensor& pairs);
  /// Those pairs; null where the tensor is not complex.
  static Tensor pairs(const Tensor& tensor);
  /// From here on `tensor` is what `shown`, a view that was made of it just now, shows: other dims
  /// and strides of the same memory. Views that were made of it before show what they showed.
  void change_view(const Tensor& tensor, const Tensor& shown);
  /// Where its elements lie.
  Strides strides(const Tensor& tensor);
  static bool is_row_major(const Tensor& tensor);  // for certain
  /// Of a tensor of its own, whose strides nothing shows.
  static void forget_strides(const Tensor& tensor);
  /// What PyTorch would hold it as; null where it is a plain tensor.
  static const TensorQuantization* quantization(const Tensor& tensor);
  static void set_quantization(const Tensor& tensor, const TensorQuantization& quantization);
  /// How many tensors were made before it.
  static uint64_t age(const Tensor& tensor);
  /// What it holds now. A view whose owner was written since is taken anew.
  ValueId read(const Tensor& tensor);
  /// From here on it holds `value`, and all that share its memory see it.
  void write(const Tensor& tensor, ValueId value);
  /// What a view holds was known in a branch alone: it is taken anew when it is read next.
  static void forget(const Tensor& view);
  /// The tensor that `tensor` is a view of, or itself.
  static Tensor owner(const Tensor& tensor);
  /// What it is a view of; null where it owns its values.
  static Tensor base(const Tensor& tensor);
  static bool is_view(const Tensor& tensor) { return base(tensor) != nullptr; }
  uint64_t tensors() const { return tensors_; }  // that were made

  // Nodes, in ONNX semantics.
  ValueId emit(graph::Operator op, std::vector<ValueId> inputs, Attributes attributes = {});
  std::vector<ValueId> emit_many(graph::Operator op, std::vector<ValueId> inputs,
                                 Attributes attributes, size_t outputs);
  /// The same of a node without outputs.
  std::vector<ValueId> emit_node(graph::Node node, size_t outputs);
  /// A node with subgraphs, say, whose outputs the caller has made. @throws Reported.
  void add(graph::Node node);
  /// What `id`, an output of a node that was added, is now.
  ValueId resolve(ValueId id) const { return inference_.resolve(id); }
  bool known(ValueId id) const { return inference_.known(id); }
  graph::IncrementalInference& inference() { return inference_; }
  ValueId constant(graph::Constant constant);
  ValueId scalar(DType dtype, double value);             // rank 0
  ValueId integers(const std::vector<int64_t>& values);  // i64 [n]
  ValueId extent(const Dim& d);                          // i64, rank 0
  ValueId counting(const Dim& count);                    // i64 [count]: 0, 1, 2, ...
  ValueId cast(ValueId x, DType to);
  ValueId reshape(ValueId x, Dims dims);
  ValueId expand(ValueId x, const Dims& dims);  // broadcast to exactly these
  ValueId transpose(ValueId x, std::vector<int64_t> perm);
  ValueId slice(ValueId x, int64_t axis, const Dim& start, const Dim& end, int64_t step = 1);
  ValueId reduce(graph::Operator op, ValueId x, std::vector<int64_t> axes, bool keep);

  // a copy: values move when others are made
  Dims dims(ValueId id) const { return model.values[size_t(id)].dims; }
  int64_t rank(ValueId id) const { return int64_t(dims(id).size()); }
  DType dtype(ValueId id) const { return model.values[size_t(id)].dtype; }
  std::optional<graph::Contents> contents(ValueId id) const { return inference_.contents(id); }
  /// The one number that it holds, where that is known during conversion.
  std::optional<graph::Scalar> content(ValueId id) const;

  /// The source node that the following nodes come from.
  void begin_node(graph::SourceNode node);
  /// Gives the values names that people will see, where they have none yet.
  void name(ValueId id, const std::string& name);
  void note(const std::string& sentence);

 private:
  std::string unique(const std::string& name);
  void check_shared(const Tensor& tensor) const;
  static void attach(const Tensor& tensor);
  graph::IncrementalInference inference_;
  uint64_t tensors_ = 0;
  std::set<ValueId> unnamed_;
  std::map<std::string, int> names_;  // and how many were taken for it: name, name_2, ...
};

}  // namespace ingot::aten
