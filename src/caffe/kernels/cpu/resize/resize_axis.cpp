#include <algorithm>
#include <cmath>

#include "caffe/kernels/resize.hpp"

namespace caffe::kernels {

void ResizeAxis::Add(int first_input, const std::vector<double>& weights_of_inputs) {
  first.push_back(first_input);
  weights.insert(weights.end(), weights_of_inputs.begin(), weights_of_inputs.end());
  start.push_back(static_cast<int>(weights.size()));
}

ResizeAxis ResizeAxis::Transposed() const {
  // The outputs that an input takes part in lie next to each other, as an output's inputs do, but
  // for gaps of cubic axes, which become weights of 0.
  std::vector<std::vector<double>> shares(input);
  std::vector<int> first_output(input, 0);
  for (int i = 0; i < output(); ++i) {
    for (int k = 0; k < terms(i); ++k) {
      std::vector<double>& share = shares[first[i] + k];
      int& begin = first_output[first[i] + k];
      if (share.empty()) begin = i;
      share.resize(i - begin, 0.);
      share.push_back(weights[start[i] + k]);
    }
  }
  ResizeAxis axis;
  axis.input = output();
  for (int k = 0; k < input; ++k) axis.Add(first_output[k], shares[k]);
  return axis;
}

ResizeAxis AlignedAxis(int input, int crop_begin, int crop_end, int output) {
  ResizeAxis axis;
  axis.input = input;
  const int used = input - crop_begin - crop_end;
  const float step = output > 1 ? static_cast<float>(used - 1) / (output - 1) : 0.f;
  for (int i = 0; i < output; ++i) {
    const float position = used == output ? i : step * i;
    const int lower = std::min(static_cast<int>(position), used - 1);
    const float upper_weight = position - lower;
    if (lower + 1 < used) {
      axis.Add(crop_begin + lower, {1.f - upper_weight, upper_weight});
    } else {
      axis.Add(crop_begin + lower, {1.});
    }
  }
  return axis;
}

ResizeAxis RepeatedAxis(int input, int scale) {
  ResizeAxis axis;
  axis.input = input;
  for (int i = 0; i < input * scale; ++i) axis.Add(i / scale, {1.});
  return axis;
}

namespace {

/// The filter's value at a distance, and the radius beyond which it is 0.
float FilterAt(ResampleFilter filter, float distance) {
  const float d = std::fabs(distance);
  if (filter == ResampleFilter::LINEAR) return std::max(0.f, 1 - d);
  // The cubic convolution kernel with a = -1/2 (Keys 1981).
  if (d <= 1) return (1.5f * d - 2.5f) * d * d + 1;
  if (d < 2) return ((-0.5f * d + 2.5f) * d - 4) * d + 2;
  return 0;
}

int Clamp(int value, int extent) { return std::min(std::max(value, 0), extent - 1); }

}  // namespace

ResizeAxis ResampledAxis(ResampleFilter filter, int input, int output, float other_ratio,
                         bool stretched) {
  ResizeAxis axis;
  axis.input = input;
  const float ratio = static_cast<float>(input) / output;
  const float squeeze = 1 / (stretched ? ratio : 1.f);
  const int support = filter == ResampleFilter::LINEAR ? 2 : 4;
  const int reach = ratio < 1 ? 2 : static_cast<int>(std::ceil(support / squeeze));
  for (int i = 0; i < output; ++i) {
    const float center = i * ratio + other_ratio / 2 - 0.5f;
    const int nearest = static_cast<int>(std::round(center));
    if (filter == ResampleFilter::NEAREST) {
      axis.Add(Clamp(nearest, input), {1.});
      continue;
    }
    const int begin = std::max(0, nearest - reach), end = std::min(input, nearest + reach + 1);
    std::vector<double> weights;
    double sum = 0;
    for (int k = begin; k < end; ++k) {
      weights.push_back(FilterAt(filter, squeeze * (center - k)));
      sum += weights.back();
    }
    for (double& weight : weights) weight = sum == 0 ? 0 : weight / sum;
    // Without the zeros at both ends.
    size_t skip = 0;
    while (skip < weights.size() && weights[skip] == 0) ++skip;
    while (weights.size() > skip && weights.back() == 0) weights.pop_back();
    axis.Add(begin + static_cast<int>(skip), {weights.begin() + skip, weights.end()});
  }
  return axis;
}

}  // namespace caffe::kernels
