// SPDX-License-Identifier: Apache-2.0
// tests/cuda/driver_declarations.cpp - runtime/device/cuda/driver.h declares the driver by itself;
// here its declarations are compared with the cuda.h of a toolkit. Compiled only (./dev test cuda,
// once for each toolkit present).
// cuda.h then declares what the library exports, and renames nothing
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <cstddef>
#include <type_traits>

#include "runtime/device/cuda/driver.h"

namespace {

// What is passed in the same way is the same: pointers, enumerations as int, and unsigned long as
// unsigned long long (both 64 bits).
template <class T>
struct Passed {
  using type = std::conditional_t<
      std::is_pointer_v<T>, void*,
      std::conditional_t<std::is_enum_v<T>, int,
                         std::conditional_t<std::is_same_v<T, unsigned long> ||
                                                std::is_same_v<T, unsigned long long>,
                                            unsigned long long, T>>>;
};
template <class T>
struct Signature;
template <class R, class... A>
struct Signature<R(A...)> {
  using type = typename Passed<R>::type(typename Passed<A>::type...);
};
template <class R, class... A>
struct Signature<R (*)(A...)> : Signature<R(A...)> {};

#define X(name, parameters)                                                                    \
  static_assert(std::is_same_v<typename Signature<decltype(::name)>::type,                     \
                               typename Signature<decltype(ingot::cuda::Driver::name)>::type>, \
                #name);
INGOT_CUDA_DRIVER(X)
#if CUDA_VERSION >= 12040
INGOT_CUDA_DRIVER_OPTIONAL(X)
#endif
#undef X

using Params = CUDA_KERNEL_NODE_PARAMS_v1;
using Own = ingot::cuda::KernelNodeParams;
static_assert(sizeof(Own) == sizeof(Params), "");
static_assert(offsetof(Own, function) == offsetof(Params, func) &&
                  offsetof(Own, grid_x) == offsetof(Params, gridDimX),
              "");
static_assert(offsetof(Own, block_z) == offsetof(Params, blockDimZ) &&
                  offsetof(Own, shared_bytes) == offsetof(Params, sharedMemBytes),
              "");
static_assert(offsetof(Own, params) == offsetof(Params, kernelParams) &&
                  offsetof(Own, extra) == offsetof(Params, extra),
              "");

using namespace ingot::cuda;
#define SAME(own, theirs) \
  static_assert(static_cast<unsigned long>(own) == static_cast<unsigned long>(theirs), #own)
#if CUDA_VERSION >= 12040
static_assert(sizeof(ConditionalNodeParams) == sizeof(CUgraphNodeParams), "");
static_assert(offsetof(ConditionalNodeParams, type) == offsetof(CUgraphNodeParams, type), "");
#define AT(own, theirs)                                                                           \
  static_assert(                                                                                  \
      offsetof(ConditionalNodeParams, own) == offsetof(CUgraphNodeParams, conditional) +          \
                                                  offsetof(CUDA_CONDITIONAL_NODE_PARAMS, theirs), \
      #own)
AT(handle, handle);
AT(kind, type);
AT(size, size);
AT(bodies, phGraph_out);
AT(context, ctx);
#undef AT
SAME(kNodeConditional, CU_GRAPH_NODE_TYPE_CONDITIONAL);
SAME(kConditionalIf, CU_GRAPH_COND_TYPE_IF);
SAME(kConditionalWhile, CU_GRAPH_COND_TYPE_WHILE);
SAME(kConditionAssignDefault, CU_GRAPH_COND_ASSIGN_DEFAULT);
static_assert(sizeof(EdgeData) == sizeof(CUgraphEdgeData), "");
static_assert(offsetof(EdgeData, from_port) == offsetof(CUgraphEdgeData, from_port) &&
                  offsetof(EdgeData, to_port) == offsetof(CUgraphEdgeData, to_port) &&
                  offsetof(EdgeData, type) == offsetof(CUgraphEdgeData, type),
              "");
SAME(kPortProgrammatic, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
SAME(kEdgeProgrammatic, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
#endif
SAME(kAttributeMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(kAttributeIntegrated, CU_DEVICE_ATTRIBUTE_INTEGRATED);
SAME(kAttributeComputeMode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
SAME(kComputeModeProhibited, CU_COMPUTEMODE_PROHIBITED);
SAME(kComputeModeExclusive, CU_COMPUTEMODE_EXCLUSIVE_PROCESS);
SAME(kAttributeUnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME(kAttributeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(kAttributeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(kAttributeSharedPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(kFunctionMaxDynamicShared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(kPointerContext, CU_POINTER_ATTRIBUTE_CONTEXT);
SAME(kPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(kPointerDevice, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME(kMemoryHost, CU_MEMORYTYPE_HOST);
SAME(kMemoryDevice, CU_MEMORYTYPE_DEVICE);
SAME(kHostPortable, CU_MEMHOSTALLOC_PORTABLE);
SAME(kHostMapped, CU_MEMHOSTALLOC_DEVICEMAP);
static_assert(kStreamPerThread == 2,
              "CU_STREAM_PER_THREAD is ((CUstream)0x2), which is no constant");
SAME(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME(kEventWithTiming, CU_EVENT_DEFAULT);
SAME(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME(kInvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME(kResultOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(kNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
SAME(kDeinitialized, CUDA_ERROR_DEINITIALIZED);
SAME(kStubLibrary, CUDA_ERROR_STUB_LIBRARY);
SAME(kDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
SAME(kNoDevice, CUDA_ERROR_NO_DEVICE);
SAME(kInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
SAME(kInvalidImage, CUDA_ERROR_INVALID_IMAGE);
SAME(kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME(kNoBinary, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(kNotFoundResult, CUDA_ERROR_NOT_FOUND);
SAME(kNotReady, CUDA_ERROR_NOT_READY);
SAME(kSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY);
SAME(kDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
SAME(kCompatNotSupported, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
SAME(kUnknownResult, CUDA_ERROR_UNKNOWN);
#undef SAME

}  // namespace
