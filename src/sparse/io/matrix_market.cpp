#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "sparse/io/io.h"
#include "sparse/io/number_lines.h"

namespace tokamak::sparse {

namespace {

class MatrixMarketReader {
 public:
  MatrixMarketReader(std::string_view text, const std::string& name) : lines_(text), text_(text), name_(name) {}

  Result<Entries> run() {
    TK_RETURN_IF_ERROR(header());
    if (!lines_.nextLine('%')) return fail("the line of sizes is missing", "the file is cut short: fetch it again");
    int64_t rows = 0, columns = 0, stored = 0;
    if (!lines_.number(rows) || !lines_.number(columns) || (coordinate_ && !lines_.number(stored)) ||
        !lines_.atLineEnd() || std::min({rows, columns, stored}) < 0 || std::max(rows, columns) > INT32_MAX)
      return fail("the line of sizes is not `rows columns entries`", "it is the first line behind the comments");
    out_.shape = {rows, columns};
    if (symmetric_ && rows != columns) return fail("a symmetric matrix is square", "correct the header");
    return coordinate_ ? entries(stored) : array();
  }

 private:
  Diagnostic fail(std::string message, std::string hint) const {
    return {"T0906", {name_, lines_.line(), 1}, std::move(message), std::move(hint)};
  }

  Result<> header() {
    const std::string first(text_.substr(0, text_.find('\n')));
    std::string line = first;
    std::transform(line.begin(), line.end(), line.begin(), [](unsigned char c) { return std::tolower(c); });
    std::istringstream words(line);
    std::string mark, object, layout, field, symmetry;
    words >> mark >> object >> layout >> field >> symmetry;
    const auto wrong = [&](std::string what) {
      return Diagnostic{"T0906",
                        {name_, 1, 1},
                        std::move(what),
                        "the first line is like %%MatrixMarket matrix coordinate real general"};
    };
    if (mark != "%%matrixmarket" || object != "matrix") return wrong("this is no MatrixMarket matrix");
    if (layout != "coordinate" && layout != "array") return wrong(fmt::format("there is no layout '{}'", layout));
    if (field != "real" && field != "integer" && field != "pattern" && field != "double")
      return wrong(fmt::format("values of field '{}' are not supported", field));
    if (symmetry != "general" && symmetry != "symmetric" && symmetry != "skew-symmetric")
      return wrong(fmt::format("symmetry '{}' is not supported", symmetry));
    coordinate_ = layout == "coordinate";
    pattern_ = field == "pattern";
    symmetric_ = symmetry != "general";
    mirror_ = symmetry == "skew-symmetric" ? -1 : 1;
    return Unit{};
  }

  Result<> add(int64_t row, int64_t column, double value) {
    if (row < 1 || row > out_.shape[0] || column < 1 || column > out_.shape[1])
      return fail(fmt::format("entry ({}, {}) is outside {} x {}", row, column, out_.shape[0], out_.shape[1]),
                  "rows and columns count from 1");
    if (value != value) return fail("the value is not a number", "mend the data");
    out_.add({static_cast<int32_t>(row - 1), static_cast<int32_t>(column - 1)}, value);
    if (symmetric_ && row != column)
      out_.add({static_cast<int32_t>(column - 1), static_cast<int32_t>(row - 1)}, mirror_ * value);
    return Unit{};
  }

  Result<Entries> entries(int64_t stored) {
    int64_t found = 0;
    for (; lines_.nextLine('%'); ++found) {
      int64_t row = 0, column = 0;
      double value = 1;
      if (!lines_.number(row) || !lines_.number(column) || (!pattern_ && !lines_.number(value)) || !lines_.atLineEnd())
        return fail(fmt::format("this is not `row column{}`", pattern_ ? "" : " value"), "mend the line");
      TK_RETURN_IF_ERROR(add(row, column, value));
    }
    if (found != stored)
      return fail(fmt::format("{} entries are announced, {} are there", stored, found),
                  found < stored ? "the file is cut short: fetch it again" : "correct the line of sizes");
    return std::move(out_);
  }

