#include "tools/cli/profile.h"

#include <nlohmann/json.hpp>

#include "tools/files/output_file.h"

namespace ingot::cli {

using Json = nlohmann::ordered_json;

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
            {event->instruction, event->op, event->name, event->kernel, event->begin_ns, event->end_ns, event->team});
      },
      this);
}

void Profile::write_chrome_trace(const std::string& path) const {
  const auto us = [&](uint64_t ns) { return double(int64_t(ns - origin_ns_)) / 1000; };
  Json events = Json::array();
  for (const Phase& p : phases_) {
    events.push_back({{"name", p.name},
                      {"cat", "ingot"},
                      {"ph", "X"},
                      {"ts", us(p.begin_ns)},
                      {"dur", double(p.end_ns - p.begin_ns) / 1000},
                      {"pid", 1},
                      {"tid", 1}});
  }
  for (const ProfiledInstruction& i : instructions_) {
    events.push_back({{"name", i.name.empty() ? i.op : i.op + " " + i.name},
                      {"cat", i.op},
                      {"ph", "X"},
                      {"ts", us(i.begin_ns)},
                      {"dur", double(i.end_ns - i.begin_ns) / 1000},
                      {"pid", 1},
                      {"tid", 2},
                      {"args", {{"instruction", i.instruction}, {"kernel", i.kernel}, {"threads", i.team}}}});
  }
  for (const auto& [tid, name] : {std::pair{1, "phases"}, std::pair{2, "instructions"}}) {
    events.push_back({{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", tid}, {"args", {{"name", name}}}});
  }
  const std::string text =
      Json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump(1, ' ', false, Json::error_handler_t::replace) +
      "\n";
  host::OutputFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace ingot::cli
