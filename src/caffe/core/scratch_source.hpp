#ifndef CAFFE_SCRATCH_SOURCE_HPP_
#define CAFFE_SCRATCH_SOURCE_HPP_

#include "caffe/allocator.hpp"

namespace caffe {

/// While it lives, the calling thread's workspace takes memory from `allocator` and gives it back
/// at once, instead of keeping blocks of its own: scratch lies where activations do that are not
/// needed at the moment. With null the workspace keeps its blocks.
class ScratchSource {
 public:
  explicit ScratchSource(Allocator* allocator);
  ~ScratchSource();
  ScratchSource(const ScratchSource&) = delete;
  ScratchSource& operator=(const ScratchSource&) = delete;

 private:
  Allocator* before_;
};

}  // namespace caffe

#endif  // CAFFE_SCRATCH_SOURCE_HPP_
