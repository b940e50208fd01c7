// SPDX-License-Identifier: Apache-2.0
// Zeros around an image go into the padding of the convolution or average that reads it.
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/pass.h"
#include "tools/graph/window.h"

namespace ingot::passes {
namespace {

struct Border {
  int64_t top = 0, left = 0, bottom = 0, right = 0;
};

// What a Pad puts around height and width, when it puts nothing elsewhere and takes nothing away.
std::optional<Border> border(const Editor& e, const Node& pad) {
  const Dims &from = e.dims(pad.inputs[0]), &to = e.dims(pad.outputs[0]);
  Dims before = pad.dims(attr::before);
  size_t rank = from.size();
  if (rank < 3 || rank > 4 || before.size() != rank) return std::nullopt;
  std::vector<int64_t> begin, end;
  for (size_t i = 0; i < rank; i++) {
    Dim after = to[i] - from[i] - before[i];
    if (!before[i].value() || !after.value() || *before[i].value() < 0 || *after.value() < 0)
      return std::nullopt;
    begin.push_back(*before[i].value());
    end.push_back(*after.value());
  }
  if (begin[0] || end[0] || begin.back() || end.back()) return std::nullopt;
  Border result{0, begin[rank - 2], 0, end[rank - 2]};
  if (rank == 4) result.top = begin[1], result.bottom = end[1];
  return result;
}

bool takes_zeros(Node& reader) {
  if (reader.op == op::Conv2d) return true;
  if (reader.op != op::Pool2d) return false;
  std::string kind = reader.text(attr::kind, "max");
  return kind == "lp" || kind == "average_include_pad" ||
         (kind == "average" && !graph::window_of(reader).has_pads());
}

}  // namespace

uint32_t fold_padding(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* pad : e.nodes()) {
    if (pad->dead || pad->op != op::Pad || pad->text(attr::mode, "constant") != "constant")
      continue;
    double value = pad->inputs.size() > 1 ? scalar(e.model, pad->inputs[1]).value_or(1)
                                          : pad->number(attr::value, 0);
    ValueId y = pad->outputs[0];
    std::optional<Border> b = border(e, *pad);
    if (value != 0 || !b || e.is_output(y)) continue;
    std::vector<Node*> readers = e.readers(y);
    bool all = !readers.empty();
    for (Node* reader : readers) all = all && takes_zeros(*reader) && reader->inputs[0] == y;
    if (!all) continue;
    for (Node* reader : readers) {
      graph::Window2d window = graph::window_of(*reader);
      window.h.begin += b->top, window.h.end += b->bottom;
      window.w.begin += b->left, window.w.end += b->right;
      graph::set_window(reader, window);
      if (reader->op == op::Pool2d && reader->text(attr::kind, "max") == "average")
        reader->attributes[attr::kind] = std::string("average_include_pad");
      e.set_input(*reader, 0, pad->inputs[0]);
      e.merge_sources(*reader, *pad);
    }
    e.kill(*pad);
    changed++;
  }
  return changed;
}

}  // namespace ingot::passes
