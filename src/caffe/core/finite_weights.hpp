#ifndef CAFFE_FINITE_WEIGHTS_HPP_
#define CAFFE_FINITE_WEIGHTS_HPP_

#include <string>
#include <vector>

#include "caffe/blob.hpp"

namespace caffe {

/// Logs a warning for each of a layer's parameters that has values which are NaN or infinite.
template <typename Dtype>
void WarnOfNotFinite(const std::string& layer,
                     const std::vector<boost::shared_ptr<Blob<Dtype>>>& blobs);

}  // namespace caffe

#endif  // CAFFE_FINITE_WEIGHTS_HPP_
