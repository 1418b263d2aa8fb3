#ifndef CAFFE_INFERENCE_SIMULATED_INT8_HPP_
#define CAFFE_INFERENCE_SIMULATED_INT8_HPP_

#include <string>
#include <vector>

#include "caffe/inference/calibration_table.hpp"
#include "caffe/net.hpp"

namespace caffe {

/// Makes a float net compute with INT8's numbers, so that the accuracy of a calibration can be
/// measured on any machine.
///
///     Net<float> net(...);                    // with its weights
///     SimulatedInt8 simulated(&net, table);   // must live as long as the net runs
///     net.Forward();
///
/// What an INT8 engine computes in integers is: layers with weights (HasWeightScales) whose bottom
/// the table has. Their weights are rounded to int8 per output channel at once. Each blob of the
/// table on a way to such a layer through layers that have an INT8 form is rounded and saturated
/// after the layer that writes it last; net inputs are, too, in the input blob. Biases, and blobs
/// behind the last such layer (scores, Softmax), stay float, as in an engine whose output is float.
/// Sums of products of integers are exact in INT8 and rounded in the last place of a float here.
class SimulatedInt8 : public Net<float>::Callback {
 public:
  /// The net must be in the TEST phase. Its weights are changed.
  SimulatedInt8(Net<float>* net, const CalibrationTable& table);

  /// Blobs that are rounded, in the order in which they are computed.
  const std::vector<std::string>& blobs() const { return names_; }
  /// Layers whose weights are rounded.
  const std::vector<std::string>& layers() const { return layers_; }
  /// Layers with weights that stay float because the table lacks their bottom.
  const std::vector<std::string>& float_layers() const { return float_layers_; }

 protected:
  void run(int layer) override;

 private:
  void RoundWeights(Layer<float>* layer);

  struct Place {
    int layer, top;  // of the net
    float scale;
    bool is_unsigned;
  };
  Net<float>* net_;
  std::vector<Place> places_;  // in the order of the layers
  std::vector<std::string> names_, layers_, float_layers_;
};

}  // namespace caffe

#endif  // CAFFE_INFERENCE_SIMULATED_INT8_HPP_
