#!/usr/bin/env bash
# Packs gpu_test and tokamak, with all but the system's own libraries inside, into build/tokamak-gpu.tar.gz:
#
#   tar xf tokamak-gpu.tar.gz && tokamak-gpu/run.sh                  # all tests; arguments go to gpu_test
#   tokamak-gpu/run.sh --gtest_filter='*RandomGraphs*'
#   tokamak-gpu/tokamak.sh bench tokamak-gpu/examples/softmax.tk --device cuda --dims M=16384
#
# NVRTC and the driver are the machine's: NVRTC of PyTorch's environment, of a toolkit, or named in TOKAMAK_NVRTC.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh bundle gpu_test tokamak
name=tokamak-gpu
folder=build/$name
rm -rf "$folder" && mkdir -p "$folder/lib"
for program in gpu_test tokamak libtokamak_llvm.so; do
  strip -o "$folder/$program" "build/bundle/bin/$program"
done
cp -r examples "$folder/"
gomp=$(ldd "$folder/gpu_test" | awk '/libgomp/ {print $3}')
[[ -z $gomp ]] || cp -L "$gomp" "$folder/lib/"

cat >"$folder/environment.sh" <<'END'
# The environment of the Python that has PyTorch holds NVRTC and cuBLASLt; ours comes last for what the system has.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ -z ${VIRTUAL_ENV:-} ]] && command -v python3 >/dev/null; then
  export VIRTUAL_ENV=$(python3 -c 'import sys; print(sys.prefix)')
fi
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$here/lib
END
cat >"$folder/run.sh" <<'END'
#!/usr/bin/env bash
set -euo pipefail
. "$(dirname "$0")/environment.sh"
TOKAMAK_GPU_REQUIRED=1 exec "$here/gpu_test" "$@"
END
cat >"$folder/tokamak.sh" <<'END'
#!/usr/bin/env bash
set -euo pipefail
. "$(dirname "$0")/environment.sh"
exec "$here/tokamak" "$@"
END
chmod +x "$folder"/*.sh
tar -C build -czf "build/$name.tar.gz" "$name"
ls -lh "build/$name.tar.gz" | awk '{print "tokamak: " $9 ", " $5}'
