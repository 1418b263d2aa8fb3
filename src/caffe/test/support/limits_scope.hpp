#ifndef CAFFE_TEST_LIMITS_SCOPE_HPP_
#define CAFFE_TEST_LIMITS_SCOPE_HPP_

#include <string>

#include "caffe/core/limits.hpp"

namespace caffe {

/// Limits that hold until the scope ends, as Limits::With takes them.
class LimitsScope {
 public:
  explicit LimitsScope(const std::string& list) : before_(limits::Current()) {
    limits::Set(before_.With(list));
  }
  ~LimitsScope() { limits::Set(before_); }
  LimitsScope(const LimitsScope&) = delete;
  LimitsScope& operator=(const LimitsScope&) = delete;

 private:
  const Limits before_;
};

}  // namespace caffe

#endif  // CAFFE_TEST_LIMITS_SCOPE_HPP_
