#ifndef CAFFE_CORE_AT_SCOPE_EXIT_HPP_
#define CAFFE_CORE_AT_SCOPE_EXIT_HPP_

#include <utility>

namespace caffe {

/// Calls a function at the end of a scope.
template <typename Function>
class AtScopeExit {
 public:
  explicit AtScopeExit(Function function) : function_(std::move(function)) {}
  ~AtScopeExit() { function_(); }
  AtScopeExit(const AtScopeExit&) = delete;
  AtScopeExit& operator=(const AtScopeExit&) = delete;

 private:
  const Function function_;
};

}  // namespace caffe

#endif  // CAFFE_CORE_AT_SCOPE_EXIT_HPP_
