// SPDX-License-Identifier: Apache-2.0
// tests/cuda/fake_driver/fake_driver.cpp - the entry points of runtime/device/cuda/driver.h over
// the emulator: devices, contexts, modules, memory.
#include "tests/cuda/fake_driver/world.h"

extern "C" {

FakeCuda* fake_cuda_control() { return &world().control; }

Result fake_cuda_lend(Address at, uint64_t bytes) {
  ENTER_WITH_CONTEXT(cuGraphicsEGLRegisterImage);
  world().device[at] = {bytes, current.back(), nullptr};
  return kOk;
}
Result fake_cuda_take_back(Address at) {
  ENTER_TO_RELEASE_WITH_CONTEXT(cuGraphicsUnregisterResource);
  return world().device.erase(at) ? injected : misuse("a resource that is not registered");
}

Result cuInit(unsigned flags) {
  if (!world().process) world().process = getpid();
  ENTER(cuInit);
  if (flags) return kInvalidValue;
  wait_for_start();
  return visible().empty() ? Result(kNoDevice) : kOk;
}
Result cuDriverGetVersion(int* version) {
  ENTER(cuDriverGetVersion);
  *version = int(number("FAKE_CUDA_VERSION", 13000));
  return kOk;
}
Result cuDeviceGetCount(int* count) {
  ENTER(cuDeviceGetCount);
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
  CHECK_DEVICE(device);
  if (length < 1) return kInvalidValue;
  const char* named = std::getenv("FAKE_CUDA_NAME");
  if (named && *named && device == 0)
    std::snprintf(name, size_t(length), "%s", named);
  else
    std::snprintf(name, size_t(length), "emulated GPU %d", device);
  return kOk;
}
Result cuDeviceGetAttribute(int* value, int attribute, DeviceId device) {
  ENTER(cuDeviceGetAttribute);
  CHECK_DEVICE(device);
  const int sm = int(number_of("FAKE_CUDA_SM", device, 0));
  switch (attribute) {
    case kAttributeMultiprocessors: *value = 4; break;
    case kAttributeIntegrated: *value = int(number_of("FAKE_CUDA_INTEGRATED", device, 0)); break;
    case kAttributeComputeMode:
      *value = std::abs(int(number_of("FAKE_CUDA_COMPUTE_MODE", device, 0)));
      break;
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
  CHECK_DEVICE(device);
  *bytes = bytes_of(device);
  return kOk;
}
Result cuDevicePrimaryCtxRetain(Context* context, DeviceId device) {
  ENTER(cuDevicePrimaryCtxRetain);
  CHECK_DEVICE(device);
  ContextT& own = world().contexts[device];
  const long compute_mode = number_of("FAKE_CUDA_COMPUTE_MODE", device, 0);
  if (!own.references && compute_mode == kComputeModeProhibited) return kUnknownResult;
  if (!own.references && compute_mode == kComputeModeExclusive) return kDeviceUnavailable;
  own.device = device;
  if (own.references++ == 0) world().control.contexts++;
  hold_awake();
  *context = &own;
  return kOk;
}
Result cuDevicePrimaryCtxRelease_v2(DeviceId device) {
  ENTER_TO_RELEASE(cuDevicePrimaryCtxRelease_v2);
  ContextT& own = world().contexts[device];
  if (own.references < 1) return misuse("a context that nobody holds");
  if (--own.references) return injected;
  world().control.contexts--;
  // what was wrong went with the context
  if (!world().control.contexts) world().control.sticky = 0;
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
  world().control.switches++;
  if (!injected && !is_alive(context)) return misuse("a context that is not alive");
  refused_context = injected != kOk;
  if (!injected) current.push_back(context);
  return injected;
}
Result cuCtxPopCurrent_v2(Context* context) {
  const Marked marked;
  const std::lock_guard<std::recursive_mutex> hold(world().lock);
  const Result injected = enter("cuCtxPopCurrent_v2");
  world().control.switches++;
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
    constexpr int kOsAbiOf13 = 0x41;
    if (std::memcmp(bytes, "\177ELF", 4) != 0) return kInvalidImage;
    if (bytes[7] == kOsAbiOf13 && number("FAKE_CUDA_VERSION", 13000) < 13000) return kInvalidImage;
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
    const uint64_t end =
        std::max(sections + uint64_t(size) * count, program + uint64_t(psize) * pcount);
    (*module)->image.assign(reinterpret_cast<const char*>(bytes), end);
  }
  return kOk;
}
Result cuModuleGetFunction(Function* function, Module module, const char* name) {
  ENTER_WITH_CONTEXT(cuModuleGetFunction);
  if (!world().modules.count(module)) return misuse("a module that is not loaded");
  if (module->context != current.back())
    return misuse("a module of another context than the current one");
  const int kernel = emulate::find_kernel(name);
  const TestKernel* test = kernel < 0 ? find_test_kernel(name) : nullptr;
  if (kernel < 0 && !test) return kNotFoundResult;
  // In a real image the name must be there too, whole.
  if (!module->image.empty() &&
      module->image.find(std::string(1, '\0') + name + std::string(1, '\0')) == std::string::npos)
    return kNotFoundResult;
  std::unique_ptr<FunctionT>& own = world().functions[{module, name}];
  if (!own) own = std::make_unique<FunctionT>();
  own->kernel = kernel, own->test = test, own->module = module, own->context = module->context;
  *function = own.get();
  return kOk;
}
Result cuModuleUnload(Module module) {
  ENTER_TO_RELEASE_WITH_CONTEXT(cuModuleUnload);
  const Result result = destroy(world().modules, module, &world().control.modules);
  return result ? result : injected;
}
Result cuFuncGetAttribute(int* value, int attribute, Function function) {
  ENTER_WITH_CONTEXT(cuFuncGetAttribute);
  if (attribute != kFunctionMaxDynamicShared) return kInvalidValue;
  *value = int(function->most_shared);
  return kOk;
}
Result cuFuncSetAttribute(Function function, int attribute, int value) {
  ENTER_WITH_CONTEXT(cuFuncSetAttribute);
  if (attribute != kFunctionMaxDynamicShared || value < 0 || value > 163 << 10)
    return kInvalidValue;
  function->most_shared = uint32_t(value);
  return kOk;
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
  ENTER_TO_RELEASE_WITH_CONTEXT(cuMemFree_v2);
  drain_all();  // as on hardware
  const auto it = world().device.find(address);
  if (it == world().device.end()) return misuse("memory that was not allocated");
  world().control.allocations--;
  world().control.bytes -= it->second.bytes;
  std::free(it->second.block);
  world().device.erase(it);
  return injected;
}
Result cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  ENTER_WITH_CONTEXT(cuMemHostAlloc);
  // another address on the GPU, if write-combined
  if (flags & ~(kHostPortable | kHostMapped)) return kInvalidValue;
  uint64_t at;
  if (const Result result = allocate(world().pinned, bytes, &at)) return result;
  *pointer = reinterpret_cast<void*>(uintptr_t(at));
  world().control.pinned++;
  world().control.pinned_bytes += bytes;
  return kOk;
}
Result cuMemFreeHost(void* pointer) {
  ENTER_TO_RELEASE_WITH_CONTEXT(cuMemFreeHost);
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
  const bool on_device = holds(world().device, pointer, 1),
             is_pinned = holds(world().pinned, pointer, 1);
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

}  // extern "C"
