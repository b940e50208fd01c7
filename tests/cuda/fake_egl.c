/* SPDX-License-Identifier: Apache-2.0 */
/* tests/cuda/fake_egl.c - a libEGL.so.1 that makes EGLImages of file descriptors by mapping them,
   for examples/jetson over the fake driver. */
#include "tests/cuda/fake_driver/fake_egl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int display;

void* eglGetDisplay(void* native) { return native ? NULL : &display; }
unsigned eglInitialize(void* of, int* major, int* minor) {
  if (major) *major = 1;
  if (minor) *minor = 5;
  return of == &display;
}

static int value_of(const int* attributes, int name) {
  for (; *attributes != 0x3038; attributes += 2)
    if (attributes[0] == name) return attributes[1];
  return -1;
}

static void* create_image(void* of, void* context, unsigned target, void* buffer,
                          const int* attributes) {
  if (of != &display || context || buffer || target != 0x3270 ||
      value_of(attributes, 0x3271) != 0x20203852)
    return NULL;
  FakeEglImage* image = calloc(1, sizeof *image);
  if (!image) return NULL;
  image->magic = kFakeEglMagic;
  image->width = (unsigned)value_of(attributes, 0x3057),
  image->height = (unsigned)value_of(attributes, 0x3056);
  image->pitch = (unsigned)value_of(attributes, 0x3274);
  image->bytes = (size_t)image->pitch * image->height;
  image->at =
      mmap(NULL, image->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, value_of(attributes, 0x3272), 0);
  if (image->at != MAP_FAILED) return image;
  free(image);
  return NULL;
}

static unsigned destroy_image(void* of, FakeEglImage* image) {
  if (of != &display || image->magic != kFakeEglMagic) return 0;
  munmap(image->at, image->bytes);
  free(image);
  return 1;
}

void* eglGetProcAddress(const char* name) {
  void* found = NULL;
  void* (*create)(void*, void*, unsigned, void*, const int*) = create_image;
  unsigned (*destroy)(void*, FakeEglImage*) = destroy_image;
  if (strcmp(name, "eglCreateImageKHR") == 0) memcpy(&found, &create, sizeof found);
  if (strcmp(name, "eglDestroyImageKHR") == 0) memcpy(&found, &destroy, sizeof found);
  return found;
}
