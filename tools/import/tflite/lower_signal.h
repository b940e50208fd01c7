// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_signal.h - the audio front end of TFLite Micro: whole numbers of i64,
// whatever type the file says. What lower_signal.cpp and its transform share.
#pragma once
#include <string>
#include <vector>

#include "tools/import/tflite/custom_options.h"
#include "tools/import/tflite/wide_integers.h"

namespace ingot::tflite {

/// Options of one of them; T is the type of its tensors, which they have.
inline CustomOptions signal_options(Call& call) {
  CustomOptions options(call);
  options.ignore("T");
  return options;
}

/// The last dimension of `x`, which the conversion has to know.
inline int64_t last_extent(Call& call, ValueId x) {
  const graph::Dims dims = call.b.dims(x);
  const auto extent = dims.empty() ? std::nullopt : dims.back().value();
  constexpr int64_t kMax = 1 << 16;
  if (!extent || *extent < 1 || *extent > kMax)
    call.refuse("", "its input has shape " + graph::text(dims) +
                        ", expected a last dimension of 1 to " + std::to_string(kMax));
  return *extent;
}

/// The outputs, in the types that the file says.
inline void give_numbers(Call& call, const std::vector<ValueId>& values) {
  std::vector<ValueId> all;
  for (size_t i = 0; i < values.size(); i++)
    all.push_back(call.b.cast(values[i], call.output_dtype(i)));
  call.give_all(all);
}

/// Of what an operator keeps from run to run, by what it gives. @throws where it gives nothing.
inline std::string kept_key(const Call& call, const char* name) {
  (void)call.output_tensor(0);
  return std::string(name) + "\n" + std::to_string(call.scope.index) + "/" +
         std::to_string(call.op.outputs()->Get(0));
}

/// [rows, length] of 16 bits -> [rows, length + 2], real and imaginary parts in turns. `length` is
/// a power of two, at least 2.
ValueId fixed_real_transform(Call& call, ValueId x, const graph::Dim& rows, int64_t length);

}  // namespace ingot::tflite
