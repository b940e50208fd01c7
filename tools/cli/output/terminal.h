// SPDX-License-Identifier: Apache-2.0
// tools/cli/output/terminal.h - what people see: tables, sizes, and progress that is drawn on a
// terminal only.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tools/files/visible_text.h"

namespace ingot::cli {

/// From now on standard output shows what a terminal obeys as '?' or a mark like it
/// (tools/files/visible_text.h): names in a file are anybody's. Line ends and tabs pass, and what
/// is written to the descriptor instead of `stdout` does too.
void guard_standard_output();
/// From now on what is printed to standard output goes to standard error: an output of the command
/// is "-".
void send_reports_to_standard_error();
/// Only errors and what was asked for are printed: no notes, no progress, no summary().
void be_quiet();
/// A line on standard output that says what was done; see be_quiet().
[[gnu::format(printf, 1, 2)]] void summary(const char* format, ...);
using host::one_line;

/// "1,234,567".
std::string grouped(uint64_t n);
/// "1.2 MB", "512 B".
std::string short_bytes(uint64_t bytes);
/// "1.234 ms", "12.3 us", "2.5 s".
std::string short_time(double milliseconds);
/// "12" or "3.5e-07" with `digits` significant ones.
std::string number(double value, int digits = 4);

/// "1 instruction", "12 instructions".
std::string counted(uint64_t n, const std::string& noun);

/// Columns that line up. Cells of a column that starts with '>' in its heading are set flush right.
class Table {
 public:
  explicit Table(std::vector<std::string> headings) : headings_(std::move(headings)) {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// From now on the last column goes on in the next line where a line passes 100 columns.
  void wrap_last() { wraps_last_ = true; }
  bool empty() const { return rows_.empty(); }
  std::string text(const std::string& indent = "  ") const;

 private:
  std::vector<std::string> headings_;
  std::vector<std::vector<std::string>> rows_;
  bool wraps_last_ = false;
};

/// Rows for one pass and its remarks (sentences joined by "; "), at most `most` of them.
void add_pass_rows(Table* table, const std::string& name, const std::string& changed,
                   const std::string& remarks, size_t most);

/// One line on stderr that is drawn over, with the seconds so far; nothing at all when stderr is no
/// terminal.
class Progress {
 public:
  explicit Progress(const std::string& title);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// `fraction` below 0: unknown, no bar.
  void show(const std::string& stage, double fraction = -1);
  void clear();

 private:
  std::string title_;
  bool on_;
  bool drawn_ = false;
  uint64_t began_ns_ = 0, drawn_ns_ = 0;
};

/// A line for people on stderr, "note: ...".
void note(const std::string& text);

}  // namespace ingot::cli
