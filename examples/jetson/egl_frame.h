/* SPDX-License-Identifier: Apache-2.0 */
/* examples/jetson/egl_frame.h - a camera's or decoder's frame as memory of the GPU, without a copy:
   DMA-BUF or NvBufSurface -> EGLImage -> CUDA address. Own declarations of the few calls used, so
   that this compiles anywhere; the libraries are found when it runs. */
#ifndef INGOT_EXAMPLE_EGL_FRAME_H
#define INGOT_EXAMPLE_EGL_FRAME_H
#include <stddef.h>
#include <stdint.h>

typedef void* egl_image; /* EGLImageKHR */

/* CUeglFrame of cudaEGL.h; tests/cuda/egl_declarations.cpp compares it with each toolkit's. */
typedef struct gpu_egl_frame {
  void* plane[3]; /* addresses on the GPU where kind is 1; arrays where it is 0 */
  unsigned width, height, depth, pitch, planes, channels;
  int kind, color_format, element_format;
} gpu_egl_frame;

/* A frame that stays registered with CUDA until egl_frame_close(). Register once for each buffer of
   the camera's ring, not once a frame. */
typedef struct egl_frame {
  gpu_egl_frame gpu;
  void* resource;
} egl_frame;

/* An EGLImage of one plane in a DMA-BUF: `fourcc` as in drm_fourcc.h ("R8  " is 0x20203852). Null,
   with `why` set, where EGL is missing or refuses. The descriptor stays the caller's. */
egl_image egl_image_of_dmabuf(int fd, uint32_t fourcc, unsigned width, unsigned height,
                              unsigned pitch, const char** why);
void egl_image_close(egl_image image);

/* Makes the primary context of a GPU, in which a session on "cuda" lies, current on this thread; a
   session leaves none current. 0: good. */
int gpu_context_enter(int ordinal, const char** why);
void gpu_context_leave(int ordinal);

/* 0: good. @pre the session's context is current, see above. Block-linear frames have no address:
   -1 with `why`; ask the producer for pitch-linear ones (NVBUF_LAYOUT_PITCH). */
int egl_frame_open(egl_image image, egl_frame* out, const char** why);
void egl_frame_close(egl_frame* frame);

#endif
