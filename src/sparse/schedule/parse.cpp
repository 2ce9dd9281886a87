#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sparse/schedule/schedule.h"

namespace tokamak::sparse {

namespace {

class ScheduleParser {
 public:
  ScheduleParser(Cursor& cursor, const Program& program) : cursor_(cursor), program_(program) {}

  Result<std::vector<Schedule>> run() {
    std::vector<Schedule> out;
    while (!cursor_.atEnd()) {
      if (!cursor_.at("schedule"))
        return cursor_.expected("'schedule'", "schedules stand behind the program: schedule NAME { ... }");
      TK_TRY(Schedule schedule, one());
      for (const Schedule& other : out)
        if (other.name == schedule.name)
          return Diagnostic{"T0973", schedule.location, fmt::format("two schedules are called {}", schedule.name),
                            "name one of them otherwise"};
      out.push_back(std::move(schedule));
    }
    return out;
  }

 private:
  Result<Schedule> one() {
    Schedule out;
    cursor_.next();
    TK_TRY(const Token name, cursor_.word("a name", "write schedule NAME { ... }"));
    out.name = name.text;
    out.location = cursor_.place(name);
    TK_RETURN_IF_ERROR(cursor_.expect("{", "write schedule NAME { ... }"));
    while (!cursor_.take("}")) {
      const Token word = cursor_.peek();
      if (cursor_.take("fuse"))
        TK_RETURN_IF_ERROR(fuse(out, word));
      else if (cursor_.take("format"))
        TK_RETURN_IF_ERROR(format(out));
      else if (cursor_.take("block"))
        TK_RETURN_IF_ERROR(block(out));
      else if (cursor_.take("spill"))
        TK_RETURN_IF_ERROR(tensors(out.spill));
      else if (cursor_.take("cut"))
        out.cut = true;
      else if (cursor_.take("algebra")) {
        if (!cursor_.at("on") && !cursor_.at("off") && !cursor_.at("all"))
          return cursor_.expected("on, off or all", "write algebra off");
        const std::string_view how = cursor_.next().text;
        out.algebra = how != "off";
        out.algebraEverywhere = how == "all";
      } else
        return cursor_.expected("fuse, format, block, spill, cut, algebra or '}'",
                                "a schedule says what is fused: fuse {T, Y} { order i, k }");
    }
    return out;
  }

  Result<Token> tensor() {
    TK_TRY(const Token name, cursor_.word("a tensor", "name a tensor of the program"));
    if (program_.findTensor(name.text)) return name;
    std::vector<std::string> names;
    for (const TensorDecl& decl : program_.tensors()) names.push_back(decl.name);
    const std::string guess = didYouMean(name.text, names);
    return cursor_.fail("T0974", name, fmt::format("there is no tensor {}", name.text),
                        guess.empty() ? "name a tensor of the program" : guess);
  }

  Result<> tensors(std::vector<std::string>& out) {
    do {
      TK_TRY(const Token name, tensor());
      out.emplace_back(name.text);
    } while (cursor_.take(","));
    return Unit{};
  }

  Result<> fuse(Schedule& out, const Token& word) {
    RegionSchedule region;
    region.location = cursor_.place(word);
    const bool whole = cursor_.at("auto") || cursor_.at("all");
    if (out.fuse != Schedule::Fuse::listed || (whole && !out.regions.empty()))
      return cursor_.fail("T0974", word, "fuse all and fuse auto leave nothing for another fuse", "say one of them");
    if (cursor_.take("auto")) {
      out.fuse = Schedule::Fuse::automatic;
      return Unit{};
    }
    if (cursor_.take("all")) {
      out.fuse = Schedule::Fuse::all;
    } else {
      TK_RETURN_IF_ERROR(cursor_.expect("{", "write fuse {T, Y}, fuse all or fuse auto"));
      TK_RETURN_IF_ERROR(tensors(region.tensors));
      TK_RETURN_IF_ERROR(cursor_.expect("}", "close the list of tensors"));
    }
    if (cursor_.take("{")) TK_RETURN_IF_ERROR(details(region));
    out.regions.push_back(std::move(region));
    return Unit{};
  }

  /// A variable or tensor about which one thing is said.
  template <class Said>
  Result<> once(const Said& said, const Token& name, const std::string& code, std::string_view what) {
    if (std::none_of(said.begin(), said.end(), [&](const auto& one) { return one.first == name.text; })) return Unit{};
    return cursor_.fail(code, name, fmt::format("{} has two {}", name.text, what), "say one of them");
  }

  Result<> details(RegionSchedule& region) {
    while (!cursor_.take("}")) {
      const Token word = cursor_.peek();
      if (cursor_.take("order")) {
        if (!region.order.empty())
          return cursor_.fail("T0970", word, "the region has two orders", "name all variables in one");
        do {
          TK_TRY(const Token var, cursor_.word("an index variable", "write order i, k, j"));
          region.order.emplace_back(var.text);
        } while (cursor_.take(","));
      } else if (cursor_.take("parallel")) {
        do {
          TK_TRY(const Token var, cursor_.word("an index variable", "write parallel i 4"));
          TK_TRY(const int64_t lanes, cursor_.integer(1, "say how many lanes: parallel i 4"));
          if (lanes > 1024)
            return cursor_.fail("T0972", var, fmt::format("{} lanes are more than 1024", lanes), "use fewer");
          TK_RETURN_IF_ERROR(once(region.parallel, var, "T0972", "numbers of lanes"));
          region.parallel.emplace_back(var.text, static_cast<int>(lanes));
        } while (cursor_.take(","));
      } else if (cursor_.take("block")) {
        do {
          TK_TRY(const Token var, cursor_.word("an index variable", "write block i 16"));
          TK_TRY(const int64_t size, cursor_.integer(1, "say how large a block is: block i 16"));
          TK_RETURN_IF_ERROR(once(region.blocks, var, "T0977", "block sizes"));
          region.blocks.emplace_back(var.text, size);
        } while (cursor_.take(","));
      } else if (cursor_.take("iterate")) {
        TK_RETURN_IF_ERROR(tensors(region.iterate));
      } else if (cursor_.take("locate")) {
        TK_RETURN_IF_ERROR(tensors(region.locate));
      } else {
        return cursor_.expected("order, parallel, block, iterate, locate or '}'",
                                "write order i, k  parallel i 4  block k 16  iterate X  locate Z");
      }
      for (const std::string& name : region.locate)
        if (std::find(region.iterate.begin(), region.iterate.end(), name) != region.iterate.end())
          return cursor_.fail("T0974", word, fmt::format("{} is iterated and located", name), "say one of the two");
    }
    return Unit{};
  }

