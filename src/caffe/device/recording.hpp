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

/// The base of streams that can record.
class Recorder {
 public:
  virtual ~Recorder() = default;
  /// What `work` puts on the thread's stream (Context::stream()), which is not done now, nor was it
  /// then. Null where it throws Error or does what cannot be recorded: waits for the device, or
  /// looks at its results. Lets through what else `work` throws. Memory that `work` takes of the
  /// device is there from then on; what it frees is there as long as the recording.
  virtual std::unique_ptr<Recording> Record(const std::function<void()>& work) = 0;
};

/// The same for any stream: null for one that cannot record.
inline std::unique_ptr<Recording> Record(Stream& stream, const std::function<void()>& work) {
  Recorder* const recorder = dynamic_cast<Recorder*>(&stream);
  return recorder ? recorder->Record(work) : nullptr;
}

}  // namespace caffe

#endif  // CAFFE_RECORDING_HPP_
