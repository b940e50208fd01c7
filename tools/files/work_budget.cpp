// SPDX-License-Identifier: Apache-2.0
// tools/files/work_budget.cpp - see work_budget.h.
#include "tools/files/work_budget.h"

#include <cstdlib>
#include <limits>

#include "runtime/base/os/free_memory.h"
#include "tools/files/failure.h"

namespace ingot::host {
namespace {

thread_local WorkBudget* innermost = nullptr;
double first_factor() {
  const char* text = std::getenv("INGOT_WORK_LIMIT");
  char* end = nullptr;
  const double stated = text ? std::strtod(text, &end) : 1;
  return text && (end == text || *end || !(stated >= 0)) ? 1 : stated;
}
double& factor() {
  static double value = first_factor();
  return value;
}

/// (floor + each * bytes) * factor, without limit where that is larger than any count.
uint64_t allowed(uint64_t floor, uint64_t each, uint64_t bytes) {
  const double most = (double(floor) + double(each) * double(bytes)) * factor();
  const bool is_unlimited = factor() <= 0 || most >= double(std::numeric_limits<int64_t>::max());
  return is_unlimited ? std::numeric_limits<uint64_t>::max() : uint64_t(most);
}

}  // namespace

WorkBudget::WorkBudget(std::string what, uint64_t source_bytes)
    : what_(std::move(what)),
      source_bytes_(source_bytes),
      most_steps_(allowed(WorkLimits::kFloor, WorkLimits::kPerByte, source_bytes)),
      most_bytes_(allowed(WorkLimits::kFloorBytes, WorkLimits::kBytesPerByte, source_bytes)),
      most_metadata_(
          allowed(WorkLimits::kFloorMetadata, WorkLimits::kMetadataPerByte, source_bytes)),
      outer_(innermost) {
  innermost = this;
}
WorkBudget::~WorkBudget() {
  innermost = outer_;
  if (!outer_) return;
  outer_->steps_ += steps_;
  outer_->bytes_ += bytes_;
  outer_->metadata_ += metadata_;
}

void WorkBudget::set_factor(double f) { factor() = f; }

void WorkBudget::refuse_steps() const {
  fail(Exit::kUnsupported,
       what_ + ": reading its " + std::to_string(source_bytes_) + " bytes takes more than " +
           std::to_string(most_steps_) +
           " steps of work, out of proportion to its size; INGOT_WORK_LIMIT=10 (convert --limit "
           "10) allows ten times as many");
}
void WorkBudget::refuse_bytes(uint64_t asked) const {
  fail(Exit::kUnavailable, what_ + ": its " + std::to_string(source_bytes_) + " bytes ask for " +
                               std::to_string(bytes_ + asked) + " bytes of memory, at most " +
                               std::to_string(most_bytes_) +
                               " are in proportion to its size; INGOT_WORK_LIMIT=10 (convert "
                               "--limit 10) allows ten times as many");
}
void WorkBudget::refuse_metadata() const {
  fail(Exit::kUnavailable,
       what_ + ": what its " + std::to_string(source_bytes_) +
           " bytes name and describe takes more than " + std::to_string(most_metadata_) +
           " bytes of memory, out of proportion to its size; INGOT_WORK_LIMIT=10 (convert --limit "
           "10) allows ten times as many");
}

void charge_work(uint64_t steps) {
  if (!innermost) return;
  innermost->steps_ += steps;
  if (innermost->steps_ > innermost->most_steps_) innermost->refuse_steps();
}
void charge_memory(uint64_t bytes) {
  if (!innermost) return;
  const uint64_t most = innermost->most_bytes_;
  if (bytes > most || innermost->bytes_ > most - bytes) innermost->refuse_bytes(bytes);
  innermost->bytes_ += bytes;
}
void charge_metadata(uint64_t bytes) {
  charge_memory(bytes);
  if (!innermost) return;
  innermost->metadata_ += bytes;
  if (innermost->metadata_ > innermost->most_metadata_) innermost->refuse_metadata();
}
uint64_t text_memory(uint64_t length) { return length < 16 ? 0 : length + 17; }

void require_memory(const std::string& what, uint64_t bytes) {
  constexpr uint64_t kSmall = uint64_t{64} << 20;  // what every machine with files has
  if (bytes < kSmall && !os::has_stated_limit()) return;
  const os::FreeMemory free = os::free_memory();
  if (bytes <= free.bytes) return;
  fail(Exit::kUnavailable, what + " needs " + std::to_string(bytes) + " bytes of memory, " +
                               std::to_string(free.bytes) + " can be had (" + free.limit +
                               "); close other programs or take a larger machine; "
                               "INGOT_MEMORY_LIMIT states another limit");
}

}  // namespace ingot::host
