#!/usr/bin/env bash
# Style of the sources, and the tree's own rules. clang-tidy looks at the files that differ from BASE (origin/main
# unless told: BASE=HEAD~3 make lint), since it takes seconds a file.
set -uo pipefail
cd "$(dirname "$0")/.."
status=0
check() {
  local what=$1
  shift
  if "$@"; then echo "ok    $what"; else echo "FAIL  $what"; status=1; fi
}

format_cpp() { git ls-files -z '*.cpp' '*.h' | xargs -0 -r clang-format-19 --dry-run -Werror; }

tidy_changed() {
  local base=${BASE:-origin/main} files
  git rev-parse -q --verify "$base" >/dev/null || base=HEAD
  mapfile -t files < <({ git diff --name-only --diff-filter=d "$base" -- '*.cpp'; git ls-files -o --exclude-standard -- '*.cpp'; } | sort -u)
  [[ ${#files[@]} -eq 0 ]] && return 0
  [[ -f build/dev/compile_commands.json ]] || cmake --preset dev >/dev/null || return 1
  clang-tidy-19 -p build/dev --quiet --warnings-as-errors='*' "${files[@]}" 2>&1 | grep -vE 'warnings generated|^Suppressed|^Use -header'
  return "${PIPESTATUS[0]}"
}

check "clang-format" format_cpp
check "folder arrows" python3 scripts/check_arrows.py
check "file sizes" python3 scripts/check_sizes.py
check "pages of diagnostics" python3 scripts/check_errors.py
check "guide matches its examples" python3 scripts/check_guide.py
check "ruff" .venv/bin/ruff check -q python scripts tests bench examples
check "ruff format" .venv/bin/ruff format -q --check python scripts tests bench examples
check "clang-tidy on changed files" tidy_changed
exit $status
