// SPDX-License-Identifier: Apache-2.0
// runtime/session/model.cpp - opening and closing.
#include "runtime/session/model.h"

#include <cstring>
#include <new>

#include "runtime/base/bump_allocator.h"
#include "runtime/base/byte_order.h"
#include "runtime/base/float_state.h"
#include "runtime/base/os/thread.h"
#include "runtime/plan/greedy_planner.h"
#include "runtime/plan/verify_plan.h"
#include "runtime/session/packed_f16_weights.h"
#include "runtime/session/preparation.h"

namespace ingot {
namespace {

constexpr uint64_t kBlockAlignment = 64;

bool read_from_caller(void* context, uint64_t offset, void* destination, uint64_t bytes) {
  const CallerReader& reader = *static_cast<const CallerReader*>(context);
  return reader.read(reader.user, offset, destination, size_t(bytes)) == 0;
}

/// Blocks from the caller's memory, one behind the other, or from the allocator.
class BlockSource {
 public:
  explicit BlockSource(const OpenRequest& request) : request_(request) {}

  Status take(uint64_t bytes, const char* field, OpenModel::Block* out, ErrorDetail* detail) {
    uint8_t* at = nullptr;
    if (!request_.block) {
      INGOT_TRY(
          allocate(request_.allocator, bytes ? bytes : 1, kBlockAlignment, field, &at, detail));
      *out = {at, bytes ? bytes : 1};
      held_ += out->bytes;
      return {};
    }
    const uint64_t address = uintptr_t(request_.block) + held_;
    const uint64_t padding = (kBlockAlignment - address % kBlockAlignment) % kBlockAlignment;
    const uint64_t need = held_ + padding + bytes;
    if (need > request_.block_bytes) {
      const Status status =
          fail(detail, Code::kOutOfMemory, "options.memory_bytes", need, request_.block_bytes);
      if (detail)
        detail->hint = "need is what is known so far; model_bytes of the summary is the whole";
      return status;
    }
    *out = {static_cast<uint8_t*>(request_.block) + held_ + padding, bytes};
    held_ = need;
    return {};
  }
  uint64_t held() const { return held_; }

