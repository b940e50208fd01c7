// SPDX-License-Identifier: Apache-2.0
// tools/compile/patches/candidates.cpp - see candidates.h.
#include "tools/compile/patches/candidates.h"

#include "runtime/op/multiply_adds.h"
#include "tools/compile/program/usage.h"
#include "tools/files/work_budget.h"

namespace ingot::convert {
namespace {

constexpr uint32_t kCuts[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32};
constexpr uint32_t kMaxColumns = 8;  // a kernel joins them, so that it has few operands
constexpr uint32_t kMaxRegion = 64;  // instructions before and behind the fullest step
constexpr uint32_t kMaxPatchInstructions = 1024;  // of a region: each takes flash

class CandidateSearch {
 public:
  CandidateSearch(const LoweredProgram& lowered, double most_work)
      : lowered_(lowered),
        instructions_(lowered.subprograms[0].instructions),
        usage_(lowered),
        typical_(typical_binding(lowered)),
        most_work_(most_work) {
    for (const LoweredValue& value : lowered.values) {
      const TensorType type = evaluate_type(value, typical_);
      bytes_.push_back(double(type.elements()) * double(dtype_bytes(type.dtype)));
    }
    for (const LoweredInstruction& instruction : instructions_)
      work_.push_back(
          double(multiply_adds(instruction.op(), Arguments(lowered, instruction, typical_).get())));
    add_live_bytes();
  }

  std::vector<PatchCandidate> around(uint32_t fullest) {
    const auto works = [&](uint32_t i) { return works_in_patches(lowered_, instructions_[i]); };
    uint32_t first = fullest + 1, end = fullest;
    while (first > 0 && fullest + 1 - first < kMaxRegion && works(first - 1)) first--;
    while (end < instructions_.size() && end - fullest < kMaxRegion && works(end)) end++;
    for (uint32_t begin = first; begin <= fullest; begin++)
      for (uint32_t last = std::max(fullest, begin + 1); last < end; last++)
        if (leaves_one({begin, last})) add_grids({begin, last});
    std::sort(found_.begin(), found_.end(), [](const PatchCandidate& a, const PatchCandidate& b) {
      return a.live_bytes != b.live_bytes ? a.live_bytes < b.live_bytes : a.more_work < b.more_work;
    });
    return std::move(found_);
  }

 private:
  bool is_in(const Region& region, uint32_t index) const {
    return index >= region.first && index <= region.last;
  }

  /// Whether the last value alone is read behind the region.
  bool leaves_one(const Region& region) const {
    for (uint32_t i = region.first; i < region.last; i++) {
      const int32_t y = instructions_[i].outputs[0];
      const auto& readers = usage_.readers[size_t(y)];
      if (lowered_.at(y).kind != ValueKind::kActivation || readers.empty() ||
          !std::all_of(readers.begin(), readers.end(),
                       [&](const Use& use) { return is_in(region, use.index); }))
        return false;
    }
    return true;
  }

  /// Of every step of the program as it is, results that may overwrite an operand counted once.
  void add_live_bytes() {
    live_.assign(instructions_.size(), 0);
    for (int32_t id = 0; id < int32_t(lowered_.values.size()); id++) {
      if (lowered_.at(id).kind == ValueKind::kConstant) continue;
      for (uint32_t i = first_use(id); i <= last_use(id) && i < live_.size(); i++)
        live_[i] += bytes(id);
    }
    for (uint32_t i = 0; i < live_.size(); i++) {
      const LoweredInstruction& instruction = instructions_[i];
      if (instruction.outputs.empty() || instruction.outputs[0] < 0) continue;
      double most = 0;
      for (size_t k = 0; k < instruction.inputs.size(); k++) {
        const int32_t x = instruction.inputs[k];
        if (x >= 0 && may_overwrite(instruction, k) && last_use(x) == i &&
            lowered_.at(x).kind == ValueKind::kActivation)
          most = std::max(most, std::min(bytes(x), bytes(instruction.outputs[0])));
      }
      live_[i] -= most;
    }
  }
  uint32_t first_use(int32_t id) const {
    const auto& writers = usage_.writers[size_t(id)];
    return writers.empty() ? 0 : writers[0].index;
  }
  uint32_t last_use(int32_t id) const {
    if (lowered_.at(id).kind == ValueKind::kOutput) return uint32_t(instructions_.size()) - 1;
    uint32_t last = first_use(id);
    for (const Use& use : usage_.readers[size_t(id)]) last = std::max(last, use.index);
    return last;
  }
  bool may_overwrite(const LoweredInstruction& instruction, size_t operand) const {
    const OpContract* contract = contract_of(instruction.op());
    if (instruction.op() == OpCode::kCopy) return true;  // a view
    if (!contract->in_place || operand >= 32) return false;
    const Arguments arguments(lowered_, instruction, typical_);
    return contract->in_place(arguments.get()) >> operand & 1;
  }

  double bytes(int32_t value) const { return bytes_[size_t(value)]; }
  double bytes(int32_t value, const Area& area) const {
    return bytes(value) / double(image_area(lowered_.at(value))->pixels()) * double(area.pixels());
  }

