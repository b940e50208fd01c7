// kernels/cuda/movement/movement_kernels.h - X(kernel, parameters, threads of a block)
#pragma once
#include "kernels/cuda/movement/gather_params.h"
#include "kernels/cuda/movement/movement_params.h"
#include "kernels/cuda/movement/scatter_params.h"

#define INGOT_CUDA_MOVEMENT(X)                                                                                         \
  X(move_1, MoveParams, 256)                                                                                           \
  X(move_2, MoveParams, 256)                                                                                           \
  X(move_4, MoveParams, 256) X(move_8, MoveParams, 256) X(move_16, MoveParams, 256) X(turn_1, TurnParams, 256)         \
      X(turn_2, TurnParams, 256) X(turn_4, TurnParams, 256) X(turn_8, TurnParams, 256) X(concat_1, ConcatParams, 256)  \
          X(concat_2, ConcatParams, 256) X(concat_4, ConcatParams, 256) X(concat_8, ConcatParams, 256) X(              \
              concat_16, ConcatParams, 256) X(pad_1, PadParams, 256) X(pad_2, PadParams, 256) X(pad_4, PadParams, 256) \
              X(pad_8, PadParams, 256) X(pad_16, PadParams, 256) X(gather_1, GatherParams, 256)                        \
                  X(gather_2, GatherParams, 256) X(gather_4, GatherParams, 256) X(gather_8, GatherParams, 256) X(      \
                      gather_16, GatherParams, 256) X(gather_elements_1, GatherElementsParams, 256)                    \
                      X(gather_elements_2, GatherElementsParams, 256) X(gather_elements_4, GatherElementsParams, 256)  \
                          X(gather_elements_8, GatherElementsParams, 256) X(scatter_claim, ScatterParams, 256)         \
                              X(scatter_write_1, ScatterParams, 256) X(scatter_write_2, ScatterParams, 256)            \
                                  X(scatter_write_4, ScatterParams, 256) X(scatter_write_8, ScatterParams, 256)        \
                                      X(scatter_write_16, ScatterParams, 256) X(scatter_keys, ScatterParams, 256)      \
                                          X(scatter_combine, ScatterParams, 256) X(clear_words, ClearParams, 256)      \
                                              X(sort_count, SortParams, 256) X(sort_scan, SortParams, 256)             \
                                                  X(sort_place, SortParams, 256)
