#ifndef CAFFE_CONTEXT_HPP_
#define CAFFE_CONTEXT_HPP_

#include <cstddef>
#include <memory>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/device.hpp"

namespace caffe {

/// Scratch memory that a thread's kernels share. Blocks are kept for the next user, so a net needs
/// the largest workspace of its layers, not the sum.
class Workspace {
 public:
  /// Uninitialised memory for the lifetime of this object.
  template <typename T>
  class Buffer {
   public:
    Buffer(Workspace& workspace, size_t count)
        : workspace_(workspace), data_(static_cast<T*>(workspace.Acquire(count * sizeof(T)))) {}
    ~Buffer() { workspace_.Release(data_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    T* get() const { return data_; }

   private:
    Workspace& workspace_;
    T* data_;
  };

  Workspace();
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void* Acquire(size_t bytes);
  void Release(void* block) noexcept;
  /// Bytes held, in use or not.
  size_t capacity() const;

 private:
  struct Block;
  std::vector<Block> blocks_;
};

/// All that a computation needs besides its data: device, stream, random generator, scratch memory
/// and rank. There is one per thread; Caffe:: is a facade over the current one.
class Context {
 public:
  /// What a thread hands to the threads it starts.
  struct Settings {
    Caffe::Brew mode = Caffe::CPU;
    int device = 0;
    int solver_count = 1;
    int solver_rank = 0;
    bool multiprocess = false;
  };

  /// The calling thread's context, made at the first call from the process's latest settings.
  static Context& Current();

  const Settings& settings() const { return settings_; }
  /// Replaces this thread's settings; mode and device also become the process's latest.
  void set_settings(const Settings& settings);
  /// As set_settings, without touching the process's latest: for threads that inherit.
  void Inherit(const Settings& settings) { settings_ = settings; }

  Caffe::RNG& random();
  void set_random_seed(unsigned int seed);

  Workspace& workspace() { return workspace_; }
  /// The stream this thread's copies and kernels go to; made at the first call. Throws Error when
  /// there is no accelerator.
  Stream& stream();

 private:
  Context();
  friend class Caffe;

  Settings settings_;
  std::unique_ptr<Caffe::RNG> random_;
  Workspace workspace_;
  std::shared_ptr<Device> stream_device_;  // outlives its stream
  std::unique_ptr<Stream> stream_;
  int stream_id_ = -1;
  unsigned device_generation_ = 0;
  Caffe face_;
};

}  // namespace caffe

#endif  // CAFFE_CONTEXT_HPP_
