#ifndef CAFFE_TEST_FAKE_DEVICE_HPP_
#define CAFFE_TEST_FAKE_DEVICE_HPP_

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "caffe/context.hpp"
#include "caffe/core/stream_scope.hpp"
#include "caffe/device.hpp"
#include "caffe/device/recording.hpp"
#include "caffe/error.hpp"

namespace caffe {

/// An accelerator made of host memory that behaves as badly as a real one may: fresh memory is
/// poisoned, what is put on a stream happens only when the stream is synchronized, streams know
/// nothing of each other, memory is limited and goes back in the order of the stream that it came
/// from, and operations fail on demand.
class FakeDevice : public Device {
 public:
  static constexpr unsigned char kPoison = 0xCB;

  /// Installs a fake device with `memory` bytes for the lifetime of this object.
  class Installed {
   public:
    explicit Installed(size_t memory = size_t(1) << 30) : device_(new FakeDevice(memory)) {
      previous_ = Device::Set(device_);
    }
    ~Installed() { Device::Set(previous_); }
    FakeDevice* operator->() const { return device_.get(); }
    FakeDevice& operator*() const { return *device_; }

   private:
    std::shared_ptr<FakeDevice> device_;
    std::shared_ptr<Device> previous_;
  };

  explicit FakeDevice(size_t memory) : memory_(memory) {}

  std::string name() const override { return "fake device"; }

  void* Allocate(size_t size) override {
    Stream* const stream = thread_records_ ? nullptr : StreamOfThread();
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    Require(size <= memory_ - in_use_, "out of device memory: ", size, " bytes were asked for, ",
            memory_ - in_use_, " are free");
    std::unique_ptr<unsigned char[]> block(new unsigned char[size + 1]);
    std::memset(block.get(), kPoison, size);
    void* pointer = block.get();
    blocks_[pointer] = {std::move(block), size, stream};
    in_use_ += size;
    return pointer;
  }

  // As CUDA's device: in the order of the stream that it came from, by callers on that one; others
  // wait for all pending work.
  void Free(void* pointer, size_t size) noexcept override {
    Stream* const stream = thread_records_ ? nullptr : StreamOfThread();
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    const auto found = blocks_.find(pointer);
    if (found == blocks_.end() || found->second.size != size || found->second.is_freed) {
      ++bad_frees_;
      return;
    }
    in_use_ -= size;
    found->second.is_freed = true;
    // What is recorded may work on it each time it is launched.
    if (thread_records_) return thread_records_->blocks.push_back(pointer);
    FakeStream* const on = static_cast<FakeStream*>(stream);
    if (streams_.count(on) > 0 && stream == found->second.stream) {
      return on->pending_.push_back([this, pointer] { Bury(pointer); });
    }
    for (FakeStream* one : streams_) one->Run();
    Bury(pointer);
  }

  std::unique_ptr<Stream> CreateStream() override {
    return std::unique_ptr<Stream>(new FakeStream(this));
  }

  void CopyToDevice(void* device, const void* host, size_t size, Stream& stream) override {
    Enqueue(stream, "copy to the device", [=] { std::memcpy(At(device, size), host, size); });
  }
  void CopyToHost(void* host, const void* device, size_t size, Stream& stream) override {
    Enqueue(stream, "copy to the host", [=] { std::memcpy(host, At(device, size), size); });
  }
  void CopyOnDevice(void* to, const void* from, size_t size, Stream& stream) override {
    Enqueue(stream, "copy on the device", [=] { std::memcpy(At(to, size), At(from, size), size); });
  }
  void FillZero(void* device, size_t size, Stream& stream) override {
    Enqueue(stream, "fill", [=] { std::memset(At(device, size), 0, size); });
  }

  /// The byte at `offset` of device memory, as it is now: without waiting for any stream.
  unsigned char Peek(const void* device, size_t offset = 0) const {
    return static_cast<const unsigned char*>(device)[offset];
  }
  /// Lets the next `operation` ("copy to the device", ...) fail when its stream is synchronized.
  void FailNext(const std::string& operation) { failing_.insert(operation); }
  /// Lets the `nth` operation from now on that is called so ("kernel", ...) throw Error at once.
  void Refuse(const std::string& operation, int nth) { refused_[operation] = nth; }

  size_t bytes_in_use() const { return in_use_; }
  int bad_frees() const { return bad_frees_; }
  int operations() const { return operations_; }
  /// How often the host has waited for a stream.
  int waits() const { return waits_; }
  /// How often a recording was launched.
  int launches() const { return launches_; }
  /// Streams that have ended with a failure that no caller has waited for.
  int unseen_failures() const { return unseen_failures_; }
  /// How many of the kept freed blocks were written to since.
  int written_after_free() const {
    return static_cast<int>(
        std::count_if(buried_.begin(), buried_.end(), [](const Allocation& block) {
          const unsigned char* const bytes = block.memory.get();
          return !std::all_of(bytes, bytes + block.size, [](int b) { return b == kPoison; });
        }));
  }

 private:
  /// The operations that a stream was given while it recorded, and memory that was freed then by
  /// the thread that recorded.
  struct FakeRecording : public Recording {
    explicit FakeRecording(FakeDevice* on) : device(on) {}
    ~FakeRecording() override {
      std::lock_guard<std::recursive_mutex> lock(device->mutex_);
      for (FakeStream* stream : device->streams_) stream->Run();
      for (void* block : blocks) device->Bury(block);
    }
    void Launch(Stream& stream) override {
      std::lock_guard<std::recursive_mutex> lock(device->mutex_);
      ++device->launches_;
      for (const auto& operation : operations) {
        static_cast<FakeStream&>(stream).pending_.push_back(operation);
      }
    }
    FakeDevice* const device;
    std::vector<std::function<void()>> operations;
    std::vector<void*> blocks;
  };

