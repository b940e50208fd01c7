// kernels/cpu/tensors.inl - elementwise, reductions, softmax, norms, recurrent cells and data movement: the list of kernels
// for one instruction set. The last row is empty.
#include "runtime/op/contract.h"

namespace ingot::cpu {
namespace {

constexpr KernelEntry kTensorKernels[] = {
    {},
};

}  // namespace
}  // namespace ingot::cpu
