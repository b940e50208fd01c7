// tests/conformance/driver_gpu.cpp - conformance_gpu.h through the CUDA driver: operands lie in
// device memory between guards, and device code is what this build carries for the GPU that is
// there. Over the fake driver the emulator runs it.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "tests/conformance/conformance_gpu.h"
#include "tests/cuda/bare_gpu.h"

namespace ingot::conformance {
namespace {

using test::BareGpu;

constexpr size_t kDriverGuard = 256;
constexpr uint8_t kDriverPattern = 0xa5;

BareGpu& gpu() {
  static BareGpu* const found = [] {
    const char* why = nullptr;
    BareGpu* const one = BareGpu::find(&why);
    if (one) return one;
    std::printf("[skip] conformance on a GPU: %s\n", why);
    std::fflush(stdout);
    std::_Exit(77);
  }();
  return *found;
}

/// Device memory with a guard at either end, as far from a multiple of 16 as the contents are on
/// the host.
class Guarded {
 public:
  Guarded(const void* contents, uint64_t bytes)
      : start_(kDriverGuard + reinterpret_cast<uintptr_t>(contents) % 16),
        host_(start_ + bytes + kDriverGuard, kDriverPattern),
        bytes_(bytes) {
    if (contents && bytes) std::memcpy(host_.data() + start_, contents, bytes);
    address_ = gpu().allocate(host_.size());
    gpu().upload(address_, host_.data(), host_.size());
  }
  ~Guarded() { gpu().release(address_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  uint8_t* inside() const { return reinterpret_cast<uint8_t*>(uintptr_t(address_ + start_)); }
  /// What is there now; ends the process when a guard changed.
  const uint8_t* fetch() {
    gpu().download(host_.data(), address_, host_.size());
    for (size_t i = 0; i < host_.size(); i++)
      if ((i < start_ || i >= start_ + bytes_) && host_[i] != kDriverPattern) {
        std::fprintf(stderr, "conformance: a kernel wrote %s its operand\n",
                     i < start_ ? "before" : "behind");
        std::abort();
      }
    return host_.data() + start_;
  }

 private:
  size_t start_;
  std::vector<uint8_t> host_;
  uint64_t bytes_;
  cuda::Address address_;
};

/// Operands by the host's address, so that what shares memory there shares it on the device.
class Operands {
 public:
  explicit Operands(const OpArguments& a) {
    for (int i = 0; i < a.input_count; i++) note(a.inputs[i]);
    for (int i = 0; i < a.output_count; i++) note(a.outputs[i]);
    for (const auto& [host, bytes] : bytes_)
      memory_.emplace(std::piecewise_construct, std::forward_as_tuple(host),
                      std::forward_as_tuple(host, bytes));
    for (int i = 0; i < a.input_count; i++) inputs_.push_back(moved(a.inputs[i]));
    for (int i = 0; i < a.output_count; i++) outputs_.push_back(moved(a.outputs[i]));
    arguments_ = a;
    arguments_.inputs = inputs_.data();
    arguments_.outputs = outputs_.data();
  }
  const OpArguments& arguments() const { return arguments_; }
  void fetch() {
    for (auto& [host, memory] : memory_)
      if (bytes_[host]) std::memcpy(host, memory.fetch(), bytes_[host]);
  }

 private:
  void note(const TensorView& view) {
    uint64_t bytes = 0;
    if (!view.data || !storage_bytes(view, &bytes)) return;
    uint64_t& most = bytes_[view.data];
    if (most < bytes) most = bytes;
  }
  TensorView moved(TensorView view) const {
    const auto found = memory_.find(view.data);
    if (found != memory_.end()) view.data = found->second.inside();
    return view;
  }

  std::map<void*, uint64_t> bytes_;
  std::map<void*, Guarded> memory_;
  std::vector<TensorView> inputs_, outputs_;
  OpArguments arguments_;
};

/// How many cases of each operator ran.
struct Coverage {
  int run[kOpCodeCount] = {}, left[kOpCodeCount] = {};
  ~Coverage() {
    for (int i = 0; i < kOpCodeCount; i++)
      if (run[i] + left[i])
        std::printf("%s: %-20s %4d runs bit for bit, %d left to the CPU\n", name,
                    op_name(OpCode(i)), run[i], left[i]);
  }
  const char* name = gpu().facts().name;
};

}  // namespace

int gpu_variants(OpCode op, const OpArguments& arguments) {
  const GpuTraits traits = gpu().traits();
  const GpuKernelEntry* row =
      find_gpu_row(ingot_cuda_kernel_set, op, arguments, traits, GpuPrecision::kExact);
  GpuVariant variants[kMaxGpuVariants];
  return row ? int(list_gpu_variants(*row, arguments, traits, GpuPrecision::kExact, variants)) : 0;
}

bool run_on_gpu(OpCode op, const OpArguments& arguments, uint32_t, Status* status, int variant) {
  static Coverage coverage;
  Operands operands(arguments);
  GpuWork work;
  work.traits = gpu().traits();
  const GpuKernelEntry* row =
      find_gpu_row(ingot_cuda_kernel_set, op, operands.arguments(), work.traits, work.precision);
  (row ? coverage.run : coverage.left)[int(op)]++;
  if (!row) return false;
  // Listed for the host's addresses: what another alignment does not offer there is computed as the
  // model has it.
  GpuVariant variants[kMaxGpuVariants];
  if (variant >= 0) {
    list_gpu_variants(*row, arguments, work.traits, work.precision, variants);
    work.variant = &variants[variant];
  }
  work.scratch_bytes =
      gpu_scratch(*row, operands.arguments(), work.traits, work.precision, work.variant);
  Guarded scratch(nullptr, work.scratch_bytes);
  const uint32_t none = 0;
  Guarded fault(&none, sizeof none);
  work.arguments = &operands.arguments();
  work.scratch = scratch.inside();
  work.fault = reinterpret_cast<uint32_t*>(fault.inside());
  work.fault_value = 7;
  work.sink = {nullptr, [](void*, const GpuLaunch& launch) {
                 gpu().add(launch);
                 return Status();
               }};
  *status = row->plan(work);
  gpu().run();
  operands.fetch();
  (void)scratch.fetch();
  uint32_t found;
  std::memcpy(&found, fault.fetch(), sizeof found);
  if (status->ok() && found) *status = Status(Code::kBadIndexValue);
  return true;
}

}  // namespace ingot::conformance
