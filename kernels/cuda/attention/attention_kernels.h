// kernels/cuda/attention/attention_kernels.h - X(kernel, parameters, threads of a block)
#pragma once

#define INGOT_CUDA_ATTENTION(X)
