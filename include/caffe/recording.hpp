#ifndef CAFFE_RECORDING_HPP_
#define CAFFE_RECORDING_HPP_

#include <functional>
#include <memory>

#include "caffe/device.hpp"

namespace caffe {

/// Work that was once put on a stream, to be put on streams again as a whole: a CUDA graph. It
/// works on the memory that it was recorded with, which has to be there.
class Recording {
 public:
  virtual ~Recording() = default;
  /// Puts all of it on a stream of the same device. Not for two streams at the same time.
  virtual void Launch(Stream& stream) = 0;
};

/// What streams are, beside a Stream, that can record.
class Recorder {
 public:
  virtual ~Recorder() = default;
  /// What `work` puts on this stream, which is not done now. Null where it does what cannot be
  /// recorded: waits for the device, or looks at its results.
  virtual std::unique_ptr<Recording> Record(const std::function<void()>& work) = 0;
};

/// The same for any stream: null for one that cannot record.
inline std::unique_ptr<Recording> Record(Stream& stream, const std::function<void()>& work) {
  Recorder* const recorder = dynamic_cast<Recorder*>(&stream);
  return recorder ? recorder->Record(work) : nullptr;
}

}  // namespace caffe

#endif  // CAFFE_RECORDING_HPP_
