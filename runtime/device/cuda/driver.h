// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/driver.h - the part of the CUDA driver's interface that is used, declared by
// ourselves: no header and no library of a toolkit is needed to build.
// tests/cuda/driver_declarations.cpp compares each with cuda.h wherever a toolkit is present. Names
// are those that the library exports (suffixed ones), which cuda.h's macros hide and change between
// versions.
// Threads  the table is filled once; afterwards any.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ingot::cuda {

using Result = int;  // 0: success
using DeviceId = int;
using Address = unsigned long long;  // of device memory
struct ContextT;
struct ModuleT;
struct FunctionT;
struct StreamT;
struct EventT;
struct GraphT;
struct GraphNodeT;
struct GraphExecT;
using Context = ContextT*;
using Module = ModuleT*;
using Function = FunctionT*;
using Stream = StreamT*;
using Event = EventT*;
using Graph = GraphT*;
using GraphNode = GraphNodeT*;
using GraphExec = GraphExecT*;

/// CUDA_KERNEL_NODE_PARAMS_v1
struct KernelNodeParams {
  Function function;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  void** params;
  void** extra;
};

/// CUgraphNodeParams of a node that is CUDA_CONDITIONAL_NODE_PARAMS
struct ConditionalNodeParams {
  int type;  // kNodeConditional
  int reserved[3];
  uint64_t handle;
  int kind;
  unsigned size;  // of bodies
  Graph* bodies;  // the driver's, written when the node is added
  Context context;
  long long padding[26];
};
enum : int {
  kNodeConditional = 13,
  kConditionalIf = 0,
  kConditionalWhile = 1
};                                                // CUgraphNodeType, CUgraphConditionalNodeType
enum : unsigned { kConditionAssignDefault = 1 };  // CU_GRAPH_COND_*

/// CUgraphEdgeData
struct EdgeData {
  unsigned char from_port, to_port, type, reserved[5];
};
/// CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
enum : unsigned char { kPortProgrammatic = 1, kEdgeProgrammatic = 1 };

enum : int {  // CUdevice_attribute
  kAttributeMultiprocessors = 16,
  kAttributeIntegrated = 18,
  kAttributeComputeMode = 20,
  kAttributeUnifiedAddressing = 41,
  kAttributeMajor = 75,
  kAttributeMinor = 76,
  kAttributeSharedPerBlockOptin = 97,
};
enum : int { kComputeModeProhibited = 2, kComputeModeExclusive = 3 };  // CUcomputemode
// CUfunction_attribute
enum : int { kFunctionMaxDynamicShared = 8 };
// CUpointer_attribute
enum : int { kPointerContext = 1, kPointerMemoryType = 2, kPointerDevice = 9 };
enum : unsigned { kMemoryHost = 1, kMemoryDevice = 2 };  // CUmemorytype
// CU_MEMHOSTALLOC_*
enum : unsigned { kHostPortable = 1, kHostMapped = 2 };
constexpr uintptr_t kStreamPerThread = 2;  // CU_STREAM_PER_THREAD: another stream on each thread
enum : unsigned {
  kStreamNonBlocking = 1,
  kEventWithTiming = 0,
  kEventBlockingSync = 1,
  kEventDisableTiming = 2
};
enum : Result {
  kInvalidValue = 1,
  kResultOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kStubLibrary = 34,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinary = 209,
  kNotFoundResult = 500,
  kNotReady = 600,
  kSystemNotReady = 802,
  kDriverMismatch = 803,
  kCompatNotSupported = 804,
  kFirstSticky = 700,  // between these what was launched has failed
  kLastSticky = 799,
  kUnknownResult = 999,
};

