// SPDX-License-Identifier: Apache-2.0
// runtime/session/assignment.cpp - asks for each weight, then decides instruction by instruction.
#include "runtime/session/assignment.h"

#include <cstring>
#include <new>

#include "runtime/base/bump_allocator.h"
#include "runtime/format/source_weights.h"
#include "runtime/op/f16_weights.h"
#include "runtime/session/split.h"

namespace ingot {
namespace {

constexpr uint32_t kMaxPlaces = 64;  // distinct names of training devices that are remembered
constexpr uint32_t kPlaceBytes = 32;
// of finding a constant among the weights that conversion changed
constexpr uint64_t kMaxTries = 1u << 24;

bool is_weight(const ValueDef& value) {
  return value.kind == ValueKind::kConstant && !value.inline_data && value.constant_bytes &&
         value.alias == AliasKind::kNone;
}

/// A weight that conversion changed: no constant is it, but one may bear its name.
struct Changed {
  const char* name;
  size_t length;
  const char* place;
};

/// The metadata part in memory.
class Records {
 public:
  explicit Records(const OpenModel& model) : model_(model) {}
  Records(const Records&) = delete;
  ~Records() {
    if (block_) model_.allocator.release(model_.allocator.user, block_, size_t(bytes_));
  }
  Status read(ErrorDetail* detail) {
    if (model_.file.metadata_part < 0) return {};
    const PartEntry part = file_part(model_.file, uint32_t(model_.file.metadata_part));
    const uint8_t* at = model_.source.memory ? model_.source.memory + part.offset : nullptr;
    if (!at) {
      INGOT_TRY(allocate(model_.allocator, part.bytes, 16, "metadata", &block_, detail));
      bytes_ = part.bytes;
      INGOT_TRY(read_source(model_.source, part.offset, block_, part.bytes, detail));
      at = block_;
    }
    return SourceWeights::open({at, size_t(part.bytes)}, &rows, detail);
  }
  /// The constant that holds weight i, or -1. Metadata are not validated against the program.
  int32_t constant(uint32_t i) const {
    const int32_t v = rows.value(i);
    return v >= 0 && size_t(v) < model_.program.values.size &&
                   is_weight(model_.program.values[size_t(v)])
               ? v
               : -1;
  }
  /// Asked for, or of use to find where a constant without a record was trained.
  bool is_of_use(uint32_t i) const {
    return constant(i) >= 0 || (rows.value(i) < 0 && *rows.device(i));
  }

  SourceWeights rows;

 private:
  const OpenModel& model_;
  uint8_t* block_ = nullptr;
  uint64_t bytes_ = 0;
};

/// The arrays behind an assignment, cut from one block, or counted.
struct Arrays {
  DeviceAssignment* assignment;
  AssignedWeight* weights;
  Changed* changed;
  uint8_t* of_instruction;
  uint8_t* reasons;  // by instruction
  WeightPlacement* placements;
  int32_t* winner;       // by value: the weight whose answer counts; -1: none was asked for
  uint8_t* writer;       // by value that is a root: the device that wrote it last
  uint8_t* lies_on;      // by value: devices whose instructions read it
  PlacementReason* why;  // by value
  char* places;          // kMaxPlaces names
  char* names;
};
struct Counts {
  uint64_t weights = 0, changed = 0, placements = 0, name_bytes = 0;
};

Arrays carve(const OpenModel& model, const Counts& counts, BumpAllocator* bump) {
  const size_t values = model.program.values.size, instructions = model.program.instructions.size;
  Arrays a;
  a.assignment = bump->take<DeviceAssignment>(1);
  a.weights = bump->take<AssignedWeight>(counts.weights);
  a.changed = bump->take<Changed>(counts.changed);
  a.placements = bump->take<WeightPlacement>(counts.placements);
  a.winner = bump->take<int32_t>(values);
  a.of_instruction = bump->take<uint8_t>(instructions);
  a.reasons = bump->take<uint8_t>(instructions);
  a.writer = bump->take<uint8_t>(values);
  a.lies_on = bump->take<uint8_t>(values);
  a.why = bump->take<PlacementReason>(values);
  a.places = bump->take<char>(kMaxPlaces * kPlaceBytes);
  a.names = bump->take<char>(counts.name_bytes);
  return a;
}

Counts count_up(const OpenModel& model, const Records& records) {
  Counts counts;
  for (uint32_t i = 0; i < records.rows.size(); i++) {
    if (!records.is_of_use(i)) continue;
    (records.constant(i) >= 0 ? counts.weights : counts.changed)++;
    counts.name_bytes += records.rows.name(i, nullptr, 0) + 1;
  }
  for (const ValueDef& value : model.program.values) counts.weights += is_weight(value);
  for (const InstructionDef& instruction : model.program.instructions)
    for (uint32_t k = 0; k < instruction.input_count; k++) {
      const int32_t v = instruction.inputs[k];
      if (v >= 0)
        counts.placements +=
            model.program.values[size_t(model.program.values[size_t(v)].root)].kind ==
            ValueKind::kConstant;
    }
  return counts;
}

/// Lists the weights: those of the metadata, then the constants that they do not mention.
class Listing {
 public:
  Listing(const OpenModel& model, const Records& records, const Arrays& a)
      : model_(model), records_(records), a_(a) {}

