/* SPDX-License-Identifier: Apache-2.0 */
/* examples/jetson/dmabuf_frame.c - runs a model on a frame that lies in a DMA-BUF, in place: the
   GPU reads what the camera wrote. dmabuf_frame MODEL.ingot FD WIDTH HEIGHT PITCH: the model takes
   gray frames (ingot convert --image NAME=gray:WIDTHxHEIGHT: u8 [1, HEIGHT, WIDTH]); FD is a
   descriptor that this process was handed (a camera's, over a socket or from V4L2's VIDIOC_EXPBUF).
   Compiled everywhere and tried over stand-ins of the driver and of EGL
   (tests/cuda/dmabuf_test.py); no board was at hand to run it on. */
#include <ingot/cpu.h>
#include <ingot/ingot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/jetson/egl_frame.h"

static int fail(const char* what, const char* why) {
  fprintf(stderr, "dmabuf_frame: %s: %s\n", what, why);
  return 7;
}

static int fail_with(const char* what, const ingot_error* error) {
  char text[512];
  ingot_error_text(error, text, sizeof text);
  return fail(what, text);
}

int main(int argc, char** argv) {
  if (argc < 6) {
    fprintf(stderr, "usage: dmabuf_frame MODEL.ingot FD WIDTH HEIGHT PITCH\n");
    return 1;
  }
  const unsigned width = (unsigned)atoi(argv[3]), height = (unsigned)atoi(argv[4]),
                 pitch = (unsigned)atoi(argv[5]);
  ingot_error error;
  ingot_model* model;
  ingot_session* session;
  ingot_open_options open = {0};
  open.size = sizeof open;
  open.kernels = ingot_cpu_kernels(NULL);
  if (ingot_model_open(argv[1], &open, &model, &error) != INGOT_OK)
    return fail_with(argv[1], &error);
  ingot_session_options options = {0};
  options.size = sizeof options;
  options.device = "cuda";
  options.flags = INGOT_STRICT; /* no instruction may fall back to the CPU */
  if (ingot_session_create(model, &options, &session, &error) != INGOT_OK)
    return fail_with("session", &error);

  const char* why;
  if (gpu_context_enter(0, &why) != 0) return fail("CUDA", why);
  const egl_image image =
      egl_image_of_dmabuf(atoi(argv[2]), 0x20203852 /* R8 */, width, height, pitch, &why);
  if (!image) return fail("EGL", why);
  egl_frame frame;
  if (egl_frame_open(image, &frame, &why) != 0) return fail("CUDA", why);

  ingot_tensor input;
  if (ingot_session_input(session, 0, &input) != INGOT_OK) return fail("model", "it has no input");
  /* Rows of a tensor are its last dimension, and they may lie apart. */
  if (input.dtype != INGOT_U8 || input.rank < 2 || input.dims[input.rank - 1] != (int64_t)width ||
      input.dims[input.rank - 2] != (int64_t)height)
    return fail("model", "its input is not u8 [1, HEIGHT, WIDTH]");
  input.data = frame.gpu.plane[0];
  input.row_stride = (int64_t)frame.gpu.pitch; /* elements: bytes */
  input.bytes = (uint64_t)frame.gpu.pitch * (height - 1) + width;
  if (ingot_session_bind_device_input(session, 0, &input, &error) != INGOT_OK)
    return fail_with("frame", &error);
  if (ingot_session_run(session, &error) != INGOT_OK) return fail_with("run", &error);
  ingot_tensor output;
  if (ingot_session_output(session, 0, &output) != INGOT_OK)
    return fail("model", "it has no output");
  printf("one frame of %ux%u, read where it lies\n", width, height);
  if (output.dtype == INGOT_F32 && output.data)
    printf("first number: %.9g\n", *(const float*)output.data);

  ingot_session_bind_input(session, 0, NULL, &error); /* before the frame goes */
  egl_frame_close(&frame);
  egl_image_close(image);
  gpu_context_leave(0);
  ingot_session_destroy(session);
  ingot_model_destroy(model);
  return 0;
}
