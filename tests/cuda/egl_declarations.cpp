// SPDX-License-Identifier: Apache-2.0
// tests/cuda/egl_declarations.cpp - the example's own declaration of a frame beside the cudaEGL.h
// of a toolkit. Compiled only (stage cuda).
#include <cudaEGL.h>

#include "examples/jetson/egl_frame.h"

static_assert(sizeof(gpu_egl_frame) == sizeof(CUeglFrame), "");
static_assert(offsetof(gpu_egl_frame, plane) == offsetof(CUeglFrame, frame) &&
                  offsetof(gpu_egl_frame, width) == offsetof(CUeglFrame, width),
              "");
static_assert(offsetof(gpu_egl_frame, pitch) == offsetof(CUeglFrame, pitch) &&
                  offsetof(gpu_egl_frame, planes) == offsetof(CUeglFrame, planeCount),
              "");
static_assert(offsetof(gpu_egl_frame, kind) == offsetof(CUeglFrame, frameType), "");
static_assert(offsetof(gpu_egl_frame, element_format) == offsetof(CUeglFrame, cuFormat), "");
static_assert(CU_EGL_FRAME_TYPE_PITCH == 1 && MAX_PLANES == 3, "");
