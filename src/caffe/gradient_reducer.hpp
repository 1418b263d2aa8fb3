#ifndef CAFFE_GRADIENT_REDUCER_HPP_
#define CAFFE_GRADIENT_REDUCER_HPP_

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "caffe/communicator.hpp"
#include "gradient_buckets.hpp"

namespace caffe {

/// Replaces a net's gradients by their means over all ranks, bucket by bucket. With `overlap` a
/// thread of its own does so while the backward pass goes on, in the order of the buckets, which is
/// the same on all ranks.
template <typename Dtype>
class GradientReducer {
 public:
  GradientReducer(Net<Dtype>* net, int buckets, bool overlap, Communicator* communicator);
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// Where in the backward pass BackwardReached is to be called: nowhere without `overlap`.
  std::vector<int> stops() const;

  /// Before the first pass of an iteration.
  void Start();
  /// In the last one: the layers from `layer` on have added to their gradients.
  void BackwardReached(int layer);
  /// Ends when nobody but the caller uses the communicator any more. Rethrows what went wrong in
  /// the thread.
  void Wait();
  /// Behind the last pass: returns when all gradients are means.
  void Finish();

  int buckets() const { return static_cast<int>(buckets_.size()); }

 private:
  void Reduce(size_t bucket);
  void ReduceRest();
  void Work();

  Net<Dtype>* const net_;
  const bool overlap_;
  Communicator* const communicator_;
  std::vector<GradientBucket> buckets_;
  Dtype* gradients_ = nullptr;

  std::mutex mutex_;
  std::condition_variable changed_;
  size_t ready_ = 0;  // buckets whose turn has come
  size_t done_ = 0;   // buckets that are means
  bool stop_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace caffe

#endif  // CAFFE_GRADIENT_REDUCER_HPP_
