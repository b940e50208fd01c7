// SPDX-License-Identifier: Apache-2.0
// Any bytes as a saved state, given to a session: refused by name or restored, and never half:
// after a refusal the state is what it was. The hash at the end is made right in every second
// input, so that what lies before it is reached.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/cpu/cpu_kernels.h"
#include "runtime/base/sha256.h"
#include "runtime/format/state_file.h"
#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

namespace {

struct Target {
  FileBytes bytes{counting_network(true)};
  Model model = open_bytes_or_fail(bytes);
  Session session;
  std::vector<uint8_t> fresh;
  Target() {
    ingot_session_options options = session_options();
    options.threads = 1;
    session = *model.session(options);
    fresh = *session.save_state();
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Target* target = new Target;
  std::vector<uint8_t> bytes(data, data + size);
  if (size > kStateHeaderBytes + kSha256Bytes && (data[24] & 1) == 0) {  // a reserved byte
    std::memcpy(bytes.data() + 32, target->fresh.data() + 32, kSha256Bytes);
    sha256(bytes.data(), size - kSha256Bytes, bytes.data() + size - kSha256Bytes);
  }
  Session& session = target->session;
  if (!session.reset_state().ok()) abort();
  if (session.restore_state(bytes.data(), bytes.size()).ok()) {
    if (!session.check_state().ok()) abort();
  } else if (*session.save_state() != target->fresh) {
    abort();
  }
  write(session.input(0), std::vector<float>(8, 1.0f));
  if (!session.run().ok()) abort();
  return 0;
}
