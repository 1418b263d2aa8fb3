#include "layer_rates.hpp"

#include <map>

#include "caffe/util/text/text_table.hpp"

namespace caffe::inference {

LayerRates RatesOf(const LoadResult& profiled, const std::vector<LayerInfo>& layers,
                   const std::vector<kernels::ProductPeak>& peaks) {
  std::map<std::string, ElementType> maths;
  for (const LayerInfo& layer : layers) maths[layer.name] = layer.type_of_math;
  LayerRates rates;
  LayerRate& total = rates.total;
  double seconds = 0, seconds_at_peaks = 0;
  bool all_known = true, all_integers = true;
  for (const LayerTimes::Layer& timed : profiled.layers.layers()) {
    const double median = timed.times.Median() / 1000;
    seconds += median;
    LayerRate& rate = rates.layers.emplace_back();
    const auto products = profiled.products.find(timed.name);
    if (products == profiled.products.end()) continue;
    const ElementType math = maths[timed.name];
    rate.operations = 2 * products->second;
    rate.integers = math == ElementType::INT8;
    rate.per_second = median > 0 ? rate.operations / median : 0;
    const double peak = 2 * kernels::FastestProducts(peaks, math);
    if (peak > 0) rate.share_of_peak = rate.per_second / peak;
    seconds_at_peaks += peak > 0 ? rate.operations / peak : 0;
    total.operations += rate.operations;
    all_known = all_known && peak > 0;
    all_integers = all_integers && rate.integers;
  }
  if (seconds == 0 || total.operations == 0) return rates;
  total.integers = all_integers;
  total.per_second = total.operations / seconds;
  if (all_known) total.share_of_peak = seconds_at_peaks / seconds;
  return rates;
}

std::string RateText(double operations, bool integers) {
  if (operations <= 0) return "-";
  const bool tera = operations >= 999.5e9;  // from there on three digits of a G are 1e+03
  return ThreeDigits(operations / (tera ? 1e12 : 1e9)) + (tera ? " T" : " G") +
         (integers ? "OP/s" : "FLOP/s");
}

}  // namespace caffe::inference
