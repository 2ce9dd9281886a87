#!/usr/bin/env bash
# Runs every libFuzzer target of build/fuzz/bin, and random torch programs, for FUZZ_SECONDS each; corpora grow under build/fuzz/corpus, from seeds in
# tests/fuzz/seeds/NAME and, for those that read graphs, from the examples and the programs of tests/errors. A crash
# leaves its input under build/fuzz/crashes and fails; a crash of an earlier run that is still there is tried first.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-30}
shopt -s nullglob
status=0
for program in build/fuzz/bin/*_fuzz; do
  name=$(basename "$program")
  corpus=build/fuzz/corpus/$name crashes=build/fuzz/crashes/$name log=build/fuzz/$name.log
  mkdir -p "$corpus" "$crashes"
  arguments=(-max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -artifact_prefix="$crashes/" -print_final_stats=1)
  seeds=("$corpus" "$crashes")
  [[ -d tests/fuzz/seeds/$name ]] && seeds+=("tests/fuzz/seeds/$name")
  case $name in
    graph_text_fuzz | pipeline_fuzz) arguments+=(-dict=tests/fuzz/graph.dict) seeds+=(examples tests/errors) ;;
  esac
  printf '%-28s ' "$name"
  if "$program" "${arguments[@]}" "${seeds[@]}" >"$log" 2>&1; then
    echo "ok, $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s"
  else
    status=1
    echo "FAILED, see $log and $crashes"
    tail -n 30 "$log"
  fi
done

# Random functions of torch against eager.
if [[ -d build/release/python/tokamak ]]; then
  PYTHONPATH=build/release/python .venv/bin/python tests/fuzz/torch_programs.py --seconds "$seconds" || status=1
fi

# The vector math on every float, some minutes a function; MATH_STRIDE=64 looks at every 64th.
build/release/bin/exhaustive_math --stride "${MATH_STRIDE:-1}" || status=1
exit $status
