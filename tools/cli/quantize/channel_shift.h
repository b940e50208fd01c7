// SPDX-License-Identifier: Apache-2.0
// tools/cli/quantize/channel_shift.h - how far channels of tensors are from those in f32, on
// average over samples, where that is more than chance.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "tools/cli/quantize/network_run.h"
#include "tools/compile/quantize/layers.h"

namespace ingot::cli {

class ChannelShifts {
 public:
  explicit ChannelShifts(const quantize::Sites& sites);
  /// What both made of one sample, at the outputs "shift:ID"; they have the same outputs.
  void add(NetworkRun* f32, NetworkRun* bytes);
  /// bytes - f32 of each channel by ID; 0 where it is within two standard errors of none. Samples
  /// are what chance draws: numbers of one sample are alike.
  std::map<graph::ValueId, std::vector<double>> take() const;

 private:
  struct Sums {
    std::vector<double> means, squares;  // of samples' means
    int64_t samples = 0;
  };
  void add(const host::Array& expected, const host::Array& found, size_t axis, Sums* to) const;

  std::set<graph::ValueId> channels_first_;  // dimension 1; of others the last
  std::map<graph::ValueId, Sums> sums_;
};

}  // namespace ingot::cli
