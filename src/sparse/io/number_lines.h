#pragma once

#include <charconv>
#include <string_view>

namespace tokamak::sparse {

/// Reads a text of numbers line by line.
class NumberLines {
 public:
  explicit NumberLines(std::string_view text) : text_(text) {}

  /// Moves to the next line that is not blank and does not start with `comment`. False at the end.
  bool nextLine(char comment) {
    while (at_ < text_.size()) {
      begin_ = at_;
      const size_t end = text_.find('\n', at_);
      end_ = end == std::string_view::npos ? text_.size() : end;
      at_ = end_ + 1;
      ++line_;
      const size_t first = text_.find_first_not_of(" \t\r", begin_);
      if (first == std::string_view::npos || first >= end_ || text_[first] == comment) continue;
      begin_ = first;
      return true;
    }
    return false;
  }

  /// The next number of the line. False where there is none, or something else.
  template <class T>
  bool number(T& out) {
    skip();
    const char* first = text_.data() + begin_;
    if (begin_ < end_ && *first == '+') ++first;
    const auto [last, error] = std::from_chars(first, text_.data() + end_, out);
    if (error != std::errc{}) return false;
    begin_ = static_cast<size_t>(last - text_.data());
    return begin_ == end_ || text_[begin_] == ' ' || text_[begin_] == '\t' || text_[begin_] == '\r';
  }

  bool atLineEnd() {
    skip();
    return begin_ == end_;
  }
  std::string_view rest() const { return text_.substr(begin_, end_ - begin_); }
  int line() const { return line_; }

 private:
  void skip() {
    while (begin_ < end_ && (text_[begin_] == ' ' || text_[begin_] == '\t' || text_[begin_] == '\r')) ++begin_;
  }

  std::string_view text_;
  size_t at_ = 0, begin_ = 0, end_ = 0;
  int line_ = 0;
};

}  // namespace tokamak::sparse
