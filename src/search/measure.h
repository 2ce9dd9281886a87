#pragma once

#include "search/space.h"
#include "sim/simulate.h"

namespace tokamak::search {

/// What simulation says of one choice.
struct Measurement {
  double cycles = 0, operations = 0, bytesRead = 0, bytesWritten = 0;
  double workspace = 0;  // entries of the largest accumulator at its fullest
  double tokens = 0, seconds = 0;
  double bytes() const { return bytesRead + bytesWritten; }
};

/// Whether a diagnostic says that the machine cannot run a choice at all: streams too shallow, a workspace too small.
bool cannotRun(const Diagnostic& why);

Measurement measurementOf(const sim::Report& report);

/// Simulates a choice on the data that it reads. A diagnostic where the run was ended or could not go on.
Result<Measurement> measure(const Choice& choice, const Data& data, const sim::Options& options);

}  // namespace tokamak::search