  uint32_t run() {
    const Span<const ValueDef> values = model_.program.values;
    std::memset(a_.lies_on, 0, values.size);  // here: a weight of the metadata is it
    for (uint32_t i = 0; i < records_.rows.size(); i++)
      if (records_.is_of_use(i)) add_record(i);
    for (size_t v = 0; v < values.size; v++)
      if (is_weight(values[v]) && !a_.lies_on[v]) add_constant(int32_t(v));
    return count_;
  }

 private:
  AssignedWeight* add(const char* name, int32_t value) {
    AssignedWeight* weight = new (&a_.weights[count_++]) AssignedWeight;
    const ValueDef& def = model_.program.values[size_t(value)];
    weight->name = name;
    weight->dtype = def.dtype;
    weight->bytes = def.constant_bytes;
    weight->value = value;
    return weight;
  }
  void add_record(uint32_t i) {
    char* name = a_.names + name_bytes_;
    const size_t length = records_.rows.name(i, name, SIZE_MAX);
    name_bytes_ += length + 1;
    const char* place = remember(records_.rows.device(i));
    const int32_t value = records_.constant(i);
    if (value < 0) {
      a_.changed[changed_++] = {name, length, place};
      return;
    }
    AssignedWeight* weight = add(name, value);
    weight->trained_on = place;
    if (!records_.rows.dims(i, &weight->rank, weight->dims)) copy_dims(weight);
    a_.lies_on[value] = 1;
  }
  void add_constant(int32_t value) {
    const char* name = model_.program.values[size_t(value)].name;
    AssignedWeight* weight = add(name, value);
    copy_dims(weight);
    weight->trained_on = place_of(name, std::strlen(name));
  }
  void copy_dims(AssignedWeight* weight) const {
    const ValueDef& def = model_.program.values[size_t(weight->value)];
    weight->rank = def.rank;
    // constants are never symbolic
    for (int d = 0; d < def.rank; d++) weight->dims[d] = def.dims[d];
  }
  /// Where a weight of this name, behind whatever wrappers its checkpoint had, was trained.
  const char* place_of(const char* name, size_t length) {
    for (int attempt = 0; attempt < 2 && length; attempt++) {
      for (uint64_t i = 0; i < changed_ && tries_ < kMaxTries; i++, tries_++) {
        const Changed& c = a_.changed[i];
        if (c.length < length || std::memcmp(c.name + c.length - length, name, length) != 0)
          continue;
        if (c.length == length || c.name[c.length - length - 1] == '.') return c.place;
      }
      while (length && name[length - 1] != '/') length--;
      length -= length != 0;  // "conv.weight/bias" was made of "conv.weight"
    }
    return "";
  }
  const char* remember(const char* place) {
    if (!*place) return "";
    for (uint32_t i = 0; i < kMaxPlaces; i++) {
      char* known = a_.places + size_t{i} * kPlaceBytes;
      if (i == places_) {
        std::strncpy(known, place, kPlaceBytes - 1);
        known[kPlaceBytes - 1] = 0;
        places_++;
        return known;
      }
      if (std::strncmp(known, place, kPlaceBytes - 1) == 0) return known;
    }
    return "(one of many)";
  }

