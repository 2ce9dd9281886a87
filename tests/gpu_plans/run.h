#pragma once

#include <string>

#include "driver/three_ways.h"

/// Graphs scheduled for a GPU, run in the SIMT interpreter against the reference evaluator.
namespace tokamak::gpu_plans {

const Engine& engine();

/// What is wrong with how this graph runs on random inputs of the given sizes; empty if nothing is. `unfused` runs
/// every op in a kernel of its own.
std::string complaint(const Graph& graph, uint64_t seed, const DimBindings& dims, const CompileOptions& options = {});

/// Expects a program to run right, and gives the plans of its regions, a line each: `pointwise: 256 threads, ...`.
std::string plansOf(std::string_view program, const DimBindings& dims = {}, const CompileOptions& options = {});

}  // namespace tokamak::gpu_plans
