// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/cuda_device.cpp - one reservation of device memory a session, pinned memory
// for its ports.
#include "runtime/device/cuda/cuda_device.h"

#include "runtime/base/os/file.h"
#include "runtime/device/cuda/session_state.h"
#include "runtime/device/cuda/variant.h"
#include "runtime/device/gpu/f16_activations.h"

namespace ingot::cuda {
namespace {

uint8_t* pointer_of(Address address) { return reinterpret_cast<uint8_t*>(uintptr_t(address)); }
Address address_of(const void* pointer) { return Address(reinterpret_cast<uintptr_t>(pointer)); }

Status reserve(Device& device, uint64_t bytes, uint64_t alignment, uint8_t** out,
               ErrorDetail* detail) {
  const bool opens = !device.state;
  if (opens) INGOT_TRY(open_state(device, detail));
  SessionState& s = state_of(device);
  Status status;
  Address at = 0;
  {
    const Current current(s.gpu.context);
    Result result = current.refused();
    if (!result) result = driver().cuMemAlloc_v2(&at, size_t(bytes));
    if (result == kResultOutOfMemory) {
      status = fail_on(device, detail, Code::kOutOfMemory, "device memory", bytes,
                       free_bytes(s.gpu, bytes));
      if (detail)
        detail->hint = detail->need > detail->have
                           ? "bind smaller dimensions; `ingot why FILE` says what takes how much"
                           : "as much is free, but not in one piece, or another process was faster";
    } else if (result) {
      status = fail_with(device, detail, result, Code::kDeviceLost);
    } else if (at & (alignment - 1)) {  // 256 bytes is what the driver promises
      driver().cuMemFree_v2(at);
      status = fail_on(device, detail, Code::kMisaligned, "device memory", alignment,
                       at & (alignment - 1));
    }
  }
  if (!status.ok()) {
    if (opens) close_state(device);
    return status;
  }
  s.references++;
  *out = pointer_of(at);
  return {};
}

void release(Device& device, uint8_t* at, uint64_t) {
  SessionState& s = state_of(device);
  if (!is_forked()) {
    const Current current(s.gpu.context);
    driver().cuMemFree_v2(address_of(at));
  }
  if (--s.references == 0) close_state(device);
}

Status upload(Device& device, uint8_t* to, const void* from, uint64_t bytes, ErrorDetail* detail) {
  if (!bytes) return {};
  SessionState& s = state_of(device);
  const Current current(s.gpu.context);
  Result result = current.refused();
  if (!result)
    result = driver().cuMemcpyHtoDAsync_v2(address_of(to), from, size_t(bytes), s.stream);
  // The caller may change what it gave as soon as this returns.
  if (!result) result = driver().cuStreamSynchronize(s.stream);
  return result ? fail_with(device, detail, result, Code::kDeviceLost) : Status();
}

Status download(Device& device, void* to, const uint8_t* from, uint64_t bytes,
                ErrorDetail* detail) {
  if (!bytes) return {};
  SessionState& s = state_of(device);
  const Current current(s.gpu.context);
  Result result = current.refused();
  if (!result)
    result = driver().cuMemcpyDtoHAsync_v2(to, address_of(from), size_t(bytes), s.stream);
  if (!result) result = driver().cuStreamSynchronize(s.stream);
  return result ? fail_with(device, detail, result, Code::kDeviceLost) : Status();
}

Status resolve(Device& device, const StepProgram& program, ErrorDetail* detail) {
  if (program.first_step >= program.steps.size && !program.ports.size) return {};
  return build_part(device, program, detail);
}

Status run(Device& device, const StepProgram& program, const RunControl& control, ThreadTeam*,
           ErrorDetail* detail) {
  if (control.cancel && control.cancel->exchange(0, std::memory_order_relaxed))
    return fail(detail, Code::kCancelled, "run: cancelled");
  if (control.deadline_ns) {
    const uint64_t now = os::monotonic_ns();
    if (now >= control.deadline_ns)
      return fail(detail, Code::kDeadlineExceeded, "run: deadline in ns", control.deadline_ns, now);
  }
  if (program.first_step >= program.steps.size && !program.ports.size) return {};
  return run_part(device, program, control, detail);
}

/// Graphs and modules are the driver's; what it takes for them is not told. The state's own bytes
/// are.
uint64_t outside_bytes(const Device&, const StepProgram& program) {
  return sizeof(SessionState) + kMailboxBytes + part_bytes(program);
}

bool supports(const Device& device, OpCode op, const OpArguments& arguments) {
  return find_gpu_row(ingot_cuda_kernel_set, op, arguments, traits_of(gpu_facts(device.ordinal)),
                      GpuPrecision::kExact) != nullptr;
}

bool knows(OpCode op) {
  for (const Span<const GpuKernelEntry>* family : ingot_cuda_kernel_set.families)
    for (const GpuKernelEntry& row : *family)
      if (row.op == op) return true;
  return false;
}

uint64_t scratch(const Device& device, OpCode op, const OpArguments& arguments, uint32_t precision,
                 const TuningView& tunings, uint32_t instruction) {
  const GpuTraits traits = traits_of(gpu_facts(device.ordinal));
  const GpuKernelEntry* row =
      find_gpu_row(ingot_cuda_kernel_set, op, arguments, traits, gpu_precision(precision));
  if (!row) return 0;
  Chosen chosen;
  choose({device.ordinal, row, &arguments, gpu_precision(precision), &tunings, instruction},
         &chosen);
  return gpu_scratch(*row, arguments, traits, gpu_precision(precision), chosen.variant);
}

uint64_t least_scratch(const Device& device, OpCode op, const OpArguments& arguments,
                       uint32_t precision) {
  const GpuTraits traits = traits_of(gpu_facts(device.ordinal));
  const GpuKernelEntry* row =
      find_gpu_row(ingot_cuda_kernel_set, op, arguments, traits, gpu_precision(precision));
  return row ? least_gpu_scratch(*row, arguments, traits, gpu_precision(precision)) : 0;
}

void tell_variant(const Device& device, OpCode op, const OpArguments& arguments, uint32_t precision,
                  const TuningView& tunings, uint32_t instruction, DeviceVariant* out) {
  const GpuTraits traits = traits_of(gpu_facts(device.ordinal));
  const GpuKernelEntry* row =
      find_gpu_row(ingot_cuda_kernel_set, op, arguments, traits, gpu_precision(precision));
  if (!row) return;
  Chosen chosen;
  choose({device.ordinal, row, &arguments, gpu_precision(precision), &tunings, instruction},
         &chosen);
  const GpuVariant& variant = chosen.variant ? *chosen.variant : chosen.variants[0];
  out->name = chosen.count > 1 ? variant.name : "";
  out->parts = variant.parts;
  out->variants = chosen.count;
  out->source = chosen.source;
  out->why = chosen.why;
}

const char* why_host_decides(const Device& device) {
  if (device.host_branches) return "it was asked for: INGOT_HOST_BRANCHES";
  const Driver& d = driver();
  if (d.graphs >= GraphUse::kHost) return "it was asked for: INGOT_CUDA_GRAPHS";
  if (d.version < kConditionalDriver || !d.cuGraphConditionalHandleCreate || !d.cuGraphAddNode_v2)
    return "the driver is older than CUDA 12.4, whose graphs decide nothing";
  return gpu_facts(device.ordinal).has_decider
             ? nullptr
             : "this build has no device code that decides for this GPU and this driver";
}

bool takes_f16_weights(const Device& device, uint32_t precision) {
  return ingot_cuda_kernel_set.takes_f16_weights(traits_of(gpu_facts(device.ordinal)),
                                                 gpu_precision(precision));
}

void choose_f16(const Device& device, const F16Program& program, uint64_t* storage) {
  const GpuTraits traits = traits_of(gpu_facts(device.ordinal));
  if (traits.has_tensor_cores())
    choose_f16_activations(ingot_cuda_kernel_set, traits, program, storage);
  else
    for (size_t v = 0; v < program.program->values.size; v++) storage[v] = 0;
}

Status reserve_host(Device& device, uint64_t bytes, uint8_t** out, ErrorDetail* detail) {
  SessionState& s = state_of(device);
  const Current current(s.gpu.context);
  void* at = nullptr;
  Result result = current.refused();
  if (!result) result = driver().cuMemHostAlloc(&at, size_t(bytes), kHostPortable | kHostMapped);
  if (result == kResultOutOfMemory)
    return fail_on(device, detail, Code::kOutOfMemory, "pinned memory for inputs and outputs",
                   bytes);
  if (result) return fail_with(device, detail, result, Code::kDeviceLost);
  s.references++;
  *out = static_cast<uint8_t*>(at);
  return {};
}

void release_host(Device& device, uint8_t* at) {
  SessionState& s = state_of(device);
  if (!is_forked()) {
    const Current current(s.gpu.context);
    driver().cuMemFreeHost(at);
  }
  if (--s.references == 0) close_state(device);
}

Status check_memory(Device& device, const void* at, uint64_t bytes, ErrorDetail* detail) {
  SessionState& s = state_of(device);
  const Current current(s.gpu.context);
  if (current.refused()) return fail_with(device, detail, current.refused(), Code::kDeviceLost);
  const auto refuse = [&](const char* field, const char* hint) {
    const Status status = fail_on(device, detail, Code::kInvalidArgument, field);
    if (detail) detail->hint = hint;
    return status;
  };
  const char* const kHost = "bind: this is memory of the host, not of the device";
  const char* const kHint =
      "bind it with ingot_session_bind_input() or ingot_session_bind_output()";
  if (bytes > UINT64_MAX - address_of(at))
    return refuse("bind: tensor.bytes goes beyond the end of addresses", "");
  const Address edges[] = {address_of(at), address_of(at) + (bytes ? bytes - 1 : 0)};
  for (const Address edge : edges) {
    unsigned type = 0;
    Context context = nullptr;
    if (driver().cuPointerGetAttribute(&type, kPointerMemoryType, edge) || type != kMemoryDevice)
      return refuse(kHost, kHint);
    if (driver().cuPointerGetAttribute(&context, kPointerContext, edge) == 0 && context &&
        context != s.gpu.context)
      return refuse(
          "bind: this memory is of another CUDA context than the session's",
          "allocate it in the device's primary context, or in that of options.gpu_stream");
    // Memory of a pool or of a mapping has no context, and yet a GPU.
    int ordinal = device.ordinal;
    if (driver().cuPointerGetAttribute(&ordinal, kPointerDevice, edge) == 0 &&
        ordinal != device.ordinal)
      return refuse("bind: this memory is of another GPU than the session's",
                    "copy it, or make the session there");
  }
  return {};
}

void describe_driver(const Device& device, DriverFacts* out) {
  const Driver& d = driver();
  out->product = gpu_facts(device.ordinal).name;
  out->library = d.library ? d.library : "";
  out->standard = "CUDA";
  out->version_major = d.version / 1000;  // 12040: CUDA 12.4
  out->version_minor = d.version % 1000 / 10;
  if (d.graphs == GraphUse::kFull) return;
  out->limited_by = "INGOT_CUDA_GRAPHS or INGOT_CUDA_SERIAL limits its graphs to";
  out->limit = kGraphUseNames[int(d.graphs)];
}

constexpr DeviceInterface make_interface() {
  DeviceInterface d = {};
  d.kind = "cuda";
  d.host_memory = false;
  d.reserve = reserve;
  d.release = release;
  d.upload = upload;
  d.download = download;
  d.resolve = resolve;
  d.run = run;
  d.outside_bytes = outside_bytes;
  d.supports = supports;
  d.scratch = scratch;
  d.least_scratch = least_scratch;
  d.reserve_host = reserve_host;
  d.release_host = release_host;
  d.check_memory = check_memory;
  d.shares_weights = true;
  d.knows = knows;
  d.queue = &kCudaQueue;
  d.runs_segments = true;
  d.loop_counter_bytes = loop_counter_bytes;
  d.zeroed_bytes = zeroed_bytes;
  d.why_host_decides = why_host_decides;
  d.is_one_segment = is_one_segment;
  d.variant = tell_variant;
  d.takes_f16_weights = takes_f16_weights;
  d.choose_f16 = choose_f16;
  d.no_kernel_hint = "use the device auto or cpu; docs/cuda.md says what a GPU leaves to the CPU";
  d.describe_driver = describe_driver;
  return d;
}

}  // namespace

constexpr DeviceInterface kCudaDevice = make_interface();

}  // namespace ingot::cuda
