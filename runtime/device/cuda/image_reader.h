// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/image_reader.h - the device code that a build carries: which modules for
// which architectures, and the way to one module's bytes. The container is written by
// kernels/cuda/embed/pack.py:
//
//   "INGOTGPU", u32 version = 2, u32 count, then `count` entries of 64 bytes, then what they point
//   to; all little endian
//   entry: char unit[16], u32 sm, u32 compiler, u8 os_abi, u8 abi_version, u16 packing (0 none, 1
//   LZMA),
//          u32 offset, u32 packed bytes, u32 the module's bytes, u32 bytes of the stream, unpacked,
//          up to the module's end, u32
//          where in it the module begins (modules of sibling architectures share a stream), the
//          first 16 bytes of the module's SHA-256
//
// It is this library's own constant, yet nothing in it is believed: every offset is checked, and
// every module by its hash.
#pragma once
#include <cstdint>

#include "runtime/base/span.h"

namespace ingot::cuda {

/// One module: a unit of kernels for one architecture. Points into the container.
struct ImageEntry {
  const char* unit = "";  // as in GpuKernelSet::units
  // 87: compute capability 8.7; 0: stands for the emulator, holds the text "emulated"
  int sm = 0;
  int compiler = 0;  // 11080: CUDA 11.8, 13000: CUDA 13.0; 0 for the emulator
  uint8_t os_abi = 0,
          // of the ELF header: 0x33/7 up to CUDA 12, 0x41/8 from 13, which older drivers refuse
      abi_version = 0;
  uint16_t packing = 0;
  uint64_t unpacked_bytes = 0;  // of the module
  uint64_t stream_bytes = 0;    // of what is unpacked to have it
  uint64_t first = 0;           // where it begins there
  Span<const uint8_t> packed;
  const uint8_t* digest = nullptr;  // 16 bytes
};

/// No module is larger; a container that says so is damaged.
constexpr uint32_t kMaxUnpackedBytes = 64u << 20;

/// The entry at `index`, in the container's order; false at the end, and for a damaged container.
bool image_at(Span<const uint8_t> all, uint32_t index, ImageEntry* out);

/// True when device code for `built` runs on a GPU of compute capability `device` (87: 8.7): the
/// same major and a minor not above; on the integrated GPUs of Tegra (see is_tegra) only exactly
/// their own, which runs nowhere else.
bool image_runs_on(int built, int device);
bool is_tegra(int sm);

/// False of modules of CUDA 13 and later for drivers before it, which know no such ABI. `driver`:
/// 12040 is CUDA 12.4.
bool driver_takes(const ImageEntry& entry, int driver);
constexpr int kAnyDriver = 1 << 30;

/// The best entry of `unit` for a GPU and a driver: the nearest architecture that runs there; of
/// equal ones the older compiler's, which more drivers take. False when there is none.
bool find_image(Span<const uint8_t> all, const char* unit, int sm, ImageEntry* out,
                int driver = kAnyDriver);

/// Writes entry.stream_bytes bytes to `out`; the module's lie at the place returned. Null when they
/// are not what was packed. 30 KB of stack, no allocation.
const uint8_t* unpack_image(const ImageEntry& entry, uint8_t* out);

}  // namespace ingot::cuda
