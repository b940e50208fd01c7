// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/device/async_copy.cuh - copies from memory into shared memory that run while the
// thread goes on. They belong to the group that the thread commits next, and are there for it once
// it has waited for that group; for other threads after a barrier. Before sm_80 a copy is a load
// and a store, done when the call returns.
#pragma once
#include "kernels/cuda/device/gpu.h"

namespace ingot::cuda {

#if defined(__CUDACC__)

/// 16 bytes, both sides aligned to that; zeros where !valid, and then `from` is not read.
GPU_FN void copy_async16(void* to, const void* from, bool valid) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(valid ? 16 : 0)
               : "memory");
#else
  *static_cast<uint4*>(to) = valid ? *static_cast<const uint4*>(from) : uint4{0, 0, 0, 0};
#endif
}
/// 4 bytes likewise, through the first-level cache.
GPU_FN void copy_async4(void* to, const void* from, bool valid) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(valid ? 4 : 0)
               : "memory");
#else
  *static_cast<uint32_t*>(to) = valid ? *static_cast<const uint32_t*>(from) : 0;
#endif
}
/// 8 bytes likewise.
GPU_FN void copy_async8(void* to, const void* from, bool valid) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(valid ? 8 : 0)
               : "memory");
#else
  *static_cast<uint2*>(to) = valid ? *static_cast<const uint2*>(from) : uint2{0, 0};
#endif
}
GPU_FN void commit_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// All but the `kPending` youngest groups of this thread have landed.
template <int kPending>
GPU_FN void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

#else

GPU_FN void copy_async16(void* to, const void* from, bool valid) {
  emulate::async_copy(to, from, 16, valid);
}
GPU_FN void copy_async4(void* to, const void* from, bool valid) {
  emulate::async_copy(to, from, 4, valid);
}
GPU_FN void copy_async8(void* to, const void* from, bool valid) {
  emulate::async_copy(to, from, 8, valid);
}
GPU_FN void commit_copies() { emulate::async_commit(); }
template <int kPending>
GPU_FN void wait_for_copies() {
  emulate::async_wait(kPending);
}

#endif

}  // namespace ingot::cuda
