#ifndef CAFFE_LAYERS_FUSED_FOLLOWERS_HPP_
#define CAFFE_LAYERS_FUSED_FOLLOWERS_HPP_

#include <cstdint>
#include <vector>

#include "caffe/core/pointwise.hpp"
#include "caffe/layer.hpp"

namespace caffe {

/// The elementwise layers that a layer computes while it writes its top, as one Pointwise.
template <typename Dtype>
class FusedFollowers {
 public:
  /// Takes as many of the first followers as work in `type` and one Pointwise of `channels`
  /// channels can describe.
  int Take(const vector<Layer<Dtype>*>& followers, ElementType type, int channels,
           const Pointwise& first = Pointwise());

  bool empty() const { return layers_.empty(); }
  /// What they compute, with their parameters of now, behind `first`.
  Pointwise Describe(int channels, const Pointwise& first = Pointwise()) const;
  /// The same behind nothing, found again only when Stamp() has changed, which is returned.
  struct Described {
    const Pointwise& pointwise;
    uint64_t stamp;
  };
  Described DescribeOnce(int channels);
  /// Changes when one of their parameters may have been written.
  uint64_t Stamp() const;
  /// Runs the layers themselves, in place on `top`.
  void Run(const vector<Blob<Dtype>*>& top) const;

 private:
  vector<Layer<Dtype>*> layers_;  // the net's; it outlives none of them
  Pointwise described_;
  bool is_described_ = false;
  uint64_t described_stamp_ = 0;
};

/// Changes when the blob may have been written; never the same for a blob whose mutable pointer was
/// handed out.
template <typename Dtype>
uint64_t WriteStamp(const Blob<Dtype>& blob);

/// top = pointwise(bottom), in the layout that the bottom lies in; in place if they are the same.
template <typename Dtype>
void ApplyAsStored(const Pointwise& pointwise, const Blob<Dtype>& bottom, Blob<Dtype>* top);

/// Joins two stamps.
inline uint64_t Mix(uint64_t a, uint64_t b) {
  return (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdu;
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_FUSED_FOLLOWERS_HPP_
