/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cuda/embed/embedded_images.S - the container of device code as constant data. */
  .section .rodata.ingot_device_images, "a", %progbits
  .balign 64
  .global ingot_device_images_begin
  .hidden ingot_device_images_begin
  .global ingot_device_images_end
  .hidden ingot_device_images_end
ingot_device_images_begin:
  .incbin INGOT_DEVICE_IMAGES
ingot_device_images_end:
  .byte 0
  .section .note.GNU-stack, "", %progbits
