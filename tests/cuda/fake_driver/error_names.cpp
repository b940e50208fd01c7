// SPDX-License-Identifier: Apache-2.0
// tests/cuda/fake_driver/error_names.cpp - names of the driver's errors.
#include "tests/cuda/fake_driver/handles.h"

using namespace ingot::cuda;

extern "C" {

Result cuGetErrorName(Result error, const char** name) {
  switch (error) {
    case kInvalidValue: *name = "CUDA_ERROR_INVALID_VALUE"; break;
    case kResultOutOfMemory: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case kStubLibrary: *name = "CUDA_ERROR_STUB_LIBRARY"; break;
    case kNoDevice: *name = "CUDA_ERROR_NO_DEVICE"; break;
    case kInvalidContext: *name = "CUDA_ERROR_INVALID_CONTEXT"; break;
    case kInvalidHandle: *name = "CUDA_ERROR_INVALID_HANDLE"; break;
    case kIllegalAddress: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
    case kNotInitialized: *name = "CUDA_ERROR_NOT_INITIALIZED"; break;
    case kInvalidImage: *name = "CUDA_ERROR_INVALID_IMAGE"; break;
    case kNotPermitted: *name = "CUDA_ERROR_NOT_PERMITTED"; break;
    case 719: *name = "CUDA_ERROR_LAUNCH_FAILED"; break;
    default: *name = "CUDA_ERROR_UNKNOWN"; break;
  }
  return 0;
}

}  // extern "C"
