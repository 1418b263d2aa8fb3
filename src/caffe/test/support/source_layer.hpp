#ifndef CAFFE_TEST_SOURCE_LAYER_HPP_
#define CAFFE_TEST_SOURCE_LAYER_HPP_

#include <memory>
#include <string>
#include <vector>

#include "caffe/layer.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"
#include "google/protobuf/text_format.h"

namespace caffe {

inline LayerParameter ParseSource(const std::string& text, Phase phase = TRAIN) {
  LayerParameter param;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &param)) << text;
  param.set_phase(phase);
  return param;
}

/// A layer that makes data, with its tops.
template <typename Dtype>
struct Source {
  explicit Source(const LayerParameter& param, int top_count = 2)
      : made(LayerRegistry<Dtype>::CreateLayer(param)), layer(*made) {
    for (int i = 0; i < top_count; ++i) {
      blobs.emplace_back(new Blob<Dtype>());
      tops.push_back(blobs.back().get());
    }
    layer.SetUp({}, tops);
  }
  explicit Source(const std::string& text, int top_count = 2)
      : Source(ParseSource(text), top_count) {}
  Source(const Source&) = delete;

  void Forward() { layer.Forward({}, tops); }
  /// All values of one top of the next `batches` batches.
  std::vector<Dtype> Values(int batches, int top = 0) {
    std::vector<Dtype> values;
    for (int i = 0; i < batches; ++i) {
      Forward();
      const Dtype* data = tops[top]->cpu_data();
      values.insert(values.end(), data, data + tops[top]->count());
    }
    return values;
  }
  /// The labels of the next `batches` batches.
  std::vector<int> Labels(int batches) {
    const std::vector<Dtype> values = Values(batches, 1);
    return std::vector<int>(values.begin(), values.end());
  }
  Blob<Dtype>& data() { return *tops[0]; }
  Blob<Dtype>& label() { return *tops[1]; }

  std::vector<std::unique_ptr<Blob<Dtype>>> blobs;
  std::vector<Blob<Dtype>*> tops;
  shared_ptr<Layer<Dtype>> made;
  Layer<Dtype>& layer;
};

/// The Error of setting such a layer up; "" if there is none.
template <typename Dtype>
std::string SetUpError(const LayerParameter& param, int top_count = 2) {
  return ErrorOf([&] { Source<Dtype> source(param, top_count); });
}
template <typename Dtype>
std::string SetUpError(const std::string& text, int top_count = 2) {
  return SetUpError<Dtype>(ParseSource(text), top_count);
}

/// A layer stopped after some batches and a new one that takes over its state continue with the
/// same values.
template <typename Dtype>
void ExpectResumes(const LayerParameter& param, int top_count = 2) {
  for (int consumed : {0, 1, 5}) {
    Caffe::set_random_seed(TestSeed());
    Source<Dtype> uninterrupted(param, top_count);
    uninterrupted.Values(consumed);
    const std::string state = uninterrupted.layer.SaveState();
    std::vector<std::vector<Dtype>> expected;
    for (int top = 0; top < top_count; ++top) expected.push_back(uninterrupted.Values(4, top));
    Caffe::set_random_seed(TestSeed() + 1);
    Source<Dtype> resumed(param, top_count);
    resumed.Values(2);
    resumed.layer.RestoreState(state);
    EXPECT_EQ(resumed.layer.SaveState(), state);
    for (int top = 0; top < top_count; ++top) {
      EXPECT_EQ(resumed.Values(4, top), expected[top]) << "after " << consumed << " batches";
    }
  }
}

/// A layer that is set up again, unused or in the middle, begins again.
template <typename Dtype>
void ExpectBeginsAgain(const LayerParameter& param, int top_count = 2) {
  for (int consumed : {0, 3}) {
    Caffe::set_random_seed(TestSeed());
    Source<Dtype> source(param, top_count);
    const std::vector<Dtype> expected = source.Values(4);
    const auto set_up = [&] {
      Caffe::set_random_seed(TestSeed());
      source.layer.SetUp({}, source.tops);
    };
    set_up();
    source.Values(consumed);
    set_up();
    EXPECT_EQ(source.Values(4), expected) << "after " << consumed << " batches";
  }
}

}  // namespace caffe

#endif  // CAFFE_TEST_SOURCE_LAYER_HPP_
