#pragma once

namespace tokamak::tool {

/// The command line: what `main` is given goes in, the exit code comes out. It takes SIGPIPE and SIGXFSZ for itself, so
/// it is for a process that does nothing else: the program `tokamak`, or the script of that name that the wheel
/// installs.
int runTool(int argc, char** argv);

}  // namespace tokamak::tool
