// SPDX-License-Identifier: Apache-2.0
// tools/graph/port_quantization.h - what the integers of inputs and outputs stand for, as the
// metadata of a file keep it for ingot_model_quantization().
#pragma once
#include <string>

#include "tools/graph/graph.h"

namespace ingot::graph {

/// An integer q of the port stands for scale * (q - zero_point). The first record of a port stays.
void record_quantization(Model* model, const std::string& port, double scale, int64_t zero_point);

/// Of inputs that DequantizeLinear reads, and of outputs that QuantizeLinear makes, with one scale.
void record_quantization(Model* model);

}  // namespace ingot::graph
