// SPDX-License-Identifier: Apache-2.0
// runtime/api/log.cpp - what a session was given, and what it was not. Linked by programs that set
// a log.
#include "runtime/api/text_line.h"
#include "runtime/api/translate.h"
#include "runtime/session/split.h"

using namespace ingot;
using namespace ingot::api;

namespace {

/// One line, cut where it is longer than any should be.
class Line {
 public:
  Line(const RunSession& s, ingot_log_level level) : sink_(s.model->log), level_(level) {}
  ~Line() {
    text_.end();
    sink_.write(sink_.user, level_, room_);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  template <class T>
  Line& operator<<(const T& word) {
    text_.add(word);
    return *this;
  }
  Line& operator<<(int number) {
    text_.add_signed(number);
    return *this;
  }

 private:
  const LogSink& sink_;
  const ingot_log_level level_;
  char room_[512];
  TextLine text_{room_, sizeof room_};
};

void log_retreat(const RunSession& s, const ErrorDetail& detail) {
  ingot_error error;
  char text[400];
  report(Status(detail.code), detail, &error);
  ingot_error_text(&error, text, sizeof text);
  Line(s, INGOT_LOG_WARNING) << "session on cpu in place of a GPU: " << text;
}

void log_choice(const RunSession& s) {
  Line line(s, INGOT_LOG_INFO);
  line << "session on " << s.device.name << ": " << s.device.reason << "; kernels "
       << s.model->kernels->isa << ", " << s.threads
       << (s.threads == 1 ? " thread (" : " threads (") << s.threads_reason << ")";
}

void log_driver(const RunSession& s, const Device& device) {
  if (!device.interface->describe_driver) return;
  DriverFacts driver;
  device.interface->describe_driver(device, &driver);
  Line(s, INGOT_LOG_INFO) << device.name << ": " << driver.product << "; driver " << driver.library
                          << " for " << driver.standard << " " << driver.version_major << "."
                          << driver.version_minor;
  if (driver.limited_by)
    Line(s, INGOT_LOG_WARNING) << device.name << ": " << driver.limited_by << " '" << driver.limit
                               << "'";
}

/// Instructions that the device asked for has no kernel for.
void log_lacking(const RunSession& s) {
  const DeviceAssignment* const a = s.fallback;
  if (!a || a->lacking == kNoInstruction) return;
  const ingot_instruction first = instruction_of(*s.model, a->lacking);
  Line(s, INGOT_LOG_WARNING) << uint64_t{a->instruction_counts[0]} << " of "
                             << uint64_t{s.model->program.instructions.size}
                             << " instructions run on the CPU; instruction " << uint64_t{a->lacking}
                             << " " << first.op << " '" << first.name
                             << "': " << missing_kernel_text(a->lack, false);
}

/// Recorded variants that cannot be used.
void log_tunings(const RunSession& s) {
  const auto variant = s.device.interface->variant;
  if (!variant || !s.program.tunings.part.size) return;
  uint64_t ignored = 0;
  DeviceVariant found, first;
  for (uint32_t i = 0; i < s.program.calls.size; i++) {
    const OpCode op = s.program.instructions[i].op;
    if (is_control(op)) continue;
    variant(s.device, op, s.program.calls[i].arguments, s.program.precision, s.program.tunings, i,
            &found);
    if (found.source != VariantSource::kIgnored) continue;
    if (!ignored++) first = found;
  }
  if (ignored)
    Line(s, INGOT_LOG_WARNING) << ignored << " records of `ingot tune` in the file are not used: "
                               << first.why;
}

void log_session(const RunSession& s, const ErrorDetail& detail) {
  if (s.gave_up_gpu) log_retreat(s, detail);
  log_choice(s);
  const DeviceAssignment* const a = s.split ? s.split->assignment : nullptr;
  if (!a) log_driver(s, s.device);
  for (uint32_t d = 1; a && d < a->device_count; d++)
    if (a->instruction_counts[d]) log_driver(s, a->devices[d]);
  log_lacking(s);
  log_tunings(s);
}

}  // namespace

extern "C" ingot_code ingot_model_set_log(ingot_model* model, const ingot_log* log) {
  if (!model || (log && !log->write)) return INGOT_INVALID_ARGUMENT;
  OpenModel& m = *reinterpret_cast<OpenModel*>(model);
  m.log = log ? LogSink{log->user, log->write, log_session} : LogSink();
  return INGOT_OK;
}
