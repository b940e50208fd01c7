// SPDX-License-Identifier: Apache-2.0
// layer_runner - each different instruction of a file by itself, on a GPU (conformance_gpu.h)
// compared with the CPU's kernel: full extents, the file's weights, random numbers for all else
// that is f32, threads in a random order; the same bits, or the same refusal of an index.
//
//   layer_runner MODEL.ingot DIR SEEN [NAME=1x2x3 ...]     inputs as raw_runner's: a run on the CPU
//   makes the integers that operands hold
//   SEEN     a file of instructions that need not be run again, by operator, attributes and operand
//            types; those of this file are added
//   prints   layers {...}: instructions, how many were seen before, run, left to the CPU
// Exit 0; 1 when bits differ.
#include <ingot/cpu.h>

#include <fstream>
#include <memory>
#include <random>
#include <set>

#include "runtime/api/translate.h"
#include "runtime/base/sha256.h"
#include "runtime/op/data_dependent.h"
#include "tests/conformance/conformance_gpu.h"
#include "tests/support/raw_inputs.h"

namespace ingot {
uint32_t attribute_bytes(OpCode op);  // runtime/format/decode.h, which brings FlatBuffers along
}

using namespace ingot;
using namespace ingot::raw;

namespace {

constexpr uint8_t kPattern = conformance::kOperandPattern;
constexpr size_t kGuard = 256;

/// An operand's storage between guards.
class Storage {
 public:
  explicit Storage(const TensorType& type) {
    if (!type.present() || !storage_bytes(type, &bytes_)) return;
    memory_.assign(bytes_ + 3 * kGuard, kPattern);
    start_ = memory_.data() + 2 * kGuard - reinterpret_cast<uintptr_t>(memory_.data()) % kGuard;
  }
  uint8_t* start() const { return start_; }
  uint64_t bytes() const { return bytes_; }
  bool is_intact() const {
    for (size_t i = 0; start_ && i < kGuard; i++)
      if (start_[-1 - ptrdiff_t(i)] != kPattern || start_[bytes_ + i] != kPattern) return false;
    return true;
  }

 private:
  std::vector<uint8_t> memory_;
  uint8_t* start_ = nullptr;
  uint64_t bytes_ = 0;
};

/// Operator, attributes and types of operands, hashed.
std::string key_of(const OpArguments& a, OpCode op) {
  Sha256 hash;
  const auto add = [&](const TensorView& view) {
    hash.update(&view.dtype, sizeof view.dtype);
    hash.update(&view.packing, sizeof view.packing);
    hash.update(&view.rank, sizeof view.rank);
    hash.update(view.dims, sizeof view.dims);
    hash.update(&view.row_stride, sizeof view.row_stride);
  };
  hash.update(&op, sizeof op);
  hash.update(a.attributes, attribute_bytes(op));
  for (int i = 0; i < a.input_count; i++) add(a.inputs[i]);
  for (int i = 0; i < a.output_count; i++) add(a.outputs[i]);
  uint8_t digest[kSha256Bytes];
  hash.finish(digest);
  std::string text;
  for (const uint8_t byte : digest)
    text += "0123456789abcdef"[byte >> 4], text += "0123456789abcdef"[byte & 15];
  return text;
}

class Layers {
 public:
  Layers(const RunSession& session, const char* seen_path) : s_(session), seen_path_(seen_path) {
    std::ifstream file(seen_path);
    for (std::string key; file >> key;) seen_.insert(key);
  }

  int run() {
    const ProgramDef& program = s_.model->program;
    for (uint32_t i = 0; i < program.instructions.size; i++) {
      const InstructionDef& instruction = program.instructions[i];
      if (is_control(instruction.op)) continue;
      if (instruction.resolves || instruction.is_data_dependent) {
        left_++;
        continue;
      }
      all_++;
      const std::string key = key_of(s_.program.calls[i].arguments, instruction.op);
      if (!seen_.insert(key).second) continue;
      added_.push_back(key);
      if (!check(i)) failed_++;
    }
    std::ofstream file(seen_path_, std::ios::app);
    for (const std::string& key : added_) file << key << "\n";
    std::printf(
        "layers {\"instructions\": %d, \"seen\": %zu, \"run\": %d, \"left\": %d, \"failed\": %d}\n",
        all_, size_t(all_) - added_.size(), run_, left_, failed_);
    return failed_ || !file ? 1 : 0;
  }

