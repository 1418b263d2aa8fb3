#ifndef CAFFE_FAKE_QUANTIZATION_LAYER_HPP_
#define CAFFE_FAKE_QUANTIZATION_LAYER_HPP_

#include <functional>
#include <utility>
#include <vector>

#include "caffe/kernels/fake_quantization.hpp"
#include "caffe/layers/neuron_layer.hpp"

namespace caffe {

/// y = S (clamp(round(x / S) + Z) - Z): what becomes of a blob that lies in integers of a few bits
/// between the layers of an engine. S and Z follow from the blob's range, as integer_grids.hpp
/// says. The gradient is that of y = x, and 0 outside of the range. A net with quantized_training
/// inserts these layers; in a net by itself the layer rounds from its first batch on.
///
/// The range is a moving average of the minima and maxima of the batches of the TRAIN phase, 0
/// always included:
///
///     average += (batch - average) (1 - decay) / (1 - decay^batches)
///
/// which weighs the batches as though the average had begun with none. The TEST phase uses it as it
/// is. Layers of a group round to the least of their minima and the largest of their maxima. A
/// range that the parameters state is not observed.
///
/// Parameters, not learned by gradient, kept in the net's own type: (minimum, maximum); (batches
/// observed, stage). Until there is a range, the layer copies. Values that are not finite are an
/// Error in the TRAIN phase while ranges are observed.
template <typename Dtype>
class FakeQuantizationLayer : public NeuronLayer<Dtype> {
 public:
  enum Stage {
    COPY = 0,     ///< y = x
    OBSERVE = 1,  ///< the same, and batches of the TRAIN phase go into the range
    ROUND = 2     ///< they still do
  };

  explicit FakeQuantizationLayer(const LayerParameter& param) : NeuronLayer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "FakeQuantization"; }

  Stage stage() const;
  void set_stage(Stage stage);
  /// The layers with the same range, this one included; they must live as long.
  void set_group(const vector<const FakeQuantizationLayer*>& group) { group_ = group; }

  /// The bottom has means of integers, of which engines round ties away from 0, of unsigned bytes
  /// from 128.
  void set_rounds_means(bool rounds_means) { rounds_means_ = rounds_means; }

  /// Called in each forward pass; where it returns true, it has written the top.
  using Instead = std::function<bool(const Blob<Dtype>& bottom, Blob<Dtype>* top)>;
  void set_instead(Instead instead) { instead_ = std::move(instead); }

  /// The group's range so far. Returns false if none of its layers has one.
  bool Range(double* minimum, double* maximum) const;

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

 private:
  bool HasRange() const;
  /// What is done to this batch; `observe` says the least and the largest of 0 and its values, and
  /// whether all are finite.
  template <typename Observe>
  void Prepare(const Blob<Dtype>& bottom, const Observe& observe);
  void TakeIntoRange(float least, float most, bool finite);
  /// Returns false if no range is known.
  bool SetGrid();

  bool is_stated_ = false;  // the range is
  bool rounds_means_ = false;
  Instead instead_;
  vector<const FakeQuantizationLayer*> group_;
  bool rounds_ = false;  // in the latest forward pass, to grid_
  kernels::IntegerGrid grid_;
};

template <typename Dtype>
template <typename Observe>
void FakeQuantizationLayer<Dtype>::Prepare(const Blob<Dtype>& bottom, const Observe& observe) {
  const Stage now = stage();
  if (this->phase_ == TRAIN && now != COPY && !is_stated_ && bottom.count() > 0) {
    float least = 0, most = 0;
    const bool finite = observe(&least, &most);
    TakeIntoRange(least, most, finite);
  }
  rounds_ = now == ROUND && SetGrid();
}

}  // namespace caffe

#endif  // CAFFE_FAKE_QUANTIZATION_LAYER_HPP_