  const OpenModel& model_;
  const Records& records_;
  const Arrays& a_;
  uint32_t count_ = 0, places_ = 0;
  uint64_t changed_ = 0, name_bytes_ = 0, tries_ = 0;
};

Status refuse(const char* weight, const char* device, Code code, const char* field,
              ErrorDetail* detail) {
  const char* hint = detail && detail->hint[0] ? detail->hint : kDeviceNames;
  const Status status = fail(detail, code, field);
  if (!detail) return status;
  detail->hint = code == Code::kNoSuchDevice ? hint : "";
  // "weight=device", cut so that the device is seen.
  constexpr size_t kRoom = sizeof detail->name - 1, kDeviceRoom = 31;
  size_t tail = 0, length = 0;
  while (tail < kDeviceRoom && device[tail]) tail++;
  for (; *weight && length + 1 + tail < kRoom; weight++) detail->name[length++] = *weight;
  if (length) detail->name[length++] = '=';
  for (size_t i = 0; i < tail; i++) detail->name[length++] = device[i];
  detail->name[length] = 0;
  return status;
}

/// Index of a device of the assignment by name; a new one is added.
Status index_of(DeviceAssignment* a, const char* weight, const char* device, uint32_t* out,
                ErrorDetail* detail) {
  Device found;
  if (Status status = find_device(device, &found, detail); !status.ok())
    return refuse(weight, device, status.code(), detail ? detail->field : "", detail);
  if (std::strcmp(found.interface->kind, "null") == 0)
    return refuse(weight, device, Code::kNoSuchDevice,
                  "place: null computes nothing, so nothing can lie there", detail);
  for (*out = 0; *out < a->device_count; ++*out)
    if (std::strcmp(a->devices[*out].name, found.name) == 0) return {};
  if (a->device_count == kMaxDevices)
    return refuse(weight, device, Code::kLimitExceeded, "place: devices of one session", detail);
  a->devices[a->device_count++] = found;
  return {};
}

uint64_t elements(const Weight& weight) {
  uint64_t count = 1;
  for (int d = 0; d < weight.rank; d++)
    if (__builtin_mul_overflow(count, uint64_t(weight.dims[d]), &count)) return UINT64_MAX;
  return count;
}

Status ask(const AssignmentRequest& request, const Arrays& a, ErrorDetail* detail) {
  for (AssignedWeight& weight : a.assignment->weights) {
    const char* answer = request.place ? request.place(request.user, weight) : nullptr;
    weight.asked = uint8_t(a.assignment->default_device);
    if (!answer || !*answer) continue;
    uint32_t device;
    INGOT_TRY(index_of(a.assignment, weight.name, answer, &device, detail));
    weight.asked = uint8_t(device);
    weight.is_asked = true;
    // Where several weights are one constant, the largest has its way.
    int32_t* winner = &a.winner[weight.value];
    if (*winner < 0 || elements(weight) > elements(a.assignment->weights[size_t(*winner)]))
      *winner = int32_t(&weight - a.assignment->weights.data);
  }
  return {};
}

/// Goes through the program in the order in which it runs.
class Decision {
 public:
  Decision(const OpenModel& model, const Arrays& a)
      : model_(model), program_(model.program), a_(a), to_(*a.assignment) {}

  void run() {
    // inputs and state count as being there
    std::memset(a_.writer, int(to_.default_device), program_.values.size);
    std::memset(a_.lies_on, 0, program_.values.size);
    std::memset(a_.of_instruction, 0, program_.instructions.size);
    std::memset(a_.reasons, int(WhyRuns::kDefault), program_.instructions.size);
    for (size_t v = 0; v < program_.values.size; v++) a_.why[v] = PlacementReason::kUnread;
    for (uint32_t step = 0; step < program_.steps.size;) {
      const uint32_t end = unit_end(program_, step);
      decide(step, end);
      step = end;
    }
    for (const uint8_t device : to_.of_instruction) to_.instruction_counts[device]++;
    for (uint32_t d = 0; d < to_.device_count; d++) {
      if (!to_.instruction_counts[d]) continue;
      to_.used_count++;
      to_.only = d;
    }
    if (!to_.used_count) to_.used_count = 1, to_.only = to_.default_device;
    for (const StateDef& state : program_.states) {
      if (state.init < 0) continue;
      const int32_t r = root(state.init);
      a_.lies_on[r] = uint8_t(a_.lies_on[r] | 1u);
      a_.why[r] = PlacementReason::kOnCpu;
    }
    reside();
    for (AssignedWeight& weight : to_.weights) {
      weight.devices = a_.lies_on[weight.value];
      weight.why = a_.why[weight.value];
      if (weight.devices == (1u << weight.asked) && weight.why != PlacementReason::kUnread)
        weight.why = weight.is_asked ? PlacementReason::kAsked : PlacementReason::kDefault;
    }
  }

