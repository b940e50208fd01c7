// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/dispatch.cpp - chooses a table by what the processor says it has.
#include <cstdlib>
#include <cstring>
#if INGOT_HAVE_AVX2 || INGOT_HAVE_AVX512
#include <cpuid.h>
#define INGOT_ASKS_CPUID 1
#endif
#if INGOT_HAVE_AMXBF16 && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if (INGOT_HAVE_NEONFP16 || INGOT_HAVE_NEONDOT || INGOT_HAVE_NEONI8MM || INGOT_HAVE_NEON32 || \
     INGOT_HAVE_RVV) &&                                                                       \
    defined(__linux__)
#include <sys/auxv.h>
#endif

#include "ingot/cpu.h"
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/isa/tables.h"
#include "kernels/cpu/simd/tiles.h"

namespace ingot {
namespace {

bool always() { return true; }
#if INGOT_ASKS_CPUID
/// Registers of CPUID; 0 where the processor has no such leaf. Asked here, since
/// __builtin_cpu_supports() is a table of the compiler's library, which is empty in some.
struct Cpuid {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  Cpuid(uint32_t leaf, uint32_t subleaf) { __get_cpuid_count(leaf, subleaf, &a, &b, &c, &d); }
};

/// Whether the system keeps these registers when it switches threads: bits of XCR0.
bool system_keeps(uint32_t registers) {
  if (!(Cpuid(1, 0).c >> 27 & 1)) return false;  // OSXSAVE
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & registers) == registers;
}

bool has_avx2() {
  const uint32_t parts = 1u << 12 | 1u << 29;  // FMA, F16C
  const bool avx2 = Cpuid(7, 0).b >> 5 & 1;
  return (Cpuid(1, 0).c & parts) == parts && avx2 && system_keeps(0x06);  // XMM, YMM
}
#endif
#if INGOT_HAVE_AVXVNNI
bool has_avxvnni() { return has_avx2() && (Cpuid(7, 1).a >> 4 & 1); }
#endif
#if INGOT_HAVE_AVX512
bool has_avx512() {
  const uint32_t parts = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;  // F, DQ, BW, VL
  return has_avx2() && (Cpuid(7, 0).b & parts) == parts && system_keeps(0xe6);
}
#endif
#if INGOT_HAVE_AVX512VNNI
bool has_avx512vnni() { return has_avx512() && (Cpuid(7, 0).c >> 11 & 1); }
#endif
#if INGOT_HAVE_AVX512BF16
bool has_avx512bf16() { return has_avx512vnni() && (Cpuid(7, 1).a >> 5 & 1); }
/// Not on Intel's, which start one every other cycle: half as many products as of f32.
bool is_dot_quick() { return Cpuid(0, 0).b != 0x756e6547; }  // "Genu", of GenuineIntel
#endif
#if INGOT_HAVE_AMXBF16
bool has_amxbf16() {
#if defined(__linux__)
  const uint32_t parts = 1u << 22 | 1u << 24;  // AMX-BF16, AMX-TILE
  return has_avx512vnni() && (Cpuid(7, 1).a >> 5 & 1) && (Cpuid(7, 0).d & parts) == parts &&
         system_keeps(0x600e6);
#else
  return false;
#endif
}
#endif
#if INGOT_HAVE_AMXINT8
bool has_amxint8() { return has_amxbf16() && (Cpuid(7, 0).d >> 25 & 1); }
#endif
#if INGOT_HAVE_NEONFP16
bool has_neonfp16() {
#if defined(__linux__)
  return (getauxval(AT_HWCAP) >> 10 & 1) != 0;  // HWCAP_ASIMDHP
#else
  return false;
#endif
}
#elif INGOT_HAVE_NEONDOT || INGOT_HAVE_NEONI8MM
bool has_neonfp16() { return true; }  // their tables go on with neon's
#endif
#if INGOT_HAVE_NEONDOT
bool has_neondot() {
#if defined(__linux__)
  return has_neonfp16() && (getauxval(AT_HWCAP) >> 20 & 1) != 0;  // HWCAP_ASIMDDP
#else
  return false;
#endif
}
#endif
#if INGOT_HAVE_NEONI8MM
bool has_neoni8mm() {
#if defined(__linux__)
  // HWCAP2_I8MM, which older headers do not name, and HWCAP_ASIMDDP
  return has_neonfp16() && (getauxval(AT_HWCAP2) >> 13 & 1) != 0 &&
         (getauxval(AT_HWCAP) >> 20 & 1) != 0;
#else
  return false;
#endif
}
#endif
#if INGOT_HAVE_NEONBF16
bool has_neonbf16() {
#if defined(__linux__)
  // HWCAP2_BF16; its table goes on with that of bytes
  return has_neoni8mm() && (getauxval(AT_HWCAP2) >> 14 & 1) != 0;
#else
  return false;
#endif
}
#endif
#if INGOT_HAVE_NEON32
bool has_neon32() {
#if defined(__linux__)
  const unsigned long neon = 1ul << 12, vfpv4 = 1ul << 16;  // HWCAP_NEON, HWCAP_VFPv4
  return (getauxval(AT_HWCAP) & (neon | vfpv4)) == (neon | vfpv4);
#else
  return false;
#endif
}
#endif
#if INGOT_HAVE_RVV
/// Systems of processors with a draft of the extension (0.7.1) say V as well, where the type of
/// vectors asked for here, 32 bits with tail and mask agnostic, is illegal.
bool has_rvv() {
#if defined(__linux__)
  if (!(getauxval(AT_HWCAP) >> ('V' - 'A') & 1)) return false;
  uint64_t length, type;
  // vsetvli length, zero, e32, m1, ta, ma; csrr type, vtype: as numbers for older assemblers
  __asm__ volatile(".insn i 0x57, 7, %0, x0, 0xd0\n\tcsrr %1, 0xc21" : "=r"(length), "=r"(type));
  return type >> 63 == 0 && length >= 4;
#else
  return false;
#endif
}
#endif

struct Isa {
  const KernelTable* table;
  bool (*runs_here)();
  bool (*is_quick)() = always;  // not asked where it is named
};
constexpr Isa kIsas[] = {
    {&cpu::kScalarKernels, always},
#if INGOT_HAVE_SSE2
    {&cpu::kSse2Kernels, always},  // part of x86-64
#endif
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
#if INGOT_HAVE_AVX512BF16
    {&cpu::kAvx512Bf16Kernels, has_avx512bf16, is_dot_quick},
#endif
#if INGOT_HAVE_AMXBF16
    {&cpu::kAmxBf16Kernels, has_amxbf16},
#endif
#if INGOT_HAVE_AMXINT8
    {&cpu::kAmxInt8Kernels, has_amxint8},
#endif
#if INGOT_HAVE_NEON
    {&cpu::kNeonKernels, always},  // part of aarch64
#endif
#if INGOT_HAVE_NEONFP16
    {&cpu::kNeonFp16Kernels, has_neonfp16},
#endif
#if INGOT_HAVE_NEONDOT
    {&cpu::kNeonDotKernels, has_neondot},
#endif
#if INGOT_HAVE_NEONI8MM
    {&cpu::kNeonI8mmKernels, has_neoni8mm},
#endif
#if INGOT_HAVE_NEONBF16
    {&cpu::kNeonBf16Kernels, has_neonbf16},
#endif
#if INGOT_HAVE_NEON32
    {&cpu::kNeon32Kernels, has_neon32},
#endif
#if INGOT_HAVE_RVV
    {&cpu::kRvvKernels, has_rvv},
#endif
};
constexpr const char* kNames[] = {
    "scalar",
#if INGOT_HAVE_SSE2
    "sse2",
#endif
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
#if INGOT_HAVE_AVX512BF16
    "avx512bf16",
#endif
#if INGOT_HAVE_AMXBF16
    "amxbf16",
#endif
#if INGOT_HAVE_AMXINT8
    "amxint8",
#endif
#if INGOT_HAVE_NEON
    "neon",
#endif
#if INGOT_HAVE_NEONFP16
    "neonfp16",
#endif
#if INGOT_HAVE_NEONDOT
    "neondot",
#endif
#if INGOT_HAVE_NEONI8MM
    "neoni8mm",
#endif
#if INGOT_HAVE_NEONBF16
    "neonbf16",
#endif
#if INGOT_HAVE_NEON32
    "neon32",
#endif
#if INGOT_HAVE_RVV
    "rvv",
#endif
};

}  // namespace

const KernelTable* cpu_kernels(const char* isa) {
  const KernelTable* best = nullptr;
  for (const Isa& candidate : kIsas) {
    if (isa ? std::strcmp(isa, candidate.table->isa) != 0 : !candidate.is_quick()) continue;
    if (candidate.runs_here()) best = candidate.table;
  }
  return best;
}

const KernelTable* oracle_kernels() { return &cpu::kOracleKernels; }

bool cpu::may_use_tiles() {
#if INGOT_HAVE_AMXBF16 && defined(__linux__)
  constexpr long kAskForState = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
#else
  return false;
#endif
}

Span<const char* const> built_isas() { return Span<const char* const>(kNames); }

}  // namespace ingot

extern "C" const ingot_kernel_table* ingot_cpu_kernels(const char* isa) {
  // The environment chooses for whoever did not, so that one binary can be tested under every
  // instruction set.
  if (!isa) isa = std::getenv("INGOT_CPU_ISA");
  return reinterpret_cast<const ingot_kernel_table*>(
      ingot::cpu_kernels(isa && *isa ? isa : nullptr));
}
