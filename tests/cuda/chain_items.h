// SPDX-License-Identifier: Apache-2.0
// tests/cuda/chain_items.h - items for pipelines over the fake driver: chain_network() on elements
// that are all one number, so that every output says which item it is of.
#pragma once
#include <ingot/pipeline.hpp>

#include "kernels/cpu/cpu_kernels.h"
#include "tests/cuda/cuda_test.h"

namespace ingot::test {

inline const ingot_kernel_table* scalar() {
  return reinterpret_cast<const ingot_kernel_table*>(cpu_kernels("scalar"));
}

/// Streams in another order while it lives.
class InOrder {
 public:
  explicit InOrder(uint32_t order, const char* drop = nullptr) {
    fake_cuda().order = order;
    fake_cuda().drop_call = drop;
  }
  ~InOrder() {
    fake_cuda().order = kAtOnce;
    fake_cuda().drop_call = nullptr;
  }
  InOrder(const InOrder&) = delete;
};

inline bool is_chain_of(const Elements<float>& y, float x) {
  if (y.empty()) return false;
  for (size_t i = 0; i < y.size; i++)
    if (y[i] != -(x > 0 ? x : 0) + float(i % 8) + x) return false;
  return true;
}

inline void fill(Pipeline& pipeline, float x) {
  for (float& element : pipeline.input<float>(0).value()) element = x;
}

inline ingot_pipeline_options with(const ingot_session_options& session, uint32_t depth) {
  ingot_pipeline_options options = pipeline_options();
  options.session = &session;
  options.depth = depth;
  return options;
}

/// Items whose outputs are wrong, of `count`, keeping the slots as full as they can be.
inline int wrong_items(Pipeline& pipeline, uint64_t count) {
  int wrong = 0;
  uint64_t pushed = 0;
  for (uint64_t item = 0; item < count; item++) {
    while (pipeline.free() && pushed < count)
      if (!pipeline.push([&](Pipeline& p) { fill(p, float(pushed++ % 50)); })) return -1;
    const auto popped = pipeline.pop();
    if (!popped.ok() || popped.error().code) return -1;
    wrong += !is_chain_of(pipeline.output<float>(0).value(), float(item % 50));
    pipeline.release().value();
  }
  return wrong;
}

}  // namespace ingot::test
