// tests/cuda/fake_driver/fake_driver.cpp - the entry points of runtime/device/cuda/driver.h over the emulator.
#include "tests/cuda/fake_driver/fake_driver.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "kernels/cuda/emulate/emulated_kernels.h"
#include "kernels/cuda/emulate/emulator.h"
#include "runtime/op/gpu_kernel.h"
#include "tests/cuda/fake_driver/fake_machine.h"
#include "tests/cuda/fake_driver/handles.h"

extern "C" const ingot::GpuKernelSet ingot_cuda_kernel_set;

namespace ingot::cuda {

namespace {

constexpr Result kOk = 0;

struct Memory {
  uint64_t bytes = 0;
  ContextT* context = nullptr;
  void* block = nullptr;  // of the heap
};

struct World {
  FakeCuda control = {};
  std::recursive_mutex lock;
  bool ready = false;
  ContextT contexts[16];             // the primary ones
  std::set<ContextT*> own_contexts;  // of cuCtxCreate_v2
  std::map<uint64_t, Memory> device, pinned;
  std::set<void*> modules, streams, events, graphs, execs;
  std::map<std::pair<ModuleT*, std::string>, std::unique_ptr<FunctionT>> functions;
  std::vector<std::unique_ptr<GraphNodeT>> nodes;

