// kernels/cpu/products.inl - convolutions, products and pools: the list of kernels for one instruction set.
#include "runtime/op/contract.h"

namespace ingot::cpu {
namespace {

constexpr KernelEntry kProductKernels[] = {
    {},
};

}  // namespace
}  // namespace ingot::cpu
