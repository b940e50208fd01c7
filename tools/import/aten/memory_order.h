// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/memory_order.h - where a tensor's elements lie in its memory, as far as a
// program shows it. Numbers do not depend on it, but what shares memory does: PyTorch's reshape()
// gives a view where strides allow one, else a copy.
#pragma once
#include <cstdint>
#include <optional>

#include "tools/graph/dim.h"

namespace ingot::aten {

/// The stride of each dimension, in elements; nothing where the program does not show them.
using Strides = std::optional<graph::Dims>;

/// Of a tensor in row-major order without gaps.
graph::Dims row_major(const graph::Dims& dims);

enum class Shared : uint8_t { kYes, kNo, kUnknown };

/// Whether the elements lie in row-major order without gaps.
Shared is_row_major(const graph::Dims& dims, const Strides& strides);

struct Reshaped {
  Shared shared = Shared::kUnknown;  // whether it is a view
  Strides strides;                   // of the view
};
/// What reshape() of a tensor gives. A symbolic dimension may be 1, where strides do not count:
/// what depends on it is not known.
Reshaped reshape_in_memory(const graph::Dims& dims, const Strides& strides, const graph::Dims& to);

}  // namespace ingot::aten
