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

std::shared_ptr<Sequence> Sequences::enter(const std::string& id, bool starts, bool ends) {
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
  if (ran) sequence->runs = false;
  if (!sequence->ends || sequence->waiting) return;
  const auto found = all_.find(id);
  if (found != all_.end() && found->second == sequence) all_.erase(found);
}

}  // namespace ingot::serve
