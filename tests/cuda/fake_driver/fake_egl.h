/* SPDX-License-Identifier: Apache-2.0 */
/* tests/cuda/fake_driver/fake_egl.h - an EGLImage as the fake EGL makes it and the fake CUDA driver
   takes it: a mapped file. */
#ifndef INGOT_TEST_FAKE_EGL_H
#define INGOT_TEST_FAKE_EGL_H
#include <stddef.h>
#include <stdint.h>

enum { kFakeEglMagic = 0x4547 };
typedef struct FakeEglImage {
  uint32_t magic;
  unsigned width, height, pitch;
  void* at;
  size_t bytes;
} FakeEglImage;

#endif
