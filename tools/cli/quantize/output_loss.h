// SPDX-License-Identifier: Apache-2.0
// tools/cli/quantize/output_loss.h - how far outputs of the quantized network are from those in
// f32: in decibels, in places of the largest number, or as a command of the caller measures it.
#pragma once
#include <string>
#include <vector>

#include "tools/cli/quantize/quantize.h"
#include "tools/session/engine.h"

namespace ingot::cli {

class OutputLosses {
 public:
  explicit OutputLosses(const Engine& engine);
  /// One run's output of both networks. Only f32 ones count.
  void add(uint32_t output, const host::Array& expected, const host::Array& found);
  std::vector<OutputLoss> take() const;

 private:
  struct Sums {
    std::string name;
    double signal = 0, noise = 0;
    int64_t rows = 0, agreeing = 0, width = 0;
  };
  std::vector<Sums> sums_;
};

/// Of a signal to its noise, given as sums of squares; infinite without noise.
double decibels(double signal, double noise);
/// Of the worst output.
double least_decibels(const std::vector<OutputLoss>& losses);

/// "output 'y': 31.2 dB".
std::string outputs_text(const std::vector<OutputLoss>& losses);

/// The number that `command` prints, with {} in it replaced by the file's path, or the path behind
/// it. @throws Failure kCheckFailed where it fails or prints anything else.
double metric_of(const std::string& command, const std::string& file);

}  // namespace ingot::cli
