#ifndef CAFFE_BATCHNORM_LAYER_HPP_
#define CAFFE_BATCHNORM_LAYER_HPP_

#include <memory>
#include <vector>

#include "caffe/engine.hpp"
#include "caffe/layer.hpp"
#include "caffe/layers/channel_normalization.hpp"

namespace caffe {

template <typename Dtype>
class FusedFollowers;

template <typename Dtype>
class ScaleLayer;

/// Batch normalisation (Ioffe and Szegedy 2015): y = (x - mean) / sqrt(variance + eps) per channel
/// (axis 1). Mean and variance are those of the batch, or, with use_global_stats (in the TEST phase
/// unless said otherwise), running ones. May be in place.
///
/// Parameters, none of them learned by gradient: the sums of means and of variances, each times
/// moving_average_fraction per batch, and the sum of weights that both are divided by. With
/// scale_bias (NVCaffe) two more, learned: y is then multiplied by blob 3 and blob 4 is added, and
/// the statistics are averages proper, blob 2 being 1: while all of them are 0 the first batch's
/// are taken as they are. Statistics are kept in the net's own type.
template <typename Dtype>
class BatchNormLayer : public Layer<Dtype> {
 public:
  explicit BatchNormLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "BatchNorm"; }
  const char* forward_engine() const override;
  bool DescribePointwise(Pointwise* description) override;
  int FuseFollowers(const vector<Layer<Dtype>*>& followers) override;
  bool FusesOnGpu() const override { return this->phase_ == TRAIN; }
  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }

  bool use_global_stats() const { return use_global_stats_; }
  /// Between passes; whatever the layer's parameters say.
  void set_use_global_stats(bool value);

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Forward_fused(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
  void Backward_fused(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                      const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_fused_gpu(const vector<Blob<Dtype>*>& bottom,
                         const vector<Blob<Dtype>*>& top) override;
  void Backward_fused_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                          const vector<Blob<Dtype>*>& bottom) override;
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

  bool use_global_stats_ = false;
  bool scale_bias_ = false;
  Dtype moving_average_fraction_ = 0;
  Dtype eps_ = 0;
  int channels_ = 0;

 private:
  void FreezeStatistics();
  void GlobalStatistics(vector<double>* mean, vector<double>* variance) const;
  void UpdateGlobalStatistics(const vector<double>& mean, const vector<double>& variance);
#ifndef CPU_ONLY
  template <typename F>
  void GlobalStatisticsGpu();
  template <typename F>
  void UpdateGlobalStatisticsGpu();
  void RunForwardGpu(const Blob<Dtype>& bottom, bool fused, Blob<Dtype>* top);
  void RunBackwardGpu(const Blob<Dtype>& top, const vector<bool>& propagate_down, bool fused,
                      Blob<Dtype>* bottom);
#endif

  ChannelNormalization<Dtype> normalization_;
  /// The scale and the shift behind the normalization: NVCaffe's own, or those of the Scale layer
  /// that a `fused` pass does the work of; null: there is none.
  Blob<Dtype>* ScaleBlob(bool fused) const;
  Blob<Dtype>* ShiftBlob(bool fused) const;
  /// The gradients that Backward computes; the bottom's unless it is not asked for.
  typename ChannelNormalization<Dtype>::Gradients WantedGradients(const Blob<Dtype>& top,
                                                                  bool propagate_down, bool fused,
                                                                  Blob<Dtype>* bottom) const;
  int FuseForTraining(const vector<Layer<Dtype>*>& followers);
  /// Takes the layer if it is a ReLU that a `fused` pass can do the work of.
  bool TakeRelu(Layer<Dtype>* layer);
  /// Whether Forward keeps what the gradients need of the input.
  bool KeepsInput() const;
  void RunForward(const Blob<Dtype>& bottom, bool fused, Blob<Dtype>* top);
  void RunBackward(const Blob<Dtype>& top, const vector<bool>& propagate_down, bool fused,
                   Blob<Dtype>* bottom);

  std::shared_ptr<FusedFollowers<Dtype>> followers_;  // TEST phase
  // The followers of the TRAIN phase, the net's, null where there is none: a Scale, then a ReLU.
  ScaleLayer<Dtype>* scale_ = nullptr;
  Layer<Dtype>* relu_ = nullptr;
  double slope_ = 1;  // of the ReLU for negative numbers

  // Engines ONEDNN and REFERENCE (batch_norm_engines.cpp). False: neither computes.
  struct Engines;
  bool ForwardByEngine(const Blob<Dtype>& bottom, Blob<Dtype>* top);
  bool BackwardByEngine(const Blob<Dtype>& top, const vector<bool>& propagate_down,
                        Blob<Dtype>* bottom);
  void ForwardReference(const Blob<Dtype>& bottom, Blob<Dtype>* top);
  bool ForwardOneDnn(const Blob<Dtype>& bottom, Blob<Dtype>* top);

  const Engine engine_ = ReadEngine(this->layer_param_);
  std::shared_ptr<Engines> engines_;
};

}  // namespace caffe

#endif  // CAFFE_BATCHNORM_LAYER_HPP_
