#ifndef CAFFE_UNSUPPORTED_HPP_
#define CAFFE_UNSUPPORTED_HPP_

#include "caffe/error.hpp"

namespace caffe {

/// What a kernel, or the library that has it, declares that it cannot do: another one is to be
/// taken. The message says why. Any other Error of a kernel is a failure.
class Unsupported : public Error {
 public:
  using Error::Error;
};

/// For lack of memory, or of scratch memory that may be taken: another time it may do.
class LacksMemory : public Unsupported {
 public:
  using Unsupported::Unsupported;
};

}  // namespace caffe

#endif  // CAFFE_UNSUPPORTED_HPP_
