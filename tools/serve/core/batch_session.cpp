// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/core/batch_session.h"

#include <algorithm>
#include <cstring>

namespace ingot::serve {
namespace {

/// Rows [first, first + count) of the first dimension of a port, or all of one without a batch. In
/// a port rows of the last dimension may lie apart; elsewhere they are dense.
struct Part {
  uint8_t* data = nullptr;
  uint64_t row_bytes = 0, stride_bytes = 0, rows = 0;
  bool is_dense() const { return stride_bytes == row_bytes || rows <= 1; }
  uint64_t bytes() const { return row_bytes * rows; }
};

Part part_of(const ingot_tensor& port, bool is_batch, int64_t first, int64_t count) {
  const uint64_t element = ingot_dtype_bytes(port.dtype);
  Part part;
  part.rows = 1;
  uint64_t first_row = 0, last = 1;
  if (port.rank > 0) last = uint64_t(port.dims[port.rank - 1]);
  for (int32_t i = 0; i + 1 < port.rank; i++) part.rows *= uint64_t(port.dims[i]);
  if (is_batch && port.rank == 1) {
    part.row_bytes = part.stride_bytes = uint64_t(count) * element;
    part.data = static_cast<uint8_t*>(port.data) + uint64_t(first) * element;
    return part;
  }
  if (is_batch && port.dims[0] > 0) {
    const uint64_t rows_each = part.rows / uint64_t(port.dims[0]);
    first_row = rows_each * uint64_t(first);
    part.rows = rows_each * uint64_t(count);
  }
  part.row_bytes = last * element;
  part.stride_bytes = (port.row_stride ? uint64_t(port.row_stride) : last) * element;
  part.data = static_cast<uint8_t*>(port.data) + first_row * part.stride_bytes;
  return part;
}

void copy_into(const Part& part, const uint8_t* dense) {
  if (!part.bytes()) return;
  if (part.is_dense()) {
    memcpy(part.data, dense, part.bytes());
    return;
  }
  for (uint64_t r = 0; r < part.rows; r++)
    memcpy(part.data + r * part.stride_bytes, dense + r * part.row_bytes, part.row_bytes);
}

void copy_out(const Part& part, std::vector<uint8_t>* dense) {
  dense->resize(part.bytes());
  if (!part.bytes()) return;
  if (part.is_dense()) {
    memcpy(dense->data(), part.data, part.bytes());
    return;
  }
  for (uint64_t r = 0; r < part.rows; r++)
    memcpy(dense->data() + r * part.row_bytes, part.data + r * part.stride_bytes, part.row_bytes);
}

std::string cut_short(const Region& region) {
  return "shared memory region '" + region.name() + "' became shorter than it was registered";
}

}  // namespace

BatchSession::BatchSession(const Model& model, const ModelPorts& ports,
                           const SessionSettings& settings)
    : ports_(ports), max_run_ns_(settings.max_run_ns) {
  std::vector<ingot_binding> upper;
  for (const OpenDimension& dimension : ports.dimensions()) {
    bindings_.push_back({dimension.name.c_str(), std::max<int64_t>(dimension.low, 1)});
    if (dimension.high > dimension.low) upper.push_back({dimension.name.c_str(), dimension.high});
  }
  ingot_session_options options = session_options();
  options.device = settings.device.c_str();
  options.threads = settings.threads;
  options.bindings = bindings_.data();
  options.binding_count = bindings_.size();
  if (!upper.empty()) {
    options.flags = INGOT_REBINDABLE;
    options.upper_bounds = upper.data();
    options.upper_bound_count = upper.size();
  }
  refuse_steps(model, options, settings.max_steps);
  auto session = model.session(options);
  if (!session) refuse(Refusal::kUnavailable, session.error().text());
  session_ = std::move(*session);
  inputs_.resize(ports.inputs().size());
}

void refuse_steps(const Model& model, const ingot_session_options& options, uint64_t max_steps) {
  if (max_steps == UINT64_MAX) return;
  const auto need = model.requirements(options);
  if (!need) refuse(Refusal::kUnavailable, need.error().text());
  if (need->steps <= max_steps) return;
  refuse(Refusal::kUnsupported,
         (need->steps == UINT64_MAX
              ? "a run has no bound on its instructions"
              : "a run is up to " + std::to_string(need->steps) + " instructions") +
             ", --max-run-steps allows " + std::to_string(max_steps));
}

std::string BatchSession::bind(const Job& first, int64_t rows) {
  bool is_other = false;
  for (size_t i = 0; i < bindings_.size(); i++) {
    const int64_t extent = int32_t(i) == ports_.batch() ? rows : first.symbols[i];
    is_other = is_other || bindings_[i].value != extent;
    bindings_[i].value = extent;
  }
  if (is_other) {
    const auto bound = session_.rebind(bindings_.data(), bindings_.size());
    if (!bound) {
      for (ingot_binding& binding : bindings_) binding.value = -1;  // none that a request has
      return bound.error().text();
    }
  }
  for (uint32_t i = 0; i < inputs_.size(); i++) inputs_[i] = *session_.input(i);
  return "";
}

void BatchSession::write_inputs(Job* const* jobs, size_t count) {
  int64_t row = 0;
  for (size_t j = 0; j < count; j++) {
    Job& job = *jobs[j];
    for (InputTensor& input : job.inputs) {
      const ingot_tensor& port = inputs_[input.port];
      const Part part = part_of(port, ports_.batch() >= 0, row, job.rows);
      if (part.bytes() != input.bytes) {  // an extent that is computed from others
        Extents expected;
        expected.rank = port.rank;
        std::copy(port.dims, port.dims + port.rank, expected.dims);
        job.fail(Refusal::kInvalid, "input '" + input.name + "': shape " + shape_text(input.shape) +
                                        ", expected " + shape_text(expected));
      } else if (!input.region) {
        copy_into(part, input.data);
      } else {
        const bool is_dense = part.is_dense();
        if (!is_dense) input.converted.resize(part.bytes());
        uint8_t* to = is_dense ? part.data : input.converted.data();
        if (!input.region->read(input.region_offset, to, input.bytes))
          job.fail(Refusal::kInvalid, cut_short(*input.region));
        else if (!is_dense)
          copy_into(part, to);
      }
    }
    row += job.rows;
  }
}

bool BatchSession::enter_sequence(Job* job) {
  const auto entered =
      job->starts_sequence || job->sequence->state.empty()
          ? session_.reset_state()
          : session_.restore_state(job->sequence->state.data(), job->sequence->state.size());
  if (!entered) job->fail(Refusal::kInternal, entered.error().text());
  return bool(entered);
}

void BatchSession::leave_sequence(Job* job) {
  if (job->failed) return;  // the sequence goes on from where it was
  auto saved = session_.save_state();
  if (saved)
    job->sequence->state = std::move(*saved);
  else
    job->fail(Refusal::kInternal, saved.error().text());
}

BatchSession::Ran BatchSession::run_session(Job* const* jobs, size_t count) {
  uint64_t asked = 0;  // by the clients
  for (size_t j = 0; j < count; j++) {
    if (!jobs[j]->deadline_ns) {
      asked = 0;
      break;
    }
    asked = std::max(asked, jobs[j]->deadline_ns);
  }
  const uint64_t most = max_run_ns_ ? ingot_clock_ns() + max_run_ns_ : 0;
  const bool is_most = most && (!asked || most < asked);
  const uint64_t deadline = is_most ? most : asked;
  const auto ran = deadline ? session_.run_until(deadline) : session_.run();
  const uint64_t now = ingot_clock_ns();
  for (size_t j = 0; j < count; j++) jobs[j]->ran_ns = now;
  if (ran) return Ran::kEnded;
  const ingot_code code = ran.error().code;
  const bool is_cancelled = code == INGOT_CANCELLED, is_late = code == INGOT_DEADLINE_EXCEEDED;
  // cancel() may come when the run that it was meant for has just ended
  if (is_cancelled && std::any_of(jobs, jobs + count, [](const Job* job) { return !job->gone; }))
    return Ran::kAgain;
  if (count > 1 && !is_late && !is_cancelled) return Ran::kEachAlone;
  const Refusal why = is_late        ? Refusal::kDeadline
                      : is_cancelled ? Refusal::kCancelled
                      : code == INGOT_BAD_INDEX_VALUE || code == INGOT_DIMENSION_OUT_OF_BOUNDS ||
                              code == INGOT_CONTROL_REFUSED
                          ? Refusal::kInvalid
                          : Refusal::kInternal;
  const std::string text = is_late && is_most ? "the run was stopped after " +
                                                    std::to_string(max_run_ns_ / 1000000) +
                                                    " ms; more: ingot serve --max-run-seconds"
                                              : ran.error().text();
  for (size_t j = 0; j < count; j++)
    if (!jobs[j]->failed) jobs[j]->fail(why, text);
  return Ran::kEnded;
}

void BatchSession::read_outputs(Job* const* jobs, size_t count) {
  int64_t row = 0;
  for (size_t j = 0; j < count; j++) {
    Job& job = *jobs[j];
    for (OutputTensor& output : job.outputs) {
      if (job.failed) break;
      const ingot_tensor port = *session_.output(output.port);
      const bool is_batch = ports_.batch() >= 0;
      if (is_batch && row + job.rows > port.dims[0]) {
        job.fail(Refusal::kInternal, "output '" + output.name + "' has fewer rows than the batch");
        break;
      }
      output.dtype = port.dtype;
      output.shape.rank = port.rank;
      std::copy(port.dims, port.dims + port.rank, output.shape.dims);
      if (is_batch) output.shape.dims[0] = job.rows;
      const Part part = part_of(port, is_batch, row, job.rows);
      if (!output.region) {
        copy_out(part, &output.elements);
        continue;
      }
      if (part.bytes() > output.region_bytes) {
        job.fail(Refusal::kInvalid, "output '" + output.name + "' has " +
                                        std::to_string(part.bytes()) + " bytes, and " +
                                        std::to_string(output.region_bytes) +
                                        " of shared memory are for it");
        break;
      }
      if (!part.is_dense()) copy_out(part, &output.elements);
      const uint8_t* from = part.is_dense() ? part.data : output.elements.data();
      output.region_bytes = part.bytes();
      if (!output.region->write(output.region_offset, from, part.bytes()))
        job.fail(Refusal::kInvalid, cut_short(*output.region));
    }
    row += job.rows;
  }
}

void BatchSession::run(Job* const* jobs, size_t count) {
  int64_t rows = 0;
  const uint64_t began = ingot_clock_ns();
  for (size_t j = 0; j < count; j++) {
    rows += jobs[j]->rows;
    jobs[j]->run_ns = jobs[j]->ran_ns = began;
  }
  const std::string failure = bind(*jobs[0], rows);
  if (!failure.empty()) {
    for (size_t j = 0; j < count; j++) jobs[j]->fail(Refusal::kInvalid, failure);
    return;
  }
  write_inputs(jobs, count);
  const uint64_t now = ingot_clock_ns();
  for (size_t j = 0; j < count; j++) jobs[j]->run_ns = jobs[j]->ran_ns = now;
  if (count == 1 && jobs[0]->failed) return;
  if (ports_.has_state() && !enter_sequence(jobs[0])) return;
  const Ran ran = run_session(jobs, count);
  if (ran == Ran::kAgain) return run(jobs, count);
  if (ran == Ran::kEachAlone) {
    for (size_t j = 0; j < count; j++)
      if (!jobs[j]->failed) run(jobs + j, 1);
    return;
  }
  read_outputs(jobs, count);
  if (ports_.has_state()) leave_sequence(jobs[0]);
}

}  // namespace ingot::serve
