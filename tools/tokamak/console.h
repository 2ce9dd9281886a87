#pragma once

#include <string>
#include <string_view>

#include "support/result.h"

namespace tokamak::tool {

/// Prints the diagnostic on stderr as text and, where `json`, on stdout as
/// {"error": {"code", "file", "line", "column", "message", "hint"}}.
void report(const Diagnostic& diagnostic, bool json);

/// A line on stderr that says what takes so long; shown on terminals only, gone when the object dies.
class Progress {
 public:
  explicit Progress(std::string_view what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(std::string_view what);

 private:
  bool shown_;
};

/// The whole file; `-` is stdin. T0802 where it cannot be read.
Result<std::string> readFile(const std::string& path);
/// T0803 where the file could not be written later: asked before long work whose result it is to hold.
Result<> checkWritable(const std::string& path);
/// Writes the file and says so. T0803 where it cannot be written.
Result<> writeFile(const std::string& path, std::string_view text);
/// T0803 where it cannot be made.
Result<> makeFolder(const std::string& path);

/// What is left of a program from its first word on, comments before it left out.
std::string_view fromFirstWord(std::string_view text);

/// `wrote PATH` on stderr, so that nobody has to look for what a command made.
void sayWritten(const std::string& path);

/// Prints to stdout. A closed pipe is not an error: `tokamak explain x.tk | head` ends quietly.
void say(std::string_view text);

}  // namespace tokamak::tool
