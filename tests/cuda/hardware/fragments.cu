// SPDX-License-Identifier: Apache-2.0
// tests/cuda/hardware/fragments.cu - see fragments.h.
#include "kernels/cuda/device/async_copy.cuh"
#include "kernels/cuda/device/tensor_core.cuh"
#include "tests/cuda/hardware/fragments.h"

namespace ingot::cuda {
namespace {

GPU_FN uint32_t bits_of(float x) { return word_of(x); }
GPU_FN uint32_t bits_of(int x) { return uint32_t(x); }
GPU_FN void set_bits(float* x, uint32_t w) { *x = float_of(w); }
GPU_FN void set_bits(int* x, uint32_t w) { *x = int(w); }

template <class Type>
GPU_FN void multiply(Type, typename Type::Sum (&d)[4], const uint32_t (&a)[4],
                     const uint32_t (&b)[2]) {
  multiply_add(Type{}, d, a, b);
}
struct S8U8Halves : S8U8 {};
GPU_FN void multiply(S8U8Halves, int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  for (int h = 0; h < 2; h++) multiply_add(S8U8{}, d, a[2 * h], a[2 * h + 1], b[h]);
}
template <class Type>
GPU_FN void product(const FragmentProductParams& p) {
  const int64_t at = grid_thread();
  uint32_t a[kFragmentA], b[kFragmentB];
  typename Type::Sum d[kFragmentD];
  for (int i = 0; i < kFragmentA; i++) a[i] = p.a[at * kFragmentA + i];
  for (int i = 0; i < kFragmentB; i++) b[i] = p.b[at * kFragmentB + i];
  for (int i = 0; i < kFragmentD; i++) set_bits(&d[i], p.c[at * kFragmentD + i]);
  if (p.mistake) {  // the halves of k in the wrong order, of one operand
    const uint32_t kept = b[0];
    b[0] = b[1], b[1] = kept;
  }
  multiply(Type{}, d, a, b);
  for (int i = 0; i < kFragmentD; i++) p.d[at * kFragmentD + i] = bits_of(d[i]);
}

}  // namespace

INGOT_GPU_KERNEL(fragment_f16, FragmentProductParams, 32) { product<F16>(p); }
INGOT_GPU_KERNEL(fragment_bf16, FragmentProductParams, 32) { product<Bf16>(p); }
INGOT_GPU_KERNEL(fragment_tf32, FragmentProductParams, 32) { product<Tf32>(p); }
INGOT_GPU_KERNEL(fragment_s8u8, FragmentProductParams, 32) { product<S8U8>(p); }
INGOT_GPU_KERNEL(fragment_s8u8_halves, FragmentProductParams, 32) { product<S8U8Halves>(p); }

INGOT_GPU_KERNEL(fragment_matrices, FragmentMatrixParams, 32) {
#if !defined(__CUDA_ARCH__) || \
    __CUDA_ARCH__ >= 750  // an older chip has no matrix loads, and no kernel asks for them
  uint16_t* shared = gpu_shared<uint16_t>();
  const int lane = int(threadIdx.x);
  for (int i = 0; i < 8; i++)
    shared[lane * 8 + i] = p.from[int64_t(blockIdx.x) * 256 + lane * 8 + i];
  __syncwarp();
  uint32_t straight[4], transposed[4], two[2], two_transposed[2], four[4], pair[2];
  load_matrices<false>(straight, shared + lane * 8);
  load_matrices<true>(transposed, shared + lane * 8);
  if (p.mistake)
    load_matrices<true>(two, shared + lane % 16 * 8);
  else
    load_matrices<false>(two, shared + lane % 16 * 8);
  load_matrices<true>(two_transposed, shared + lane % 16 * 8);
  load_shared(four, shared + lane * 8);
  load_shared(pair, shared + lane * 4);
  uint32_t* to = p.to + grid_thread() * kFragmentMatrixWords;
  for (int i = 0; i < 4; i++) to[i] = straight[i], to[4 + i] = transposed[i], to[12 + i] = four[i];
  for (int i = 0; i < 2; i++)
    to[8 + i] = two[i], to[10 + i] = two_transposed[i], to[16 + i] = pair[i];
#endif
}

INGOT_GPU_KERNEL(fragment_copies, FragmentCopyParams, 64) {
  uint32_t* shared = gpu_shared<uint32_t>();
  const uint32_t* from = p.from + int64_t(blockIdx.x) * kFragmentCopyWords;
  uint32_t* to = p.to + int64_t(blockIdx.x) * kFragmentCopyWords;
  const int own = int(threadIdx.x), other = own ^ 32;
  bool valid = p.valid >> own % 32 & 1;
  if (p.mistake && own == 5) valid = !valid;
  copy_async16(shared + own * 4, from + own * 4, valid);
  commit_copies();
  copy_async16(shared + 256 + own * 4, from + 256 + own * 4, true);
  commit_copies();
  copy_async4(shared + 512 + own, from + 512 + own, valid);
  commit_copies();
  wait_for_copies<2>();  // the first has landed
  __syncthreads();
  for (int i = 0; i < 4; i++) to[other * 4 + i] = shared[other * 4 + i];
  wait_for_copies<0>();
  __syncthreads();
  for (int i = 0; i < 4; i++) to[256 + other * 4 + i] = shared[256 + other * 4 + i];
  to[512 + other] = shared[512 + other];
}

INGOT_GPU_KERNEL(fragment_converts, FragmentConvertParams, 64) {
  const int64_t at = grid_thread();
  const float low = p.from[at * 2], high = p.from[at * 2 + 1];
  p.to[at * 3] = p.mistake ? pack(F16{}, high, low) : pack(F16{}, low, high);
  p.to[at * 3 + 1] = pack(Bf16{}, low, high);
  p.to[at * 3 + 2] = near_tf32(low);
}

}  // namespace ingot::cuda
