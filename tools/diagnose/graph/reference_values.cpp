// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/graph/reference_values.h"

#include <algorithm>

namespace ingot::compare {

const Tensor* ReferenceValues::find(ValueId id, Iterations at) const {
  for (;;) {
    const auto frame = frames_.find(at);
    if (frame != frames_.end()) {
      const auto found = frame->second.find(id);
      if (found != frame->second.end()) return &found->second;
    }
    if (at.empty()) return nullptr;
    at.pop_back();
  }
}

const Tensor* ReferenceValues::find_here(ValueId id) const {
  const auto frame = frames_.find(at_);
  if (frame == frames_.end()) return nullptr;
  const auto found = frame->second.find(id);
  return found == frame->second.end() ? nullptr : &found->second;
}

void ReferenceValues::set(ValueId id, Tensor tensor) {
  Tensor& place = frames_[at_][id];
  if (!at_.empty()) elements_ += int64_t(tensor.at.size()) - int64_t(place.at.size());
  place = std::move(tensor);
}

void ReferenceValues::forget(int64_t iteration) {
  Iterations first = at_, behind = at_;
  first.push_back(iteration);
  behind.push_back(iteration + 1);
  const auto begin = frames_.lower_bound(first), end = frames_.lower_bound(behind);
  for (auto frame = begin; frame != end; ++frame)
    for (const auto& [id, tensor] : frame->second) elements_ -= int64_t(tensor.at.size());
  frames_.erase(begin, end);
}

void ReferenceValues::forget_all_but(const std::set<ValueId>& used) {
  for (auto& [at, frame] : frames_)
    std::erase_if(frame, [&, is_inner = !at.empty()](const auto& entry) {
      if (used.count(entry.first)) return false;
      if (is_inner) elements_ -= int64_t(entry.second.at.size());
      return true;
    });
}

std::vector<int64_t> ReferenceValues::kept(ValueId id) const {
  std::vector<int64_t> all;
  for (auto frame = frames_.upper_bound(at_); frame != frames_.end(); ++frame) {
    const Iterations& at = frame->first;
    if (at.size() <= at_.size() || !std::equal(at_.begin(), at_.end(), at.begin())) break;
    if (at.size() == at_.size() + 1 && frame->second.count(id)) all.push_back(at.back());
  }
  return all;
}

std::set<ValueId> ReferenceValues::ids() const {
  std::set<ValueId> all;
  for (const auto& [at, frame] : frames_)
    for (const auto& [id, tensor] : frame) all.insert(id);
  return all;
}

}  // namespace ingot::compare
