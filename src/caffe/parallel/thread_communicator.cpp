#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "caffe/communicator.hpp"
#include "caffe/error.hpp"

namespace caffe {

std::string Communicator::BroadcastText(const std::string& text, int root) {
  uint64_t size = text.size();
  Broadcast(&size, sizeof size, root);
  std::string result = text;
  result.resize(size);
  Broadcast(result.data(), size, root);
  return result;
}

namespace {

/// Where threads meet: each shows what it brings, and sees what the others have brought.
class MeetingPlace {
 public:
  explicit MeetingPlace(int size) : shown_(size) {}

  struct Shown {
    void* data = nullptr;
    size_t bytes = 0;
    int root = -1;  // -1: a sum
  };

  /// Returns when all ranks have come; what they show stays until Leave.
  const std::vector<Shown>& Come(int rank, const Shown& shown) {
    shown_[rank] = shown;
    Wait();
    return shown_;
  }
  /// Returns when all ranks are done with what was shown.
  void Leave() { Wait(); }

  void Abort() {
    const std::lock_guard<std::mutex> lock(mutex_);
    aborted_ = true;
    changed_.notify_all();
  }

 private:
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    Require(!aborted_, "another rank has failed");
    const uint64_t round = round_;
    if (++waiting_ == shown_.size()) {
      waiting_ = 0;
      ++round_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return round_ != round || aborted_; });
    Require(round_ != round, "another rank has failed");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Shown> shown_;
  size_t waiting_ = 0;
  uint64_t round_ = 0;
  bool aborted_ = false;
};

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(int rank, int size, std::shared_ptr<MeetingPlace> place)
      : rank_(rank), size_(size), place_(std::move(place)) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  bool any_thread() const override { return true; }
  std::string Description() const override { return "threads"; }

  void AllReduceSum(float* values, size_t count) override { Sum(values, count); }
  void AllReduceSum(double* values, size_t count) override { Sum(values, count); }

  void Broadcast(void* data, size_t bytes, int root) override {
    const auto& shown = Meet({data, bytes, root});
    if (rank_ != root && bytes > 0) std::memcpy(data, shown[root].data, bytes);
    place_->Leave();
  }

  void Barrier() override { place_->Come(rank_, {}); }

  void Abort() noexcept override { place_->Abort(); }

 private:
  const std::vector<MeetingPlace::Shown>& Meet(const MeetingPlace::Shown& own) {
    const auto& shown = place_->Come(rank_, own);
    for (const MeetingPlace::Shown& other : shown) {
      Require(other.bytes == own.bytes && other.root == own.root, "rank ", rank_,
              " and another one exchange different things: ", own.bytes, " and ", other.bytes,
              " bytes");
    }
    return shown;
  }

  // Each rank adds up its part of the values for all.
  template <typename Value>
  void Sum(Value* values, size_t count) {
    const auto& shown = Meet({values, count * sizeof(Value), -1});
    const size_t begin = count * rank_ / size_, end = count * (rank_ + 1) / size_;
    for (size_t i = begin; i < end; ++i) {
      Value sum = 0;
      for (const auto& other : shown) sum += static_cast<const Value*>(other.data)[i];
      for (const auto& other : shown) static_cast<Value*>(other.data)[i] = sum;
    }
    place_->Leave();
  }

  const int rank_, size_;
  const std::shared_ptr<MeetingPlace> place_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> ThreadCommunicators(int size) {
  const auto place = std::make_shared<MeetingPlace>(size);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.push_back(std::make_unique<ThreadCommunicator>(rank, size, place));
  }
  return ranks;
}

}  // namespace caffe
