// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/output/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tools/cli/output/standard_output.h"
#include "tools/files/standard_streams.h"
#include "tools/files/visible_text.h"

namespace ingot::cli {
namespace {

bool quiet = false;
int report_descriptor = STDOUT_FILENO;

uint64_t clock_ns() {
  using namespace std::chrono;
  return uint64_t(duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

/// Characters, not bytes, of UTF-8.
size_t width(const std::string& text) {
  return size_t(
      std::count_if(text.begin(), text.end(), [](char c) { return (uint8_t(c) & 0xc0) != 0x80; }));
}

#if defined(__linux__)
ssize_t write_guarded(void* hider, const char* bytes, size_t count) {
  std::string clean = host::with_stream_names(std::string(bytes, count));
  static_cast<host::ControlHider*>(hider)->hide(&clean);
  for (size_t done = 0; done < count;) {
    const ssize_t written = ::write(report_descriptor, clean.data() + done, count - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return 0;  // an error, says fopencookie
    done += size_t(written);
  }
  return ssize_t(count);
}
#endif

}  // namespace

void guard_standard_output() {
#if defined(__linux__)
  static host::ControlHider hider;
  fflush(stdout);
  FILE* guarded = fopencookie(&hider, "w", {nullptr, write_guarded, nullptr, nullptr});
  if (!guarded) return;
  if (isatty(STDOUT_FILENO)) setvbuf(guarded, nullptr, _IOLBF, BUFSIZ);
  replace_standard_output(guarded);
#endif
}

void send_reports_to_standard_error() {
  fflush(stdout);
  report_descriptor = STDERR_FILENO;
}

void be_quiet() { quiet = true; }

void summary(const char* format, ...) {
  if (quiet) return;
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
}

std::string grouped(uint64_t n) {
  std::string digits = std::to_string(n);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string short_bytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KB", "MB", "GB", "TB"};
  double value = double(bytes);
  int unit = 0;
  while (value >= 1000 && unit < 4) {
    value /= 1000;
    unit++;
  }
  char text[32];
  snprintf(text, sizeof text,
           unit == 0    ? "%.0f %s"
           : value < 10 ? "%.2f %s"
                        : "%.1f %s",
           value, kUnits[unit]);
  return text;
}

std::string short_time(double ms) {
  char text[32];
  if (ms >= 1000)
    snprintf(text, sizeof text, "%.2f s", ms / 1000);
  else if (ms >= 1)
    snprintf(text, sizeof text, "%.3f ms", ms);
  else
    snprintf(text, sizeof text, "%.1f us", ms * 1000);
  return text;
}

std::string number(double value, int digits) {
  char text[32];
  snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

std::string counted(uint64_t n, const std::string& noun) {
  return grouped(n) + " " + noun + (n == 1 ? "" : "s");
}

namespace {

constexpr size_t kTableColumns = 100, kNarrowest = 32;

/// Pieces of at most `most` columns, cut behind a space where there is one in their second half.
std::vector<std::string> wrapped_cell(std::string text, size_t most) {
  std::vector<std::string> pieces;
  while (width(text) > most) {
    size_t at = 0, columns = 0, space = 0;
    while (columns < most) {
      if (text[at] == ' ' && columns >= most / 2) space = at + 1;
      at++;
      while (at < text.size() && (uint8_t(text[at]) & 0xc0) == 0x80) at++;
      columns++;
    }
    if (space) at = space;
    pieces.push_back(text.substr(0, at));
    text.erase(0, at);
  }
  pieces.push_back(text);
  return pieces;
}

}  // namespace

std::string Table::text(const std::string& indent) const {
  std::vector<size_t> widths;
  std::vector<bool> right;
  std::vector<std::string> names;
  for (const std::string& heading : headings_) {
    right.push_back(!heading.empty() && heading[0] == '>');
    names.push_back(right.back() ? heading.substr(1) : heading);
    widths.push_back(width(names.back()));
  }
  for (const auto& cells : rows_) {
    for (size_t i = 0; i < cells.size() && i < widths.size(); i++)
      widths[i] = std::max(widths[i], width(cells[i]));
  }
  size_t before_last = indent.size();
  for (size_t i = 0; i + 1 < widths.size(); i++) before_last += widths[i] + 2;
  const size_t room = std::max(kNarrowest, kTableColumns - std::min(kTableColumns, before_last));
  const bool wraps = wraps_last_ && !right.empty() && !right.back();
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text = indent;
    // a cell is one line, whatever a name holds
    for (size_t i = 0; i < cells.size() && i < widths.size(); i++) {
      if (i) text += "  ";
      if (wraps && i + 1 == widths.size()) {
        const std::vector<std::string> pieces = wrapped_cell(cells[i], room);
        text += pieces[0];
        for (size_t k = 1; k < pieces.size(); k++) {
          text.erase(text.find_last_not_of(' ') + 1);
          std::replace(text.begin(), text.end(), '\n', '?');
          out += text + "\n";
          text = std::string(before_last, ' ') + pieces[k];
        }
        continue;
      }
      const std::string pad(widths[i] - width(cells[i]), ' ');
      text += right[i] ? pad + cells[i] : cells[i] + pad;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    std::replace(text.begin(), text.end(), '\n', '?');
    out += text + "\n";
  };
  if (std::any_of(names.begin(), names.end(), [](const std::string& n) { return !n.empty(); }))
    line(names);
  for (const auto& cells : rows_) line(cells);
  return out;
}

void add_pass_rows(Table* table, const std::string& name, const std::string& changed,
                   const std::string& remarks, size_t most) {
  size_t shown = 0, left = 0;
  for (size_t at = 0; at < remarks.size() || shown == 0;) {
    const size_t end = std::min(remarks.find("; ", at), remarks.size());
    const std::string remark = remarks.substr(at, end - at);
    if (shown == 0)
      table->row({name, changed, remark});
    else if (shown < most)
      table->row({"", "", remark});
    else
      left++;
    shown++;
    at = end + 2;
  }
  if (left > 0) table->row({"", "", "(" + std::to_string(left) + " more)"});
}

Progress::Progress(const std::string& title) : title_(title), began_ns_(clock_ns()) {
  const char* kind = getenv("TERM");
  on_ = !quiet && isatty(STDERR_FILENO) && kind && strcmp(kind, "dumb") != 0;
}

void Progress::show(const std::string& stage, double fraction) {
  if (!on_) return;
  const uint64_t now = clock_ns();
  if (drawn_ && now - drawn_ns_ < 50'000'000 && fraction >= 0 && fraction < 1) return;
  drawn_ns_ = now;
  std::string bar;
  if (fraction >= 0) {
    const int full = int(std::lround(20 * std::min(fraction, 1.0)));
    bar = " [" + std::string(size_t(full), '#') + std::string(size_t(20 - full), '.') + "]";
  }
  fprintf(stderr, "\r\033[K%s%s %s %.1f s", title_.c_str(), bar.c_str(), stage.c_str(),
          double(now - began_ns_) / 1e9);
  fflush(stderr);
  drawn_ = true;
}

void Progress::clear() {
  if (!drawn_) return;
  fputs("\r\033[K", stderr);
  fflush(stderr);
  drawn_ = false;
}

void note(const std::string& text) {
  if (!quiet) fprintf(stderr, "note: %s\n", one_line(host::with_stream_names(text)).c_str());
}

}  // namespace ingot::cli
