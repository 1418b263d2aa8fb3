#ifndef CAFFE_INFERENCE_WIDENING_HPP_
#define CAFFE_INFERENCE_WIDENING_HPP_

#include <functional>
#include <string>
#include <vector>

namespace caffe::inference {

/// A small set of layers which, computed in FLOAT, bring an engine's error to `bound` or less.
///
/// `error` builds an engine with these layers in FLOAT and returns its error; `layers` begins with
/// those that are likely to matter most. First the shortest prefix of `layers` that suffices is
/// found by bisection; then layers are removed from it, half of them at once, a quarter, ...,
/// single ones, as long as the bound holds. The result is minimal in that no layer can be removed
/// from it; it need not be the smallest set.
///
/// Returns the layers in the order of `layers`; none if the bound holds without. Throws Error if it
/// does not hold with all of them.
std::vector<std::string> LayersToWiden(
    const std::vector<std::string>& layers,
    const std::function<double(const std::vector<std::string>& widened)>& error, double bound);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_WIDENING_HPP_
