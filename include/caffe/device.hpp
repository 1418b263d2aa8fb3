#ifndef CAFFE_DEVICE_HPP_
#define CAFFE_DEVICE_HPP_

#include <cstddef>
#include <memory>
#include <string>

namespace caffe {

/// An order of execution on a device: what is put on one stream happens one after another, what is
/// on two streams in no order. The host waits with Synchronize.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Returns when all that was put on this stream has happened. Throws Error if some of it failed.
  virtual void Synchronize() = 0;
  /// The native handle (cudaStream_t for CUDA), nullptr where there is none.
  virtual void* handle() const { return nullptr; }
};

/// What the core needs of an accelerator with memory of its own. Libraries built without CUDA have
/// none; the tests put a fake one in its place to exercise every state and failure on any machine.
class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;
  /// Throws Error with the bytes asked for and free when there is no memory.
  virtual void* Allocate(size_t size) = 0;
  virtual void Free(void* pointer, size_t size) noexcept = 0;
  virtual std::unique_ptr<Stream> CreateStream() = 0;

  /// Copies and fills take effect in the stream's order; the host's side of a copy may be neither
  /// written nor freed before the stream was synchronized.
  virtual void CopyToDevice(void* device, const void* host, size_t size, Stream& stream) = 0;
  virtual void CopyToHost(void* host, const void* device, size_t size, Stream& stream) = 0;
  virtual void CopyOnDevice(void* to, const void* from, size_t size, Stream& stream) = 0;
  virtual void FillZero(void* device, size_t size, Stream& stream) = 0;

  /// The process's accelerator; throws Error saying what to do when there is none.
  static Device& Get();
  static bool available();
  /// Replaces the accelerator (nullptr: none) and returns the one before. All contexts drop their
  /// streams; memory that came from the old device has to be gone by then.
  static std::shared_ptr<Device> Set(std::shared_ptr<Device> device);
};

}  // namespace caffe

#endif  // CAFFE_DEVICE_HPP_