  World() {
    if (const char* fault = std::getenv("FAKE_CUDA_FAIL"))
      if (std::sscanf(fault, "%lu:%d", &control.fail_at_call, &control.fail_code) != 2) control.fail_at_call = 0;
    emulate::set_order(uint32_t(number("FAKE_CUDA_ORDER", 0)));
  }
  ~World() {
    const char* path = std::getenv("FAKE_CUDA_REPORT");
    std::FILE* file = path ? std::fopen(path, "w") : nullptr;
    if (!file) return;
    const FakeCuda& c = control;
    std::fprintf(
        file,
        "calls %lu\nallocations %lu\nbytes %lu\npinned %lu\ncontexts %lu\nmodules %lu\nstreams %lu\nevents %lu\ngraphs "
        "%lu\n"
        "execs %lu\nlaunches %lu\nwaits %lu\nuploads %lu\ndownloads %lu\nkernels %lu\nmost_bytes %lu\nmisuses %lu\n",
        c.calls, c.allocations, c.bytes, c.pinned, c.contexts, c.modules, c.streams, c.events, c.graphs, c.execs,
        c.launches, c.waits, c.uploads, c.downloads, c.kernels, c.most_bytes, c.misuses);
    std::fclose(file);
  }
};
World& world() {
  static World it;
  return it;
}
thread_local std::vector<ContextT*> current;
thread_local bool refused_context = false;  // the last push failed: calls without a context are no fault of the caller

Result misuse(const char* what) {
  world().control.misuses++;
  std::fprintf(stderr, "fake CUDA driver: %s: %s\n", world().control.last_call, what);
  return kInvalidHandle;
}

/// Lives as long as an entry point runs.
struct Marked {
  const long call = world().control.mark_call;
  Marked() {
    if (call) syscall(call, 1);
  }
  ~Marked() {
    if (call) syscall(call, 0);
  }
};

void do_some();
void drop_all();

/// Counts a call; the result that it must give, or kOk.
Result enter(const char* name) {
  FakeCuda& c = world().control;
  c.calls++;
  std::snprintf(c.last_call, sizeof c.last_call, "%s", name);
  if (c.sticky) return c.sticky;
  do_some();
  if (!c.fail_at_call || --c.fail_at_call) return kOk;
  if (c.fail_code >= 700) {
    c.sticky = c.fail_code;
    drop_all();
  }
  return c.fail_code;
}

bool is_alive(ContextT* context) {
  const ContextT* primary = world().contexts;
  if (context >= primary && context < primary + 16) return context->references > 0;
  return world().own_contexts.count(context) > 0;
}
size_t bytes_of(int device) { return size_t(number_of("FAKE_CUDA_MIB", device, 4096)) << 20; }
size_t free_bytes_of(int device) {
  size_t used = 0;
  for (const auto& [address, memory] : world().device)
    if (memory.context->device == device) used += memory.bytes;
  return bytes_of(device) - used;
}

bool holds(const std::map<uint64_t, Memory>& memory, uint64_t at, uint64_t bytes) {
  auto it = memory.upper_bound(at);
  if (it == memory.begin()) return false;
  --it;
  return at - it->first <= it->second.bytes && bytes <= it->second.bytes - (at - it->first);
}

Result allocate(std::map<uint64_t, Memory>& memory, size_t bytes, uint64_t* out) {
  // Not aligned_alloc: the process may have another allocator, and mimalloc 2.0.9 aligns to less than 256 bytes when asked for them.
  void* block = bytes && bytes < SIZE_MAX - 256 ? std::malloc(bytes + 255) : nullptr;
  if (!block) return bytes ? Result(kResultOutOfMemory) : Result(kInvalidValue);
  *out = (uint64_t(reinterpret_cast<uintptr_t>(block)) + 255) & ~uint64_t{255};
  std::memset(reinterpret_cast<void*>(uintptr_t(*out)), 0xfb, bytes);
  memory[*out] = {bytes, current.empty() ? nullptr : current.back(), block};
  return kOk;
}

template <class T>
Result destroy(std::set<void*>& alive, T* handle, uint64_t* count) {
  if (!alive.erase(handle)) return misuse("a handle that is not alive");
  delete handle;
  --*count;
  return kOk;
}
template <class T>
T* create(std::set<void*>& alive, uint64_t* count) {
  T* made = new T;
  alive.insert(made);
  ++*count;
  return made;
}

bool is_blocked(const StreamT& s) {
  return s.work.front().event && s.work.front().event->reached < s.work.front().turn;
}
void do_first(StreamT* s) {
  const Work work = std::move(s->work.front());
  s->work.pop_front();
  world().control.queued--;
  if (work.act) work.act();
}
/// Everything on the stream, and on others what it waits for and no more.
void drain(StreamT* s, const EventT* until = nullptr, uint64_t turn = 0) {
  while (!s->work.empty() && !(until && until->reached >= turn)) {
    if (is_blocked(*s)) drain(s->work.front().event->stream, s->work.front().event, s->work.front().turn);
    do_first(s);
  }
}
void drain_all() {
  for (void* s : world().streams) drain(static_cast<StreamT*>(s));
}
/// After an error of the device nothing that is queued is done.
void drop_all() {
  for (void* stream : world().streams) {
    StreamT* s = static_cast<StreamT*>(stream);
    world().control.queued -= s->work.size();
    s->work.clear();
  }
  for (void* event : world().events) static_cast<EventT*>(event)->reached = static_cast<EventT*>(event)->recorded;
}
void do_some() {
  static uint32_t state = 0;
  if (world().control.order < kRandom) return;
  if (!state) state = world().control.order * 2654435761u | 1;
  std::vector<StreamT*> ready;
  for (int i = 0; i < 3; i++) {
    ready.clear();
    for (void* stream : world().streams)
      if (!static_cast<StreamT*>(stream)->work.empty() && !is_blocked(*static_cast<StreamT*>(stream)))
        ready.push_back(static_cast<StreamT*>(stream));
    state = state * 1664525u + 1013904223u;
    if (ready.empty() || (state >> 16) % 3 == 0) return;
    do_first(ready[(state >> 20) % ready.size()]);
  }
}
void queue(StreamT* stream, std::function<void()> act) {
  if (world().control.order == kAtOnce && stream->work.empty()) return act();
  stream->work.push_back({nullptr, 0, std::move(act)});
  world().control.queued++;
}
bool is_dropped(const char* name) {
  return world().control.drop_call && std::strcmp(world().control.drop_call, name) == 0;
}

void run_node(const Node& node) {
  if (node.event) {
    node.event->reached = ++node.event->recorded;
    node.event->time = world().control.kernels;
    return;
  }
  GpuLaunch launch = node.launch;
  launch.params = node.params.data();
  world().control.kernels++;
  if (node.test)
    return emulate::launch({launch.grid_x, launch.grid_y, launch.grid_z}, node.test->threads, launch.shared_bytes,
                           node.test->run, launch.params);
  (void)emulate::run_launch(launch);
}

/// The emulator runs nodes in the order in which they were added; a dependency that says less would be a race on hardware.
bool is_next(const GraphT& graph, const GraphNode* before, size_t count) {
  return count == (graph.nodes.empty() ? 0u : 1u) && (!count || before[0]->index + 1 == graph.nodes.size());
}
GraphNode add_node(Graph graph, Node node) {
  graph->nodes.push_back(std::move(node));
  world().nodes.push_back(std::make_unique<GraphNodeT>());
  world().nodes.back()->index = graph->nodes.size() - 1;
  return world().nodes.back().get();
}

}  // namespace
}  // namespace ingot::cuda

