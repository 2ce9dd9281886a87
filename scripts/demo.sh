#!/usr/bin/env bash
# What `make demo` shows: a transformer block compiled into a few kernels, checked, timed and drawn; then one in PyTorch.
set -euo pipefail
cd "$(dirname "$0")/.."
tokamak=build/bin/tokamak
block=examples/transformer_block.tk
mkdir -p build/demo
if [[ -t 1 ]]; then bold=$'\e[1m' plain=$'\e[0m'; else bold='' plain=''; fi
headline() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }

headline "1. A transformer block ($block) becomes a handful of kernels"
$tokamak explain $block --dims S=512 --brief --measure --html build/demo/explain.html

headline "2. It computes what the reference evaluator computes"
$tokamak run $block --random 0 --dims S=96 --check

headline "3. Fused, and one kernel an op: what that costs beside the products, which stay as they are"
bench() { $tokamak bench $block --dims S=512 "$@" | tail -n 1 | grep -o 'median *[0-9.]* *[a-z]*'; }  # a copy is no limit of products
printf 'fused    '; bench
printf 'unfused  '; bench --no-fuse

headline "4. Every decision is explained"
echo "  build/demo/explain.html            the plan drawn, and why each edge was fused or not"
echo "  $tokamak explain $block --dims S=512      the same as a table"

headline "5. In PyTorch: torch.compile(block, backend=\"tokamak\")"
PYTHONPATH=build/release/python .venv/bin/python examples/python/transformer_block.py --html build/demo/torch_explain.html
