#pragma once

namespace tokamak::runtime {

/// While it lives, OpenMP gives the calling thread no helpers: for library calls too small to be shared out, which
/// would wait for threads longer than they take, on a machine whose cores are taken by far.
///
///   CallerAlone alone(operations < kWorthThreads);
class CallerAlone {
 public:
  explicit CallerAlone(bool when);
  ~CallerAlone();
  CallerAlone(const CallerAlone&) = delete;
  CallerAlone& operator=(const CallerAlone&) = delete;

 private:
  int before_ = 0;  // threads to go back to; 0: nothing was changed
};

}  // namespace tokamak::runtime
