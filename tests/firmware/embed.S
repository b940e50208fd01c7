/* SPDX-License-Identifier: Apache-2.0 */
/* The model, an image and the expected answer, as they lie in their files; run.sh gives the paths. */
  .section .model, "a", %progbits
  .balign 64
  .global model_begin, model_end, input_begin, input_end, expected_begin, expected_end
model_begin:
  .incbin MODEL_FILE
model_end:
  .balign 16
input_begin:
  .incbin INPUT_FILE
input_end:
  .balign 16
expected_begin:
  .incbin EXPECTED_FILE
expected_end:
