#ifndef CAFFE_INFERENCE_WIDENING_HPP_
#define CAFFE_INFERENCE_WIDENING_HPP_

#include <functional>
#include <string>
#include <vector>

namespace caffe::inference {

/// A small set of layers which, computed in FLOAT, bring an engine's error to `bound` or less.
///
/// `error` is asked for the error with these layers in FLOAT, each time with an engine built for
/// it; `layers` begins with those that are likely to matter most. First the shortest beginning of
/// `layers` that suffices is found by bisection; then layers are taken out of it, half of them at
/// once, a quarter, ..., single ones, as long as the bound holds. Of the set that remains no layer
/// can be left out; it need not be the smallest there is.
///
/// Returns the layers in the order of `layers`; none if the bound holds without. Throws Error if it
/// does not hold with all of them.
std::vector<std::string> LayersToWiden(
    const std::vector<std::string>& layers,
    const std::function<double(const std::vector<std::string>& widened)>& error, double bound);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_WIDENING_HPP_
