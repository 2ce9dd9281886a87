#!/usr/bin/env bash
# Configures (once; CMake itself notices changed files later) and builds:  scripts/build.sh PRESET TARGET...
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift

if [[ ! -f build/$preset/build.ninja || CMakePresets.json -nt build/$preset/build.ninja ]]; then
  echo "tokamak: configuring build/$preset"
  mkdir -p "build/$preset"
  log=build/$preset/configure.log
  cmake --preset "$preset" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
fi
export NINJA_STATUS="[%f/%t, %e s] "
exec cmake --build "build/$preset" -j "${JOBS:-$(nproc)}" --target "$@"
