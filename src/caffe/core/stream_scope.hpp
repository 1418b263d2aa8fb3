#ifndef CAFFE_STREAM_SCOPE_HPP_
#define CAFFE_STREAM_SCOPE_HPP_

#include "caffe/device.hpp"

namespace caffe {

/// While it lives, the calling thread's copies and kernels go to `stream`, of the thread's device:
/// Context::stream() returns it instead of the thread's own.
class StreamScope {
 public:
  explicit StreamScope(Stream* stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  Stream* const before_;
};

}  // namespace caffe

#endif  // CAFFE_STREAM_SCOPE_HPP_
