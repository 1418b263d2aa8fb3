#ifndef CAFFE_GRADIENT_REDUCER_HPP_
#define CAFFE_GRADIENT_REDUCER_HPP_

#include <memory>
#include <vector>

#include "caffe/communicator.hpp"
#include "gradient_buckets.hpp"

namespace caffe {

/// Replaces a net's gradients by their means over all ranks, bucket by bucket in an order that is
/// the same on all of them; with `overlap` while the backward pass goes on.
template <typename Dtype>
class GradientReducer {
 public:
  GradientReducer(Net<Dtype>* net, int buckets, bool overlap);
  virtual ~GradientReducer() = default;
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// Where in the backward pass BackwardReached is to be called: nowhere without `overlap`.
  std::vector<int> stops() const;
  int buckets() const { return static_cast<int>(buckets_.size()); }

  /// Before the first pass of an iteration.
  virtual void Start() = 0;
  /// In the last one: the layers from `layer` on have added to their gradients.
  virtual void BackwardReached(int layer) = 0;
  /// Returns when only the caller uses the communicator any more. Rethrows what went wrong in
  /// another thread.
  virtual void Wait() = 0;
  /// Behind the last pass: from now on all gradients are means for all readers.
  virtual void Finish() = 0;

 protected:
  Net<Dtype>* const net_;
  const bool overlap_;
  const std::vector<GradientBucket> buckets_;
};

/// For gradients in the host's memory: with `overlap` a thread of its own waits for the others.
template <typename Dtype>
std::unique_ptr<GradientReducer<Dtype>> HostReducer(Net<Dtype>* net, int buckets, bool overlap,
                                                    Communicator* communicator);

#ifndef CPU_ONLY
/// For gradients in the memory of the calling thread's device: on a second stream, which the host
/// does not wait for where NCCL carries the messages. Every rank calls it.
template <typename Dtype>
std::unique_ptr<GradientReducer<Dtype>> DeviceReducer(Net<Dtype>* net, int buckets, bool overlap,
                                                      Communicator* communicator);
#endif

}  // namespace caffe

#endif  // CAFFE_GRADIENT_REDUCER_HPP_
