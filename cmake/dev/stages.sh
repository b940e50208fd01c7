# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# Runs stages of ./dev test, each a process with its log in build/logs, and adds up what they say. Two run
# side by side where neither needs the other: links, emulators and downloads of one leave processors idle.
passed=0 failed=0 skipped=0

# What ends before STAGE begins, where it runs at all; "alone": nothing runs beside it, since it
# configures a tree anew or measures time.
stage_after() {  # STAGE
  case $1 in
    lint | gcc | asan | shared_gcc | shared_models | shared_boards | shared_asan) ;;
    fuzz) echo asan ;;
    package | firmware | models | slow | nodes | tidy | tsan) echo gcc ;;
    sizes | overlay) echo gcc models ;;
    python | cuda | aarch64) echo gcc models overlay ;;
    cross) echo gcc aarch64 ;;
    shared_python | shared_aarch64) echo shared_models ;;
    *) echo alone ;;
  esac
}

say_stage() {  # NAME PASSED FAILED SKIPPED SECONDS [PROCESSOR_SECONDS]
  printf '%-10s %5d passed %3d failed %3d skipped  %4d s' "${@:1:5}"
  # a stage that leaves processors idle is one to run beside another
  [ "${5:-0}" -lt 5 ] || [ -z "${6:-}" ] || printf ', %d %% of %d processors' $((100 * $6 / $5 / jobs)) "$jobs"
  printf '\n'
}

# Adds up what a log says: doctest's summary lines, "NAME: N passed, N failed" lines, and one skip
# for each [skip] line.
count_log() {
  local log=$1 line counted='^([a-z0-9_ -]+: )?([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?$'
  stage_passed=0 stage_failed=0 stage_skipped=0
  while read -r line; do
    if [[ $line =~ test\ cases:\ *([0-9]+)\ *\|\ *([0-9]+)\ passed\ *\|\ *([0-9]+)\ failed ]]; then
      stage_passed=$((stage_passed + 10#${BASH_REMATCH[2]})); stage_failed=$((stage_failed + 10#${BASH_REMATCH[3]}))
    elif [[ $line =~ $counted ]]; then
      stage_passed=$((stage_passed + 10#${BASH_REMATCH[2]})); stage_failed=$((stage_failed + 10#${BASH_REMATCH[3]}))
    elif [[ $line == *"[skip] "* && $line != *"skipped"* ]]; then
      stage_skipped=$((stage_skipped + 1))
    fi
  done <<<"$(sed -E 's/^[0-9]+: //; s/\x1b\[[0-9;]*m//g' "$log")"
}

# Seconds of a stage on 2 quiet processors of 2.6 GHz without a compiler cache: what the share done
# is computed from.
stage_weight() {  # STAGE
  case $1 in
    gcc | asan) echo 720 ;;
    aarch64 | models) echo 300 ;;
    cuda | fuzz) echo 240 ;;
    slow | nodes | sizes | cross) echo 150 ;;
    tidy) echo 90 ;;
    python | overlay | tsan | package) echo 60 ;;
    *) echo 40 ;;
  esac
}
weight_done=0 weight_all=1

