// SPDX-License-Identifier: Apache-2.0
// Transpose -> Reshape to rows -> Linear, of floats or of bytes: the weights' columns are put in
// the order in which the image lies, and nothing is moved.
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/pass.h"

namespace ingot::passes {
namespace {

// The first dimension of `dims` from which on all of them make up one row of `length` elements; 0
// when there is none.
size_t row_start(const Dims& dims, int64_t length) {
  Dim product = 1;
  for (size_t i = dims.size(); i-- > 1;) {
    product = product * dims[i];
    if (product == Dim(length)) return i;
  }
  return 0;
}

// Past dimensions of 1 at the start of a row: they belong to the part in front as well.
size_t permuted_start(const Integers& perm, size_t start) {
  for (size_t i = 0; i < start; i++)
    if (perm[i] != int64_t(i)) return 0;
  return start;
}

// Whether weights have an element for each column: no packed blocks.
bool is_product_of_plain_rows(Editor& e, const Node& node) {
  const bool bytes = node.op == op::QuantizedLinear;
  if (node.dead || (!bytes && node.op != op::Linear)) return false;
  const DType dtype = e.value(node.inputs[1]).dtype;
  return bytes ? dtype == DType::kI8 || dtype == DType::kU8 : dtype == DType::kF32;
}

}  // namespace

uint32_t absorb_flattening(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (!is_product_of_plain_rows(e, *node)) continue;
    Node* rows = e.producer_if(node->inputs[0], op::Reshape);
    Node* turned = rows ? e.producer_if(rows->inputs[0], op::Transpose) : nullptr;
    if (!turned || !e.read_once(node->inputs[0])) continue;
    const Constant& w = *e.constant(node->inputs[1]);
    Dims y = e.dims(turned->outputs[0]);
    Integers perm = turned->integers(attr::perm);
    size_t start = permuted_start(perm, row_start(y, w.dims[1]));
    auto fixed = static_dims(Dims(y.begin() + long(start), y.end()));
    if (!start || !fixed ||
        !same(Dims(e.dims(rows->outputs[0]).end() - 1, e.dims(rows->outputs[0]).end()),
              {Dim(w.dims[1])}))
      continue;
    std::vector<int64_t> wide = {w.dims[0]};
    wide.insert(wide.end(), fixed->begin(), fixed->end());
    Integers order = {0}, back = inverse(perm);
    for (size_t i = start; i < y.size(); i++) order.push_back(back[i] - int64_t(start) + 1);
    Constant columns = with_dims(permuted(with_dims(w, wide), order), w.dims);
    ValueId x = e.reshape(turned->inputs[0], e.dims(node->inputs[0]), *rows);
    e.merge_sources(*node, *turned);
    e.set_input(*node, 0, x);
    e.set_input(*node, 1, e.new_constant(e.value(node->inputs[1]).name, columns));
    e.drop_unread_constants();
    changed++;
  }
  return changed;
}

}  // namespace ingot::passes
