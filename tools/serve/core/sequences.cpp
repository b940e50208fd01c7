// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/core/sequences.h"

#include "runtime/include/ingot/ingot.h"
#include "tools/serve/core/serve_error.h"

namespace ingot::serve {

void Sequences::forget_idle(uint64_t now) {
  for (auto at = all_.begin(); at != all_.end();) {
    const Sequence& sequence = *at->second;
    if (!sequence.waiting && now - sequence.used_ns > idle_ns_)
      at = all_.erase(at);
    else
      ++at;
  }
}

uint64_t Sequences::bytes() const {
  uint64_t bytes = 0;
  for (const auto& [id, sequence] : all_) bytes += id.size() + sequence->kept_bytes;
  return bytes;
}

void Sequences::check_id(const std::string& id) {
  constexpr size_t kMaxIdBytes = 256;
  if (id.size() > kMaxIdBytes)
    refuse(Refusal::kInvalid, "sequence_id: " + std::to_string(id.size()) +
                                  " bytes, expected at most " + std::to_string(kMaxIdBytes));
}

std::shared_ptr<Sequence> Sequences::enter(const std::string& id, bool starts, bool ends) {
  check_id(id);
  const uint64_t now = ingot_clock_ns();
  auto found = all_.find(id);
  const bool is_idle =
      found != all_.end() && !found->second->waiting && now - found->second->used_ns > idle_ns_;
  if (!starts && (found == all_.end() || found->second->ends || is_idle))
    refuse(Refusal::kInvalid, "sequence '" + id + "' has not begun, or had no request for " +
                                  std::to_string(idle_ns_ / 1000000000u) +
                                  " s; the first has 'sequence_start'");
  if (found == all_.end()) {
    if (all_.size() >= most_) forget_idle(now);
    if (all_.size() >= most_)
      refuse(Refusal::kBusy, std::to_string(all_.size()) +
                                 " sequences have not ended; more: ingot serve --max-sequences");
    found = all_.emplace(id, std::make_shared<Sequence>()).first;
  }
  Sequence& sequence = *found->second;
  sequence.waiting++;
  sequence.used_ns = now;
  sequence.ends = ends;
  return found->second;
}

void Sequences::leave(const std::string& id, const std::shared_ptr<Sequence>& sequence, bool ran) {
  sequence->waiting--;
  if (ran) sequence->runs = false, sequence->kept_bytes = sequence->state.capacity();
  if (!sequence->ends || sequence->waiting) return;
  const auto found = all_.find(id);
  if (found != all_.end() && found->second == sequence) all_.erase(found);
}

}  // namespace ingot::serve
