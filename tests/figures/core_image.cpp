// SPDX-License-Identifier: Apache-2.0
// tests/figures/core_image.cpp - links the microcontroller's core with four operators whose kernels
// do nothing; its size is measured, it never runs.
#include "ingot/micro.h"
#include "runtime/micro/model.h"
#include "runtime/op/quantized_conv2d.h"
#include "runtime/op/quantized_linear.h"
#include "runtime/op/quantized_pool2d.h"
#include "runtime/op/quantized_softmax.h"

using namespace ingot;

static Status quiet_kernel(const OpArguments&, const Team&) { return {}; }

#define ROW(op) \
  { {OpCode::k##op, "", &k##op##Contract, nullptr, quiet_kernel}, micro::read_##op##_attributes }
static const micro::MicroKernel kRows[] = {ROW(QuantizedConv2d), ROW(QuantizedLinear),
                                           ROW(QuantizedPool2d), ROW(QuantizedSoftmax)};
static const micro::MicroKernelTable kTable = {kRows, 4};

extern "C" {
ingot_micro model;
const void* volatile image;
size_t volatile bytes;

int main() {
  ingot_micro_error error;
  ingot_micro_tensor tensor;
  void* arena = const_cast<void*>(image);
  return ingot_micro_open(&model, image, bytes,
                          reinterpret_cast<const ingot_micro_kernels*>(&kTable), arena, bytes, 0,
                          &error) +
         ingot_micro_input(&model, 0, &tensor) + ingot_micro_output(&model, 0, &tensor) +
         int(ingot_micro_arena_bytes(&model)) + ingot_micro_run(&model, nullptr, nullptr, &error);
}
}
