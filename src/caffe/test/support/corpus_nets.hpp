#ifndef CAFFE_TEST_CORPUS_NETS_HPP_
#define CAFFE_TEST_CORPUS_NETS_HPP_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "caffe/kernels/parallel.hpp"
#include "caffe/net.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "test_data.hpp"

// Public nets with the weights and inputs, made by a hash, for which BVLC Caffe's values are known.

namespace caffe::corpus {

/// A number in [0, 1) for element k of stream s.
inline double Hash(uint32_t k, uint32_t s) {
  uint32_t a = k * 2654435761u + s * 40503u + 12345u;
  a ^= a >> 15;
  a *= 2246822519u;
  a ^= a >> 13;
  a *= 3266489917u;
  a ^= a >> 16;
  return a / 4294967296.;
}

template <typename Value>
void Fill(Blob<float>* blob, uint32_t stream, const Value& value) {
  float* data = blob->mutable_cpu_data();
  kernels::ParallelFor(blob->count(), 1 << 14, [&](size_t begin, size_t end) {
    for (size_t k = begin; k < end; ++k) {
      data[k] = static_cast<float>(value(2 * Hash(static_cast<uint32_t>(k), stream) - 1));
    }
  });
}

inline void FillParameter(const string& type, int j, uint32_t stream, Blob<float>* blob) {
  const double fan = blob->num_axes() == 0 ? 1 : blob->count() / std::max(1, blob->shape(0));
  if (type == "BatchNorm") {
    Fill(blob, stream, [j](double r) -> double {
      return j == 0 ? 0.1 * r : j == 1 ? 1 + 0.5 * r : 1;
    });
  } else if (type == "Scale") {
    Fill(blob, stream, [j](double r) { return j == 0 ? 1 + 0.3 * r : 0.1 * r; });
  } else if (type == "PReLU") {
    Fill(blob, stream, [](double r) { return 0.25 + 0.1 * r; });
  } else if (j == 0 || type == "LSTM" || type == "RNN") {
    const double scale = std::sqrt(3.) * std::sqrt(2 / fan);
    Fill(blob, stream, [scale](double r) { return r * scale; });
  } else {
    Fill(blob, stream, [](double r) { return 0.1 * r; });
  }
}

inline std::string Path(const string& file) { return SharedData("prototxt_corpus/" + file); }

inline vector<string> ExpectedNets() {
  vector<string> names;
  if (!HasSharedData()) return {"none"};
  for (const auto& entry : std::filesystem::directory_iterator(Path("expected"))) {
    names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// The net of a name that ExpectedNets gives, in the TEST phase, parameters and inputs filled.
inline std::unique_ptr<Net<float>> FilledNet(const string& name) {
  NetParameter param;
  ReadNetParamsFromTextFileOrDie(Path(name + ".prototxt"), &param);
  param.mutable_state()->set_phase(TEST);
  auto net = std::make_unique<Net<float>>(param);
  for (size_t l = 0; l < net->layers().size(); ++l) {
    const auto& blobs = net->layers()[l]->blobs();
    for (size_t j = 0; j < blobs.size(); ++j) {
      FillParameter(net->layers()[l]->type(), j, 16 * l + j, blobs[j].get());
    }
  }
  for (int i = 0; i < net->num_inputs(); ++i) {
    Fill(net->input_blobs()[i], 1000003 + i, [](double r) { return r; });
  }
  return net;
}

/// A net's name as a test's.
inline string TestName(const ::testing::TestParamInfo<string>& info) {
  string name;
  for (const char c : info.param) name += std::isalnum(c) ? c : '_';
  return name;
}

}  // namespace caffe::corpus

#endif  // CAFFE_TEST_CORPUS_NETS_HPP_
