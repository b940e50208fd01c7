// SPDX-License-Identifier: Apache-2.0
// tools/compile/patches/region.cpp - see region.h.
#include "tools/compile/patches/region.h"

#include <iterator>

namespace ingot::convert {
namespace {

std::vector<Interval> cut(const Interval& whole, uint32_t count) {
  std::vector<Interval> parts;
  const auto at = [&](uint32_t i) { return whole.begin + whole.size() * i / count; };
  for (uint32_t i = 0; i < count; i++) parts.push_back({at(i), at(i + 1)});
  return parts;
}

Dims with_area(const LoweredValue& value, const Area& area) {
  Dims dims = value.dims;
  dims[1] = SymbolicDim(area.rows.size()), dims[2] = SymbolicDim(area.columns.size());
  return dims;
}

/// Writes the instructions that take a region's place.
class PatchWriter {
 public:
  PatchWriter(LoweredProgram* lowered, const Region& region, const Grid& grid)
      : lowered_(*lowered), region_(region), grid_(grid) {}

  std::vector<LoweredInstruction> run() {
    const int32_t y = at(region_.last).outputs[0];
    const Area whole = *image_area(lowered_.at(y));
    std::vector<int32_t> bands, row;
    for (const Area& patch : cut(whole, grid_)) {
      number_++;
      row.push_back(write_patch(patch));
      if (row.size() < grid_.columns) continue;
      const Area band{patch.rows, whole.columns};
      bands.push_back(grid_.columns == 1 ? row[0] : join(row, 2, new_value(y, band)));
      row.clear();
    }
    join(bands, 1, y);
    return std::move(written_);
  }

 private:
  const LoweredInstruction& at(uint32_t index) const {
    return lowered_.subprograms[0].instructions[index];
  }

  int32_t new_value(int32_t whole, const Area& area) {
    LoweredValue value;
    value.name = lowered_.at(whole).name + "/patch " + std::to_string(number_);
    value.dtype = lowered_.at(whole).dtype;
    value.dims = with_area(lowered_.at(whole), area);
    return lowered_.add(std::move(value));
  }

  LoweredInstruction& write(const std::string& note) {
    LoweredInstruction made;
    made.node = at(region_.last).node, made.sources = at(region_.last).sources;
    made.note = note;
    written_.push_back(std::move(made));
    return written_.back();
  }

  int32_t join(const std::vector<int32_t>& parts, uint32_t axis, int32_t whole) {
    LoweredInstruction& concat = write("patches side by side");
    concat.attributes = ConcatAttributes{axis};
    concat.inputs = parts, concat.outputs = {whole};
    return whole;
  }

  /// `area` of what `held`, itself the area `of` a value of the program, has.
  int32_t slice(int32_t held, int32_t whole, const Area& of, const Area& area) {
    if (of == area) return held;
    const int32_t part = new_value(whole, area);
    LoweredInstruction& slice = write("what a patch reads");
    SliceAttributes attributes;
    attributes.rank = 4;
    slice.attributes = attributes;
    slice.extents = {SymbolicDim(0), SymbolicDim(area.rows.begin - of.rows.begin),
                     SymbolicDim(area.columns.begin - of.columns.begin), SymbolicDim(0)};
    slice.inputs = {held}, slice.outputs = {part};
    return part;
  }

  int32_t write_patch(const Area& patch) {
    const PatchAreas areas = *patch_areas(lowered_, region_, patch);
    std::map<int32_t, int32_t> held;  // of this patch, by value
    for (uint32_t i = region_.first; i <= region_.last; i++) write_instruction(i, areas, &held);
    return held.at(at(region_.last).outputs[0]);
  }

  void write_instruction(uint32_t index, const PatchAreas& areas,
                         std::map<int32_t, int32_t>* held) {
    LoweredInstruction part = at(index);
    const int32_t y = part.outputs[0];
    const Area& area = areas.at(y);
    for (size_t k = 0; k < part.inputs.size(); k++) {
      const int32_t x = part.inputs[k];
      const Reading reading = x < 0 ? Reading::kWhole : reading_of(lowered_, at(index), k);
      if (reading == Reading::kWhole) continue;
      Area read = area;
      if (reading == Reading::kWindow) {
        Pads pads;
        read = *window_area(at(index), *image_area(lowered_.at(x)), area, &pads);
        set_pads(&part, pads);
      }
      if (held->find(x) == held->end())
        (*held)[x] = slice(x, x, *image_area(lowered_.at(x)), areas.at(x));
      part.inputs[k] = slice(held->at(x), x, areas.at(x), read);
    }
    (*held)[y] = part.outputs[0] = new_value(y, area);
    part.note = "patch " + std::to_string(number_) + " of " + std::to_string(grid_.patches());
    written_.push_back(std::move(part));
  }

  LoweredProgram& lowered_;
  const Region& region_;
  const Grid& grid_;
  uint32_t number_ = 0;  // of the patch, from 1
  std::vector<LoweredInstruction> written_;
};

}  // namespace

std::vector<Area> cut(const Area& whole, const Grid& grid) {
  std::vector<Area> patches;
  for (const Interval& rows : cut(whole.rows, grid.rows))
    for (const Interval& columns : cut(whole.columns, grid.columns))
      patches.push_back({rows, columns});
  return patches;
}

std::optional<PatchAreas> patch_areas(const LoweredProgram& lowered, const Region& region,
                                      const Area& patch) {
  const auto& instructions = lowered.subprograms[0].instructions;
  PatchAreas areas = {{instructions[region.last].outputs[0], patch}};
  for (uint32_t i = region.last + 1; i-- > region.first;) {
    const LoweredInstruction& instruction = instructions[i];
    const auto made = areas.find(instruction.outputs[0]);
    if (made == areas.end()) return std::nullopt;  // nobody reads it
    const Area y = made->second;
    for (size_t k = 0; k < instruction.inputs.size(); k++) {
      const int32_t x = instruction.inputs[k];
      if (x < 0) continue;
      std::optional<Area> read = y;
      switch (reading_of(lowered, instruction, k)) {
        case Reading::kWhole: continue;
        case Reading::kSame: break;
        case Reading::kWindow:
          read = window_area(instruction, *image_area(lowered.at(x)), y, nullptr);
          break;
        case Reading::kApart: read.reset(); break;
      }
      if (!read) return std::nullopt;
      const auto [found, is_first] = areas.emplace(x, *read);
      if (!is_first) found->second = found->second.hull(*read);
    }
  }
  return areas;
}

void compute_in_patches(LoweredProgram* lowered, const Region& region, const Grid& grid) {
  std::vector<LoweredInstruction> patches = PatchWriter(lowered, region, grid).run();
  auto& instructions = lowered->subprograms[0].instructions;
  const auto from = instructions.begin() + region.first;
  instructions.erase(from, from + (region.last - region.first + 1));
  instructions.insert(instructions.begin() + region.first, std::make_move_iterator(patches.begin()),
                      std::make_move_iterator(patches.end()));
}

}  // namespace ingot::convert
