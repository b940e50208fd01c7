// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/golden/golden.h - reference inputs and outputs in one .npz: arrays in:NAME,
// out:NAME, mid:NAME, and meta, a JSON text:
//   steps        a stream: per-step arrays have a leading axis of that length
//   feed         {output: input}: state that is fed back; its in: is the first value, its out: the
//                last
//   subsample    {output: strides}: only every stride-th element along each axis is stored
//   opt_spread   largest difference between two runs of the reference itself; no tolerance below it
//                has a meaning
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/files/npz/npz.h"

namespace ingot::check {

struct Golden {
  std::string path;
  std::vector<host::Array> inputs, outputs, intermediates;  // names without their prefix
  int64_t steps = 0;                                        // 0: no stream
  std::map<std::string, std::string> feed;
  std::map<std::string, std::vector<int64_t>> subsample;
  double spread = 0;

  /// Input that the output is fed back to, "" when it is not.
  std::string fed_input(const std::string& output) const;
  bool is_fed_input(const std::string& input) const;
};

/// Arrays named inN and outN stand for the N-th port; `input_names` and `output_names` (of the
/// model) give them their names. @throws Failure kUnavailable, kCorrupt, kMismatch.
Golden read_golden(const std::string& path, const std::vector<std::string>& input_names,
                   const std::vector<std::string>& output_names, bool needs_outputs = true);

/// Step `step` of an array with a leading axis of steps.
host::Array slice_step(const host::Array& array, int64_t step);
/// Appends one step's array to what was gathered so far; the first one makes the leading axis.
void append_step(host::Array* gathered, const host::Array& step);

}  // namespace ingot::check
