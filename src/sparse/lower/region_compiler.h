#pragma once

#include "sparse/lower/compile.h"
#include "sparse/lower/structures.h"
#include "sparse/order/order.h"

namespace tokamak::sparse {

/// Compiles regions of one program one after another, each with the formats and statistics of what the regions before
/// it write. A region can be compiled to see what it would cost, and is kept by `accept`.
class RegionCompiler {
 public:
  /// The program's declared formats are kept; temps without one get theirs when their region is accepted.
  /// `exchange`: only orders whose graphs can be written as SAM exchange files.
  RegionCompiler(Program& program, const Bindings* data, bool exchange = false);

  /// The region of these statements (in program order) under a wish, or null where nobody needs its results. At most
  /// `orders` orders are compared.
  Result<std::optional<CompiledRegion>> compile(const std::vector<size_t>& statements, const RegionSchedule* wish,
                                                int orders = 24);
  void accept(const CompiledRegion& region);

  /// The share of entries that a tensor of the data stores.
  static double shareOf(const Tensor& tensor);

 private:
  /// What is known of a tensor of the program.
  struct Known {
    Format format;
    LevelStatistics levels;
    double density = 0.1;
  };

  /// An order of a region's loops that can run.
  struct Candidate {
    Table table;
    TableOptions options;
    Estimate estimate;
    double copies = 0;  // entries that are read from a permuted copy, though an order without it can run
    std::vector<std::string> notes;
    double cost() const { return estimate.cycles + copies; }
  };
  /// The cheapest of those seen, cheapest first.
  struct Candidates {
    size_t keep = 1, seen = 0;
    std::vector<Candidate> best;
    std::optional<Diagnostic> refusal;  // what the first order that cannot run could not do
    void add(Candidate candidate);
  };

  Result<CompiledRegion> compileFused(const Region& fused, const RegionSchedule& wished, int orders, bool asked);
  Result<CompiledRegion> compileRegion(Region fused, const RegionSchedule& wish, int orders, bool asked);
  Result<> tryOrders(const Region& region, const Nests& nests, const OrderWish& wished, const RegionSchedule& wish,
                     int orders, Candidates& out);
  Result<Table> tableFor(const Region& region, const TableOptions& options) const;
  void countOnData(Candidates& candidates);
  std::map<std::string, LevelStatistics> statistics(const Table& table);
  LevelStatistics statisticsFor(const TableTensor& tensor);
  void keepFormats(const CompiledRegion& region);
  void keepStatistics(const CompiledRegion& region);
  double bytesOf(const Program& program, TensorId id) const;

  Program& program_;
  const Bindings* data_;
  bool exchange_;
  Readers readers_;
  std::vector<bool> declared_;  // by tensor: its format was given
  std::map<std::string, Known> known_;
  std::optional<Structures> structures_;  // where costs are counted
};

/// How a temp without a format is stored by the region that computes it: as it comes, levels in the order of the loops,
/// dense where everything was visited, and dense at the top so that rows can be found.
Format storedFormat(const Table& table, const std::string& name, int rank);

/// Regions chosen by estimate: each statement joins the region of a producer, or of a reader of the same input, where
/// the two take fewer cycles together than one after the other.
Result<std::vector<CompiledRegion>> fuseAutomatically(const Program& program, RegionCompiler& compiler);

/// What each statement of a program is estimated to do as a region of its own, in tokens.
Result<std::vector<double>> workAlone(Program program, const Bindings* data);
/// Statements, in program order, as the longest runs that can be regions and do not do far more work than the
/// statements one by one (`alone`); each run has a note of why it ends.
Result<> compileInRuns(const std::vector<size_t>& statements, const std::vector<double>& alone,
                       RegionCompiler& compiler, std::vector<CompiledRegion>& out);

}  // namespace tokamak::sparse
