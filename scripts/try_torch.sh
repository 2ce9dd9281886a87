#!/usr/bin/env bash
# The Python tests with the wheel of dist/ under another torch and another Python:  scripts/try_torch.sh 2.10.0 python3.12
#
# Everything goes into build/torch-VERSION: some gigabytes where pip finds torch with CUDA's libraries only.
set -euo pipefail
cd "$(dirname "$0")/.."
torch=${1:?usage: scripts/try_torch.sh VERSION [PYTHON]} python=${2:-python3}
wheels=(dist/tokamak-*.whl)
[[ -e ${wheels[0]} ]] || { echo "tokamak: no wheel in dist/: run 'make python' first" >&2; exit 1; }
command -v "$python" >/dev/null || { echo "tokamak: there is no $python" >&2; exit 1; }
venv=build/torch-$torch
echo "tokamak: torch $torch with $("$python" --version), in $venv (log: $venv.log)"
mkdir -p build
{
  "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check "torch==$torch" \
    $(grep -E '^(numpy|transformers|pytest|pytest-xdist|expecttest|distributed)==' requirements.txt)
  "$venv/bin/python" -m pip install -q --disable-pip-version-check --force-reinstall --no-deps "${wheels[0]}"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check "${wheels[0]}"
} >"$venv.log" 2>&1 || { tail -n 20 "$venv.log" >&2; exit 1; }
exec "$venv/bin/python" -m pytest -q -n "$(nproc)" -p no:cacheprovider tests/python
