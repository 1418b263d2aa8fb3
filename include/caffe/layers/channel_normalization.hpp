#ifndef CAFFE_CHANNEL_NORMALIZATION_HPP_
#define CAFFE_CHANNEL_NORMALIZATION_HPP_

#include <vector>

#include "caffe/blob.hpp"
#include "caffe/types.hpp"

namespace caffe {

/// What BatchNorm and BN have in common: y = scale * (x - mean) / sqrt(variance + eps) + shift for
/// each channel (axis 1), and its gradients.
template <typename Dtype>
class ChannelNormalization {
 public:
  /// The extent of a bottom that is normalised: of axis 1, or 1 if there is none.
  static int ChannelsOf(const Blob<Dtype>& bottom);

  /// Throws Error if the bottom has another number of channels than `channels`.
  void Reshape(const Blob<Dtype>& bottom, int channels);
  int channels() const { return channels_; }
  /// Values that a batch's statistics are of.
  double values_per_channel() const { return double(num_) * spatial_; }

  /// The channels' moments over the values in `bottom`; the variance is the biased one.
  void Moments(ElementType type, const Blob<Dtype>& bottom, vector<double>* mean,
               vector<double>* variance) const;

  /// `scale` and `shift` may be null; `top` may be `bottom`. With `keep`, what Backward needs of
  /// the input is kept.
  void Forward(ElementType type, const Blob<Dtype>& bottom, const vector<double>& mean,
               const vector<double>& variance, double eps, const Blob<Dtype>* scale,
               const Blob<Dtype>* shift, bool keep, Blob<Dtype>* top);

  /// (x - mean) / std of the latest Forward with `keep`.
  const Blob<Dtype>& normalized() const { return normalized_; }

  /// The statistics that Backward goes by when they are not those of the latest Forward.
  void SetStatistics(const vector<double>& mean, const vector<double>& variance, double eps);

  /// Where the gradients go; null: not wanted. Those of parameters are added.
  struct Gradients {
    Blob<Dtype>* bottom = nullptr;
    Blob<Dtype>* scale = nullptr;
    Blob<Dtype>* shift = nullptr;
  };
  /// `batch_statistics`: mean and variance were those of the input and change with it. `scale` may
  /// be null. `input` is what Forward read, null where the top has overwritten it: for gradients
  /// that need it where Forward did not keep it. Throws Error if it is null then.
  void Backward(const LayerTypes& types, const Blob<Dtype>* input, const Blob<Dtype>& top,
                bool batch_statistics, const Blob<Dtype>* scale, const Gradients& gradients);

#ifndef CPU_ONLY
  // On the device, where the statistics stay: an AccumulatorType of the layer's type each.

  /// Where the means and, behind them, the variances of a pass in F lie.
  template <typename F>
  F* DeviceMoments();
  /// Moments into DeviceMoments.
  template <typename T>
  void MomentsGpu(const Blob<Dtype>& bottom);
  /// Forward with what lies in DeviceMoments. `in_steps`: scale and shift are applied to the
  /// normalized values as they are stored, like a layer of its own would, and so is a ReLU with
  /// this `slope` for negative numbers.
  template <typename T>
  void ForwardGpu(const Blob<Dtype>& bottom, double eps, const Blob<Dtype>* scale,
                  const Blob<Dtype>* shift, bool keep, Blob<Dtype>* top, bool in_steps = false,
                  double slope = 1);
  /// SetStatistics with what lies in DeviceMoments.
  template <typename F>
  void SetStatisticsGpu(double eps);
  /// With the `shift` and the `slope` of a Forward in steps, the top's gradient is the one behind
  /// its ReLU.
  void BackwardGpu(const LayerTypes& types, const Blob<Dtype>* input, const Blob<Dtype>& top,
                   bool batch_statistics, const Blob<Dtype>* scale, const Gradients& gradients,
                   const Blob<Dtype>* shift = nullptr, double slope = 1);
#endif

 private:
  /// Throws Error unless what was not kept can be computed: there is an input, and statistics of
  /// as many channels.
  void RequireInput(const Blob<Dtype>* input, int statistics) const;
  /// Forward with the statistics that are set.
  void Apply(ElementType type, const Blob<Dtype>& bottom, const Blob<Dtype>* scale,
             const Blob<Dtype>* shift, bool keep, Blob<Dtype>* top);

  int num_ = 0, channels_ = 0, spatial_ = 0;
  vector<double> mean_, inverse_std_;  // of the latest pass
  Blob<Dtype> normalized_;             // (x - mean) / std of the latest pass with `keep`
#ifndef CPU_ONLY
  template <typename T>
  void NormalizeGpu(const Blob<Dtype>& input, Blob<Dtype>* normalized);
  template <typename T, typename D>
  void BackwardGpuAs(const Blob<Dtype>* input, const Blob<Dtype>& top, bool batch_statistics,
                     const Blob<Dtype>* scale, const Gradients& gradients, const Blob<Dtype>* shift,
                     double slope);
  Blob<Dtype> device_moments_;      // (2, channels): means, variances
  Blob<Dtype> device_inverse_std_;  // of the latest pass on the device
#endif
};

}  // namespace caffe

#endif  // CAFFE_CHANNEL_NORMALIZATION_HPP_
