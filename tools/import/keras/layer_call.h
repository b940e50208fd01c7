// SPDX-License-Identifier: Apache-2.0
// tools/import/keras/layer_call.h - one call of a layer while it is translated: typed access to its
// configuration, its weights, and the nodes it becomes.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/import/keras/config.h"
#include "tools/import/keras/masks.h"
#include "tools/import/keras/weights.h"
#include "tools/import/layers/network.h"

namespace ingot::keras {

using graph::ValueId;
using layers::Network;
using layers::Weight;

class LayerCall {
 public:
  /// `part` is where a wrapper keeps the layer, "" when it stands alone. `version`: major of the
  /// Keras that wrote the file.
  LayerCall(Network& net, const Layer& layer, const Weights& weights, std::string place,
            std::string part, int version, std::vector<ValueId> inputs,
            std::vector<double> numbers = {}, std::vector<ValueId> masks = {});

  Network& net;
  aten::Builder& b;
  const Layer& layer;
  const Weights& source;
  const std::string place, part;
  const int version;
  bool number_first = false, has_fraction = false;  // as Call has them
  const Json* index = nullptr;                      // of x[index] and take(x, index)
  std::vector<ValueId> outputs;
  std::vector<ValueId> output_masks;  // of the first outputs; see mask()

  // What the layer is called with. Asking makes it known; what nobody asked for is refused at the
  // end.
  ValueId input() {
    first_read_ = true;
    return inputs_[0];
  }
  const std::vector<ValueId>& inputs() {
    first_read_ = all_read_ = true;
    return inputs_;
  }
  const std::vector<double>& numbers() {  // plain arguments
    numbers_read_ = true;
    return numbers_;
  }
  /// The mask of an input, or kAbsent. Who asks says in output_masks what becomes of it.
  ValueId mask(size_t input = 0) {
    masks_read_ = true;
    return input < masks_.size() ? masks_[input] : kAbsent;
  }
  bool is_masked() const;
  bool read_masks() const { return masks_read_; }
  void refuse_unread_arguments() const;
  int64_t rank() const { return b.rank(inputs_[0]); }
  void expect_rank(int64_t wanted) const;
  void give(ValueId value) { outputs = {value}; }
  /// A fixed extent of the first input. @throws Refused for a symbolic one.
  int64_t extent(int64_t axis) const;

  // The configuration. Asking makes a field known; what nobody asked for, says something and does
  // not stand in no_effect.h is refused at the end.
  const Json* field(const std::string& key);
  int64_t integer(const std::string& key, int64_t otherwise);
  double number(const std::string& key, double otherwise);
  bool truth(const std::string& key, bool otherwise);
  std::string text(const std::string& key, const std::string& otherwise);
  /// A number for all, or one for each of `count`.
  std::vector<int64_t> integers(const std::string& key, size_t count, int64_t otherwise);
  std::vector<double> numbers_of(const std::string& key);
  /// The same of whole numbers. @throws for others, and beyond 2^40.
  std::vector<int64_t> whole_numbers_of(const std::string& key);
  /// An axis of `rank`, counted from the front. @throws where there is no such axis.
  int64_t axis(const std::string& key, int64_t otherwise, int64_t rank);
  /// One or several, in ascending order; none where the field is null.
  std::vector<int64_t> axes(const std::string& key, int64_t rank);
  /// Plain name of an activation, marked with what the writer's version means by it; "linear" when
  /// there is none.
  std::string activation(const std::string& key, const std::string& otherwise = "linear");
  void refuse_unknown_fields() const;

  /// Tensors of this layer (or of `of`, a part of it): as many as expected. @throws ConversionError
  /// 5.
  std::vector<Weight> weights(size_t count, const std::string& of = "");
  /// As many as there are.
  std::vector<Weight> all_weights(const std::string& of = "");
  void expect_dims(const Weight& weight, const std::vector<int64_t>& dims, const char* what) const;

  [[noreturn]] void refuse(const std::string& attribute, const std::string& why,
                           const std::string& hint = "") const {
    throw layers::Refused{attribute, why, hint};
  }
  [[noreturn]] void corrupt(const std::string& why) const;

  // Keras' images have the channels last; ours are turned around each operator that wants them
  // second, and passes take that away.
  bool channels_last();
  ValueId to_channels_first(ValueId x, bool last);
  ValueId from_channels_first(ValueId x, bool last);

 private:
  std::vector<ValueId> inputs_;
  std::vector<double> numbers_;
  std::vector<ValueId> masks_;
  bool first_read_ = false, all_read_ = false, numbers_read_ = false, masks_read_ = false;
  std::set<std::string> known_;
};

using Translate = void (*)(LayerCall&);
using TranslateTable = std::map<std::string, Translate>;
const TranslateTable& translate_table();
/// Operators of keras.ops, which stand among the layers of Functional models.
const TranslateTable& operation_table();

void add_dense(TranslateTable& table);
void add_convolutions(TranslateTable& table);
void add_pools(TranslateTable& table);
void add_shapes(TranslateTable& table);
void add_elementwise(TranslateTable& table);
void add_normalizations(TranslateTable& table);
void add_recurrent(TranslateTable& table);
void add_attention(TranslateTable& table);
void add_images(TranslateTable& table);
void add_convolutional_recurrences(TranslateTable& table);
void add_operations(TranslateTable& table);
void add_moving_operations(TranslateTable& table);

/// Resizing, cropping and augmentation.
bool prepares_images(const std::string& kind);

/// [k..., in, out] to [out, in, k...].
Weight turned_kernel(const Weight& weight);

/// What a wrapper holds, as a layer of its own.
Layer inner_layer(const Json& at);

}  // namespace ingot::keras
