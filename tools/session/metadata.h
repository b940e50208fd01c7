// SPDX-License-Identifier: Apache-2.0
// tools/session/metadata.h - what a file says about itself, decoded.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/session/engine.h"

namespace ingot::cli {

struct Metadata {
  struct Node {
    std::string name, op, output;
  };
  struct Pass {
    std::string name, remark;
    uint32_t changed;
  };
  bool present = false;
  std::string name, version, licence, producer, source_file, source_sha256, source_format,
      source_producer;
  std::vector<Node> nodes;
  std::vector<Pass> passes;
  std::vector<std::pair<std::string, std::string>> entries;
  std::vector<std::string> labels, notes;
};

/// Reads and verifies the metadata part. @throws Failure kCorrupt.
Metadata read_metadata(const Engine& engine);

/// A part of the file, whole; empty when there is none.
std::vector<uint8_t> read_part(const Engine& engine, ingot_part kind, uint32_t index = 0);

}  // namespace ingot::cli
