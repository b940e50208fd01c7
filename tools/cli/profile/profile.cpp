// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/profile/profile.h"

#include <nlohmann/json.hpp>

#include "tools/cli/output/json_text.h"
#include "tools/files/output_file.h"

namespace ingot::cli {

using Json = nlohmann::ordered_json;

namespace {

constexpr int kPhases = 1, kLeader = 2;  // lanes; helpers follow

/// Complete events on lanes of one process, in microseconds from the start.
class Trace {
 public:
  explicit Trace(uint64_t origin_ns) : origin_ns_(origin_ns) {}

  void lane(int tid, const std::string& name) {
    events_.push_back({{"name", "thread_name"},
                       {"ph", "M"},
                       {"pid", 1},
                       {"tid", tid},
                       {"args", {{"name", name}}}});
    events_.push_back({{"name", "thread_sort_index"},
                       {"ph", "M"},
                       {"pid", 1},
                       {"tid", tid},
                       {"args", {{"sort_index", tid}}}});
  }
  void span(int tid, const std::string& name, const std::string& category, uint64_t begin_ns,
            uint64_t end_ns, Json args) {
    Json event = {{"name", name},
                  {"cat", category},
                  {"ph", "X"},
                  {"ts", double(int64_t(begin_ns - origin_ns_)) / 1000},
                  {"dur", double(end_ns - begin_ns) / 1000},
                  {"pid", 1},
                  {"tid", tid}};
    if (!args.empty()) event["args"] = std::move(args);
    events_.push_back(std::move(event));
  }
  std::string text() {
    const Json process = {
        {"name", "process_name"}, {"ph", "M"}, {"pid", 1}, {"args", {{"name", "ingot run"}}}};
    events_.insert(events_.begin(), process);
    const Json all = {{"traceEvents", events_}, {"displayTimeUnit", "ms"}};
    return json_text(all, 1) + "\n";
  }

 private:
  Json events_ = Json::array();
  uint64_t origin_ns_;
};

std::string title(const ProfiledInstruction& i) {
  return i.name.empty() ? i.op : i.op + " " + i.name;
}

}  // namespace

void Profile::phase(const std::string& name) {
  const uint64_t now = ingot_clock_ns();
  phases_.push_back({name, last_ns_, now});
  last_ns_ = now;
}

void Profile::watch(ingot_session* session) {
  ingot_session_set_profile(
      session,
      [](void* user, const ingot_profile_event* event) {
        static_cast<Profile*>(user)->instructions_.push_back(
            {event->instruction, event->op, event->name, event->kernel, event->begin_ns,
             event->end_ns, event->team});
      },
      this);
}

void Profile::write_chrome_trace(const std::string& path, const TracedKernels* kernels) const {
  Trace trace(origin_ns_);
  trace.lane(kPhases, "phases");
  trace.lane(kLeader, "calling thread");
  for (const Phase& p : phases_) trace.span(kPhases, p.name, "phase", p.begin_ns, p.end_ns, {});
  std::map<const void*, const ProfiledInstruction*> by_arguments;
  size_t next = 0;
  for (const ProfiledInstruction& i : instructions_) {
    Json args = {{"instruction", i.instruction}, {"kernel", i.kernel}, {"threads", i.team}};
    if (i.instruction < facts_.size()) {
      const InstructionFacts& facts = facts_[i.instruction];
      const double ns = double(i.end_ns - i.begin_ns);
      args["bytes"] = facts.bytes;
      args["flops"] = facts.flops;
      if (ns > 0)
        args["gflops_per_s"] = double(facts.flops) / ns,
        args["gbytes_per_s"] = double(facts.bytes) / ns;
      args["source"] = facts.sources;
    }
    trace.span(kLeader, title(i), i.op, i.begin_ns, i.end_ns, std::move(args));
    // The caller's own part lies within: that is how the argument block gets its instruction.
    for (; kernels && next < kernels->spans(0).size() && kernels->spans(0)[next].end_ns <= i.end_ns;
         next++)
      by_arguments[kernels->spans(0)[next].arguments] = &i;
  }
  for (int id = 1; kernels && id < kMaxThreads; id++) {
    if (kernels->spans(id).empty()) continue;
    trace.lane(kLeader + id, "helper " + std::to_string(id));
    for (const KernelSpan& span : kernels->spans(id)) {
      const auto found = by_arguments.find(span.arguments);
      const ProfiledInstruction* i = found == by_arguments.end() ? nullptr : found->second;
      trace.span(kLeader + id, i ? title(*i) : "instruction", i ? i->op : "", span.begin_ns,
                 span.end_ns, i ? Json{{"instruction", i->instruction}} : Json::object());
    }
  }
  const std::string text = trace.text();
  host::OutputFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace ingot::cli
