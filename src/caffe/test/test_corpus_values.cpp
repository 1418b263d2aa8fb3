// Public nets give BVLC Caffe 1.0's numbers, blob by blob, with weights and inputs made by a hash.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "caffe/kernels/parallel.hpp"
#include "caffe/net.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "expected_blobs.hpp"
#include "test_data.hpp"

namespace caffe {
namespace {

namespace fs = std::filesystem;

/// A number in [0, 1) for element k of stream s.
double Hash(uint32_t k, uint32_t s) {
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

void FillParameter(const string& type, int j, uint32_t stream, Blob<float>* blob) {
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

string Corpus(const string& file) { return SharedData("prototxt_corpus/" + file); }

vector<string> ExpectedNets() {
  vector<string> names;
  if (!HasSharedData()) return {"none"};
  for (const auto& entry : fs::directory_iterator(Corpus("expected"))) {
    names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class CorpusValues : public ::testing::TestWithParam<string> {};

TEST_P(CorpusValues, AreBvlcCaffes) {
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  NetParameter param;
  ReadNetParamsFromTextFileOrDie(Corpus(GetParam() + ".prototxt"), &param);
  param.mutable_state()->set_phase(TEST);
  Net<float> net(param);
  for (size_t l = 0; l < net.layers().size(); ++l) {
    const auto& blobs = net.layers()[l]->blobs();
    for (size_t j = 0; j < blobs.size(); ++j) {
      FillParameter(net.layers()[l]->type(), j, 16 * l + j, blobs[j].get());
    }
  }
  for (int i = 0; i < net.num_inputs(); ++i) {
    Fill(net.input_blobs()[i], 1000003 + i, [](double r) { return r; });
  }
  net.Forward();
  const auto expected = ReadExpectedBlobs(Corpus("expected/" + GetParam() + ".txt"));
  ASSERT_FALSE(expected.empty());
  for (const ExpectedBlob& e : expected) {
    ASSERT_TRUE(net.has_blob(e.name)) << e.name;
    CompareBlob(e, *net.blob_by_name(e.name), 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Nets, CorpusValues, ::testing::ValuesIn(ExpectedNets()),
                         [](const auto& info) {
                           string name;
                           for (char c : info.param) name += std::isalnum(c) ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace caffe
