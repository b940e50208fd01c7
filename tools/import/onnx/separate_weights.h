// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/separate_weights.h - undoes, before other weights take their place, what
// exporters do to equal weights: they keep one of them and let all read it (through an Identity, or
// directly), and they leave biases out that are zero. In a network that was not trained yet most
// biases are equal, so an overlay has to have one initializer for each place again.
#pragma once
#include <deque>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/import/onnx/wire.h"

namespace ingot::onnx {

/// "layer1.0.conv1" of what the exporters of PyTorch keep in a node's name or in its metadata; ""
/// where they kept nothing.
std::string module_of(const Node& node);

struct SeparatedWeights {
  struct Alias {
    Text name, of;
    bool named = false;  // by an Identity of the source; else it is ours
  };
  struct Bias {
    Text name;
    int64_t channels = 0;
    size_t node = 0;  // index into nodes; its last input
  };
  std::vector<Node> nodes;  // instead of the graph's own
  std::vector<Alias> aliases;
  std::vector<Bias> biases;

  explicit SeparatedWeights(const Graph& graph);
  SeparatedWeights(const SeparatedWeights&) = delete;
  SeparatedWeights& operator=(const SeparatedWeights&) = delete;

 private:
  void drop_identities(const Graph& graph);
  void split_shared();
  void add_biases();
  Text own(std::string name);  // that no other has

  std::deque<std::string> names_;
  std::set<Text> taken_;
  std::unordered_map<Text, const Tensor*> weights_;  // floating initializers and aliases
};

}  // namespace ingot::onnx
