#pragma once

#include <string>
#include <utility>

namespace tokamak {

/// Yes, or no with the reason: "inner-reduce declined: %3 folds axis 1, %7 folds axis 0".
class [[nodiscard]] Decision {
 public:
  static Decision yes() { return Decision(true, {}); }
  static Decision no(std::string reason) { return Decision(false, std::move(reason)); }

  explicit operator bool() const { return yes_; }
  const std::string& reason() const { return reason_; }

 private:
  Decision(bool yes, std::string reason) : yes_(yes), reason_(std::move(reason)) {}
  bool yes_;
  std::string reason_;
};

}  // namespace tokamak
