// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "runtime/base/sha256.h"
#include "runtime/base/sha256_blocks.h"
#include "runtime/base/status.h"
#include "runtime/format/region.h"

using namespace ingot;

namespace {
std::string hex(const std::string& text, size_t piece) {
  Sha256 hash;
  for (size_t i = 0; i < text.size(); i += piece)
    hash.update(text.data() + i, std::min(piece, text.size() - i));
  uint8_t digest[32];
  hash.finish(digest);
  std::string out;
  for (const uint8_t byte : digest)
    out += "0123456789abcdef"[byte >> 4], out += "0123456789abcdef"[byte & 15];
  return out;
}
}  // namespace

TEST_CASE("sha256: the standard's examples, absorbed in any pieces") {
  const struct {
    std::string text;
    const char* digest;
  } cases[] = {{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
               {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
               {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
               {std::string(1000000, 'a'),
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"}};
  for (const auto& c : cases)
    for (const size_t piece : {size_t{1}, size_t{63}, size_t{64}, size_t{1000}})
      CHECK(hex(c.text, piece) == c.digest);
}

TEST_CASE("sha256: the processor's instructions and the portable rounds are one function") {
  if (!has_x86_sha256()) {
    MESSAGE("[skip] this processor has no SHA instructions");
    return;
  }
  std::vector<uint8_t> bytes(64 * 37 + 1);
  uint32_t seed = 9;
  for (uint8_t& byte : bytes) byte = uint8_t((seed = seed * 1664525u + 1013904223u) >> 24);
  uint32_t one[8], other[8];
  for (int i = 0; i < 8; i++) one[i] = other[i] = seed = seed * 1664525u + 1013904223u;
  compress_portable(one, bytes.data() + 1, 37);
  compress_x86(other, bytes.data() + 1, 37);
  for (int i = 0; i < 8; i++) CHECK(one[i] == other[i]);
}

TEST_CASE("status: codes keep their numbers for ever") {
  const struct {
    Code code;
    int number;
    const char* name;
  } cases[] = {{Code::kOk, 0, "ok"},
               {Code::kInvalidArgument, 1, "invalid_argument"},
               {Code::kNotFound, 2, "not_found"},
               {Code::kShapeMismatch, 3, "shape_mismatch"},
               {Code::kDtypeMismatch, 4, "dtype_mismatch"},
               {Code::kUnboundDimension, 5, "unbound_dimension"},
               {Code::kDimensionOutOfBounds, 6, "dimension_out_of_bounds"},
               {Code::kMisaligned, 7, "misaligned"},
               {Code::kWrongState, 8, "wrong_state"},
               {Code::kCancelled, 9, "cancelled"},
               {Code::kDeadlineExceeded, 10, "deadline_exceeded"},
               {Code::kBadIndexValue, 11, "bad_index_value"},
               {Code::kBadStateValue, 12, "bad_state_value"},
               {Code::kStateMismatch, 13, "state_mismatch"},
               {Code::kControlRefused, 14, "control_refused"},
               {Code::kCustomFailed, 15, "custom_failed"},
               {Code::kNotIngot, 20, "not_ingot"},
               {Code::kTruncated, 21, "truncated"},
               {Code::kHeaderInvalid, 22, "header_invalid"},
               {Code::kHashMismatch, 23, "hash_mismatch"},
               {Code::kUnsupportedVersion, 24, "unsupported_version"},
               {Code::kUnsupportedFeature, 25, "unsupported_feature"},
               {Code::kStructureInvalid, 26, "structure_invalid"},
               {Code::kMeaningInvalid, 27, "meaning_invalid"},
               {Code::kPlanInvalid, 28, "plan_invalid"},
               {Code::kUnsupportedOperator, 29, "unsupported_operator"},
               {Code::kNoKernel, 30, "no_kernel"},
               {Code::kLimitExceeded, 31, "limit_exceeded"},
               {Code::kArenaTooSmall, 40, "arena_too_small"},
               {Code::kOutOfMemory, 41, "out_of_memory"},
               {Code::kFileOpen, 42, "file_open"},
               {Code::kFileRead, 43, "file_read"},
               {Code::kMapFailed, 44, "map_failed"},
               {Code::kThreadFailed, 45, "thread_failed"},
               {Code::kLockFailed, 46, "lock_failed"},
               {Code::kNoSuchDevice, 60, "no_such_device"},
               {Code::kDeviceLost, 61, "device_lost"},
               {Code::kDeviceFault, 62, "device_fault"},
               {Code::kInternal, 90, "internal"}};
  for (const auto& c : cases) {
    CHECK(int(c.code) == c.number);
    CHECK(std::string(code_name(c.code)) == c.name);
  }
}

TEST_CASE("region: intersections agree with counting elements, for every small comb") {
  Region combs[1400];
  int count = 0;
  for (int64_t offset = 0; offset < 5; offset++)
    for (int64_t rows = 1; rows <= 4; rows++)
      for (int64_t stride = 1; stride <= 6; stride++)
        for (int64_t length = 1; length <= stride; length++)
          combs[count++] = {offset, rows, length, stride};
  for (int i = 0; i < count; i++)
    for (int k = 0; k < count; k++) {
      const Region &a = combs[i], &b = combs[k];
      bool in_a[32] = {};
      for (int64_t r = 0; r < a.rows; r++)
        for (int64_t c = 0; c < a.length; c++) in_a[a.offset + r * a.stride + c] = true;
      int64_t expected = 0, found = 0;
      for (int64_t r = 0; r < b.rows; r++)
        for (int64_t c = 0; c < b.length; c++) expected += in_a[b.offset + r * b.stride + c];
      const bool exact = common_elements(a, b, &found);
      const bool divides = a.stride % b.stride == 0 || b.stride % a.stride == 0;
      REQUIRE(exact == (a.rows == 1 || b.rows == 1 || divides || found == 0));
      if (exact) REQUIRE(found == expected);
      if (!exact) REQUIRE(found >= expected);
      REQUIRE(may_overlap(a, b) >= (expected != 0));
    }
}