 private:
  int32_t root(int32_t value) const { return program_.values[size_t(value)].root; }

  void decide(uint32_t step, uint32_t end) {
    uint32_t device = to_.default_device;
    uint64_t largest = 0;
    bool resolves = false, has_weights = false, follows = false;
    for (uint32_t s = step; s < end; s++) {
      const InstructionDef& instruction = program_.instructions[program_.steps[s].index];
      resolves = resolves || instruction.resolves;
      for (uint32_t k = 0; k < instruction.input_count; k++) {
        if (instruction.inputs[k] < 0) continue;
        const int32_t r = root(instruction.inputs[k]);
        const ValueDef& def = program_.values[size_t(r)];
        if (def.kind != ValueKind::kConstant) {
          if (largest || has_weights || follows) continue;
          device = a_.writer[r];  // stays where what it reads first was made
          follows = true;
        } else if (a_.winner[r] >= 0 && def.constant_bytes > largest) {
          device = to_.weights[size_t(a_.winner[r])].asked;
          largest = def.constant_bytes;
        } else if (is_weight(def) && a_.winner[r] < 0) {
          has_weights = true;
          if (!largest) device = to_.default_device;
        }
      }
    }
    // The run waits for what it finds: alone on a device with kernels of its own, a segment ends
    // with it (split.cpp).
    resolves = resolves && (end != step + 1 || !to_.devices[device].interface->supports);
    const bool stays = follows && !largest && !has_weights && device != to_.default_device;
    note_reasons(step, end,
                 resolves  ? WhyRuns::kTogether
                 : largest ? WhyRuns::kAsked
                 : stays   ? WhyRuns::kFollows
                           : WhyRuns::kDefault);
    if (resolves) note_resolving(step, end);
    const bool lacks_kernel = device && find_missing_kernels(step, end, device);
    if (lacks_kernel && to_.lacking == kNoInstruction) note_lacking(step, end);
    if (lacks_kernel || resolves) device = 0;
    if (!device && stays) (void)find_missing_kernels(step, end, to_.default_device);
    for (uint32_t s = step; s < end; s++) {
      const uint32_t index = program_.steps[s].index;
      const InstructionDef& instruction = program_.instructions[index];
      a_.of_instruction[index] = uint8_t(device);
      for (uint32_t k = 0; k < instruction.output_count; k++)
        if (instruction.outputs[k] >= 0) a_.writer[root(instruction.outputs[k])] = uint8_t(device);
      for (uint32_t k = 0; k < instruction.input_count; k++) {
        if (instruction.inputs[k] < 0) continue;
        const int32_t r = root(instruction.inputs[k]);
        if (program_.values[size_t(r)].kind != ValueKind::kConstant) continue;
        a_.lies_on[r] = uint8_t(a_.lies_on[r] | 1u << device);
        a_.why[r] = resolves       ? PlacementReason::kOnCpu
                    : lacks_kernel ? PlacementReason::kNoKernel
                                   : PlacementReason::kWithAsked;
      }
    }
  }

  void note_reasons(uint32_t step, uint32_t end, WhyRuns why) {
    for (uint32_t s = step; s < end; s++) a_.reasons[program_.steps[s].index] = uint8_t(why);
  }
  void note_resolving(uint32_t step, uint32_t end) {
    for (uint32_t s = step; s < end; s++)
      if (const uint32_t index = program_.steps[s].index; program_.instructions[index].resolves)
        a_.reasons[index] = reason_of(MissingKernel::kResolves);
  }
  static uint8_t reason_of(MissingKernel lack) {
    return uint8_t(uint8_t(WhyRuns::kLacks) + uint8_t(lack));
  }
  /// Whether a device cannot run all of these steps; then their reasons say why.
  bool find_missing_kernels(uint32_t step, uint32_t end, uint32_t device) {
    bool lacks = false;
    for (uint32_t s = step; s < end; s++) {
      const uint32_t index = program_.steps[s].index;
      const MissingKernel lack =
          find_missing_kernel(model_, to_.devices[device], index, model_.workspace.operands);
      if (lack == MissingKernel::kNothing) continue;
      if (!lacks) note_reasons(step, end, WhyRuns::kTogether);
      lacks = true;
      a_.reasons[index] = reason_of(lack);
    }
    return lacks;
  }

