#ifndef CAFFE_TOOLS_COMMON_THREADS_FLAG_HPP_
#define CAFFE_TOOLS_COMMON_THREADS_FLAG_HPP_

namespace caffe {

/// Lets -threads hold from here on. Programs that call this have the flag.
void ApplyThreadsFlag();

}  // namespace caffe

#endif  // CAFFE_TOOLS_COMMON_THREADS_FLAG_HPP_