 private:
  bool check(uint32_t index) {
    const InstructionDef& instruction = s_.model->program.instructions[index];
    const Call& call = s_.program.calls[index];
    std::vector<TensorView> inputs, outputs[2];
    std::vector<std::unique_ptr<Storage>> storage;
    for (int i = 0; i < instruction.input_count; i++)
      inputs.push_back(filled(call.arguments.inputs[i], instruction.inputs[i], &storage));
    OpArguments arguments[2] = {call.arguments, call.arguments};
    for (int side = 0; side < 2; side++) {
      for (int i = 0; i < instruction.output_count; i++) {
        outputs[side].push_back(call.arguments.outputs[i]);
        storage.push_back(std::make_unique<Storage>(outputs[side].back()));
        outputs[side].back().data = storage.back()->start();
      }
      arguments[side].inputs = inputs.data();
      arguments[side].outputs = outputs[side].data();
    }
    Status on_gpu;
    if (!conformance::run_on_gpu(instruction.op, arguments[1], 77 + index, &on_gpu))
      return left_++, true;
    run_++;
    const Status on_cpu = run_on_cpu(call, arguments[0]);
    std::string wrong;
    if (on_cpu.code() != on_gpu.code()) wrong = "another status";
    for (const auto& one : storage)
      if (!one->is_intact()) wrong = "bytes around an operand changed";
    for (size_t i = 0; wrong.empty() && on_cpu.ok() && i < outputs[0].size(); i++)
      wrong = compare(outputs[0][i], outputs[1][i]);
    if (wrong.empty()) return true;
    std::fprintf(stderr, "instruction %u %s: %s\n", index, op_name(instruction.op), wrong.c_str());
    return false;
  }

  /// Constants as the kernels find them; random f32; else what the run left there.
  TensorView filled(TensorView view, int32_t value,
                    std::vector<std::unique_ptr<Storage>>* storage) {
    if (!view.present()) return view;
    const ValueDef& def = s_.model->program.values[size_t(value)];
    if (s_.model->program.values[size_t(def.root)].kind == ValueKind::kConstant) return view;
    storage->push_back(std::make_unique<Storage>(view));
    const Storage& to = *storage->back();
    if (view.dtype == DType::kF32) {
      std::uniform_real_distribution<float> real(-2, 2);
      for (uint64_t i = 0; i < to.bytes() / 4; i++)
        reinterpret_cast<float*>(to.start())[i] = real(engine_);
    } else if (to.bytes()) {
      std::memcpy(to.start(), view.data, to.bytes());
    }
    view.data = to.start();
    return view;
  }

  static Status run_on_cpu(const Call& call, const OpArguments& arguments) {
    const OpContract& contract = *call.kernel->contract;
    const ScratchNeed need = contract.scratch ? contract.scratch(arguments, 1) : ScratchNeed{};
    std::vector<uint8_t> own(need.per_thread_bytes + 64), shared(need.shared_bytes + 64);
    const auto aligned = [](std::vector<uint8_t>& bytes) {
      return bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64) % 64;
    };
    Team team;
    team.scratch = aligned(own), team.shared = aligned(shared);
    return call.kernel->run(arguments, team);
  }

  /// Everything of the storage, gaps between rows too, which neither may write; NaN equals NaN.
  static std::string compare(const TensorView& cpu, const TensorView& gpu) {
    uint64_t bytes = 0;
    if (!cpu.present() || !storage_bytes(cpu, &bytes)) return "";
    const uint64_t width = uint64_t(dtype_bytes(cpu.dtype));
    for (uint64_t at = 0; at < bytes; at += width) {
      const uint8_t *a = cpu.as<uint8_t>() + at, *b = gpu.as<uint8_t>() + at;
      if (std::memcmp(a, b, width) == 0) continue;
      float x, y;
      if (cpu.dtype == DType::kF32 &&
          (std::memcpy(&x, a, 4), std::memcpy(&y, b, 4), x != x && y != y))
        continue;
      return "other bits at element " + std::to_string(at / width) + " of its storage";
    }
    return "";
  }

  const RunSession& s_;
  const char* seen_path_;
  std::set<std::string> seen_;
  std::vector<std::string> added_;
  std::mt19937 engine_{3};
  int all_ = 0, run_ = 0, left_ = 0, failed_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4)
    return std::fprintf(stderr, "usage: layer_runner MODEL.ingot DIR SEEN [NAME=1x2x3 ...]\n"), 1;
  conformance::starts_early = false;  // weights are mapped, and not to be written
  Opened o;
  if (const int status =
          open_raw(argv[1], ingot_cpu_kernels(nullptr), INGOT_MAP_SHARE, argc - 4, argv + 4, &o))
    return status;
  o.options.device = "cpu";
  o.options.threads = 2;
  o.options.flags = INGOT_KEEP_VALUES;
  ingot_error error{};
  ingot_session* session = nullptr;
  if (ingot_session_create(o.model, &o.options, &session, &error)) return fail("session", error);
  int status = fill_inputs(o, session, argv[2]) ? 0 : 1;
  if (!status && ingot_session_run(session, &error)) status = fail("run", error);
  if (!status) status = Layers(*api::unwrap(session), argv[3]).run();
  ingot_session_destroy(session);
  return status;
}
