#ifndef CAFFE_INFERENCE_LAYER_RATES_HPP_
#define CAFFE_INFERENCE_LAYER_RATES_HPP_

#include <string>
#include <vector>

#include "caffe/kernels/processor_peaks.hpp"
#include "latency.hpp"

namespace caffe::inference {

/// How fast a layer multiplies by its weights.
struct LayerRate {
  double operations = 0;  ///< in a run: two for each of ProductsOf; 0: it has no weights
  double per_second = 0;  ///< in the layer's median time
  bool integers = false;  ///< the operations are those of 8-bit integers
  /// The share of what the fastest unit of the processor for the layer's type does
  /// (FastestProducts). Winograd's algorithm leaves products out, and may come to more than 1. 0:
  /// not known.
  double share_of_peak = 0;
};

struct LayerRates {
  std::vector<LayerRate> layers;  ///< as in LayerTimes::layers
  /// All operations in the sum of the median times, layers without weights included; its share is
  /// the time that they would take at their peaks.
  LayerRate total;
};

/// `profiled`: with times of the layers. `layers`: those of the engine (Engine::layers). Without
/// peaks no share is known.
LayerRates RatesOf(const LoadResult& profiled, const std::vector<LayerInfo>& layers,
                   const std::vector<kernels::ProductPeak>& peaks);

/// Operations a second: "1.23 TFLOP/s", "456 GOP/s"; "-" for 0.
std::string RateText(double operations, bool integers);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_LAYER_RATES_HPP_
