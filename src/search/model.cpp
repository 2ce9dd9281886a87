#include "search/model.h"

#include <algorithm>

#include "sparse/lower/execute.h"

namespace tokamak::search {

using namespace tokamak::sparse;

namespace {

bool isChosen(const Schedule& wish, const std::string& tensor) {
  return std::any_of(wish.formats.begin(), wish.formats.end(), [&](const auto& f) { return f.first == tensor; });
}

}  // namespace

Schedule wholeProgram(bool algebra) { return {.name = "best", .algebra = algebra, .algebraEverywhere = algebra}; }

Result<Model> prepare(const Program& program, const Bindings& inputs, const Schedule& wish) {
  const Schedule each{.name = wish.name,
                      .formats = wish.formats,
                      .blocks = wish.blocks,
                      .algebra = wish.algebra,
                      .algebraEverywhere = wish.algebra};
  TK_TRY(Compiled compiled, compile(program, each, &inputs));
  TK_TRY(Execution execution, execute(compiled, inputs));
  Bindings tensors = inputs;
  for (auto& [name, tensor] : execution.results) tensors[name] = std::move(tensor);
  Model out{std::move(compiled.program), each, std::make_shared<Data>(std::move(tensors))};
  for (TensorDecl& decl : out.program.tensors())
    if (const TensorId written = program.findTensor(decl.name);
        decl.role == Role::temp && !(written && program.tensor(written).format) && !isChosen(wish, decl.name))
      decl.format.reset();
  out.base.algebra = !compiled.algebra.empty();
  out.base.algebraEverywhere = out.base.algebra;
  return out;
}

}  // namespace tokamak::search