  /// Of what lives as long as the region runs: what it reads and writes, and what only passes.
  double bytes_around(const Region& region) const {
    double sum = bytes(instructions_[region.last].outputs[0]);
    for (int32_t id = 0; id < int32_t(lowered_.values.size()); id++) {
      const LoweredValue& value = lowered_.at(id);
      const auto &writers = usage_.writers[size_t(id)], &readers = usage_.readers[size_t(id)];
      if (value.kind == ValueKind::kConstant || readers.empty()) continue;
      const bool is_before = writers.empty() || writers[0].index < region.first;
      const bool is_after = value.kind == ValueKind::kOutput ||
                            std::any_of(readers.begin(), readers.end(),
                                        [&](const Use& use) { return use.index >= region.first; });
      if (is_before && is_after) sum += bytes(id);
    }
    return sum;
  }

  void add_grids(const Region& region) {
    const Area whole = *image_area(lowered_.at(instructions_[region.last].outputs[0]));
    const double around = bytes_around(region);
    double elsewhere = 0;
    for (uint32_t i = 0; i < live_.size(); i++)
      if (!is_in(region, i)) elsewhere = std::max(elsewhere, live_[i]);
    for (const uint32_t rows : kCuts)
      for (const uint32_t columns : kCuts) {
        const Grid grid{rows, columns};
        if (rows > whole.rows.size() || columns > whole.columns.size() || columns > kMaxColumns ||
            grid.patches() < 2 ||
            grid.patches() * (region.last - region.first + 2) > kMaxPatchInstructions)
          continue;
        host::charge_work(rows + columns);
        add_grid(region, grid, whole, around, elsewhere);
      }
  }

  /// Rows and columns of what is computed are independent of each other, so that patches along the
  /// diagonal have all of them.
  void add_grid(const Region& region, const Grid& grid, const Area& whole, double around,
                double elsewhere) {
    const std::vector<Area> patches = cut(whole, grid);
    std::map<int32_t, std::pair<double, double>> extents;  // by value: sums of rows, of columns
    PatchCandidate candidate{region, grid, elsewhere, 0};
    for (uint32_t i = 0; i < std::max(grid.rows, grid.columns); i++) {
      const Area& rows = patches[std::min(i, grid.rows - 1) * grid.columns];
      const Area& columns = patches[std::min(i, grid.columns - 1)];
      const auto areas = patch_areas(lowered_, region, {rows.rows, columns.columns});
      if (!areas) return;
      for (const auto& [value, area] : *areas) {
        if (i < grid.rows) extents[value].first += double(area.rows.size());
        if (i < grid.columns) extents[value].second += double(area.columns.size());
      }
      candidate.live_bytes =
          std::max(candidate.live_bytes, around + bytes_of_patch(region, grid, *areas));
    }
    for (uint32_t i = region.first; i <= region.last; i++) {
      const int32_t y = instructions_[i].outputs[0];
      const auto& [rows, columns] = extents[y];
      candidate.more_work +=
          work_[i] * (rows * columns / double(image_area(lowered_.at(y))->pixels()) - 1);
    }
    if (candidate.more_work <= most_work_) found_.push_back(candidate);
  }

  /// The largest sum of live bytes inside of a patch, its result aside where that is written in its
  /// place.
  double bytes_of_patch(const Region& region, const Grid& grid, const PatchAreas& areas) const {
    std::map<int32_t, std::pair<uint32_t, uint32_t>> lives;  // first and last step
    for (uint32_t i = region.first; i <= region.last; i++)
      for (const auto* ids : {&instructions_[i].inputs, &instructions_[i].outputs})
        for (const int32_t id : *ids) {
          const auto area = areas.find(id);
          if (area == areas.end() || is_in_place(region, grid, id, area->second)) continue;
          const auto [life, is_first] = lives.emplace(id, std::make_pair(i, i));
          if (!is_first) life->second.second = i;
        }
    double most = 0;
    for (uint32_t i = region.first; i <= region.last; i++) {
      double sum = 0;
      for (const auto& [id, life] : lives)
        if (life.first <= i && i <= life.second) sum += bytes(id, areas.at(id));
      most = std::max(most, sum - overwritten(i, areas, lives));
    }
    return most;
  }

  /// Read or written where the whole value lies.
  bool is_in_place(const Region& region, const Grid& grid, int32_t id, const Area& area) const {
    if (id == instructions_[region.last].outputs[0]) return grid.columns == 1;
    const auto& writers = usage_.writers[size_t(id)];
    const bool is_outside = writers.empty() || !is_in(region, writers[0].index);
    return is_outside && area.columns == image_area(lowered_.at(id))->columns;
  }

  /// Bytes of operand 0 that the result of instruction `index` may lie in.
  double overwritten(uint32_t index, const PatchAreas& areas,
                     const std::map<int32_t, std::pair<uint32_t, uint32_t>>& lives) const {
    const LoweredInstruction& instruction = instructions_[index];
    const int32_t x = instruction.inputs[0], y = instruction.outputs[0];
    const auto life = lives.find(x);
    if (life == lives.end() || life->second.second != index || !lives.count(y) ||
        !may_overwrite(instruction, 0))
      return 0;
    return std::min(bytes(x, areas.at(x)), bytes(y, areas.at(y)));
  }

  const LoweredProgram& lowered_;
  const std::vector<LoweredInstruction>& instructions_;
  Usage usage_;
  Bindings typical_;
  double most_work_;
  std::vector<double> bytes_;  // by value
  std::vector<double> work_;   // by instruction
  std::vector<double> live_;   // by instruction
  std::vector<PatchCandidate> found_;
};

}  // namespace

std::vector<PatchCandidate> find_candidates(const LoweredProgram& lowered, uint32_t fullest,
                                            double most_work) {
  return CandidateSearch(lowered, most_work).around(fullest);
}

}  // namespace ingot::convert
