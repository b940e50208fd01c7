// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file in the flash of a microcontroller: opened in an arena of exactly its size,
// with hashes brought up to date; the hook bounds the work. States are reset.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "ingot/micro.h"
#include "runtime/micro/model.h"
#include "runtime/op/all_operators.h"
#include "tests/fuzz/mend_hashes.h"

namespace {

using namespace ingot;

constexpr size_t kArena = 1 << 16;

const micro::MicroKernelTable& contract_rows() {
  static const micro::MicroKernel rows[] = {
#define INGOT_ATTRIBUTES(op, fields) \
  {{OpCode::k##op, "", &k##op##Contract, nullptr, nullptr, nullptr}, micro::read_##op##_attributes},
#include "runtime/micro/attributes.def"
#define INGOT_WRITTEN(op) \
  {{OpCode::k##op, "", &k##op##Contract, nullptr, nullptr, nullptr}, micro::read_##op##_attributes},
      INGOT_WRITTEN_READERS(INGOT_WRITTEN)
#undef INGOT_WRITTEN
  };
  static const micro::MicroKernelTable table = {rows, uint32_t(sizeof rows / sizeof rows[0]),
                                                micro::start_states};
  return table;
}

struct Memory {
  explicit Memory(size_t count)
      : bytes(static_cast<uint8_t*>(::operator new(count ? count : 1, std::align_val_t(64)))) {}
  ~Memory() { ::operator delete(bytes, std::align_val_t(64)); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  uint8_t* bytes;
};

int32_t count_call(void* user, uint32_t) {
  ++*static_cast<uint64_t*>(user);
  return 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Memory image(size), arena(kArena);
  if (size) memcpy(image.bytes, data, size);
  fuzz::mend(image.bytes, size);
  ingot_micro model;
  uint64_t calls = 0;
  const int32_t code = ingot_micro_open_watched(
      &model, image.bytes, size, reinterpret_cast<const ingot_micro_kernels*>(&contract_rows()),
      arena.bytes, kArena, INGOT_MICRO_CHECK_WEIGHTS, count_call, &calls, nullptr);
  if (calls * 256 > 4 * size + 256) abort();  // work in proportion to the bytes
  if (code != 0) return 0;
  ingot_micro_tensor port;
  for (uint32_t i = 0; ingot_micro_input(&model, i, &port) == 0; i++)
    memset(port.data, 1, port.bytes);
  for (uint32_t i = 0; ingot_micro_output(&model, i, &port) == 0; i++)
    memset(port.data, 2, port.bytes);
  if (ingot_micro_reset_state(&model, nullptr) != 0) abort();  // as it was opened
  return 0;
}
