// runtime/op/opcode.cpp - names for messages and reports.
#include "runtime/op/opcode.h"

namespace ingot {

const char* op_name(OpCode op) {
  static constexpr const char* kNames[kOpCodeCount] = {"none",
                                                       "conv2d",
                                                       "conv_transpose2d",
                                                       "chain",
                                                       "linear",
                                                       "mat_mul",
                                                       "pool2d",
                                                       "elementwise",
                                                       "reduce",
                                                       "arg_reduce",
                                                       "softmax",
                                                       "normalize",
                                                       "recurrent",
                                                       "transpose",
                                                       "gather",
                                                       "gather_elements",
                                                       "gather_nd",
                                                       "concat",
                                                       "slice",
                                                       "pad",
                                                       "resize",
                                                       "copy",
                                                       "tile",
                                                       "if",
                                                       "top_k",
                                                       "cum_sum",
                                                       "scatter_nd",
                                                       "scatter_elements",
                                                       "attention",
                                                       "nonzero",
                                                       "non_max_suppression",
                                                       "unique",
                                                       "loop",
                                                       "picture"};
  return int(op) < kOpCodeCount ? kNames[int(op)] : "unknown";
}

}  // namespace ingot
