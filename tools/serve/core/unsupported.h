// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/unsupported.h - what the protocol has and this server has not, in one wording
// for HTTP and gRPC.
#pragma once
#include "tools/serve/core/serve_error.h"

namespace ingot::serve {

[[noreturn]] inline void refuse_shared_memory() {
  refuse(Refusal::kUnsupported, "shared memory is off; it is on with: ingot serve --shared-memory");
}
[[noreturn]] inline void refuse_classification() {
  refuse(Refusal::kUnsupported, "the classification extension is not supported");
}
[[noreturn]] inline void refuse_load_parameters() {
  refuse(Refusal::kUnsupported,
         "parameters of load (configurations and files in the request) are not supported: files "
         "come from the repository alone");
}

}  // namespace ingot::serve
