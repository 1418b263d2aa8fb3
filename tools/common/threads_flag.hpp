#ifndef CAFFE_TOOLS_COMMON_THREADS_FLAG_HPP_
#define CAFFE_TOOLS_COMMON_THREADS_FLAG_HPP_

namespace caffe {

/// More threads than this share no loop: a flag that says more is a slip.
constexpr int kMaxThreads = 4096;

/// Lets -threads hold from here on. Programs that call this have the flag.
void ApplyThreadsFlag();

}  // namespace caffe

#endif  // CAFFE_TOOLS_COMMON_THREADS_FLAG_HPP_
