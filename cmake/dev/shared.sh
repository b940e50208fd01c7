# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Where shared material lies, once for all that ./dev starts: INGOT_SHARED becomes a folder's whole
# path, or `none`. The rule is that of tests/support/shared.py.
find_shared() {
  case "${INGOT_SHARED:-}" in
    none) ;;
    '') if [ -d ../shared ]; then INGOT_SHARED=$(cd ../shared && pwd); else INGOT_SHARED=none; fi ;;
    *) INGOT_SHARED=$(cd "$INGOT_SHARED" 2>/dev/null && pwd) || {
      echo "dev: INGOT_SHARED names no folder: set it to one with models/ and formats/, or to 'none'" >&2
      exit 1
    } ;;
  esac
  export INGOT_SHARED
}
find_shared
