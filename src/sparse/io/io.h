#pragma once

#include <string>
#include <string_view>

#include "sparse/format/tensor.h"

namespace tokamak::sparse {

/// Texts and files of sparse tensors. Every reader says where a file is wrong: T0906 with the line of a text, T0907
/// with the array of an archive, T0904 where a file cannot be read or written. Coordinates in MatrixMarket and FROSTT
/// files count from 1, in memory from 0. Entries need not be sorted.

/// MatrixMarket: coordinate or array; real, integer or pattern; general, symmetric or skew-symmetric (both halves
/// come).
Result<Entries> parseMatrixMarket(std::string_view text, const std::string& name);
std::string formatMatrixMarket(const Entries& entries);

/// FROSTT .tns: `i j k value` a line, `#` comments. The shape is that of the largest coordinates, at least `shape`.
Result<Entries> parseTns(std::string_view text, const std::string& name, const std::vector<int64_t>& shape = {});
std::string formatTns(const Entries& entries);

/// SciPy's sparse .npz (csr, csc, coo, bsr), arrays only: nothing is unpickled.
Result<Entries> parseNpz(std::string_view bytes, const std::string& name);
std::string formatNpz(const Entries& entries);  // as csr; requires a matrix

/// A tensor among the files of a SAM data folder: tensor_NAME_mode_K_seg, _crd, tensor_NAME_mode_vals, _shape. A level
/// without _crd is dense.
Result<Tensor> readSamTensor(const std::string& folder, const std::string& tensor);
Result<> writeSamTensor(const std::string& folder, const std::string& tensor, const Tensor& value);

/// A file by its ending: .mtx, .tns, .npz, .npy. A .tns says neither its rank nor its sizes: `rank` is that of one
/// without entries, and its sizes are those that its coordinates reach.
Result<Entries> readTensor(const std::string& path, size_t rank = 0);
Result<> writeTensor(const std::string& path, const Tensor& tensor);
/// `name`.mtx, .tns, .npz or .npy in a folder, or a tensor of a SAM folder. T0904 where there is none, or no folder.
Result<Entries> readFromFolder(const std::string& folder, const std::string& name, size_t rank = 0);
/// The file that `readFromFolder` would read; empty where it is a SAM tensor or none.
std::string fileInFolder(const std::string& folder, const std::string& name);

Result<std::string> readWholeFile(const std::string& path);
Result<> writeWholeFile(const std::string& path, std::string_view bytes);

}  // namespace tokamak::sparse