  /// Column by column; of a symmetric matrix the lower half.
  Result<Entries> array() {
    for (int64_t column = 1; column <= out_.shape[1]; ++column)
      for (int64_t row = symmetric_ ? column + (mirror_ < 0) : 1; row <= out_.shape[0]; ++row) {
        double value = 0;
        if (!lines_.nextLine('%'))
          return fail("values are missing at the end", "the file is cut short: fetch it again");
        if (!lines_.number(value) || !lines_.atLineEnd()) return fail("this is not one value", "mend the line");
        TK_RETURN_IF_ERROR(add(row, column, value));
      }
    if (lines_.nextLine('%')) return fail("there are more values than the sizes say", "correct the line of sizes");
    return std::move(out_);
  }

  NumberLines lines_;
  std::string_view text_;
  const std::string& name_;
  Entries out_;
  bool coordinate_ = true, pattern_ = false, symmetric_ = false;
  double mirror_ = 1;
};

}  // namespace

Result<Entries> parseMatrixMarket(std::string_view text, const std::string& name) {
  return MatrixMarketReader(text, name).run();
}

std::string formatMatrixMarket(const Entries& entries) {
  std::string out = fmt::format("%%MatrixMarket matrix coordinate real general\n{} {} {}\n", entries.shape[0],
                                entries.shape[1], entries.count());
  for (int64_t e = 0; e < entries.count(); ++e)
    fmt::format_to(std::back_inserter(out), "{} {} {}\n", entries.at[e * 2] + 1, entries.at[e * 2 + 1] + 1,
                   entries.values[e]);
  return out;
}

Result<Entries> parseTns(std::string_view text, const std::string& name, const std::vector<int64_t>& shape) {
  Entries out{shape, {}, {}};
  NumberLines lines(text);
  const auto fail = [&](std::string message, std::string hint) {
    return Diagnostic{"T0906", {name, lines.line(), 1}, std::move(message), std::move(hint)};
  };
  size_t rank = shape.size();
  std::vector<double> row;
  while (lines.nextLine('#')) {
    row.clear();
    while (!lines.atLineEnd()) {
      double number = 0;
      if (!lines.number(number)) return fail("this is not a line of numbers", "write `i j k value`");
      row.push_back(number);
    }
    if (rank == 0) rank = row.size() - 1;
    if (row.size() < 2 || row.size() != rank + 1)
      return fail(fmt::format("{} numbers where {} coordinates and a value are wanted", row.size(), rank),
                  "every line has the same number of coordinates; a file may be cut short");
    out.shape.resize(rank, 0);
    for (size_t axis = 0; axis < rank; ++axis) {
      const double c = row[axis];
      if (!(c >= 1) || c > INT32_MAX || c != static_cast<double>(static_cast<int64_t>(c)))
        return fail(fmt::format("{} is no coordinate", c), "coordinates are whole numbers from 1 up");
      out.at.push_back(static_cast<int32_t>(c) - 1);
      out.shape[axis] = std::max(out.shape[axis], static_cast<int64_t>(c));
    }
    if (row.back() != row.back()) return fail("the value is not a number", "mend the data");
    out.values.push_back(row.back());
  }
  if (rank == 0) return fail("the file has no entries, so its number of axes is not known", "use .mtx or .npy for it");
  return out;
}

std::string formatTns(const Entries& entries) {
  std::string out;
  const int rank = entries.rank();
  for (int64_t e = 0; e < entries.count(); ++e) {
    for (int axis = 0; axis < rank; ++axis)
      fmt::format_to(std::back_inserter(out), "{} ", entries.at[e * rank + axis] + 1);
    fmt::format_to(std::back_inserter(out), "{}\n", entries.values[e]);
  }
  return out;
}

}  // namespace tokamak::sparse
