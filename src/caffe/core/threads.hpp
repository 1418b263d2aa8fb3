#ifndef CAFFE_THREADS_HPP_
#define CAFFE_THREADS_HPP_

namespace caffe {

/// Gives the loops of the calling thread, which has not used Caffe before, the number of threads
/// that Caffe::threads describes.
void StartWithLatestThreads();

}  // namespace caffe

#endif  // CAFFE_THREADS_HPP_