using namespace ingot::cuda;
using ingot::GpuKernel;

#define ENTER(name)                                               \
  const Marked marked;                                            \
  const std::lock_guard<std::recursive_mutex> hold(world().lock); \
  if (const Result injected = enter(#name)) return injected
// What gives something back does so even when it must fail, as after an error of an earlier launch.
#define ENTER_TO_RELEASE(name)                                    \
  const Marked marked;                                            \
  const std::lock_guard<std::recursive_mutex> hold(world().lock); \
  const Result injected = enter(#name)
#define ENTER_WITH_CONTEXT(name) \
  ENTER(name);                   \
  if (current.empty()) return refused_context ? kInvalidContext : (misuse("no context is current"), kInvalidContext)
// A stream that is alive, in the context that is current.
#define CHECK_STREAM(stream)                                                       \
  if (!world().streams.count(stream)) return misuse("a stream that is not alive"); \
  if ((stream)->context != current.back()) return misuse("a stream of another context than the current one")

extern "C" {

FakeCuda* fake_cuda_control() { return &world().control; }

Result fake_cuda_lend(Address at, uint64_t bytes) {
  ENTER_WITH_CONTEXT(cuGraphicsEGLRegisterImage);
  world().device[at] = {bytes, current.back(), nullptr};
  return kOk;
}
Result fake_cuda_take_back(Address at) {
  ENTER_TO_RELEASE(cuGraphicsUnregisterResource);
  return world().device.erase(at) ? injected : misuse("a resource that is not registered");
}

Result cuInit(unsigned) {
  ENTER(cuInit);
  world().ready = true;
  return visible().empty() ? Result(kNoDevice) : kOk;
}
Result cuDriverGetVersion(int* version) {
  ENTER(cuDriverGetVersion);
  *version = int(number("FAKE_CUDA_VERSION", 13000));
  return kOk;
}
Result cuDeviceGetCount(int* count) {
  ENTER(cuDeviceGetCount);
  if (!world().ready) return 3;
  *count = int(visible().size());
  return kOk;
}
Result cuDeviceGet(DeviceId* device, int ordinal) {
  ENTER(cuDeviceGet);
  if (ordinal < 0 || size_t(ordinal) >= visible().size()) return kInvalidDevice;
  *device = ordinal;
  return kOk;
}
Result cuDeviceGetName(char* name, int length, DeviceId device) {
  ENTER(cuDeviceGetName);
  std::snprintf(name, size_t(length), "emulated GPU %d", device);
  return kOk;
}
Result cuDeviceGetAttribute(int* value, int attribute, DeviceId device) {
  ENTER(cuDeviceGetAttribute);
  const int sm = int(number_of("FAKE_CUDA_SM", device, 0));
  switch (attribute) {
    case kAttributeMultiprocessors: *value = 4; break;
    case kAttributeIntegrated: *value = int(number_of("FAKE_CUDA_INTEGRATED", device, 0)); break;
    case kAttributeUnifiedAddressing: *value = 1; break;
    case kAttributeMajor: *value = sm / 10; break;
    case kAttributeMinor: *value = sm % 10; break;
    case kAttributeSharedPerBlockOptin: *value = 163 << 10; break;
    default: return kInvalidValue;
  }
  return kOk;
}
Result cuDeviceTotalMem_v2(size_t* bytes, DeviceId device) {
  ENTER(cuDeviceTotalMem_v2);
  *bytes = bytes_of(device);
  return kOk;
}
Result cuDevicePrimaryCtxRetain(Context* context, DeviceId device) {
  ENTER(cuDevicePrimaryCtxRetain);
  ContextT& own = world().contexts[device];
  own.device = device;
  if (own.references++ == 0) world().control.contexts++;
  *context = &own;
  return kOk;
}
Result cuDevicePrimaryCtxRelease_v2(DeviceId device) {
  ENTER_TO_RELEASE(cuDevicePrimaryCtxRelease_v2);
  ContextT& own = world().contexts[device];
  if (own.references < 1) return misuse("a context that nobody holds");
  if (--own.references == 0) world().control.contexts--;
  return injected;
}
// The back end makes no context; its callers may.
Result cuCtxCreate_v2(Context* context, unsigned, DeviceId device) {
  ENTER(cuCtxCreate_v2);
  *context = new ContextT{device, 1};
  world().own_contexts.insert(*context);
  world().control.contexts++;
  current.push_back(*context);
  return kOk;
}
Result cuCtxDestroy_v2(Context context) {
  ENTER_TO_RELEASE(cuCtxDestroy_v2);
  if (!world().own_contexts.erase(context)) return misuse("a context that is not alive");
  if (!current.empty() && current.back() == context) current.pop_back();
  for (auto it = world().device.begin(); it != world().device.end();) {  // its memory goes with it
    if (it->second.context != context) {
      ++it;
      continue;
    }
    world().control.allocations--;
    world().control.bytes -= it->second.bytes;
    std::free(it->second.block);
    it = world().device.erase(it);
  }
  delete context;
  world().control.contexts--;
  return injected;
}
Result cuCtxGetCurrent(Context* context) {
  ENTER(cuCtxGetCurrent);
  *context = current.empty() ? nullptr : current.back();
  return kOk;
}
Result cuCtxPushCurrent_v2(Context context) {
  const Marked marked;
  const std::lock_guard<std::recursive_mutex> hold(world().lock);
  const Result injected = enter("cuCtxPushCurrent_v2");
  if (!injected && !is_alive(context)) return misuse("a context that is not alive");
  refused_context = injected != kOk;
  if (!injected) current.push_back(context);
  return injected;
}
Result cuCtxPopCurrent_v2(Context* context) {
  const Marked marked;
  const std::lock_guard<std::recursive_mutex> hold(world().lock);
  const Result injected = enter("cuCtxPopCurrent_v2");
  if (current.empty()) return misuse("no context is current");
  *context = current.back();
  current.pop_back();
  return injected;
}
Result cuCtxGetDevice(DeviceId* device) {
  ENTER_WITH_CONTEXT(cuCtxGetDevice);
  *device = current.back()->device;
  return kOk;
}
Result cuModuleLoadData(Module* module, const void* image) {
  ENTER_WITH_CONTEXT(cuModuleLoadData);
  const int sm = int(number_of("FAKE_CUDA_SM", current.back()->device, 0));
  const unsigned char* bytes = static_cast<const unsigned char*>(image);
  if (sm == 0) {
    if (std::strcmp(static_cast<const char*>(image), "emulated") != 0) return kInvalidImage;
  } else {
    if (std::memcmp(bytes, "\177ELF", 4) != 0) return kInvalidImage;
    uint32_t flags;
    std::memcpy(&flags, bytes + 48, 4);
    const bool old = (flags & 0xff) == uint32_t(sm), recent = (flags >> 8 & 0xff) == uint32_t(sm);
    if (!old && !recent) return kNoBinary;
  }
  *module = create<ModuleT>(world().modules, &world().control.modules);
  (*module)->context = current.back();
  if (sm) {  // the whole file, by where its section table ends
    uint64_t sections;
    uint16_t size, count;
    std::memcpy(&sections, bytes + 40, 8);
    std::memcpy(&size, bytes + 58, 2);
    std::memcpy(&count, bytes + 60, 2);
    uint64_t program;
    uint16_t psize, pcount;
    std::memcpy(&program, bytes + 32, 8);
    std::memcpy(&psize, bytes + 54, 2);
    std::memcpy(&pcount, bytes + 56, 2);
    const uint64_t end = std::max(sections + uint64_t(size) * count, program + uint64_t(psize) * pcount);
    (*module)->image.assign(reinterpret_cast<const char*>(bytes), end);
  }
  return kOk;
}
Result cuModuleGetFunction(Function* function, Module module, const char* name) {
  ENTER_WITH_CONTEXT(cuModuleGetFunction);
  if (!world().modules.count(module)) return misuse("a module that is not loaded");
  const int kernel = emulate::find_kernel(name);
  const TestKernel* test = kernel < 0 ? find_test_kernel(name) : nullptr;
  if (kernel < 0 && !test) return kNotFoundResult;
  // In a real image the name must be there too, whole.
  if (!module->image.empty() &&
      module->image.find(std::string(1, '\0') + name + std::string(1, '\0')) == std::string::npos)
    return kNotFoundResult;
  std::unique_ptr<FunctionT>& own = world().functions[{module, name}];
  if (!own) own = std::make_unique<FunctionT>();
  *own = {kernel, test, module, module->context};
  *function = own.get();
  return kOk;
}
Result cuModuleUnload(Module module) {
  ENTER_TO_RELEASE(cuModuleUnload);
  const Result result = destroy(world().modules, module, &world().control.modules);
  return result ? result : injected;
}
Result cuFuncSetAttribute(Function, int attribute, int value) {
  ENTER_WITH_CONTEXT(cuFuncSetAttribute);
  return attribute == kFunctionMaxDynamicShared && value <= 163 << 10 ? kOk : Result(kInvalidValue);
}
Result cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  ENTER_WITH_CONTEXT(cuMemGetInfo_v2);
  *total_bytes = bytes_of(current.back()->device);
  *free_bytes = free_bytes_of(current.back()->device);
  return kOk;
}
Result cuMemAlloc_v2(Address* address, size_t bytes) {
  ENTER_WITH_CONTEXT(cuMemAlloc_v2);
  FakeCuda& c = world().control;
  if (bytes > free_bytes_of(current.back()->device)) return kResultOutOfMemory;
  uint64_t at;
  if (const Result result = allocate(world().device, bytes, &at)) return result;
  *address = at;
  c.allocations++;
  c.bytes += bytes;
  c.most_bytes = std::max(c.most_bytes, c.bytes);
  return kOk;
}
Result cuMemFree_v2(Address address) {
  ENTER_TO_RELEASE(cuMemFree_v2);
  drain_all();  // as on hardware
  const auto it = world().device.find(address);
  if (it == world().device.end()) return misuse("memory that was not allocated");
  world().control.allocations--;
  world().control.bytes -= it->second.bytes;
  std::free(it->second.block);
  world().device.erase(it);
  return injected;
}
Result cuMemHostAlloc(void** pointer, size_t bytes, unsigned) {
  ENTER_WITH_CONTEXT(cuMemHostAlloc);
  uint64_t at;
  if (const Result result = allocate(world().pinned, bytes, &at)) return result;
  *pointer = reinterpret_cast<void*>(uintptr_t(at));
  world().control.pinned++;
  world().control.pinned_bytes += bytes;
  return kOk;
}
Result cuMemFreeHost(void* pointer) {
  ENTER_TO_RELEASE(cuMemFreeHost);
  drain_all();
  const auto it = world().pinned.find(uint64_t(reinterpret_cast<uintptr_t>(pointer)));
  if (it == world().pinned.end()) return misuse("pinned memory that was not allocated");
  world().control.pinned_bytes -= it->second.bytes;
  std::free(it->second.block);
  world().pinned.erase(it);
  world().control.pinned--;
  return injected;
}
Result cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, Stream stream) {
  ENTER_WITH_CONTEXT(cuMemcpyHtoDAsync_v2);
  CHECK_STREAM(stream);
  if (!holds(world().device, to, bytes)) return world().control.misuses++, kInvalidValue;
  world().control.uploads++;
  void* target = reinterpret_cast<void*>(uintptr_t(to));
  if (holds(world().pinned, uint64_t(reinterpret_cast<uintptr_t>(from)), bytes)) {
    queue(stream, [=] { std::memcpy(target, from, bytes); });
  } else {  // pageable memory is read before the call returns
    const uint8_t* bytes_at = static_cast<const uint8_t*>(from);
    queue(stream, [target, copy = std::vector<uint8_t>(bytes_at, bytes_at + bytes)] {
      std::memcpy(target, copy.data(), copy.size());
    });
  }
  return kOk;
}
Result cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, Stream stream) {
  ENTER_WITH_CONTEXT(cuMemcpyDtoHAsync_v2);
  CHECK_STREAM(stream);
  if (!holds(world().device, from, bytes)) return world().control.misuses++, kInvalidValue;
  world().control.downloads++;
  queue(stream, [=] { std::memcpy(to, reinterpret_cast<const void*>(uintptr_t(from)), bytes); });
  return kOk;
}
Result cuPointerGetAttribute(void* value, int attribute, Address pointer) {
  ENTER_WITH_CONTEXT(cuPointerGetAttribute);
  const bool on_device = holds(world().device, pointer, 1), is_pinned = holds(world().pinned, pointer, 1);
  if (!on_device && !is_pinned) return kInvalidValue;
  if (attribute == kPointerMemoryType) {
    *static_cast<unsigned*>(value) = on_device ? kMemoryDevice : kMemoryHost;
    return kOk;
  }
  const auto& memory = on_device ? world().device : world().pinned;
  const Context context = std::prev(memory.upper_bound(pointer))->second.context;
  if (attribute == kPointerContext)
    *static_cast<Context*>(value) = context;
  else if (attribute == kPointerDevice)
    *static_cast<int*>(value) = context->device;
  else
    return kInvalidValue;
  return kOk;
}
Result cuStreamCreate(Stream* stream, unsigned) {
  ENTER_WITH_CONTEXT(cuStreamCreate);
  *stream = create<StreamT>(world().streams, &world().control.streams);
  (*stream)->context = current.back();
  return kOk;
}
Result cuStreamDestroy_v2(Stream stream) {
  ENTER_TO_RELEASE(cuStreamDestroy_v2);
  if (world().streams.count(stream)) drain(stream);  // it goes when its work is done
  const Result result = destroy(world().streams, stream, &world().control.streams);
  return result ? result : injected;
}
Result cuStreamGetCtx(Stream stream, Context* context) {
  ENTER(cuStreamGetCtx);
  if (!world().streams.count(stream)) return kInvalidHandle;
  *context = stream->context;
  return kOk;
}
Result cuStreamSynchronize(Stream stream) {
  ENTER(cuStreamSynchronize);
  if (!world().streams.count(stream)) return misuse("a stream that is not alive");
  world().control.waits++;
  drain(stream);
  return kOk;
}
Result cuStreamQuery(Stream stream) {
  ENTER(cuStreamQuery);
  if (!world().streams.count(stream)) return misuse("a stream that is not alive");
  if (stream->work.empty()) return kOk;
  if (!is_blocked(*stream)) do_first(stream);  // time passes
  return kNotReady;
}
Result cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  ENTER(cuStreamWaitEvent);
  if (!world().streams.count(stream) || !world().events.count(event))
    return misuse("a stream or event that is not alive");
  if (is_dropped("cuStreamWaitEvent") || event->reached == event->recorded) return kOk;
  stream->work.push_back({event, event->recorded, nullptr});
  world().control.queued++;
  return kOk;
}
Result cuEventCreate(Event* event, unsigned flags) {
  ENTER_WITH_CONTEXT(cuEventCreate);
  *event = create<EventT>(world().events, &world().control.events);
  (*event)->is_timed = !(flags & kEventDisableTiming);
  return kOk;
}
Result cuEventRecord(Event event, Stream stream) {
  ENTER(cuEventRecord);
  if (!world().streams.count(stream) || !world().events.count(event))
    return misuse("a stream or event that is not alive");
  event->stream = stream;
  const uint64_t turn = ++event->recorded;
  queue(stream, [event, turn] { event->reached = turn, event->time = world().control.kernels; });
  return kOk;
}
Result cuEventSynchronize(Event event) {
  ENTER(cuEventSynchronize);
  if (!world().events.count(event)) return misuse("an event that is not alive");
  world().control.waits++;
  if (event->stream && !is_dropped("cuEventSynchronize")) drain(event->stream, event, event->recorded);
  return kOk;
}
Result cuEventQuery(Event event) {
  ENTER(cuEventQuery);
  if (!world().events.count(event)) return misuse("an event that is not alive");
  if (event->reached == event->recorded) return kOk;
  // Time passes: one piece of work of the stream, or of the one that it waits for.
  StreamT* stream = event->stream;
  while (is_blocked(*stream)) stream = stream->work.front().event->stream;
  do_first(stream);
  return kNotReady;
}
Result cuEventElapsedTime(float* milliseconds, Event begin, Event end) {
  ENTER(cuEventElapsedTime);
  if (!world().events.count(begin) || !world().events.count(end)) return misuse("an event that is not alive");
  if (!begin->is_timed || !end->is_timed) return misuse("an event without a time");
  if (begin->reached != begin->recorded || end->reached != end->recorded) return kNotReady;
  *milliseconds = float(end->time) - float(begin->time);
  return kOk;
}
Result cuEventDestroy_v2(Event event) {
  ENTER_TO_RELEASE(cuEventDestroy_v2);
  if (world().events.count(event) && event->stream && event->reached < event->recorded) drain(event->stream);
  const Result result = destroy(world().events, event, &world().control.events);
  return result ? result : injected;
}
Result cuLaunchHostFunc(Stream stream, void (*function)(void*), void* user) {
  ENTER(cuLaunchHostFunc);
  if (!world().streams.count(stream)) return misuse("a stream that is not alive");
  queue(stream, [=] { function(user); });
  return kOk;
}
Result cuGraphCreate(Graph* graph, unsigned) {
  ENTER(cuGraphCreate);
  *graph = create<GraphT>(world().graphs, &world().control.graphs);
  return kOk;
}
Result cuGraphAddEventRecordNode(GraphNode* node, Graph graph, const GraphNode* before, size_t count, Event event) {
  ENTER(cuGraphAddEventRecordNode);
  if (!world().graphs.count(graph)) return misuse("a graph that is not alive");
  if (!world().events.count(event)) return misuse("an event that is not alive");
  if (!is_next(*graph, before, count)) return misuse("a node that does not wait for the one before");
  Node added;
  added.event = event;
  *node = add_node(graph, std::move(added));
  return kOk;
}
Result cuGraphAddKernelNode(GraphNode* node, Graph graph, const GraphNode* before, size_t count,
                            const KernelNodeParams* p) {
  ENTER(cuGraphAddKernelNode);
  if (!world().graphs.count(graph)) return misuse("a graph that is not alive");
  if (!is_next(*graph, before, count)) return misuse("a node that does not wait for the one before");
  if (current.empty() || p->function->context != current.back())
    return misuse("a function of another context than the current one");
  const TestKernel* test = p->function->test;
  const GpuKernel* kernel = test ? nullptr : &ingot_cuda_kernel_set.kernels[size_t(p->function->kernel)];
  const uint32_t threads = test ? test->threads : kernel->threads;
  const uint32_t params_bytes = test ? test->params_bytes : kernel->params_bytes;
  if (p->block_x != threads || p->block_y != 1 || p->block_z != 1) return kInvalidValue;
  Node added;
  added.function = p->function;
  added.kernel = p->function->kernel;
  added.test = test;
  added.launch.kernel = test ? uint16_t{0} : uint16_t(p->function->kernel);
  added.launch.grid_x = p->grid_x, added.launch.grid_y = p->grid_y, added.launch.grid_z = p->grid_z;
  added.launch.shared_bytes = p->shared_bytes;
  added.launch.params_bytes = decltype(added.launch.params_bytes)(params_bytes);
  const uint8_t* params = static_cast<const uint8_t*>(p->params[0]);
  added.params.assign(params, params + params_bytes);
  *node = add_node(graph, std::move(added));
  return kOk;
}
Result cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long) {
  ENTER(cuGraphInstantiateWithFlags);
  if (!world().graphs.count(graph)) return misuse("a graph that is not alive");
  *exec = create<GraphExecT>(world().execs, &world().control.execs);
  (*exec)->graph = *graph;
  return kOk;
}
Result cuGraphUpload(GraphExec exec, Stream stream) {
  ENTER(cuGraphUpload);
  return world().execs.count(exec) && world().streams.count(stream) ? kOk
                                                                    : misuse("a graph or stream that is not alive");
}
Result cuGraphLaunch(GraphExec exec, Stream stream) {
  ENTER(cuGraphLaunch);
  if (!world().execs.count(exec) || !world().streams.count(stream))
    return misuse("a graph or stream that is not alive");
  for (const Node& node : exec->graph.nodes)
    if (node.function &&
        (node.function->context != stream->context || !world().modules.count(node.function->module)))
      return misuse("a kernel of another context than the stream's, or of a module that is not loaded");
  world().control.launches++;
  queue(stream, [exec] {
    for (const Node& node : exec->graph.nodes) run_node(node);
  });
  return kOk;
}
Result cuGraphExecDestroy(GraphExec exec) {
  ENTER_TO_RELEASE(cuGraphExecDestroy);
  drain_all();
  const Result result = destroy(world().execs, exec, &world().control.execs);
  return result ? result : injected;
}
Result cuGraphDestroy(Graph graph) {
  ENTER_TO_RELEASE(cuGraphDestroy);
  const Result result = destroy(world().graphs, graph, &world().control.graphs);
  return result ? result : injected;
}

}  // extern "C"
