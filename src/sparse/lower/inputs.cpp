#include "sparse/lower/inputs.h"

#include <fmt/format.h>

#include <cmath>

namespace tokamak::sparse {

Result<Bindings> inDeclaredFormats(const Program& program, Bindings inputs) {
  for (const TensorDecl& decl : program.tensors()) {
    const auto found = inputs.find(decl.name);
    if (decl.role != Role::input || found == inputs.end()) continue;
    Tensor& tensor = found->second;
    tensor.dtype = decl.dtype;
    for (double& v : tensor.values) {
      if (std::isnan(v))
        return Diagnostic{"T0905", decl.location, fmt::format("a value of {} is not a number", decl.name),
                          "mend the data: NaN would be lost wherever it meets a zero"};
      v = roundTo(decl.dtype, v);
    }
    const Format wanted = decl.format.value_or(Format::dense(tensor.rank()));
    if (tensor.format != wanted) tensor = convert(tensor, wanted);
  }
  return inputs;
}

}  // namespace tokamak::sparse
