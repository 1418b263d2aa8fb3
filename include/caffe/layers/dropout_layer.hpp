#ifndef CAFFE_DROPOUT_LAYER_HPP_
#define CAFFE_DROPOUT_LAYER_HPP_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "caffe/layers/neuron_layer.hpp"

namespace caffe {

/// In the TRAIN phase each element is set to 0 with probability dropout_ratio and divided by
/// 1 - dropout_ratio otherwise; in the TEST phase nothing happens. With `scale_train: false`
/// (NVCaffe) nothing is divided in the TRAIN phase, and in the TEST phase all are multiplied by
/// 1 - dropout_ratio. With `sample_weights_test` the TEST phase drops elements as the TRAIN phase
/// does: each pass is a sample of the net's posterior (Gal and Ghahramani 2016; Bayesian SegNet).
/// May be in place. Srivastava et al. 2014.
template <typename Dtype>
class DropoutLayer : public NeuronLayer<Dtype> {
 public:
  explicit DropoutLayer(const LayerParameter& param) : NeuronLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Dropout"; }
  bool DescribePointwise(Pointwise* /*description*/) override {
    return test_scale_ == 1 && !drops_;
  }
  std::string SaveState() override;
  void RestoreState(const std::string& state) override;

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

  Dtype threshold_ = 0;  ///< the probability of an element to be dropped
  Dtype scale_ = 1;      ///< what the others are multiplied by where it is
  bool drops_ = false;   ///< in this phase

 private:
  void DrawMask(size_t count);
  /// From Caffe's order to channels last.
  void TurnMask(const Layout& layout);
  template <typename T>
  void Apply(size_t count, const T* x, T* y) const;

  Dtype test_scale_ = 1;                // what all are multiplied by where none is dropped
  std::unique_ptr<Caffe::RNG> random_;  // with a random_seed of its own
  vector<uint8_t> mask_;                // 1: kept;
  Layout layout_;                       // for values in this order
#ifndef CPU_ONLY
  template <typename T>
  void ApplyOnGpu(int count, const T* x, T* y) const;

  shared_ptr<SyncedMemory> gpu_mask_;  // the same for Forward_gpu,
  Layout gpu_layout_;                  // for values in this order
#endif
};

}  // namespace caffe

#endif  // CAFFE_DROPOUT_LAYER_HPP_
