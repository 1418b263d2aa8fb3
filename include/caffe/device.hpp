#ifndef CAFFE_DEVICE_HPP_
#define CAFFE_DEVICE_HPP_

#include <cstddef>
#include <functional>
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
  /// Puts host code on the stream that reads and writes device memory. For devices whose memory
  /// the host can reach, which are those without a handle(); others throw Error.
  virtual void RunOnHost(std::function<void()> task);
  /// What is put on this stream from now on happens after all that was put on `other`, a stream of
  /// the same device, until now. The host does not wait.
  virtual void WaitFor(Stream& other) = 0;
};

/// What the core needs of an accelerator with memory of its own. Libraries built without CUDA have
/// none; the tests put a fake one in the place of all to exercise every state and failure on any
/// machine.
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
  /// Copies from and to memory of the host or of a device, whichever it is, after what is on the
  /// stream; returns when it is done.
  virtual void CopyAnywhere(void* to, const void* from, size_t size, Stream& stream);

  /// Makes this the device of the calling thread's calls into the native API, where there is one.
  virtual void MakeCurrent() {}
  /// A few lines about the device, for people.
  virtual std::string Description() const { return name(); }

  /// The calling thread's accelerator, the one numbered Context::settings().device; throws Error
  /// saying what to do when there is none.
  static Device& Get();
  /// How many there are.
  static int Count();
  static bool available() { return Count() > 0; }
  /// Why Count() is 0, in words for people.
  static std::string WhyNone();
  /// Puts a device in the place of all (nullptr: the machine's own again) and returns the one that
  /// was so put before. All contexts drop their streams; memory that came from the old device has
  /// to be gone by then.
  static std::shared_ptr<Device> Set(std::shared_ptr<Device> device);
};

}  // namespace caffe

#endif  // CAFFE_DEVICE_HPP_
