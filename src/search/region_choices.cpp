#include "search/region_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sparse/cost/count.h"
#include "sparse/lower/region_compiler.h"
#include "sparse/lower/to_stream.h"
#include "sparse/table/split.h"
#include "support/hash.h"

namespace tokamak::search {

namespace {

using namespace tokamak::sparse;

class RegionChoices {
 public:
  RegionChoices(const Program& program, Region region, const Formats& reads, const Data& data,
                const SpaceOptions& options)
      : program_(program), region_(std::move(region)), reads_(reads), data_(data), options_(options) {}

  std::vector<Choice> run() {
    for (const auto& [order, copies] : orders()) {
      std::vector<TableOptions> wishes = {{.order = order, .views = copies.views}};
      addIterated(wishes);
      addLanes(wishes);
      for (const TableOptions& wish : wishes) tryOne(wish, copies.inputs);
    }
    return std::move(out_);
  }

 private:
  struct Copies {
    std::map<ExprId, Format> views;
    size_t inputs = 0;
  };
  using Orders = std::vector<std::pair<std::vector<VarId>, Copies>>;

  double bytesOf(TensorId id) const {
    const auto found = data_.tensors().find(region_.program.tensor(id).name);
    return found == data_.tensors().end() ? 0 : static_cast<double>(found->second.bytes());
  }
  Result<OrderProblem> problemOf(const OrderWish& wish) const {
    return orderProblem(region_, wish, [&](TensorId t) { return bytesOf(t); });
  }

  /// Orders that storage allows, and those with more and more of the results' variables outermost. Inputs may be copied
  /// for an order, temps only where nothing else can run.
  Orders orders() {
    std::vector<OrderWish> wishes = {{}};
    for (const Statement& s : region_.program.statements()) {
      OrderWish outer{{}, true};
      for (const VarId v : s.vars) {
        outer.vars.push_back(region_.program.var(v).name);
        wishes.push_back(outer);
      }
    }
    Orders kept, withTemps;
    std::set<std::vector<VarId>> seen;
    const auto add = [&](const std::vector<VarId>& order) {
      if (!seen.insert(order).second) return true;
      OrderWish whole;
      for (const VarId v : order) whole.vars.push_back(region_.program.var(v).name);
      const Result<OrderProblem> problem = problemOf(whole);
      if (!problem) return true;
      const bool temps = std::any_of(problem->copied.begin(), problem->copied.end(),
                                     [&](ExprId access) { return isTemp(region_.program.expr(access).tensor); });
      (temps ? withTemps : kept)
          .emplace_back(order, Copies{copiedViews(region_, *problem, order), problem->copied.size()});
      return kept.size() < options_.ordersPerRegion && seen.size() < options_.ordersPerRegion * 4;
    };
    for (const OrderWish& wish : wishes) {
      const Result<OrderProblem> problem = problemOf(wish);
      if (problem) problem->forEachOrder(add);
    }
    if (options_.allOrders) {
      Result<OrderProblem> problem = problemOf({});
      if (problem) {
        problem->edges.clear();
        problem->forEachOrder(add);
      }
    }
    return kept.empty() ? withTemps : kept;
  }

  bool isTemp(TensorId tensor) const {
    if (region_.ranges.contains(tensor)) return false;
    return program_.tensor(program_.findTensor(region_.program.tensor(tensor).name)).role == Role::temp;
  }

  /// Each also with the dense inputs walked and intersected, one at a time, where a sparse operand shares a variable.
  void addIterated(std::vector<TableOptions>& wishes) const {
    if (!options_.iterate) return;
    const TableOptions plain = wishes[0];
    for (const TensorDecl& decl : region_.program.tensors()) {
      if (decl.role != Role::input || !decl.format.value_or(Format::dense(1)).isDense()) continue;
      wishes.push_back(plain);
      wishes.back().iterate = {decl.name};
    }
  }

  void addLanes(std::vector<TableOptions>& wishes) const {
    const std::vector<TableOptions> single = wishes;
    for (const TableOptions& one : single) addLanes(one, 0, options_.parallelLevels, wishes);
  }
  void addLanes(const TableOptions& from, size_t first, int levels, std::vector<TableOptions>& out) const {
    if (levels == 0) return;
    for (size_t v = first; v + 1 < from.order.size(); ++v)
      for (const int lanes : options_.lanes) {
        if (lanes < 2 || region_.program.size(from.order[v]) < lanes) continue;
        TableOptions more = from;
        more.lanes[from.order[v]] = lanes;
        out.push_back(more);
        addLanes(more, v + 1, levels - 1, out);
      }
  }

  void tryOne(const TableOptions& wish, size_t copies) {
    Result<Table> table = buildTable(region_, wish);
    if (!table) return;
    Result<stream::Graph> graph = toStream(*table);
    if (!graph || graph->nodes().size() > options_.mostBlocks) return;
    const uint64_t key = hashMix(hashBytes(print(*graph)), data_.digest(*table));
    const auto same = std::find_if(out_.begin(), out_.end(), [&](const Choice& c) { return c.key == key; });
    if (same != out_.end()) {
      ++same->spellings;
      return;
    }
    Choice choice;
    choice.statements = region_.statements;
    for (const size_t s : region_.statements)
      choice.wish.tensors.push_back(program_.tensor(program_.statements()[s].tensor).name);
    choice.wish.order = table->rows;
    for (const auto& [var, lanes] : wish.lanes) choice.wish.parallel.emplace_back(region_.program.var(var).name, lanes);
    choice.wish.iterate.assign(wish.iterate.begin(), wish.iterate.end());
    choice.reads = reads_;
    for (const Statement& s : region_.program.statements()) writes(*table, s, choice);
    choice.estimate = estimateOf(*table);
    if (choice.estimate.workspace > options_.mostWorkspace) return;
    choice.key = key;
    choice.blocks = graph->nodes().size();
    choice.copies = copies;
    choice.table = std::move(*table);
    choice.graph = std::move(*graph);
    out_.push_back(std::move(choice));
  }

  void writes(const Table& table, const Statement& s, Choice& choice) const {
    const std::string& name = region_.program.tensor(s.tensor).name;
    const TensorDecl& decl = program_.tensor(program_.findTensor(name));
    if (decl.role != Role::temp) return;
    choice.writes[name] = decl.format ? *decl.format : storedFormat(table, name, static_cast<int>(decl.dims.size()));
  }

  Estimate estimateOf(const Table& table) const {
    std::vector<std::shared_ptr<const Tensor>> keep;
    return count(table, [&](const TableTensor& tensor) { return keep.emplace_back(data_.tensor(tensor)).get(); });
  }

  const Program& program_;
  Region region_;
  const Formats& reads_;
  const Data& data_;
  const SpaceOptions& options_;
  std::vector<Choice> out_;
};

}  // namespace

std::vector<Choice> regionChoices(const Program& program, const std::vector<size_t>& statements, const Formats& reads,
                                  const Data& data, const SpaceOptions& options) {
  Program stored = program;
  for (const auto& [name, format] : reads) stored.tensors()[stored.findTensor(name).index].format = format;
  Result<Region> region = splitBlocks(fuseRegion(stored, statements));
  if (!region || region->program.statements().empty()) return {};
  return RegionChoices(program, std::move(*region), reads, data, options).run();
}

}  // namespace tokamak::search
