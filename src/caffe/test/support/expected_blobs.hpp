#ifndef CAFFE_TEST_EXPECTED_BLOBS_HPP_
#define CAFFE_TEST_EXPECTED_BLOBS_HPP_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "caffe/blob.hpp"

namespace caffe {

/// What another program says of a blob: one line "name shape least most mean l2 first values",
/// the shape as 1x3x32x32. Lines that begin with # are comments.
struct ExpectedBlob {
  std::string name, shape;
  double least, most, mean, l2;
  std::vector<double> first;
};

inline std::vector<ExpectedBlob> ReadExpectedBlobs(const std::string& file) {
  std::ifstream stream(file);
  std::vector<ExpectedBlob> result;
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    ExpectedBlob e;
    words >> e.name >> e.shape >> e.least >> e.most >> e.mean >> e.l2;
    for (double value; words >> value;) e.first.push_back(value);
    result.push_back(e);
  }
  return result;
}

/// All to `relative` times the largest magnitude in the blob; L2 norm to `relative`.
inline void CompareBlob(const ExpectedBlob& e, const Blob<float>& blob, double relative) {
  SCOPED_TRACE("blob " + e.name);
  std::string shape;
  for (int extent : blob.shape()) shape += (shape.empty() ? "" : "x") + std::to_string(extent);
  if (!shape.empty()) {
    ASSERT_EQ(shape, e.shape);
  }
  const float* data = blob.cpu_data();
  const int n = blob.count();
  double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double value = data[i];
    least = std::min(least, value);
    most = std::max(most, value);
    sum += value;
    squares += value * value;
  }
  const double largest = std::max(std::fabs(e.least), std::fabs(e.most));
  const double bound = relative * largest + 1e-7;
  EXPECT_NEAR(least, e.least, bound);
  EXPECT_NEAR(most, e.most, bound);
  EXPECT_NEAR(sum / n, e.mean, bound);
  EXPECT_NEAR(std::sqrt(squares), e.l2, relative * e.l2 + 1e-7);
  for (size_t i = 0; i < e.first.size() && i < size_t(n); ++i) {
    EXPECT_NEAR(data[i], e.first[i], bound) << "element " << i;
  }
}

}  // namespace caffe

#endif  // CAFFE_TEST_EXPECTED_BLOBS_HPP_
