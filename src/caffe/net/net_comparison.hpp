#ifndef CAFFE_UTIL_NET_COMPARISON_HPP_
#define CAFFE_UTIL_NET_COMPARISON_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "caffe/net.hpp"

namespace caffe {

/// How far an output of one net is from that of another.
struct OutputDifference {
  std::string blob;
  double largest_difference = 0;  ///< of values that are finite in both
  double largest_value = 0;       ///< magnitude in the first net, of finite values
  int64_t values = 0;             ///< of the blob
  int64_t not_finite = 0;         ///< NaN or infinite in the second net and not in the first
  int64_t not_finite_before = 0;  ///< in the first and not in the second
  int64_t not_finite_in_both = 0;
  /// Both shapes where they differ, as those of detections may; then nothing else is filled in.
  std::string shapes;
};

/// "output 'prob': largest difference 0.001 (largest value 0.9)", and how many values are NaN or
/// infinite where.
std::string Described(const OutputDifference& output);

/// Fills the net's inputs with numbers between -1 and 1, those that layers read as indices with
/// indices that these layers have.
void FillInputs(uint32_t seed, Net<float>* net);
/// Fills the net's inputs from .npy files, one for each in their order. An input takes the shape of
/// its array. Throws Error if there are not as many.
void FillInputs(const std::vector<std::string>& files, Net<float>* net);

/// Gives the second net the inputs of the first, which has run, runs it and compares their outputs.
/// Nets without inputs run on their own data. Throws Error if they have other inputs or outputs.
std::vector<OutputDifference> CompareNets(Net<float>* first, Net<float>* second);

}  // namespace caffe

#endif  // CAFFE_UTIL_NET_COMPARISON_HPP_