  Result<> format(Schedule& out) {
    TK_TRY(const Token name, tensor());
    const TensorDecl& decl = program_.tensor(program_.findTensor(name.text));
    TK_TRY(Format format, parseFormat(cursor_, static_cast<int>(decl.dims.size())));
    TK_RETURN_IF_ERROR(once(out.formats, name, "T0974", "formats"));
    out.formats.emplace_back(name.text, std::move(format));
    return Unit{};
  }

  Result<> block(Schedule& out) {
    TK_TRY(const Token name, tensor());
    const TensorDecl& decl = program_.tensor(program_.findTensor(name.text));
    std::vector<int64_t> sizes;
    do {
      TK_TRY(const int64_t size, cursor_.integer(1, "give a size for each axis: block A 16, 16"));
      sizes.push_back(size);
    } while (cursor_.take(","));
    if (decl.role != Role::input || sizes.size() != decl.dims.size() || sizes.size() != 2)
      return cursor_.fail("T0974", name, fmt::format("{} cannot be stored in blocks so", name.text),
                          "block takes an input matrix and two sizes: block A 16, 16");
    TK_RETURN_IF_ERROR(once(out.blocks, name, "T0974", "block sizes"));
    out.blocks.emplace_back(name.text, std::move(sizes));
    return Unit{};
  }

  Cursor& cursor_;
  const Program& program_;
};

}  // namespace

const Schedule* Source::find(std::string_view name) const {
  const auto found =
      std::find_if(schedules.begin(), schedules.end(), [&](const Schedule& s) { return s.name == name; });
  return found == schedules.end() ? nullptr : &*found;
}

Result<Source> parseSource(std::string_view text, std::string_view file) {
  TK_TRY(Cursor cursor, Cursor::over(text, file));
  Source out;
  TK_TRY(out.program, parseProgram(cursor));
  TK_TRY(out.schedules, ScheduleParser(cursor, out.program).run());
  return out;
}

Result<std::vector<Schedule>> parseSchedules(std::string_view text, const Program& program, std::string_view file) {
  TK_TRY(Cursor cursor, Cursor::over(text, file));
  return ScheduleParser(cursor, program).run();
}

std::string print(const Schedule& schedule) {
  std::string out = fmt::format("schedule {} {{\n", schedule.name);
  if (schedule.fuse == Schedule::Fuse::automatic) out += "  fuse auto\n";
  if (schedule.fuse == Schedule::Fuse::all && schedule.regions.empty()) out += "  fuse all\n";
  for (const RegionSchedule& region : schedule.regions) {
    out += region.tensors.empty() ? "  fuse all" : fmt::format("  fuse {{{}}}", fmt::join(region.tensors, ", "));
    std::vector<std::string> details;
    if (!region.order.empty()) details.push_back(fmt::format("order {}", fmt::join(region.order, ", ")));
    std::vector<std::string> lanes;
    for (const auto& [var, count] : region.parallel) lanes.push_back(fmt::format("{} {}", var, count));
    if (!lanes.empty()) details.push_back(fmt::format("parallel {}", fmt::join(lanes, ", ")));
    std::vector<std::string> blocks;
    for (const auto& [var, size] : region.blocks) blocks.push_back(fmt::format("{} {}", var, size));
    if (!blocks.empty()) details.push_back(fmt::format("block {}", fmt::join(blocks, ", ")));
    if (!region.iterate.empty()) details.push_back(fmt::format("iterate {}", fmt::join(region.iterate, ", ")));
    if (!region.locate.empty()) details.push_back(fmt::format("locate {}", fmt::join(region.locate, ", ")));
    out += details.empty() ? "\n" : fmt::format(" {{ {} }}\n", fmt::join(details, "  "));
  }
  for (const auto& [tensor, format] : schedule.formats) out += fmt::format("  format {} {}\n", tensor, format.str());
  for (const auto& [tensor, sizes] : schedule.blocks)
    out += fmt::format("  block {} {}\n", tensor, fmt::join(sizes, ", "));
  if (!schedule.spill.empty()) out += fmt::format("  spill {}\n", fmt::join(schedule.spill, ", "));
  if (schedule.cut) out += "  cut\n";
  if (!schedule.algebra) out += "  algebra off\n";
  if (schedule.algebraEverywhere) out += "  algebra all\n";
  return out + "}\n";
}

std::string print(const Source& source) {
  std::string out = print(source.program);
  for (const Schedule& schedule : source.schedules) out += "\n" + print(schedule);
  return out;
}

}  // namespace tokamak::sparse
