// SPDX-License-Identifier: Apache-2.0
// tests/cuda/hardware/module_gpu.h - the module of fragments.cu on the GPU and in the emulator.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/simd/half.inl"
#include "kernels/cuda/emulate/emulator.h"
#include "tests/cuda/bare_gpu.h"
#include "tests/cuda/hardware/fragments.h"

namespace ingot::cuda {
#define X(name, Params, threads) void ingot_emulated_##name(const Params& p);
INGOT_CUDA_FRAGMENTS(X)
#undef X
}  // namespace ingot::cuda

namespace ingot::test {

constexpr uint32_t kCases = 64;
constexpr float kInf = std::numeric_limits<float>::infinity();
using Random = std::mt19937;

inline float uniform(Random& r, float low, float high) {
  return std::uniform_real_distribution<float>(low, high)(r);
}
inline uint32_t bits_of(float x) { return cpu::float_bits(x); }
inline float float_of(uint32_t w) { return cpu::bits_float(w); }

using Words = std::vector<uint32_t>;

/// The GPU and its module; a machine without ends the process.
class Hardware {
 public:
  static Hardware& get() {
    static Hardware it;
    return it;
  }
  int sm() const { return gpu_->facts().sm; }
  /// The fake driver without an architecture: everything that the emulator has.
  bool has(int oldest) const { return sm() == 0 || sm() >= oldest; }
  BareGpu& gpu() { return *gpu_; }
  cuda::Function function(const char* name) { return gpu_->load(image_.data(), name); }

 private:
  Hardware() {
    const char* why = nullptr;
    gpu_ = BareGpu::find(&why);
    if (!gpu_) give_up(why);
    if (sm() == 0)
      image_.assign({'e', 'm', 'u', 'l', 'a', 't', 'e', 'd', 0});
    else if (!read_module())
      give_up("no device code of the fragments for its architecture in this build");
  }
  [[noreturn]] static void give_up(const char* why) {
    std::printf("[skip] fragments on a GPU: %s\n", why);
    std::fflush(stdout);
    std::_Exit(77);
  }
  /// Beside this program: of its own architecture, or an older minor one of the same major (not
  /// those of Tegra, which are nobody else's).
  bool read_module() {
    const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "cubin";
    for (int minor = sm() % 10; minor >= 0; minor--) {
      const int candidate = sm() / 10 * 10 + minor;
      if (candidate != sm() && (candidate == 72 || candidate == 87)) continue;
      std::ifstream file(folder / ("fragments.sm" + std::to_string(candidate) + ".cubin"),
                         std::ios::binary);
      if (!file) continue;
      image_.assign(std::istreambuf_iterator<char>(file), {});
      return !image_.empty();
    }
    return false;
  }

  BareGpu* gpu_ = nullptr;
  std::vector<char> image_;
};

/// Memory of the GPU with these words.
class OnGpu {
 public:
  explicit OnGpu(const Words& words) : words_(words.size()) {
    address_ = Hardware::get().gpu().allocate(bytes());
    Hardware::get().gpu().upload(address_, words.data(), bytes());
  }
  ~OnGpu() { Hardware::get().gpu().release(address_); }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(uintptr_t(address_));
  }
  Words fetch() const {
    Words words(words_);
    Hardware::get().gpu().download(words.data(), address_, bytes());
    return words;
  }

 private:
  uint64_t bytes() const { return words_ * 4; }
  size_t words_;
  cuda::Address address_;
};

template <class Params>
void run_on_gpu(const char* kernel, uint32_t blocks, uint32_t threads, uint32_t shared_bytes,
                const Params& params) {
  Hardware& it = Hardware::get();
  it.gpu().add(it.function(kernel), blocks, threads, shared_bytes, &params, sizeof params);
  it.gpu().run();
}
template <class Params>
void run_emulated(void (*body)(const Params&), uint32_t blocks, uint32_t threads,
                  uint32_t shared_bytes, const Params& params) {
  struct Call {
    void (*body)(const Params&);
    const Params* params;
  } call{body, &params};
  cuda::emulate::launch(
      {blocks, 1, 1}, threads, shared_bytes,
      [](const void* c) {
        static_cast<const Call*>(c)->body(*static_cast<const Call*>(c)->params);
      },
      &call);
}

}  // namespace ingot::test
