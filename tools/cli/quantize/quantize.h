// SPDX-License-Identifier: Apache-2.0
// tools/cli/quantize/quantize.h - a network in floating point to one of bytes: calibration on the
// caller's data, what each layer loses, and which layers stay in floating point.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tools/cli/options/convert_options.h"
#include "tools/compile/convert/convert.h"
#include "tools/compile/quantize/insert.h"

namespace ingot::cli {

struct LayerLoss {
  std::string name, op, weights;  // weights: name of the constant
  double signal_to_noise = 0;     // dB, of this layer alone
  quantize::Range input, output;  // what bytes cover
  double low = 0, high = 0;       // what the output held
  double clipped = 0;             // share of the output's numbers
  bool kept = false;              // in floating point
  bool rows = false;              // its input is quantized in each run; the loss is that of ranges
  size_t node = 0;                // Layer::node
};

/// What an output of the network loses, against f32, over the samples.
struct OutputLoss {
  std::string name;
  double signal_to_noise = 0;  // dB
  double agreement = 1;        // share of rows whose largest number is at the same place
  bool has_rows = false;       // of more than one number
};

struct QuantizeReport {
  std::string method;
  uint64_t samples = 0;
  size_t layers = 0, kept = 0;    // kept: in floating point
  size_t rows = 0;                // of `layers`: those whose inputs are quantized in each run
  std::vector<LayerLoss> losses;  // the worst first; empty unless they were measured
  std::vector<OutputLoss> outputs;
  double metric = 0, metric_f32 = 0;  // of the command
  std::vector<std::string> notes;
};

/// "30dB", "0.5%". @throws Failure kUsage.
struct Budget {
  bool is_ratio = false;  // of decibels; else a share
  double number = 0;
};
Budget parse_budget(const std::string& text);

/// Options under which the conversion gives the quantized network; `report` says what was found.
/// @throws Failure, ConversionError; kUsage before anything is read.
convert::ConvertOptions quantized(const convert::Source& source,
                                  const convert::ConvertOptions& options,
                                  const ConvertArguments& arguments, QuantizeReport* report);

}  // namespace ingot::cli
