// SPDX-License-Identifier: Apache-2.0
// tests/support/graph_evaluator.h - the naive evaluator of conversion graphs
// (tools/diagnose/reference) under the names of the tests.
#pragma once
#include "tools/diagnose/reference/evaluator.h"

namespace ingot::test {

using namespace ingot::reference;  // NOLINT: one set of names for every test

}  // namespace ingot::test
