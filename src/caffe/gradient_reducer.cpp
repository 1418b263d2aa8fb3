#include "gradient_reducer.hpp"

#include <set>

namespace caffe {

template <typename Dtype>
GradientReducer<Dtype>::GradientReducer(Net<Dtype>* net, int buckets, bool overlap,
                                        Communicator* communicator)
    : net_(net),
      overlap_(overlap),
      communicator_(communicator),
      buckets_(GradientBuckets(*net, buckets)) {
  if (overlap_) thread_ = std::thread([this] { Work(); });
}

template <typename Dtype>
GradientReducer<Dtype>::~GradientReducer() {
  if (!overlap_) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

template <typename Dtype>
std::vector<int> GradientReducer<Dtype>::stops() const {
  std::vector<int> layers;
  for (const GradientBucket& bucket : buckets_) {
    const bool next = layers.empty() || bucket.ready_at < layers.back();
    if (overlap_ && next && bucket.ready_at > 0) layers.push_back(bucket.ready_at);
  }
  return layers;
}

template <typename Dtype>
void GradientReducer<Dtype>::Start() {
  Wait();
  // Nobody writes gradients now, so their place can be asked for; it stays where it is.
  gradients_ = net_->gradient_arena().data;
  Require(gradients_ != nullptr || buckets_.empty(),
          "the net's gradients were moved away from their arena while it is trained by several "
          "ranks");
  const std::lock_guard<std::mutex> lock(mutex_);
  ready_ = done_ = 0;
}

template <typename Dtype>
void GradientReducer<Dtype>::BackwardReached(int layer) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (ready_ < buckets_.size() && buckets_[ready_].ready_at >= layer) ++ready_;
  }
  changed_.notify_all();
}

template <typename Dtype>
void GradientReducer<Dtype>::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || (!error_ && done_ < ready_); });
    if (stop_) return;
    const size_t bucket = done_;
    lock.unlock();
    std::exception_ptr error;
    try {
      Reduce(bucket);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    error_ = error;
    ++done_;
    changed_.notify_all();
  }
}

template <typename Dtype>
void GradientReducer<Dtype>::Reduce(size_t index) {
  const GradientBucket& bucket = buckets_[index];
  Dtype* const gradients = gradients_ + bucket.offset;
  communicator_->AllReduceSum(gradients, bucket.count);
  const Dtype factor = Dtype(1) / communicator_->size();
  for (size_t i = 0; i < bucket.count; ++i) gradients[i] *= factor;
}

template <typename Dtype>
void GradientReducer<Dtype>::Wait() {
  if (!overlap_) return;
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return error_ || done_ >= ready_; });
  if (error_) std::rethrow_exception(error_);
}

// Gradients that lie elsewhere, of a net that shares its parameters with another.
template <typename Dtype>
void GradientReducer<Dtype>::ReduceRest() {
  const typename Net<Dtype>::Arena arena = net_->gradient_arena();
  const std::set<int> in_arena(arena.params.begin(), arena.params.end());
  for (size_t i = 0; i < net_->learnable_params().size(); ++i) {
    Blob<Dtype>* param = net_->learnable_params()[i];
    if (net_->params_lr()[i] == 0) continue;
    Dtype* const gradients = param->mutable_cpu_diff();  // marks those of the arena as written, too
    if (in_arena.count(i)) continue;
    communicator_->AllReduceSum(gradients, param->count());
    param->scale_diff(Dtype(1) / communicator_->size());
  }
}

template <typename Dtype>
void GradientReducer<Dtype>::Finish() {
  Wait();
  for (size_t bucket = done_; bucket < buckets_.size(); ++bucket) Reduce(bucket);
  done_ = ready_ = buckets_.size();
  ReduceRest();
}

template class GradientReducer<float>;
template class GradientReducer<double>;

}  // namespace caffe
