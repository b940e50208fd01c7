/* SPDX-License-Identifier: Apache-2.0 */
/* examples/jetson/egl_frame.c - the calls behind egl_frame.h. NvBufSurface gives its EGLImage by
   itself: NvBufSurfaceMapEglImage(surface, index), then
   surface->surfaceList[index].mappedAddr.eglImage; that goes into egl_frame_open() like one made
   here. */
#include "examples/jetson/egl_frame.h"

#include <dlfcn.h>
#include <string.h>

enum {
  EGL_NONE_ = 0x3038,
  EGL_WIDTH_ = 0x3057,
  EGL_HEIGHT_ = 0x3056,
  EGL_LINUX_DMA_BUF = 0x3270,
  EGL_DRM_FOURCC = 0x3271
};
enum { EGL_PLANE0_FD = 0x3272, EGL_PLANE0_OFFSET = 0x3273, EGL_PLANE0_PITCH = 0x3274 };

static void* symbol(const char* library, const char* name) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL); /* kept: the same one each time */
  return handle ? dlsym(handle, name) : NULL;
}

/* A pointer to a function out of a pointer to data, as POSIX has it. */
#define FIND(function, library, name)           \
  do {                                          \
    void* found = symbol(library, name);        \
    memcpy(&function, &found, sizeof function); \
  } while (0)

typedef void* (*get_address)(const char* name);

static void* egl_function(const char* name) {
  get_address find;
  FIND(find, "libEGL.so.1", "eglGetProcAddress");
  return find ? find(name) : NULL;
}

static void* egl_display(void) {
  void* (*get)(void*);
  unsigned (*initialize)(void*, int*, int*);
  FIND(get, "libEGL.so.1", "eglGetDisplay");
  FIND(initialize, "libEGL.so.1", "eglInitialize");
  void* display = get ? get(NULL) : NULL;
  return display && initialize && initialize(display, NULL, NULL) ? display : NULL;
}

egl_image egl_image_of_dmabuf(int fd, uint32_t fourcc, unsigned width, unsigned height,
                              unsigned pitch, const char** why) {
  egl_image (*create)(void*, void*, unsigned, void*, const int*);
  void* found = egl_function("eglCreateImageKHR");
  memcpy(&create, &found, sizeof create);
  void* display = egl_display();
  if (!create || !display) {
    *why = create ? "EGL has no display"
                  : "no EGL (libEGL.so.1) with eglCreateImageKHR on this machine";
    return NULL;
  }
  const int attributes[] = {EGL_WIDTH_,        (int)width,  EGL_HEIGHT_,      (int)height,
                            EGL_DRM_FOURCC,    (int)fourcc, EGL_PLANE0_FD,    fd,
                            EGL_PLANE0_OFFSET, 0,           EGL_PLANE0_PITCH, (int)pitch,
                            EGL_NONE_};
  egl_image image = create(display, NULL, EGL_LINUX_DMA_BUF, NULL, attributes);
  if (!image) *why = "EGL refuses this DMA-BUF: its format, pitch or descriptor";
  return image;
}

void egl_image_close(egl_image image) {
  unsigned (*destroy)(void*, egl_image);
  void* found = egl_function("eglDestroyImageKHR");
  memcpy(&destroy, &found, sizeof destroy);
  if (destroy && image) destroy(egl_display(), image);
}

int gpu_context_enter(int ordinal, const char** why) {
  int (*get)(int*, int);
  int (*retain)(void**, int);
  int (*push)(void*);
  FIND(get, "libcuda.so.1", "cuDeviceGet");
  FIND(retain, "libcuda.so.1", "cuDevicePrimaryCtxRetain");
  FIND(push, "libcuda.so.1", "cuCtxPushCurrent_v2");
  int device;
  void* context;
  *why = "no CUDA driver, or no such GPU";
  if (!get || !retain || !push || get(&device, ordinal) != 0 || retain(&context, device) != 0)
    return -1;
  if (push(context) == 0) return 0;
  *why = "CUDA refuses its context";
  return -1;
}

void gpu_context_leave(int ordinal) {
  int (*get)(int*, int);
  int (*release)(int);
  int (*pop)(void**);
  FIND(get, "libcuda.so.1", "cuDeviceGet");
  FIND(release, "libcuda.so.1", "cuDevicePrimaryCtxRelease_v2");
  FIND(pop, "libcuda.so.1", "cuCtxPopCurrent_v2");
  int device;
  void* context;
  if (!get || !release || !pop || get(&device, ordinal) != 0) return;
  pop(&context);
  release(device);
}

int egl_frame_open(egl_image image, egl_frame* out, const char** why) {
  int (*add)(void**, egl_image, unsigned);
  int (*map)(gpu_egl_frame*, void*, unsigned, unsigned);
  FIND(add, "libcuda.so.1", "cuGraphicsEGLRegisterImage");
  FIND(map, "libcuda.so.1", "cuGraphicsResourceGetMappedEglFrame");
  memset(out, 0, sizeof *out);
  *why = add && map ? "CUDA refuses this EGLImage" : "no CUDA driver with EGL on this machine";
  if (!add || !map || add(&out->resource, image, 0) != 0) return -1;
  if (map(&out->gpu, out->resource, 0, 0) == 0 && out->gpu.kind == 1) return 0;
  *why = "the frame is block-linear: it has no address; ask its producer for a pitch-linear one";
  egl_frame_close(out);
  return -1;
}

void egl_frame_close(egl_frame* frame) {
  int (*drop)(void*);
  FIND(drop, "libcuda.so.1", "cuGraphicsUnregisterResource");
  if (drop && frame->resource) drop(frame->resource);
  frame->resource = NULL;
}
