// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/quantize/channel_shift.h"

#include "tools/compile/quantize/insert.h"

namespace ingot::cli {

ChannelShifts::ChannelShifts(const quantize::Sites& sites) {
  for (const quantize::Layer& layer : sites.layers)
    if (layer.op == op::Conv) channels_first_.insert(layer.output);
}

void ChannelShifts::add(NetworkRun* f32, NetworkRun* bytes) {
  for (uint32_t o = 0; o < f32->engine().summary().output_count; o++) {
    const int64_t number = quantize::number_of_output(f32->engine().output(o).name, "shift");
    if (number < 0) continue;
    const auto id = graph::ValueId(number);
    const host::Array expected = f32->output(o);
    if (expected.dims.empty()) continue;
    add(expected, bytes->output(o), channels_first_.count(id) ? 1 : expected.dims.size() - 1,
        &sums_[id]);
  }
}

void ChannelShifts::add(const host::Array& expected, const host::Array& found, size_t axis,
                        Sums* to) const {
  if (expected.dtype != DType::kF32 || found.dtype != DType::kF32 || expected.dims != found.dims ||
      axis >= expected.dims.size() || expected.elements() == 0)
    return;
  int64_t inner = 1;
  for (size_t d = axis + 1; d < expected.dims.size(); d++) inner *= expected.dims[d];
  const int64_t count = expected.dims[axis], rows = expected.elements() / inner;
  if (!to->means.empty() && to->means.size() != size_t(count)) return;
  std::vector<double> sums(size_t(count), 0);
  const float *x = expected.as<float>(), *y = found.as<float>();
  for (int64_t row = 0; row < rows; row++)
    for (int64_t i = row * inner; i < (row + 1) * inner; i++)
      sums[size_t(row % count)] += double(y[i]) - double(x[i]);
  to->means.resize(size_t(count), 0), to->squares.resize(size_t(count), 0);
  for (size_t c = 0; c < sums.size(); c++) {
    const double mean = sums[c] * double(count) / double(expected.elements());
    to->means[c] += mean, to->squares[c] += mean * mean;
  }
  to->samples++;
}

std::map<graph::ValueId, std::vector<double>> ChannelShifts::take() const {
  std::map<graph::ValueId, std::vector<double>> all;
  for (const auto& [id, sums] : sums_) {
    std::vector<double>& shifts = all[id];
    shifts.assign(sums.means.size(), 0);
    const double n = double(sums.samples);
    for (size_t c = 0; n >= 2 && c < shifts.size(); c++) {
      const double mean = sums.means[c] / n,
                   variance = (sums.squares[c] - n * mean * mean) / (n - 1);
      if (mean * mean * n > 4 * variance) shifts[c] = mean;
    }
  }
  return all;
}

}  // namespace ingot::cli
