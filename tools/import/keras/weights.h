// SPDX-License-Identifier: Apache-2.0
// tools/import/keras/weights.h - which tensors of a checkpoint belong to a layer, in Keras' own
// order, in every layout that Keras writes:
//   .keras, .weights.h5    layers/<kind>_<n>/vars/0; parts of a layer below it (cell,
//   forward_layer/cell)
//   .h5 of Keras 2 and 3   model_weights/<layer>/<name>, ordered by the attribute weight_names
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/import/keras/config.h"

namespace ingot::keras {

class Weights {
 public:
  /// `file` must outlive this.
  explicit Weights(const checkpoint::Checkpoint& file);
  bool legacy() const { return legacy_; }
  /// Where the layers of `config` keep their weights, by name of the layer; `place` is that of the
  /// model itself, "" for the outermost.
  std::map<std::string, std::string> places(const Config& config, const std::string& place) const;
  /// Of a layer, or of a part of it: tensors by number. Legacy: those whose name has `part` in it,
  /// or all of the layer.
  std::vector<const checkpoint::Tensor*> at(const std::string& place,
                                            const std::string& part) const;

 private:
  std::map<std::string, const checkpoint::Tensor*> tensors_;
  std::map<std::string, std::string> texts_;                      // facts
  std::map<std::string, std::vector<std::string>> legacy_names_;  // by layer: names in order
  std::string legacy_root_;
  bool legacy_ = false;
};

}  // namespace ingot::keras
