# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced: checks that are counted and go on.
passed=0 failed=0
pass() { passed=$((passed + 1)); echo "$1"; }
fail() { failed=$((failed + 1)); echo "ERROR $1"; }
there() { if [ -s "$1" ]; then pass "installed: ${1#"$prefix"/}"; else fail "not installed: ${1#"$prefix"/}"; fi; }
