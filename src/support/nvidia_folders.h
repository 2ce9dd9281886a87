#pragma once

#include <string>
#include <vector>

namespace tokamak {

/// Folders that hold NVIDIA's libraries (NVRTC, cuBLASLt), those that exist, best first: the wheels of Python
/// environments (`PREFIX/lib/python3*/site-packages/nvidia/*/lib`, or `PREFIX/nvidia/*/lib` where the prefix is a
/// site-packages folder itself), then toolkits (`HOME/lib64`), then /usr/local/cuda.
std::vector<std::string> nvidiaFolders(const std::vector<std::string>& pythonPrefixes,
                                       const std::vector<std::string>& toolkitHomes);

}  // namespace tokamak
