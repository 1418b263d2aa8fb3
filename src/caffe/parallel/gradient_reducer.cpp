#include "gradient_reducer.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <thread>

namespace caffe {

template <typename Dtype>
GradientReducer<Dtype>::GradientReducer(Net<Dtype>* net, int buckets, bool overlap)
    : net_(net), overlap_(overlap), buckets_(GradientBuckets(*net, buckets)) {}

template <typename Dtype>
std::vector<int> GradientReducer<Dtype>::stops() const {
  std::vector<int> layers;
  for (const GradientBucket& bucket : buckets_) {
    const bool next = layers.empty() || bucket.ready_at < layers.back();
    if (overlap_ && next && bucket.ready_at > 0) layers.push_back(bucket.ready_at);
  }
  return layers;
}

namespace {

template <typename Dtype>
class HostGradientReducer : public GradientReducer<Dtype> {
 public:
  HostGradientReducer(Net<Dtype>* net, int buckets, bool overlap, Communicator* communicator);
  ~HostGradientReducer() override;

  void Start() override;
  void BackwardReached(int layer) override;
  void Wait() override;
  void Finish() override;

 private:
  using GradientReducer<Dtype>::net_;
  using GradientReducer<Dtype>::overlap_;
  using GradientReducer<Dtype>::buckets_;

  void Reduce(size_t bucket);
  void ReduceRest();
  void Work();

  Communicator* const communicator_;
  Dtype* gradients_ = nullptr;

  std::mutex mutex_;
  std::condition_variable changed_;
  size_t ready_ = 0;  // buckets whose turn has come
  size_t done_ = 0;   // buckets that are means
  bool stop_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

template <typename Dtype>
HostGradientReducer<Dtype>::HostGradientReducer(Net<Dtype>* net, int buckets, bool overlap,
                                                Communicator* communicator)
    : GradientReducer<Dtype>(net, buckets, overlap), communicator_(communicator) {
  if (overlap_) thread_ = std::thread([this] { Work(); });
}

template <typename Dtype>
HostGradientReducer<Dtype>::~HostGradientReducer() {
  if (!overlap_) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

template <typename Dtype>
void HostGradientReducer<Dtype>::Start() {
  Wait();
  // No thread writes gradients now, so their place can be asked for; it stays where it is.
  gradients_ = net_->gradient_arena().data;
  Require(gradients_ != nullptr || buckets_.empty(),
          "the net's gradients were moved away from their arena while it is trained by several "
          "ranks");
  const std::lock_guard<std::mutex> lock(mutex_);
  ready_ = done_ = 0;
}

template <typename Dtype>
void HostGradientReducer<Dtype>::BackwardReached(int layer) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (ready_ < buckets_.size() && buckets_[ready_].ready_at >= layer) ++ready_;
  }
  changed_.notify_all();
}

template <typename Dtype>
void HostGradientReducer<Dtype>::Work() {
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
void HostGradientReducer<Dtype>::Reduce(size_t index) {
  const GradientBucket& bucket = buckets_[index];
  Dtype* const gradients = gradients_ + bucket.offset;
  communicator_->AllReduceSum(gradients, bucket.count);
  const Dtype factor = Dtype(1) / communicator_->size();
  for (size_t i = 0; i < bucket.count; ++i) gradients[i] *= factor;
}

template <typename Dtype>
void HostGradientReducer<Dtype>::Wait() {
  if (!overlap_) return;
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return error_ || done_ >= ready_; });
  if (error_) std::rethrow_exception(error_);
}

// Gradients that lie elsewhere, of a net that shares its parameters with another.
template <typename Dtype>
void HostGradientReducer<Dtype>::ReduceRest() {
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
void HostGradientReducer<Dtype>::Finish() {
  Wait();
  for (size_t bucket = done_; bucket < buckets_.size(); ++bucket) Reduce(bucket);
  done_ = ready_ = buckets_.size();
  ReduceRest();
}

}  // namespace

template <typename Dtype>
std::unique_ptr<GradientReducer<Dtype>> HostReducer(Net<Dtype>* net, int buckets, bool overlap,
                                                    Communicator* communicator) {
  return std::make_unique<HostGradientReducer<Dtype>>(net, buckets, overlap, communicator);
}

template class GradientReducer<float>;
template class GradientReducer<double>;
template std::unique_ptr<GradientReducer<float>> HostReducer(Net<float>*, int, bool, Communicator*);
template std::unique_ptr<GradientReducer<double>> HostReducer(Net<double>*, int, bool,
                                                              Communicator*);

}  // namespace caffe
