// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/hugging_face_stacked.h"

#include "tools/files/work_budget.h"
#include "tools/import/decoder/architecture.h"

namespace ingot::decoder {

void StackedMatrices::take(Tensors* tensors, const StackedNames& names) {
  const std::string last = ".weight";
  for (auto at = tensors->begin(); at != tensors->end();) {
    std::string base = at->first;
    if (base.size() > last.size() &&
        base.compare(base.size() - last.size(), std::string::npos, last) == 0)
      base.resize(base.size() - last.size());
    const size_t dot = base.rfind('.');
    const std::string stem = dot == std::string::npos ? "" : base.substr(0, dot + 1),
                      leaf = base.substr(stem.size());
    const std::vector<int64_t>& dims = at->second->dims;
    const bool has_experts = dims.size() == 3, is_both = leaf == names.both;
    const int64_t count = has_experts ? dims[0] : 1, parts = is_both ? 2 : 1;
    const bool is_matrix = dims.size() == 2 || has_experts;
    if (!is_matrix || !(is_both || (has_experts && leaf == names.down)) || count > kMaxExperts ||
        dims[dims.size() - 2] % parts) {
      ++at;
      continue;
    }
    const int64_t rows = dims[dims.size() - 2] / parts;
    host::charge_work(uint64_t(count));
    for (int64_t e = 0; e < count; e++) {
      const std::string own = stem + (has_experts ? std::to_string(e) + "." : "");
      const int64_t first = e * parts * rows;
      views_[own + (is_both ? names.gate : names.down) + last] = {at->second, first, rows};
      if (is_both) views_[own + names.up + last] = {at->second, first + rows, rows};
    }
    at = tensors->erase(at);
  }
}

std::vector<std::string> StackedMatrices::names() const {
  std::vector<std::string> all;
  for (const auto& [name, view] : views_) all.push_back(name);
  return all;
}

SourceTensor StackedMatrices::load(const std::string& name) const {
  const View& view = views_.at(name);
  const checkpoint::Tensor& tensor = *view.whole;
  const int64_t columns = tensor.dims.back();
  const uint64_t row = uint64_t(columns) * element_bytes(tensor.type);
  const checkpoint::Bytes all = tensor.storage->load();
  return {name,
          {view.rows, columns},
          nullptr,
          tensor.type,
          {all.owner,
           all.data + tensor.offset * element_bytes(tensor.type) + uint64_t(view.first) * row,
           uint64_t(view.rows) * row}};
}

}  // namespace ingot::decoder
