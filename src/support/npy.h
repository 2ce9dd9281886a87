#pragma once

#include <string>
#include <string_view>

#include "support/array.h"
#include "support/result.h"

namespace tokamak {

/// Reads a NumPy array file, format 1 to 3: bool, int8 to int64, uint8, float16 to float64, in either byte order and in
/// C or Fortran order; the result is row-major. `V2` (what ml_dtypes writes for bfloat16) is read as bf16.
///
/// T0301: cannot be opened or read; T0302: not a .npy file, or its header is damaged; T0303: a dtype that has no
/// counterpart; T0304: fewer or more bytes than the header says. Nothing is allocated before the file's size is checked
/// against the header.
Result<Array> readNpy(const std::string& path);
/// The same from bytes; `name` stands for the file in diagnostics.
Result<Array> parseNpy(std::string_view bytes, const std::string& name);

/// Writes format 1.0 in C order; bf16 as `<V2`. The file is complete or not there. T0305: cannot be written.
Result<> writeNpy(const std::string& path, const Array& array);
std::string formatNpy(const Array& array);
/// The same from a dense buffer.
Result<> writeNpy(const std::string& path, DType dtype, const std::vector<int64_t>& shape, const void* data);

}  // namespace tokamak
