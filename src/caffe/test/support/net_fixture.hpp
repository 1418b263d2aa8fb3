#ifndef CAFFE_TEST_NET_FIXTURE_HPP_
#define CAFFE_TEST_NET_FIXTURE_HPP_

#include <cmath>
#include <memory>
#include <string>

#include "caffe/io/proto_text.hpp"
#include "caffe/net.hpp"
#include "caffe/util/io.hpp"

namespace caffe {

inline NetParameter ParseNet(const std::string& text) {
  NetParameter net;
  ParseProtoText(text, "test net", &net);
  return net;
}

/// Numbers from -1 to 1, the same in each call.
inline void FillWithSines(Blob<float>* blob) {
  float* const values = blob->mutable_cpu_data();
  for (int i = 0; i < blob->count(); ++i) values[i] = std::sin(0.7f * i);
}

/// A net from prototxt text, in the given phase.
template <typename Dtype = float>
std::unique_ptr<Net<Dtype>> MakeNet(const std::string& text, Phase phase = TEST,
                                    const NetOptions& options = NetOptions()) {
  NetParameter net = ParseNet(text);
  net.mutable_state()->set_phase(phase);
  return std::make_unique<Net<Dtype>>(net, options);
}

template <typename Dtype>
void SetValues(Blob<Dtype>* blob, const std::vector<double>& values) {
  Require(static_cast<size_t>(blob->count()) == values.size(), "test: ", values.size(),
          " values for a blob of ", blob->count());
  std::copy(values.begin(), values.end(), blob->mutable_cpu_data());
}

template <typename Dtype>
std::vector<double> Values(const Blob<Dtype>& blob) {
  return std::vector<double>(blob.cpu_data(), blob.cpu_data() + blob.count());
}

template <typename Dtype>
std::vector<double> Gradients(const Blob<Dtype>& blob) {
  return std::vector<double>(blob.cpu_diff(), blob.cpu_diff() + blob.count());
}

}  // namespace caffe

#endif  // CAFFE_TEST_NET_FIXTURE_HPP_
