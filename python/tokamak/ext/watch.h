#pragma once

#include "py.h"

namespace tokamak::python {

/// The arguments that `watch` (a `Watch`) finds changed, by number: those before the first are unchanged. With `all`
/// false the first one is enough.
std::vector<int> changedArguments(PyObject* watch, PyObject* arguments, bool every);

}  // namespace tokamak::python