 private:
  const OpenRequest& request_;
  uint64_t held_ = 0;
};

Status open_source(const ModelOrigin& origin, OpenModel* model, ErrorDetail* detail) {
  if (origin.path) return source_from_path(origin.path, &model->source, detail);
  if (origin.memory)
    return source_from_memory(origin.memory, origin.memory_bytes, &model->source, detail);
  model->reader = origin.reader;
  return source_from_reader(origin.reader_bytes, read_from_caller, &model->reader, &model->source,
                            detail);
}

uint64_t largest(uint64_t a, uint64_t b) { return a > b ? a : b; }

/// One code path measures (base null) and cuts.
Workspace carve_workspace(const OpenModel& model, BumpAllocator* bump) {
  const ProgramDef& program = model.program;
  const uint32_t values = uint32_t(program.values.size), steps = uint32_t(program.steps.size);
  uint32_t operands = 0;
  for (const InstructionDef& instruction : program.instructions) {
    const uint32_t count = uint32_t{instruction.input_count} + instruction.output_count;
    if (count > operands) operands = count;
  }
  Workspace w;
  w.binding_bytes = binding_bytes(program);
  w.planner_bytes =
      largest(planner_workspace_bytes(values, steps), verify_plan_workspace_bytes(values));
  w.symbol_values = bump->take<int64_t>(program.free_symbols);
  w.symbol_highs = bump->take<int64_t>(program.free_symbols);
  w.capacities = bump->take<uint64_t>(values);
  w.lifetimes = bump->take<Lifetime>(values);
  w.offsets = bump->take<uint64_t>(values);
  w.part_offsets = bump->take<uint64_t>(model.file.weight_part_count);
  w.operands = bump->take<TensorView>(operands);
  w.scratch_needs = bump->take<ScratchPlace>(program.instructions.size);
  w.binding = bump->take<uint8_t>(w.binding_bytes, 16);
  w.planner = bump->take<uint8_t>(w.planner_bytes, 16);
  return w;
}

Status read_and_decode(const OpenRequest& request, OpenModel* model, BlockSource* blocks,
                       ErrorDetail* detail) {
  uint64_t image_bytes, program_bytes;
  INGOT_TRY(measure_head(model->source, &image_bytes, detail));
  INGOT_TRY(blocks->take(image_bytes, "model: program image", &model->blocks[1], detail));
  INGOT_TRY(
      read_head(model->source, {model->blocks[1].at, size_t(image_bytes)}, &model->file, detail));
  if (request.check_hashes) INGOT_TRY(check_all_hashes(model->source, model->file, detail));
  INGOT_TRY(measure_program(model->file, *model->kernels, &program_bytes, detail));
  INGOT_TRY(blocks->take(program_bytes, "model: decoded program", &model->blocks[2], detail));
  INGOT_TRY(open_program(model->file, *model->kernels, {model->blocks[2].at, size_t(program_bytes)},
                         &model->program, detail));
  for (uint32_t i = 0; i < model->file.weight_part_count; i++)
    model->weights_bytes += weight_part(model->file, i).bytes;
  BumpAllocator measure(nullptr);
  (void)carve_workspace(*model, &measure);
  INGOT_TRY(blocks->take(measure.used(), "model: workspace", &model->blocks[3], detail));
  BumpAllocator bump(model->blocks[3].at);
  model->workspace = carve_workspace(*model, &bump);
  model->held_bytes = blocks->held();
  model->is_static = model->program.free_symbols == 0;
  if (!model->is_static) return {};
  // A static program is bound and its plan checked now, so that nothing unsound is ever open.
  INGOT_TRY(bind_program(model->program, {},
                         {model->workspace.binding, size_t(model->workspace.binding_bytes)},
                         &model->bound, detail));
  PlannedProgram planned;
  INGOT_TRY(plan_program(*model, {}, nullptr, &planned, detail));
  ScratchTotals scratch;
  return find_kernels(*model, planned.bound, 1, false, model->workspace.operands, nullptr, &scratch,
                      detail);
}

}  // namespace

void name_error(ErrorDetail* detail, const char* name) {
  if (detail && name) std::strncpy(detail->name, name, sizeof detail->name - 1);
}

Status open_model(const ModelOrigin& origin, const OpenRequest& request, OpenModel** out,
                  ErrorDetail* detail) {
  const DefaultFloatState float_state;
  BlockSource blocks(request);
  OpenModel::Block first;
  INGOT_TRY(blocks.take(sizeof(OpenModel), "model", &first, detail));
  OpenModel* model = new (first.at) OpenModel;
  model->blocks[0] = first;
  model->blocks_are_lent = request.block != nullptr;
  model->allocator = request.allocator;
  model->kernels = request.kernels;
  if (request.custom.rules) {
    model->with_custom.isa = request.kernels->isa;
    model->with_custom.fallback = request.kernels;
    model->with_custom.products_per_ns = request.kernels->products_per_ns;
    model->with_custom.custom = request.custom;
    model->with_custom.takes_bf16_weights = request.kernels->takes_bf16_weights;
    model->kernels = &model->with_custom;
  }
  model->copy_weights = request.copy_weights;
  model->check_hashes = request.check_hashes;
  Status status = open_source(origin, model, detail);
  if (status.ok()) status = read_and_decode(request, model, &blocks, detail);
  if (!kLittleEndianHost && status.ok() && model->file.weight_part_count != 0) {
    status = fail(detail, Code::kUnsupportedFeature,
                  "weights: little endian, used where they lie; this processor is big-endian");
    if (detail) detail->hint = "run it on a little-endian processor";
  }
  if (!status.ok()) {
    close_model(model);
    return status;
  }
  *out = model;
  return {};
}

void close_model(OpenModel* model) {
  if (model->shared_weights) {
    const Allocator from = allocator_of(*model);
    from.release(from.user, model->shared_weights, sizeof(SharedWeights) * kMaxSharedWeights);
  }
  if (model->drop_tunings) model->drop_tunings(*model);
  if (model->f16_weights.code) model->f16_weights.code->drop(*model);
  close_source(&model->source);
  if (model->blocks_are_lent) return;
  const Allocator allocator = model->allocator;
  OpenModel::Block blocks[OpenModel::kBlocks];
  for (int i = 0; i < OpenModel::kBlocks; i++) blocks[i] = model->blocks[i];
  for (int i = OpenModel::kBlocks; i-- > 0;)  // the first holds the model itself
    if (blocks[i].at) allocator.release(allocator.user, blocks[i].at, size_t(blocks[i].bytes));
}

WorkspaceLock::WorkspaceLock(const OpenModel& model) : model_(model) {
  constexpr uint64_t kLookAgainNs = 100000;
  while (model_.workspace_busy.exchange(1, std::memory_order_acquire))
    os::wait_on(&model_.workspace_busy, 1, kLookAgainNs);
  os::acquired(&model_.workspace_busy);
}

WorkspaceLock::~WorkspaceLock() {
  os::releases(&model_.workspace_busy);
  model_.workspace_busy.store(0, std::memory_order_release);
}

}  // namespace ingot
