#!/usr/bin/env bash
# Builds the wheel (one for every Python from 3.11 on) into dist/ and installs it into .venv, beside torch.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p dist build
log=build/wheel.log
echo "tokamak: building the wheel: all is compiled for it, eight minutes on two cores (log: $log)"
export CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)}
rm -f dist/tokamak-*.whl
.venv/bin/python -m pip wheel -v --disable-pip-version-check --no-deps --no-build-isolation -w dist . >"$log" 2>&1 || {
  tail -n 40 "$log" >&2
  exit 1
}
.venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --force-reinstall dist/tokamak-*.whl
ls -lh dist/tokamak-*.whl | awk '{print "tokamak: " $9 ", " $5}'
.venv/bin/python -c '
import torch, tokamak
y = torch.compile(lambda x: torch.tanh(x) + 1, backend="tokamak")(torch.ones(3))
assert torch.allclose(y, torch.tanh(torch.ones(3)) + 1)
print("tokamak: installed; torch.compile(model, backend=\"tokamak\") works with torch", torch.__version__)'
.venv/bin/tokamak --version >/dev/null # the program that warnings tell users to run
