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

class Chooser {
 public:
  Chooser(const F16Program& program, uint64_t* storage) : p_(program), storage_(storage) {}

  void choose() {
    constexpr uint64_t kUnknown = ~uint64_t{0};
    for (size_t v = 0; v < p_.values.size; v++) storage_[v] = kUnknown;
    for (size_t v = 0; v < p_.values.size; v++)
      if (!may_be_f16(p_.values[v])) root_storage(int32_t(v)) = 0;
    for (uint32_t i = 0; i < p_.instructions.size; i++) find_addresses(i);
    for (size_t v = 0; v < p_.values.size; v++)
      if (storage_[v] == kUnknown) storage_[v] = 0;  // nothing touches it
    if (!settle())
      for (size_t v = 0; v < p_.values.size; v++) storage_[v] = 0;
    for (size_t v = 0; v < p_.values.size; v++) storage_[v] = root_storage(int32_t(v));
  }

 private:
  /// Until no operand has to become f32: forwards, which takes what that asks of later instructions
  /// along, then backwards. False where a program asks for more passes than networks do: a file
  /// could ask for as many as it has instructions.
  bool settle() {
    constexpr int kMaxPasses = 64;
    const uint32_t count = uint32_t(p_.instructions.size);
    for (int pass = 0; pass < kMaxPasses; pass++) {
      bool changed = false;
      for (uint32_t i = 0; i < count; i++)
        changed = keep_f32(pass % 2 ? count - 1 - i : i) || changed;
      if (!changed) return true;
    }
    return false;
  }

  uint64_t& root_storage(int32_t value) { return storage_[p_.values[size_t(value)].root]; }

  /// The lowest address that any of a storage's values has.
  void find_addresses(uint32_t i) {
    const InstructionDef& def = p_.instructions[i];
    const OpArguments a = p_.arguments(p_.user, i);
    for (uint32_t k = 0; k < operand_count(def); k++) {
      const int32_t value = operand_of(def, k);
      if (value < 0) continue;
      uint64_t& begin = root_storage(value);
      const uint64_t at = reinterpret_cast<uintptr_t>(view_of(a, k).data);
      if (at < begin) begin = at;
    }
  }

  /// Whether an operand became f32 because the kernels of the instruction cannot take it as f16.
  bool keep_f32(uint32_t i) {
    const InstructionDef& def = p_.instructions[i];
    const OpArguments plain = p_.arguments(p_.user, i);
    const F16Arguments now(plain, def, p_.values, storage_);
    uint64_t takes = 0;
    if (operand_count(def) <= F16Arguments::kMaxOperands) {
      const GpuKernelEntry* row =
          find_gpu_row(*p_.set, def.op, plain, p_.traits, GpuPrecision::kFp16);
      if (row && row->f16_operands) takes = row->f16_operands(now.get(), p_.traits);
    }
    bool changed = false;
    for (uint32_t k = 0; k < operand_count(def); k++) {
      const int32_t value = operand_of(def, k);
      if (value < 0 || !root_storage(value) || (k < 64 && (takes >> k & 1))) continue;
      root_storage(value) = 0;
      changed = true;
    }
    return changed;
  }

  const F16Program& p_;
  uint64_t* storage_;
};

}  // namespace

void choose_f16_activations(const F16Program& program, uint64_t* storage) {
  Chooser(program, storage).choose();
}

F16Arguments::F16Arguments(const OpArguments& arguments, const InstructionDef& instruction,
                           Span<const ValueDef> values, const uint64_t* storage)
    : arguments_(arguments) {
  const uint32_t count = operand_count(instruction);
  if (!storage || count > kMaxOperands) return;
  for (uint32_t k = 0; k < count; k++) {
    operands_[k] = view_of(arguments, k);
    const int32_t value = operand_of(instruction, k);
    const uint64_t begin = value < 0 ? 0 : storage[values[size_t(value)].root];
    if (!begin) continue;
    operands_[k].dtype = DType::kF16;
    const uint64_t at = reinterpret_cast<uintptr_t>(operands_[k].data);
    operands_[k].data = reinterpret_cast<void*>(uintptr_t(begin + (at - begin) / 2));
  }
  arguments_.inputs = operands_, arguments_.outputs = operands_ + instruction.input_count;
}

}  // namespace ingot
