// kernels/cpu/dispatch.cpp - chooses a table by what the processor says it has.
#include <cstdlib>
#include <cstring>
#if INGOT_HAVE_AVXVNNI
#include <cpuid.h>
#endif
#if (INGOT_HAVE_NEONDOT || INGOT_HAVE_NEONI8MM) && defined(__linux__)
#include <sys/auxv.h>
#endif

#include "ingot/cpu.h"
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/isa/tables.h"

namespace ingot {
namespace {

bool always() { return true; }
#if INGOT_HAVE_AVX2
bool has_avx2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif
#if INGOT_HAVE_AVXVNNI
bool has_avxvnni() {
  uint32_t a, b, c, d;
  return has_avx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
}
#endif
#if INGOT_HAVE_AVX512
bool has_avx512() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && has_avx2();
}
#endif
#if INGOT_HAVE_AVX512VNNI
bool has_avx512vnni() { return has_avx512() && __builtin_cpu_supports("avx512vnni"); }
#endif
#if INGOT_HAVE_NEONDOT
bool has_neondot() {
#if defined(__linux__)
  return (getauxval(AT_HWCAP) >> 20 & 1) != 0;  // HWCAP_ASIMDDP
#else
  return false;
#endif
}
#endif
#if INGOT_HAVE_NEONI8MM
bool has_neoni8mm() {
#if defined(__linux__)
  return (getauxval(AT_HWCAP2) >> 13 & 1) != 0;  // HWCAP2_I8MM, which older headers do not name
#else
  return false;
#endif
}
#endif

struct Isa {
  const KernelTable* table;
  bool (*runs_here)();
};
constexpr Isa kIsas[] = {
    {&cpu::kScalarKernels, always},
#if INGOT_HAVE_AVX2
    {&cpu::kAvx2Kernels, has_avx2},
#endif
#if INGOT_HAVE_AVXVNNI
    {&cpu::kAvxVnniKernels, has_avxvnni},
#endif
#if INGOT_HAVE_AVX512
    {&cpu::kAvx512Kernels, has_avx512},
#endif
#if INGOT_HAVE_AVX512VNNI
    {&cpu::kAvx512VnniKernels, has_avx512vnni},
#endif
#if INGOT_HAVE_NEON
    {&cpu::kNeonKernels, always},  // part of aarch64
#endif
#if INGOT_HAVE_NEONDOT
    {&cpu::kNeonDotKernels, has_neondot},
#endif
#if INGOT_HAVE_NEONI8MM
    {&cpu::kNeonI8mmKernels, has_neoni8mm},
#endif
};
constexpr const char* kNames[] = {
    "scalar",
#if INGOT_HAVE_AVX2
    "avx2",
#endif
#if INGOT_HAVE_AVXVNNI
    "avxvnni",
#endif
#if INGOT_HAVE_AVX512
    "avx512",
#endif
#if INGOT_HAVE_AVX512VNNI
    "avx512vnni",
#endif
#if INGOT_HAVE_NEON
    "neon",
#endif
#if INGOT_HAVE_NEONDOT
    "neondot",
#endif
#if INGOT_HAVE_NEONI8MM
    "neoni8mm",
#endif
};

}  // namespace

const KernelTable* cpu_kernels(const char* isa) {
  const KernelTable* best = nullptr;
  for (const Isa& candidate : kIsas) {
    if (isa && std::strcmp(isa, candidate.table->isa) != 0) continue;
    if (candidate.runs_here()) best = candidate.table;
  }
  return best;
}

const KernelTable* oracle_kernels() { return &cpu::kOracleKernels; }

Span<const char* const> built_isas() { return Span<const char* const>(kNames); }

}  // namespace ingot

extern "C" const ingot_kernel_table* ingot_cpu_kernels(const char* isa) {
  // The environment chooses for whoever did not, so that one binary can be tested under every
  // instruction set.
  if (!isa) isa = std::getenv("INGOT_CPU_ISA");
  return reinterpret_cast<const ingot_kernel_table*>(
      ingot::cpu_kernels(isa && *isa ? isa : nullptr));
}
