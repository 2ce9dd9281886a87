#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>

#include "command.h"
#include "console.h"

namespace {

using namespace tokamak;
using namespace tokamak::tool;

constexpr const char* kFooter = R"(Start with:
  tokamak explain examples/transformer_block.tk --dims S=512
  tokamak run examples/transformer_block.tk --random 0 --dims S=128
Exit codes: 0 done, 1 a comparison failed, 2 bad input (a diagnostic is on stderr).)";

bool wantsJson(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--json") == 0) return true;
  return false;
}

/// CLI11's complaint as a diagnostic; help and version requests are printed and are no complaint.
int parseFailure(const CLI::App& app, const CLI::ParseError& error, bool json) {
  if (error.get_exit_code() == 0) return app.exit(error);
  std::string command = "tokamak";
  for (const CLI::App* sub : app.get_subcommands()) command += " " + sub->get_name();
  report({"T0801", {}, error.what(), fmt::format("see {} --help", command)}, json);
  return static_cast<int>(Outcome::badInput);
}

int runCommand(const std::vector<Command>& commands, bool json) {
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    const Result<Outcome> outcome = command.run();
    if (outcome) return static_cast<int>(*outcome);
    report(outcome.error(), json);
  }
  return static_cast<int>(Outcome::badInput);
}

int outOfMemory(bool json) {
  report({"T0806", {}, "not enough memory", "give smaller sizes with --dims"}, json);
  return static_cast<int>(Outcome::badInput);
}

/// What was said may still fail to arrive: a full disk shows only when the last of it is written.
int afterFlush(int outcome) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return outcome;
  report({"T0803", {"<stdout>", 0, 0}, "cannot write the output", "check where it goes and its space"}, false);
  return static_cast<int>(Outcome::badInput);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limit is a write that fails, with a diagnostic
  const bool json = wantsJson(argc, argv);
  CLI::App app("Tokamak: a tensor program goes in, a few fused kernels come out, and every decision explains itself.",
               "tokamak");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("tokamak ") + TOKAMAK_VERSION);
  app.footer(kFooter);
  const std::vector<Command> commands = {addRun(app),   addExplain(app), addOpt(app), addBench(app), addCache(app),
                                         addRepro(app), addSparse(app),  addSim(app), addSweep(app)};
  try {
    app.parse(argc, argv);
    return afterFlush(runCommand(commands, json));
  } catch (const CLI::ParseError& error) { return parseFailure(app, error, json); } catch (const std::bad_alloc&) {
    return outOfMemory(json);
  } catch (const std::length_error&) { return outOfMemory(json); }
}
