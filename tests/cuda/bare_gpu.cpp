// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/bare_gpu.h"

#include <cstdio>
#include <cstdlib>

#include "runtime/device/cuda/cuda_device.h"

namespace ingot::test {
namespace {

using namespace ingot::cuda;

/// What the process ends with: the kernels that are to blame.
const std::string* kernels_to_blame = nullptr;

void check(Result result, const char* call) {
  if (!result) return;
  const char* name = nullptr;
  if (driver().cuGetErrorName(result, &name) || !name) name = "an error without a name";
  std::fprintf(stderr, "[fail] bare_gpu: %s: %s; ran: %s\n", call, name,
               kernels_to_blame ? kernels_to_blame->c_str() : "nothing");
  std::abort();
}
void check(const Status& status, const ErrorDetail& detail, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "bare_gpu: %s: %s\n", what, detail.field ? detail.field : "failed");
  std::abort();
}

#define CALL(name, ...) check(driver().name(__VA_ARGS__), #name)

}  // namespace

BareGpu* BareGpu::find(const char** why) {
  *why = driver().problem;
  if (!*why) *why = driver().device_count ? gpu_facts(0).problem : "no device";
  if (*why) return nullptr;
  static BareGpu* const gpu = new BareGpu;  // never ended: what it would call may end before it
  return gpu;
}

BareGpu::BareGpu() : traits_(traits_of(gpu_facts(0))) {
  device_.interface = &kCudaDevice;
  device_.name = kGpuNames[0];
  ErrorDetail detail;
  check(hold_gpu(device_, &gpu_, &detail), detail, "context");
  const Current current(gpu_.context);
  CALL(cuStreamCreate, &stream_, kStreamNonBlocking);
}

Address BareGpu::allocate(uint64_t bytes) {
  const Current current(gpu_.context);
  Address address = 0;
  CALL(cuMemAlloc_v2, &address, size_t(bytes));
  return address;
}
void BareGpu::release(Address address) {
  const Current current(gpu_.context);
  CALL(cuMemFree_v2, address);
}
void BareGpu::upload(Address to, const void* from, uint64_t bytes) {
  const Current current(gpu_.context);
  CALL(cuMemcpyHtoDAsync_v2, to, from, size_t(bytes), stream_);
  CALL(cuStreamSynchronize, stream_);
}
void BareGpu::download(void* to, Address from, uint64_t bytes) {
  const Current current(gpu_.context);
  CALL(cuMemcpyDtoHAsync_v2, to, from, size_t(bytes), stream_);
  CALL(cuStreamSynchronize, stream_);
}

void BareGpu::add(const GpuLaunch& l) {
  const Current current(gpu_.context);
  const GpuKernel& kernel = ingot_cuda_kernel_set.kernels[l.kernel];
  Node added = {};
  ErrorDetail detail;
  check(find_function(gpu_, device_, l.kernel, &added.node.function, &detail), detail, kernel.name);
  added.node.grid_x = l.grid_x, added.node.grid_y = l.grid_y, added.node.grid_z = l.grid_z;
  added.node.block_x = kernel.threads, added.node.block_y = added.node.block_z = 1;
  added.node.shared_bytes = l.shared_bytes;
  check(allow_shared(added.node.function, l.shared_bytes), "cuFuncSetAttribute");
  added.kernel = kernel.name;
  const uint8_t* params = static_cast<const uint8_t*>(l.params);
  added.params.assign(params, params + l.params_bytes);
  nodes_.push_back(std::move(added));
}
void BareGpu::add(Function function, uint32_t blocks, uint32_t threads, uint32_t shared_bytes,
                  const void* params, size_t params_bytes) {
  Node added = {};
  added.kernel = "a kernel of the test";
  added.node = {function, blocks, 1, 1, threads, 1, 1, shared_bytes, nullptr, nullptr};
  added.params.assign(static_cast<const uint8_t*>(params),
                      static_cast<const uint8_t*>(params) + params_bytes);
  nodes_.push_back(std::move(added));
}
Function BareGpu::load(const void* image, const char* kernel) {
  const Current current(gpu_.context);
  Module module = nullptr;
  Function function = nullptr;
  CALL(cuModuleLoadData, &module, image);
  CALL(cuModuleGetFunction, &function, module, kernel);
  return function;
}

void BareGpu::run() {
  const Current current(gpu_.context);
  Graph graph = nullptr;
  GraphExec exec = nullptr;
  GraphNode last = nullptr;
  last_run_.clear();
  for (const Node& each : nodes_)
    last_run_ += (last_run_.empty() ? "" : ", ") + std::string(each.kernel) + " grid " +
                 std::to_string(each.node.grid_x) + "x" + std::to_string(each.node.grid_y) + "x" +
                 std::to_string(each.node.grid_z);
  kernels_to_blame = &last_run_;
  CALL(cuGraphCreate, &graph, 0);
  for (Node& each : nodes_) {
    void* params[] = {each.params.data()};
    each.node.params = params;
    GraphNode added = nullptr;
    CALL(cuGraphAddKernelNode, &added, graph, last ? &last : nullptr, last ? 1 : 0, &each.node);
    last = added;
  }
  CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
  CALL(cuGraphLaunch, exec, stream_);
  CALL(cuStreamSynchronize, stream_);
  CALL(cuGraphExecDestroy, exec);
  CALL(cuGraphDestroy, graph);
  nodes_.clear();
}

}  // namespace ingot::test
