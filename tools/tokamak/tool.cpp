#include "tool.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>

#include "command.h"
#include "console.h"
#include "graph/text/nearest.h"

namespace tokamak::tool {

namespace {

constexpr const char* kFooter = R"(Start with:
  tokamak explain examples/transformer_block.tk --dims S=512
  tokamak run examples/transformer_block.tk --random 0 --dims S=128
Exit codes: 0 done, 1 a comparison failed, 2 bad input (a diagnostic is on stderr).)";

bool wantsJson(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--json") == 0) return true;
  return false;
}

/// The command whose arguments were being read, and how it is called: `tokamak sparse run`.
std::pair<const CLI::App*, std::string> innermost(const CLI::App& app) {
  const CLI::App* command = &app;
  std::string name = "tokamak";
  for (auto parsed = command->get_subcommands(); !parsed.empty(); parsed = command->get_subcommands()) {
    command = parsed.back();
    name += " " + command->get_name();
  }
  return {command, name};
}

/// `did you mean WORD?` for the name that is a slip away, else `otherwise`.
std::string suggest(std::string_view word, const std::vector<std::string>& names, const std::string& otherwise) {
  const std::string_view close = nearest(word, {names.begin(), names.end()});
  return close.empty() ? otherwise : fmt::format("did you mean {}?", close);
}

/// CLI11's complaint as a diagnostic, in better words for a command or an option that does not exist.
Diagnostic complaint(const CLI::App& app, const CLI::ParseError& error) {
  const auto [command, name] = innermost(app);
  const std::string help = fmt::format("see {} --help", name);
  const std::vector<std::string> left = command->remaining_size() ? command->remaining() : app.remaining();
  const std::string word = left.empty() ? "" : left[0];
  std::vector<std::string> names;
  for (const CLI::App* sub : command->get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  if (!names.empty() && !word.empty() && !word.starts_with('-'))
    return {"T0801", {}, fmt::format("{} has no command {}", name, word), suggest(word, names, help)};
  if (!word.starts_with("--")) return {"T0801", {}, error.what(), help};
  for (const CLI::Option* option : command->get_options())
    for (const std::string& longName : option->get_lnames()) names.push_back("--" + longName);
  return {"T0801", {}, fmt::format("{} has no option {}", name, word), suggest(word, names, help)};
}

/// Help and version requests are printed and are no complaint; who names no command is shown which there are.
int parseFailure(const CLI::App& app, const CLI::ParseError& error, bool json) {
  if (error.get_exit_code() == 0) return app.exit(error);
  const auto [command, name] = innermost(app);
  if (command->get_require_subcommand_min() > 0 && command->get_subcommands().empty() &&
      command->remaining_size() == 0 && app.remaining_size() == 0) {
    const size_t own = name.rfind(' ');
    say(command->help(own == std::string::npos ? "" : name.substr(0, own)));
    return static_cast<int>(Outcome::badInput);
  }
  report(complaint(app, error), json);
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

int runTool(int argc, char** argv) {
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

}  // namespace tokamak::tool