  class FakeStream : public Stream, public Recorder {
   public:
    explicit FakeStream(FakeDevice* device) : device_(device) {
      std::lock_guard<std::recursive_mutex> lock(device_->mutex_);
      device_->streams_.insert(this);
      id_ = ++device_->streams_made_;
    }
    ~FakeStream() override {
      std::lock_guard<std::recursive_mutex> lock(device_->mutex_);
      Run();
      device_->unseen_failures_ += !failure_.empty();
      device_->streams_.erase(this);
    }
    void RunOnHost(std::function<void()> task) override {
      device_->Enqueue(*this, "kernel", std::move(task));
    }
    // As CUDA's device: on a stream of its own, and not if results are read meanwhile.
    std::unique_ptr<Recording> Record(const std::function<void()>& work) override {
      FakeStream apart(device_);
      apart.recording_ = std::make_unique<FakeRecording>(device_);
      const RecordingThread thread(apart.recording_.get());
      try {
        const StreamScope on(&apart);
        work();
      } catch (const Error&) {
        return nullptr;
      }
      return std::move(apart.recording_);
    }
    void WaitFor(Stream& other) override {
      std::lock_guard<std::recursive_mutex> lock(device_->mutex_);
      Require(!recording_, "a stream that records cannot wait");
      FakeStream* const before = static_cast<FakeStream*>(&other);
      const size_t reached = before->begun_ + before->pending_.size();
      const int id = before->id_;  // another stream may come to be in its place
      device_->Enqueue(*this, "wait", [this, before, id, reached] {
        if (device_->streams_.count(before) && before->id_ == id) before->RunUntil(reached);
      });
    }
    void Synchronize() override {
      std::lock_guard<std::recursive_mutex> lock(device_->mutex_);
      Require(!recording_, "no stream can wait for one that records");
      ++device_->waits_;
      Run();
      std::string failure;
      failure.swap(failure_);
      Require(failure.empty(), failure);
    }
    void Run() noexcept { RunUntil(begun_ + pending_.size()); }
    /// Runs what is pending until `count` operations have begun in this stream's lifetime.
    void RunUntil(size_t count) noexcept {
      while (begun_ < count) {
        const std::function<void()> operation = std::move(pending_.front());
        pending_.pop_front();
        ++begun_;
        try {
          operation();
        } catch (const std::exception& error) {
          failure_ = error.what();
        }
      }
    }
    std::deque<std::function<void()>> pending_;
    std::unique_ptr<FakeRecording> recording_;

   private:
    FakeDevice* device_;
    int id_;
    size_t begun_ = 0;
    std::string failure_;
  };

  struct Allocation {
    std::unique_ptr<unsigned char[]> memory;
    size_t size;
    Stream* stream;  // that it came from; null: none
    bool is_freed = false;
  };

  /// While it lives, the calling thread records.
  struct RecordingThread {
    explicit RecordingThread(FakeRecording* recording) { thread_records_ = recording; }
    ~RecordingThread() { thread_records_ = nullptr; }
  };

  /// Poisons memory, and keeps it for a while: later uses get wrong numbers instead of another
  /// owner's.
  void Bury(void* pointer) {
    const auto found = blocks_.find(pointer);
    std::memset(pointer, kPoison, found->second.size);
    buried_bytes_ += found->second.size;
    buried_.push_back(std::move(found->second));
    blocks_.erase(found);
    for (; buried_bytes_ > kMaxBuried; buried_.pop_front()) {
      buried_bytes_ -= buried_.front().size;
    }
  }

  /// Null where it has none and can get none.
  static Stream* StreamOfThread() noexcept {
    try {
      return &Context::Current().stream();
    } catch (const Error&) {
      return nullptr;
    }
  }

  void Enqueue(Stream& stream, const std::string& name, std::function<void()> action) {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    ++operations_;
    const auto refused = refused_.find(name);
    if (refused != refused_.end() && --refused->second == 0) {
      refused_.erase(refused);
      Fail("the fake device refused a ", name);
    }
    const bool fails = failing_.erase(name) > 0;
    const auto operation = [=] {
      if (fails) Fail("the fake device failed a ", name);
      action();
    };
    FakeStream& on = static_cast<FakeStream&>(stream);
    if (on.recording_) {
      on.recording_->operations.push_back(operation);
    } else {
      on.pending_.push_back(operation);
    }
  }

  // Device memory that [pointer, pointer + size) lies in; Error for any other.
  void* At(const void* pointer, size_t size) const {
    auto next = blocks_.upper_bound(const_cast<void*>(pointer));
    Require(next != blocks_.begin(), "not device memory");
    const auto& block = *std::prev(next);
    const size_t offset =
        static_cast<const unsigned char*>(pointer) - static_cast<unsigned char*>(block.first);
    Require(offset + size <= block.second.size, "not device memory");
    return const_cast<void*>(pointer);
  }

  const size_t memory_;
  size_t in_use_ = 0;
  int bad_frees_ = 0;
  int operations_ = 0;
  int waits_ = 0;
  int launches_ = 0;
  int unseen_failures_ = 0;
  int streams_made_ = 0;
  std::map<void*, Allocation> blocks_;
  std::set<FakeStream*> streams_;
  std::set<std::string> failing_;
  std::map<std::string, int> refused_;
  inline static thread_local FakeRecording* thread_records_ = nullptr;
  static constexpr size_t kMaxBuried = 64 << 20;
  std::deque<Allocation> buried_;
  size_t buried_bytes_ = 0;
  mutable std::recursive_mutex mutex_;
};

}  // namespace caffe

#endif  // CAFFE_TEST_FAKE_DEVICE_HPP_
