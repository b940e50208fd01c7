// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_strided.cpp - views by sizes and strides in memory.
#include "tools/import/aten/operands.h"
#include "tools/import/aten/quantized_tensor.h"

namespace ingot::aten {
namespace {

/// Where each element of a strided view lies in the memory of a row-major tensor.
std::vector<int64_t> places_of(Operands& o, const Dims& size, const Dims& strides, int64_t offset,
                               const Dim& memory) {
  constexpr int64_t kMax = 1 << 24;
  std::vector<int64_t> places = {offset};
  for (size_t i = 0; i < size.size(); i++) {
    const auto n = size[i].value(), step = strides[i].value();
    if (!n || !step || *n < 0 || *step < 0 || (*n > 0 && int64_t(places.size()) > kMax / *n))
      o.refuse("size",
               graph::text(size) + " over strides " + graph::text(strides) + " is not supported",
               "use slices and permutations");
    std::vector<int64_t> next;
    next.reserve(places.size() * size_t(*n));
    for (const int64_t place : places)
      for (int64_t k = 0; k < *n; k++) {
        int64_t at = 0;
        if (__builtin_mul_overflow(k, *step, &at) || __builtin_add_overflow(at, place, &at))
          o.refuse("stride", "reaches beyond any memory");
        next.push_back(at);
      }
    places = std::move(next);
  }
  const auto elements = memory.value();
  for (const int64_t place : places)
    if (!elements || place < 0 || place >= *elements)
      o.refuse("size", "reaches element " + std::to_string(place) + " of " + memory.text());
  return places;
}
/// Elements by their places in memory. A view of a part has a memory of which it shows some: only
/// what shows all of a tensor's own, or is that tensor, can be followed.
Results as_strided(Operands& o) {
  const Tensor x = o.tensor("self"), memory = Builder::owner(x);
  const Dims in = o.b.dims(o.read("self")), size = o.dims("size"), strides = o.dims("stride");
  const Strides now = o.b.strides(x);
  const bool own =
      !Builder::is_view(x) && (!o.given("storage_offset") || o.dim("storage_offset") == Dim(0));
  bool same = size == in && strides.size() == in.size() && now && own;
  for (size_t i = 0; same && i < in.size(); i++) same = in[i] == Dim(1) || strides[i] == (*now)[i];
  if (same) return lower_as(o.b, "view", {o.value("self"), o.value("size")});
  const Dim elements = graph::product(o.b.dims(o.b.read(memory)));
  if (size.size() != strides.size()) o.corrupt("has other sizes than strides");
  if (!Builder::is_row_major(memory) || graph::product(in) != elements ||
      Builder::quantization(memory))
    o.refuse("stride",
             "strides " + graph::text(strides) +
                 " of a part of a tensor, or of one whose order in "
                 "memory the program does not show, are not supported",
             "use slices and permutations");
  const std::vector<int64_t> places = places_of(
      o, size, strides, o.given("storage_offset") ? o.integer("storage_offset") : 0, elements);
  return {Value::of(o.b.view(
      memory,
      [places, size, elements](Builder& b, ValueId whole) {
        const ValueId flat = b.reshape(whole, {elements});
        return b.reshape(b.emit(op::Gather, {flat, b.integers(places)}, {{attr::axis, int64_t(0)}}),
                         size);
      },
      [places, elements](Builder& b, ValueId whole, ValueId part) {
        const ValueId flat = b.reshape(whole, {elements}),
                      numbers = b.reshape(part, {Dim(int64_t(places.size()))});
        return b.reshape(b.emit(op::ScatterElements, {flat, b.integers(places), numbers},
                                {{attr::axis, int64_t(0)}, {attr::reduction, std::string("none")}}),
                         b.dims(whole));
      },
      strides))};
}
}  // namespace

void add_strided(Table& table) {
  table.add_all("as_strided as_strided_copy",
                "Tensor self, int[] size, int[] stride, int? storage_offset=None", as_strided);
}

}  // namespace ingot::aten