  /// For strict sessions: the first that a device was to run and cannot.
  void note_lacking(uint32_t step, uint32_t end) {
    for (uint32_t s = step; s < end && to_.lacking == kNoInstruction; s++) {
      const uint32_t index = program_.steps[s].index;
      if (a_.reasons[index] <= uint8_t(WhyRuns::kLacks)) continue;
      to_.lacking = index;
      to_.lack = MissingKernel(a_.reasons[index] - uint8_t(WhyRuns::kLacks));
    }
  }

  /// Offsets of the constants on every device but the CPU.
  void reside() {
    size_t count = 0;
    for (uint32_t d = 0; d < to_.device_count; d++)
      for (size_t v = 0; v < program_.values.size; v++) {
        if (!(a_.lies_on[v] >> d & 1)) continue;
        const ValueDef& value = program_.values[v];
        const uint64_t bytes = has_f16_weights(model_, to_.devices[d], int32_t(v))
                                   ? f16_weight_bytes(value.dims, value.rank)
                                   : value.constant_bytes;
        if (d == 0) {
          to_.weights_bytes[0] += is_weight(program_.values[v]) ? bytes : 0;
          continue;
        }
        a_.placements[count++] = {int32_t(v), d, to_.weights_bytes[d]};
        to_.weights_bytes[d] += (bytes + 63) & ~uint64_t{63};
      }
    to_.placements = {a_.placements, count};
  }

  const OpenModel& model_;
  const ProgramDef& program_;
  const Arrays& a_;
  DeviceAssignment& to_;
};

/// "cpu, fake:0", as far as there is room.
void name_split(DeviceAssignment* a) {
  size_t length = 0;
  for (uint32_t d = 0; d < a->device_count; d++) {
    if (!a->instruction_counts[d]) continue;
    for (const char* c = length ? ", " : ""; *c && length + 1 < sizeof a->split_name; c++)
      a->split_name[length++] = *c;
    for (const char* c = a->devices[d].name; *c && length + 1 < sizeof a->split_name; c++)
      a->split_name[length++] = *c;
  }
  a->split = {&kSplitDevice, a->split_name,
              "assigned: each weight and each instruction has a device", 0};
}

}  // namespace

Status assign_devices(const OpenModel& model, const AssignmentRequest& request,
                      DeviceAssignment** out, ErrorDetail* detail) {
  if (!model.allocator.allocate)
    return fail(detail, Code::kInvalidArgument, "assignment: the model has no allocator");
  Records records(model);
  INGOT_TRY(records.read(detail));
  const Counts counts = count_up(model, records);
  BumpAllocator measure(nullptr);
  (void)carve(model, counts, &measure);
  uint8_t* block = nullptr;
  INGOT_TRY(allocate(model.allocator, measure.used(), 64, "assignment", &block, detail));
  BumpAllocator bump(block);
  const Arrays a = carve(model, counts, &bump);
  DeviceAssignment* assignment = new (a.assignment) DeviceAssignment;
  assignment->model = &model;
  assignment->allocator = model.allocator;
  assignment->block = block;
  assignment->block_bytes = measure.used();
  assignment->code = &kSplitCode;
  (void)find_device("cpu", &assignment->devices[0], nullptr);
  assignment->devices[0].reason = "inputs, outputs and state are there";
  for (size_t v = 0; v < model.program.values.size; v++) a.winner[v] = -1;
  assignment->weights = {a.weights, Listing(model, records, a).run()};
  assignment->of_instruction = {a.of_instruction, model.program.instructions.size};
  assignment->reasons = {a.reasons, model.program.instructions.size};
  const char* fallback = request.device ? request.device : "auto";
  Status status = index_of(assignment, "", fallback, &assignment->default_device, detail);
  if (Device chosen; status.ok() && find_device(fallback, &chosen, nullptr).ok())
    assignment->devices[assignment->default_device].reason = chosen.reason;
  if (status.ok()) status = ask(request, a, detail);
  {
    const WorkspaceLock lock(model);
    for (uint32_t d = 0; d < assignment->device_count && status.ok(); d++)
      status = place_f16_weights(model, assignment->devices[d], detail);
    if (status.ok()) Decision(model, a).run();
  }
  if (!status.ok()) {
    release_assignment(assignment);
    return status;
  }
  name_split(assignment);
  *out = assignment;
  return {};
}

}  // namespace ingot
