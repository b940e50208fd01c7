// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/gpu/f16_activations.h"

#include "runtime/op/opcode.h"

namespace ingot {
namespace {

uint32_t operand_count(const InstructionDef& i) {
  return uint32_t{i.input_count} + uint32_t{i.output_count};
}
int32_t operand_of(const InstructionDef& i, uint32_t k) {
  return k < i.input_count ? i.inputs[k] : i.outputs[k - i.input_count];
}
const TensorView& view_of(const OpArguments& a, uint32_t k) {
  return k < a.input_count ? a.inputs[k] : a.outputs[k - a.input_count];
}

/// Values that share bytes are f16 together, so one that cannot be keeps all of them.
bool may_be_f16(const ValueDef& value) {
  return value.kind == ValueKind::kActivation && value.dtype == DType::kF32 &&
         value.packing == Packing::kDense && !value.is_data_dependent;
}

/// While it chooses, `storage` says of a value, not of its root alone: p.storage for f16, else the
/// pass in which it became f32, counted from 1; 0: it was from the beginning.
class Chooser {
 public:
  Chooser(const GpuKernelSet& set, const GpuTraits& traits, const F16Program& program,
          uint64_t* storage)
      : set_(set),
        traits_(traits),
        p_(program),
        instructions_(program.program->instructions),
        values_(program.program->values),
        storage_(storage) {}

  void choose() {
    for (size_t v = 0; v < values_.size; v++) storage_[v] = p_.storage;
    for (size_t v = 0; v < values_.size; v++)
      if (!may_be_f16(values_[v])) storage_[root(int32_t(v))] = 0;
    const bool is_settled = settle();
    for (size_t v = 0; v < values_.size; v++) {
      const uint64_t begin = storage_[root(int32_t(v))];
      storage_[v] = is_settled && begin == p_.storage ? begin : 0;
    }
  }

 private:
  /// Until no operand has to become f32: forwards, which takes what that asks of later instructions
  /// along, then backwards. False where a program asks for more passes than networks do: a file
  /// could ask for as many as it has instructions.
  bool settle() {
    constexpr uint64_t kMaxPasses = 64;
    static_assert(kMaxPasses < kLowestStorage, "a pass is no address");
    const uint32_t count = uint32_t(instructions_.size);
    for (uint64_t pass = 0; pass < kMaxPasses; pass++) {
      bool changed = false;
      for (uint32_t n = 0; n < count; n++) {
        const uint32_t i = pass % 2 ? count - 1 - n : n;
        if (pass == 0 || has_changed(i, pass)) changed = keep_f32(i, pass) || changed;
      }
      if (!changed) return true;
    }
    return false;
  }

  size_t root(int32_t value) const { return size_t(storage_root(*p_.program, value, p_.rules)); }

  /// An operand became f32 in this pass or the one before: since it was asked last, perhaps.
  bool has_changed(uint32_t i, uint64_t pass) const {
    const InstructionDef& def = instructions_[i];
    for (uint32_t k = 0; k < operand_count(def); k++) {
      const int32_t value = operand_of(def, k);
      if (value < 0) continue;
      const uint64_t now = storage_[root(value)];
      if (now >= pass && now < kLowestStorage) return true;
    }
    return false;
  }

  /// Whether an operand became f32 because the kernels of the instruction cannot take it as f16.
  bool keep_f32(uint32_t i, uint64_t pass) {
    const InstructionDef& def = instructions_[i];
    bool is_any = false;
    for (uint32_t k = 0; k < operand_count(def); k++) {
      const int32_t value = operand_of(def, k);
      if (value < 0) continue;
      const size_t from = root(value);
      if (from != size_t(value)) storage_[value] = storage_[from];
      is_any = is_any || storage_[from] == p_.storage;
    }
    if (!is_any) return false;
    const OpArguments plain = p_.arguments(p_.user, i);
    const F16Arguments now(plain, def, storage_);
    uint64_t takes = 0;
    if (operand_count(def) <= F16Arguments::kMaxOperands) {
      const GpuKernelEntry* row = find_gpu_row(set_, def.op, plain, traits_, GpuPrecision::kFp16);
      if (row && row->f16_operands) takes = row->f16_operands(now.get(), traits_);
    }
    bool changed = false;
    for (uint32_t k = 0; k < operand_count(def); k++) {
      const int32_t value = operand_of(def, k);
      if (value < 0 || storage_[root(value)] != p_.storage || (k < 64 && (takes >> k & 1)))
        continue;
      storage_[root(value)] = pass + 1;
      changed = true;
    }
    return changed;
  }

  const GpuKernelSet& set_;
  const GpuTraits& traits_;
  const F16Program& p_;
  const Span<const InstructionDef> instructions_;
  const Span<const ValueDef> values_;
  uint64_t* storage_;
};

}  // namespace

void choose_f16_activations(const GpuKernelSet& set, const GpuTraits& traits,
                            const F16Program& program, uint64_t* storage) {
  Chooser(set, traits, program, storage).choose();
}

void halve_f16_lifetimes(const uint64_t* storage, Span<Lifetime> lifetimes) {
  for (size_t v = 0; v < lifetimes.size; v++)
    if (storage[v]) lifetimes[v].bytes = lifetimes[v].bytes / 2 + lifetimes[v].bytes % 2;
}

void make_f16(TensorView* operand, uint64_t begin) {
  operand->dtype = DType::kF16;
  const uint64_t at = reinterpret_cast<uintptr_t>(operand->data);
  operand->data = reinterpret_cast<void*>(uintptr_t(begin + (at - begin) / 2));
}

F16Arguments::F16Arguments(const OpArguments& arguments, const InstructionDef& instruction,
                           const uint64_t* storage)
    : arguments_(arguments) {
  const uint32_t count = operand_count(instruction);
  if (!storage || count > kMaxOperands) return;
  for (uint32_t k = 0; k < count; k++) {
    operands_[k] = view_of(arguments, k);
    const int32_t value = operand_of(instruction, k);
    const uint64_t begin = value < 0 ? 0 : storage[value];
    if (begin >= kLowestStorage) make_f16(&operands_[k], begin);
  }
  arguments_.inputs = operands_, arguments_.outputs = operands_ + instruction.input_count;
}

}  // namespace ingot