# A line for each stage that runs: what it has done, and the share of all stages by their weights.
report_stages() {
  local s at seconds weight done=$weight_done
  for s in "${!pids[@]}"; do
    seconds=$(((SECONDS - began[$s]) / ${#pids[@]})) weight=$(stage_weight "$s")
    done=$((done + (seconds < weight ? seconds : weight)))
  done
  for s in "${!pids[@]}"; do
    at=$(tail -c 200000 "build/logs/stage-$s.log" |
      grep -aoE 'built \[[0-9]+/[0-9]+\]|^ *[0-9]+/[0-9]+ Test|^\[(ok|fail)\] .{1,60}' | tail -n 1) || true
    at=$(tr -s ' ' <<<"${at# }" | sed -E 's/^ //; s/ Test$/ tests/')
    echo "  $s: $((SECONDS - began[$s])) s${at:+, $at}; $((100 * done / weight_all)) % of all done"
  done
}

# Whether half of a stage will end before INGOT_DEADLINE (seconds since 1970): continuous integration ends
# a run then, and nobody sees what it found. The machine is as slow as it was so far, and a quarter; three
# times as slow as the weights' while that is not known. What is left out is a counted skip, and so is the
# rest of a stage that has not ended by then.
may_begin() {  # STAGE
  local percent=300
  [ $weight_done -lt 500 ] || percent=$((125 * SECONDS / weight_done))
  [ -n "${INGOT_DEADLINE:-}" ] &&
    [ $(($(date +%s) + percent * $(stage_weight "$1") / 200)) -ge "$INGOT_DEADLINE" ] || return 0
  say_stage "$1" 0 0 1 0
  echo "    1 x skipped: stage $1 was not begun: the time of this run is over (INGOT_DEADLINE)"
  skipped=$((skipped + 1))
  return 1
}

# One stage: a process of its own, so that it can be ended with all it started. What its processors did
# is in build/logs/times-STAGE.txt.
stage_process() {  # STAGE
  local log=build/logs/stage-$1.log status=0 seconds left signal=TERM
  seconds=$(stage_seconds "$1")
  left=$((${INGOT_DEADLINE:-9999999999} - $(date +%s)))
  # a test that is asked to end says that it failed
  [ "$left" -ge "$seconds" ] || seconds=$left signal=KILL
  timeout --signal=$signal --kill-after=20 "$seconds" "$BASH" ./dev --stage "$1" >"$log" 2>&1 &
  # shellcheck disable=SC2064
  trap "kill $! 2>/dev/null" TERM
  wait $! || status=$?
  times >"build/logs/times-$1.txt"  # a pipe would be a shell of its own, which has no children
  [ $status -eq 124 ] || [ $status -eq 137 ] || return $status
  if [ $signal = KILL ]; then
    echo "[skip] the rest of stage $1: the time of this run is over (INGOT_DEADLINE)" >>"$log"
    return 0
  fi
  echo "ERROR $1: not done after $seconds s (INGOT_STAGE_SECONDS sets another limit)" >>"$log"
  return $status
}

# Counts what a stage said that has ended.
end_stage() {  # STAGE
  local name=$1 log=build/logs/stage-$1.log status=0 processors
  wait "${pids[$name]}" || status=$?
  unset "pids[$name]"
  count_log "$log"
  if [ $status -ne 0 ] && [ $stage_failed -eq 0 ]; then stage_failed=1; fi
  if [ $status -eq 0 ] && [ $((stage_passed + stage_failed + stage_skipped)) -eq 0 ]; then stage_passed=1; fi
  processors=$(tail -n 1 "build/logs/times-$name.txt" | awk -F'[ms ]+' '{ printf "%d", 60 * $1 + $2 + 60 * $3 + $4 }')
  say_stage "$name" $stage_passed $stage_failed $stage_skipped $((SECONDS - began[$name])) "$processors"
  if [ $stage_failed -ne 0 ]; then
    grep -nE 'ERROR|error:|undefined reference|multiple definition|No space left|FAILED|\[fail\]|\*\*\*Failed|Sanitizer|runtime error' "$log" | head -15 | sed "s/^/    /" || true
    tail -n 5 "$log" | sed "s/^/    /"
    df -Pk build | awk 'NR == 2 && $4 < 1048576 { printf "    the disk has %d MiB left\n", $4 / 1024 }'
    echo "    whole log: $log"
  fi
  sed -nE 's/.*\[skip\] (.*)/    skipped: \1/p' "$log" | grep -v 'skipped$' | sort | uniq -c | sed -E 's/^ *([0-9]+) +/    \1 x /' | head -12 || true
  passed=$((passed + stage_passed)) failed=$((failed + stage_failed)) skipped=$((skipped + stage_skipped))
  weight_done=$((weight_done + $(stage_weight "$name")))
  drop_trees "$name"
}

# Whether STAGE can begin beside what runs.
is_ready() {  # STAGE
  local after need
  after=$(stage_after "$1")
  [ ${#pids[@]} -gt 0 ] || [ "$after" != alone ] || return 0
  [ ${#pids[@]} -lt $at_once ] && [ "$after" != alone ] || return 1
  for need in "${!pids[@]}"; do [ "$(stage_after "$need")" != alone ] || return 1; done
  for need in $after; do [[ " ${!pids[*]} ${waiting[*]} " != *" $need "* ]] || return 1; done
}

# Runs stages, each as soon as what it needs has ended, with a line every half minute.
run_stages() {  # STAGE..
  local waiting=("$@") reported=$SECONDS at_once=1 ended s i
  local -A pids=() began=()
  mkdir -p build/logs
  # two compile at once
  [ "$jobs" -lt 2 ] || at_once=$(awk -v need=$((2 * jobs * 1572864)) '/^MemAvailable:/ { print $2 < need ? 1 : 2 }' /proc/meminfo)
  trap 'kill ${pids[*]} 2>/dev/null; exit 130' INT TERM
  while [ ${#waiting[@]} -gt 0 ]; do
    for i in "${!waiting[@]}"; do
      s=${waiting[$i]}
      is_ready "$s" || continue
      unset "waiting[$i]"
      may_begin "$s" || continue
      stage_process "$s" &
      pids[$s]=$! began[$s]=$SECONDS
    done
    # until one has ended that others may wait for, or all
    ended=no
    while [ ${#pids[@]} -gt 0 ] && { [ $ended = no ] || [ ${#waiting[@]} -eq 0 ]; }; do
      sleep 0.3
      for s in "${!pids[@]}"; do kill -0 "${pids[$s]}" 2>/dev/null || { ended=yes; end_stage "$s"; }; done
      [ $((SECONDS - reported)) -lt 30 ] || { reported=$SECONDS; report_stages; }
    done
  done
  trap - INT TERM
}

# With INGOT_DROP_TREES=1 (continuous integration) what a stage alone has built goes when it has passed:
# the programs of stage asan are 20 GB, and a linker that finds the disk full says no more than that it failed.
drop_trees() {  # STAGE
  [ "${INGOT_DROP_TREES:-}" = 1 ] && [ $stage_failed -eq 0 ] || return 0
  case $1 in
    parsers | package | tsan | shared_aarch64 | cross) rm -rf "build/$1" ;;
    cuda) rm -rf build/cuda_code* ;;
  esac
}

# No stage hangs: twice to ten times what it takes on two cores without a compiler cache.
stage_seconds() {
  case $1 in
    gcc | asan | aarch64 | peers | target_*) echo "${INGOT_STAGE_SECONDS:-5400}" ;;
    fuzz_long | mutants) echo "${INGOT_STAGE_SECONDS:-7200}" ;;
    trial | torch-list) echo "${INGOT_STAGE_SECONDS:-14400}" ;;
    *) echo "${INGOT_STAGE_SECONDS:-2700}" ;;
  esac
}
