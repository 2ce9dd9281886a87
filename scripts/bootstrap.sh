#!/usr/bin/env bash
# Gets a Debian 12 or Ubuntu 24.04 machine ready:  scripts/bootstrap.sh build|lint
#
# Installs the distribution's packages that are missing (as root) or names them and the command that installs them (as
# anyone else), then makes .venv as requirements.txt says. Packages that only an optional part wants are tried for, no more. Does nothing, and needs no network, when nothing is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

build_packages=(
  cmake ninja-build ccache git g++ python3 python3-dev python3-venv
  clang-19 lld-19 llvm-19-dev libclang-rt-19-dev
  libfmt-dev libcli11-dev nlohmann-json3-dev libsqlite3-dev zlib1g-dev libzstd-dev
  libgtest-dev
)
optional_packages=(libmlir-19-dev)  # reads .mlir files; everything else does without
lint_packages=(clang-format-19 clang-tidy-19)

case "${1:-build}" in
  build) packages=("${build_packages[@]}") ;;
  lint) packages=("${build_packages[@]}" "${lint_packages[@]}") ;;
  *) echo "usage: scripts/bootstrap.sh build|lint" >&2; exit 2 ;;
esac

missing_packages() {  # of those named
  local installed
  installed=" $(dpkg-query -W -f='${db:Status-Status}:${Package} ' "$@" 2>/dev/null || true)"
  for package in "$@"; do
    [[ $installed == *" installed:$package "* ]] || printf '%s ' "$package"
  done
}

install_packages() {
  local missing
  missing=$(missing_packages "${packages[@]}")
  [[ -z $missing ]] && return
  if [[ $EUID -ne 0 ]]; then
    {
      echo "tokamak: these packages are missing: $missing"
      echo "tokamak: install them with:"
      echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends $missing"
    } >&2
    exit 1
  fi
  echo "tokamak: installing $missing"
  export DEBIAN_FRONTEND=noninteractive
  local log
  log=$(mktemp)
  # shellcheck disable=SC2086
  if ! { apt-get update -q && apt-get install -q -y --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    echo "tokamak: apt-get could not install the packages above (full log: $log)" >&2
    exit 1
  fi
  rm -f "$log"
}

# Without these something is left out, and the build says what.
install_optional_packages() {
  local missing
  missing=$(missing_packages "${optional_packages[@]}")
  [[ -z $missing ]] && return
  # shellcheck disable=SC2086
  if [[ $EUID -eq 0 ]] && { apt-get install -q -y --no-install-recommends $missing ||
    { apt-get update -q && apt-get install -q -y --no-install-recommends $missing; }; } >/dev/null 2>&1; then
    echo "tokamak: installed $missing"
  else
    echo "tokamak: going on without $missing(.mlir files cannot be read then)" >&2
  fi
}

make_environment() {
  cmp -s requirements.txt .venv/tokamak-requirements.txt && return
  echo "tokamak: making the virtual environment .venv"
  [[ -x .venv/bin/python ]] || python3 -m venv .venv
  if ! .venv/bin/python -m pip install -q --disable-pip-version-check -r requirements.txt; then
    echo "tokamak: pip could not install requirements.txt into .venv (is there a network?)" >&2
    exit 1
  fi
  cp requirements.txt .venv/tokamak-requirements.txt
}

if command -v dpkg-query >/dev/null; then
  install_packages
  install_optional_packages
else
  echo "tokamak: not a Debian or Ubuntu machine; assuming the equivalents of: ${packages[*]}" >&2
fi
make_environment
