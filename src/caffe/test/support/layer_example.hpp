#ifndef CAFFE_TEST_LAYER_EXAMPLE_HPP_
#define CAFFE_TEST_LAYER_EXAMPLE_HPP_

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

using Floats = std::vector<float>;

/// A layer on float bottoms that are given as numbers, for values computed by hand:
///
///     Example example("type: 'ReLU'");
///     example.Bottom({2}, {-1, 3}).SetUp();
///     EXPECT_EQ(example.Forward(), (Floats{0, 3}));
class Example {
 public:
  Example(const std::string& prototxt, int tops = 1) {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(prototxt, &param_));
    for (int i = 0; i < tops; ++i) tops_.push_back(New());
  }
  Example& Bottom(std::vector<int> shape, const std::vector<float>& values) {
    bottoms_.push_back(New());
    bottoms_.back()->Reshape(shape);
    std::copy(values.begin(), values.end(), bottoms_.back()->mutable_cpu_data());
    return *this;
  }
  /// Other values for a bottom, for the next pass.
  Example& Change(int bottom, const std::vector<float>& values) {
    std::copy(values.begin(), values.end(), bottoms_[bottom]->mutable_cpu_data());
    return *this;
  }
  /// Makes the layer, in the phase that the prototxt names (TRAIN if none).
  Example& SetUp() {
    layer_ = LayerRegistry<float>::CreateLayer(param_);
    layer_->SetUp(bottoms_, tops_);
    return *this;
  }
  Example& Parameter(int i, const std::vector<float>& values) {
    std::copy(values.begin(), values.end(), layer_->blobs()[i]->mutable_cpu_data());
    return *this;
  }
  std::vector<float> Forward(int top = 0) {
    layer_->Forward(bottoms_, tops_);
    return {tops_[top]->cpu_data(), tops_[top]->cpu_data() + tops_[top]->count()};
  }
  /// The gradient of bottom number `bottom` for `top_diff` at top 0.
  std::vector<float> Backward(const std::vector<float>& top_diff, int bottom = 0) {
    std::copy(top_diff.begin(), top_diff.end(), tops_[0]->mutable_cpu_diff());
    std::vector<bool> propagate(bottoms_.size(), false);
    propagate[bottom] = true;
    layer_->Backward(tops_, propagate, bottoms_);
    const Blob<float>& blob = *bottoms_[bottom];
    return {blob.cpu_diff(), blob.cpu_diff() + blob.count()};
  }
  Layer<float>& layer() { return *layer_; }
  const std::vector<int>& TopShape(int top = 0) { return tops_[top]->shape(); }
  float loss() { return layer_->Forward(bottoms_, tops_); }

 private:
  Blob<float>* New() {
    blobs_.emplace_back(new Blob<float>());
    return blobs_.back().get();
  }
  LayerParameter param_;
  std::vector<std::unique_ptr<Blob<float>>> blobs_;
  vector<Blob<float>*> bottoms_, tops_;
  shared_ptr<Layer<float>> layer_;
};

}  // namespace caffe

#endif  // CAFFE_TEST_LAYER_EXAMPLE_HPP_
