// SPDX-License-Identifier: Apache-2.0
// tools/serve/triton/triton_calls.h - the server's calls, with exceptions for its errors.
#pragma once
#include <string>

#include "tools/serve/core/serve_error.h"
#include "tools/serve/triton/triton_abi.h"

namespace ingot::serve::triton {

/// An error of the server's own, on its way back to it.
struct ServerFailure {
  TRITONSERVER_Error* error;
};

inline void check(TRITONSERVER_Error* error) {
  if (error) throw ServerFailure{error};
}

inline int code_of(Refusal why) {
  switch (why) {
    case Refusal::kInvalid:
    case Refusal::kTooLarge: return kErrorInvalid;
    case Refusal::kNotFound: return kErrorNotFound;
    case Refusal::kUnsupported: return kErrorUnsupported;
    case Refusal::kInternal: return kErrorInternal;
    default: return kErrorUnavailable;
  }
}

/// What `body` throws, as the server wants it; null where it throws nothing.
template <class Body>
TRITONSERVER_Error* error_of(const Body& body) {
  try {
    body();
    return nullptr;
  } catch (const ServerFailure& failure) {
    return failure.error;
  } catch (const ServeError& refused) {
    return TRITONSERVER_ErrorNew(code_of(refused.why()), ("ingot: " + refused.text()).c_str());
  } catch (const std::exception& failure) {
    return TRITONSERVER_ErrorNew(kErrorInternal, (std::string("ingot: ") + failure.what()).c_str());
  }
}

}  // namespace ingot::serve::triton
