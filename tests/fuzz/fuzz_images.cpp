// SPDX-License-Identifier: Apache-2.0
// Any bytes as a container of device code, and as one LZMA stream.
#include <cstdint>
#include <cstring>
#include <memory>

#include "runtime/device/cuda/image_reader.h"
#include "runtime/device/cuda/lzma.h"

using namespace ingot;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMax = 1 << 16;
  cuda::ImageEntry entry;
  for (uint32_t i = 0; cuda::image_at({data, size}, i, &entry); i++) {
    if (strlen(entry.unit) > 15 || entry.unpacked_bytes > cuda::kMaxUnpackedBytes) __builtin_trap();
    if (entry.stream_bytes > kMax) continue;
    const std::unique_ptr<uint8_t[]> out(new uint8_t[entry.stream_bytes]);
    (void)cuda::unpack_image(entry, out.get());
    cuda::find_image({data, size}, entry.unit, entry.sm, &entry);
  }
  if (size < 2) return 0;
  const size_t wanted =
      // the hash above stops most inputs; the decoder gets the bytes as they are too
      data[0] | data[1] << 8;
  const std::unique_ptr<uint8_t[]> out(new uint8_t[wanted]);
  cuda::lzma_decode({data + 2, size - 2}, out.get(), wanted);
  return 0;
}
