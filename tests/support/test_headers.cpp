// SPDX-License-Identifier: Apache-2.0
// A program of no test, whose flags are those of one: it has the headers that tests/CMakeLists.txt
// precompiles.