#define INGOT_CUDA_DRIVER(X)                                                                      \
  X(cuInit, (unsigned flags))                                                                     \
  X(cuDriverGetVersion, (int* version))                                                           \
  X(cuGetErrorName, (Result error, const char** name))                                            \
  X(cuDeviceGetCount, (int* count))                                                               \
  X(cuDeviceGet, (DeviceId * device, int ordinal))                                                \
  X(cuDeviceGetName, (char* name, int length, DeviceId device))                                   \
  X(cuDeviceGetAttribute, (int* value, int attribute, DeviceId device))                           \
  X(cuDeviceTotalMem_v2, (size_t * bytes, DeviceId device))                                       \
  X(cuDevicePrimaryCtxRetain, (Context * context, DeviceId device))                               \
  X(cuDevicePrimaryCtxRelease_v2, (DeviceId device))                                              \
  X(cuCtxPushCurrent_v2, (Context context))                                                       \
  X(cuCtxPopCurrent_v2, (Context * context))                                                      \
  X(cuCtxGetDevice, (DeviceId * device))                                                          \
  X(cuModuleLoadData, (Module * module, const void* image))                                       \
  X(cuModuleGetFunction, (Function * function, Module module, const char* name))                  \
  X(cuModuleUnload, (Module module))                                                              \
  X(cuFuncGetAttribute, (int* value, int attribute, Function function))                           \
  X(cuFuncSetAttribute, (Function function, int attribute, int value))                            \
  X(cuMemGetInfo_v2, (size_t * free_bytes, size_t * total_bytes))                                 \
  X(cuMemAlloc_v2, (Address * address, size_t bytes))                                             \
  X(cuMemFree_v2, (Address address))                                                              \
  X(cuMemHostAlloc, (void** pointer, size_t bytes, unsigned flags))                               \
  X(cuMemFreeHost, (void* pointer))                                                               \
  X(cuMemcpyHtoDAsync_v2, (Address to, const void* from, size_t bytes, Stream stream))            \
  X(cuMemcpyDtoHAsync_v2, (void* to, Address from, size_t bytes, Stream stream))                  \
  X(cuPointerGetAttribute, (void* value, int attribute, Address pointer))                         \
  X(cuStreamCreate, (Stream * stream, unsigned flags))                                            \
  X(cuStreamDestroy_v2, (Stream stream))                                                          \
  X(cuStreamGetCtx, (Stream stream, Context * context))                                           \
  X(cuStreamSynchronize, (Stream stream))                                                         \
  X(cuStreamQuery, (Stream stream))                                                               \
  X(cuStreamWaitEvent, (Stream stream, Event event, unsigned flags))                              \
  X(cuEventCreate, (Event * event, unsigned flags))                                               \
  X(cuEventRecord, (Event event, Stream stream))                                                  \
  X(cuEventSynchronize, (Event event))                                                            \
  X(cuEventQuery, (Event event))                                                                  \
  X(cuEventDestroy_v2, (Event event))                                                             \
  X(cuEventElapsedTime, (float* milliseconds, Event begin, Event end))                            \
  X(cuLaunchHostFunc, (Stream stream, void (*function)(void*), void* user))                       \
  X(cuLaunchKernel, (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,        \
                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, \
                     Stream stream, void** params, void** extra))                                 \
  X(cuGraphCreate, (Graph * graph, unsigned flags))                                               \
  X(cuGraphAddKernelNode, (GraphNode * node, Graph graph, const GraphNode* before, size_t count,  \
                           const KernelNodeParams* params))                                       \
  X(cuGraphAddEventRecordNode,                                                                    \
    (GraphNode * node, Graph graph, const GraphNode* before, size_t count, Event event))          \
  X(cuGraphInstantiateWithFlags, (GraphExec * exec, Graph graph, unsigned long long flags))       \
  X(cuGraphUpload, (GraphExec exec, Stream stream))                                               \
  X(cuGraphLaunch, (GraphExec exec, Stream stream))                                               \
  X(cuGraphExecDestroy, (GraphExec exec))                                                         \
  X(cuGraphDestroy, (Graph graph))

/// Null where the driver is older; see why_host_decides(), has_early_launches().
#define INGOT_CUDA_DRIVER_OPTIONAL(X)                                                              \
  X(cuGraphConditionalHandleCreate,                                                                \
    (uint64_t * handle, Graph graph, Context context, unsigned value, unsigned flags))             \
  X(cuGraphAddNode_v2, (GraphNode * node, Graph graph, const GraphNode* before, const void* edges, \
                        size_t count, ConditionalNodeParams* params))                              \
  X(cuGraphAddDependencies_v2, (Graph graph, const GraphNode* from, const GraphNode* to,           \
                                const EdgeData* edges, size_t count))

/// What is asked of the driver's graphs: each leaves out one thing more, for a driver that refuses
/// it or does it wrong. INGOT_CUDA_GRAPHS names one; no result depends on it.
enum class GraphUse : int {
  kFull,     // "full", the default
  kOrdered,  // "ordered": no kernel starts before the one that it waits for has ended
  kSerial,   // "serial": and graphs are one chain (INGOT_CUDA_SERIAL=1 is the same)
  kHost,     // "host": and the CPU decides Ifs and Loops
  kNone,     // "none": and there are no graphs, each run launches kernel by kernel
};
constexpr int kGraphUses = 5;
extern const char* const kGraphUseNames[kGraphUses];

struct Driver {
// NOLINTBEGIN(bugprone-macro-parentheses)
#define X(name, parameters) Result(*name) parameters;
  INGOT_CUDA_DRIVER(X)
  INGOT_CUDA_DRIVER_OPTIONAL(X)
#undef X
  // NOLINTEND(bugprone-macro-parentheses)
  int version;  // 12040: CUDA 12.4
  int device_count;
  GraphUse graphs;
  const char* library;  // its path, as the loader found it
  const char* problem;  // null: ready; else one static sentence
  const char* hint;
};

/// Loads the driver and counts devices, once in a process: `libcuda.so.1`, or what the environment
/// variable INGOT_CUDA_DRIVER names (not for setuid programs). Never unloaded. A driver that is not
/// there is no error: `problem` says it.
const Driver& driver();

/// What to try next where the driver refused a graph; null where nothing is left.
const char* retreat_hint();

/// True in the child of a process that has loaded the driver: it refuses every call there. @pre
/// driver() was called
bool is_forked();
constexpr const char* kForked = "device: CUDA cannot be used in the child of a fork";
constexpr const char* kForkedHint =
    "make the session after fork(), in a process that did not use the GPU before";

/// Oldest driver whose graphs can be used as they are here.
constexpr int kOldestDriver = 11040;
/// From these on graphs have conditional nodes, and those of an If a second body.
constexpr int kConditionalDriver = 12040, kElseDriver = 12080;
/// From this one on an edge of a graph may let a kernel start before the one in front of it ends.
constexpr int kEarlyLaunchDriver = 12030;

}  // namespace ingot::cuda
