// SPDX-License-Identifier: Apache-2.0
// runtime/base/float_state.h - the calling thread's floating-point state, as kernels expect it:
// rounding to nearest, subnormal numbers kept, no traps. The caller's comes back at the end of the
// scope, with the flags that were raised before.
#pragma once
#include <cstdint>

namespace ingot {

class DefaultFloatState {
 public:
#if defined(__SSE2__) && (defined(__x86_64__) || defined(__i386__))
  DefaultFloatState() {
    asm volatile("stmxcsr %0" : "=m"(saved_) : : "memory");
    set(kDefault);
  }
  ~DefaultFloatState() { set(saved_); }
#elif defined(__aarch64__)
  DefaultFloatState() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_) : : "memory");
    if (saved_ != 0) set(0);
  }
  ~DefaultFloatState() {
    if (saved_ != 0) set(saved_);
  }
#elif defined(__arm__) && defined(__ARM_FP)
  DefaultFloatState() {
    asm volatile("vmrs %0, fpscr" : "=r"(saved_) : : "memory");
    set(kDefault);
  }
  ~DefaultFloatState() { set(saved_); }
#elif defined(__riscv_flen)
  DefaultFloatState() {
    asm volatile("frcsr %0" : "=r"(saved_) : : "memory");
    set(0);
  }
  ~DefaultFloatState() { set(saved_); }
#else
  DefaultFloatState() {}
  ~DefaultFloatState() {}
#endif
  DefaultFloatState(const DefaultFloatState&) = delete;
  DefaultFloatState& operator=(const DefaultFloatState&) = delete;

 private:
#if defined(__SSE2__) && (defined(__x86_64__) || defined(__i386__))
  static constexpr uint32_t kDefault = 0x1f80;
  static void set(uint32_t state) { asm volatile("ldmxcsr %0" : : "m"(state) : "memory"); }
  uint32_t saved_;
#elif defined(__aarch64__)
  static void set(uint64_t state) { asm volatile("msr fpcr, %0" : : "r"(state) : "memory"); }
  uint64_t saved_;
#elif defined(__arm__) && defined(__ARM_FP)
#if defined(__ARM_FEATURE_MVE)
  // LTPSIZE of 4: no loop has a tail. With another a loop without one faults on Helium.
  static constexpr uint32_t kDefault = 4u << 16;
#else
  static constexpr uint32_t kDefault = 0;
#endif
  static void set(uint32_t state) { asm volatile("vmsr fpscr, %0" : : "r"(state) : "memory"); }
  uint32_t saved_;
#elif defined(__riscv_flen)
  static void set(uintptr_t state) { asm volatile("fscsr %0" : : "r"(state) : "memory"); }
  uintptr_t saved_;
#endif
};

}  // namespace ingot
