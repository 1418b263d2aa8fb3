#ifndef CAFFE_TEST_SEEN_VALUES_HPP_
#define CAFFE_TEST_SEEN_VALUES_HPP_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "caffe/net.hpp"

namespace caffe {

using SeenValues = std::vector<float>;

/// What a program sees of a net behind a forward and a backward pass: values and gradients of
/// blobs, and gradients of parameters, by name.
inline std::map<std::string, SeenValues> SeenBehindPasses(const Net<float>& net) {
  std::map<std::string, SeenValues> seen;
  const auto see = [&](const std::string& name, const float* values, int count) {
    seen[name] = SeenValues(values, values + count);
  };
  for (size_t i = 0; i < net.blobs().size(); ++i) {
    const Blob<float>& blob = *net.blobs()[i];
    see(net.blob_names()[i], blob.cpu_data(), blob.count());
    see("gradient of " + net.blob_names()[i], blob.cpu_diff(), blob.count());
  }
  for (size_t i = 0; i < net.learnable_params().size(); ++i) {
    const Blob<float>& param = *net.learnable_params()[i];
    see(Join("gradient of parameter ", i), param.cpu_diff(), param.count());
  }
  return seen;
}

/// `bound`: relative to the largest value.
inline void ExpectClose(const SeenValues& expected, const SeenValues& actual, float bound) {
  ASSERT_EQ(expected.size(), actual.size());
  float largest = 1e-6f;
  for (float value : expected) largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(expected[i], actual[i], bound * largest) << "element " << i;
  }
}
inline void ExpectClose(const std::map<std::string, SeenValues>& expected,
                        const std::map<std::string, SeenValues>& actual, float bound) {
  ASSERT_EQ(expected.size(), actual.size());
  for (const auto& [name, values] : expected) {
    SCOPED_TRACE(name);
    ExpectClose(values, actual.at(name), bound);
  }
}

}  // namespace caffe

#endif  // CAFFE_TEST_SEEN_VALUES_HPP_
