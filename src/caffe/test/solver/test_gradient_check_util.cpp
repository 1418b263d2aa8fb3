// What tests of layers written outside the library use: written here as there.
#include "caffe/test/test_gradient_check_util.hpp"

#include <google/protobuf/text_format.h>
#include <gtest/gtest-spi.h>

#include <vector>

#include "caffe/filler.hpp"
#include "caffe/test/test_caffe_main.hpp"

namespace caffe {
namespace {

/// y = w x^2 with one parameter w; each of its gradients can be made wrong.
template <typename Dtype>
class WeightedSquareLayer : public Layer<Dtype> {
 public:
  explicit WeightedSquareLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) override {
    this->blobs_.assign(1, shared_ptr<Blob<Dtype>>(new Blob<Dtype>(vector<int>(1, 1))));
    this->blobs_[0]->mutable_cpu_data()[0] = 3;
  }
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }

  Dtype bottom_factor = 2, parameter_factor = 1;

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override {
    const Dtype w = this->blobs_[0]->cpu_data()[0];
    const Dtype* x = bottom[0]->cpu_data();
    Dtype* y = top[0]->mutable_cpu_data();
    for (int i = 0; i < bottom[0]->count(); ++i) y[i] = w * x[i] * x[i];
  }
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override {
    const Dtype w = this->blobs_[0]->cpu_data()[0];
    const Dtype* x = bottom[0]->cpu_data();
    const Dtype* dy = top[0]->cpu_diff();
    for (int i = 0; i < bottom[0]->count(); ++i) {
      this->blobs_[0]->mutable_cpu_diff()[0] += parameter_factor * dy[i] * x[i] * x[i];
      if (propagate_down[0]) {
        bottom[0]->mutable_cpu_diff()[i] = bottom_factor * w * x[i] * dy[i];
      }
    }
  }
};

template <typename TypeParam>
class GradientCheckerTest : public MultiDeviceTest<TypeParam> {
  typedef typename TypeParam::Dtype Dtype;

 protected:
  GradientCheckerTest() : bottom_(2, 3, 1, 1) {
    FillerParameter param;
    param.set_min(0.5);  // next to 0 a wrong factor makes no difference
    UniformFiller<Dtype>(param).Fill(&bottom_);
    bottoms_.push_back(&bottom_);
    tops_.push_back(&top_);
  }

  /// The messages of the expectations that fail while `check` runs.
  template <typename Check>
  int Failures(Check check) {
    ::testing::TestPartResultArray results;
    {
      ::testing::ScopedFakeTestPartResultReporter reporter(
          ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
      check();
    }
    return results.size();
  }

  GradientChecker<Dtype> checker_{Dtype(1e-2), Dtype(1e-3)};
  Blob<Dtype> bottom_, top_;
  vector<Blob<Dtype>*> bottoms_, tops_;
};

TYPED_TEST_SUITE(GradientCheckerTest, TestDtypesAndDevices);

TYPED_TEST(GradientCheckerTest, AcceptsRightGradients) {
  typedef typename TypeParam::Dtype Dtype;
  WeightedSquareLayer<Dtype> layer{LayerParameter()};
  this->checker_.CheckGradient(&layer, this->bottoms_, this->tops_);
  this->checker_.CheckGradientExhaustive(&layer, this->bottoms_, this->tops_);
  this->checker_.CheckGradientExhaustive(&layer, this->bottoms_, this->tops_, 0);
}

TYPED_TEST(GradientCheckerTest, FindsAWrongGradientOfABottom) {
  typedef typename TypeParam::Dtype Dtype;
  WeightedSquareLayer<Dtype> layer{LayerParameter()};
  layer.bottom_factor = 2.1;
  const auto check = [&](int bottom) {
    return this->Failures([&] {
      this->checker_.CheckGradientExhaustive(&layer, this->bottoms_, this->tops_, bottom);
    });
  };
  EXPECT_EQ(check(-1), 6) << "each element of the bottom on its own top element";
  EXPECT_EQ(check(0), 6);
  EXPECT_EQ(check(-2), 0) << "parameters only";
}

TYPED_TEST(GradientCheckerTest, FindsAWrongGradientOfAParameter) {
  typedef typename TypeParam::Dtype Dtype;
  WeightedSquareLayer<Dtype> layer{LayerParameter()};
  layer.parameter_factor = 0;
  EXPECT_EQ(this->Failures(
                [&] { this->checker_.CheckGradient(&layer, this->bottoms_, this->tops_, -2); }),
            1);
}

TYPED_TEST(GradientCheckerTest, LeavesBottomsAndParametersAsTheyWere) {
  typedef typename TypeParam::Dtype Dtype;
  const vector<Dtype> before(this->bottom_.cpu_data(), this->bottom_.cpu_data() + 6);
  WeightedSquareLayer<Dtype> layer{LayerParameter()};
  this->checker_.CheckGradientExhaustive(&layer, this->bottoms_, this->tops_);
  EXPECT_EQ(vector<Dtype>(this->bottom_.cpu_data(), this->bottom_.cpu_data() + 6), before);
  EXPECT_EQ(layer.blobs()[0]->cpu_data()[0], 3);
}

TYPED_TEST(GradientCheckerTest, ElementwiseLayersHaveNoInfluenceElsewhere) {
  typedef typename TypeParam::Dtype Dtype;
  LayerParameter param;
  param.set_type("ReLU");
  const shared_ptr<Layer<Dtype>> relu = LayerRegistry<Dtype>::CreateLayer(param);
  Blob<Dtype>& x = this->bottom_;
  for (int i = 0; i < x.count(); ++i) x.mutable_cpu_data()[i] = i - Dtype(2.5);
  this->checker_.CheckGradientEltwise(relu.get(), this->bottoms_, this->tops_);
  param.set_type("Softmax");
  const shared_ptr<Layer<Dtype>> softmax = LayerRegistry<Dtype>::CreateLayer(param);
  EXPECT_GT(this->Failures([&] {
    this->checker_.CheckGradientEltwise(softmax.get(), this->bottoms_, this->tops_);
  }),
            0);
}

TYPED_TEST(GradientCheckerTest, SkipsInputsAtAKink) {
  typedef typename TypeParam::Dtype Dtype;
  for (int i = 0; i < 6; ++i) this->bottom_.mutable_cpu_data()[i] = i == 4 ? 0 : i + 1;
  LayerParameter param;
  param.set_type("ReLU");
  const shared_ptr<Layer<Dtype>> relu = LayerRegistry<Dtype>::CreateLayer(param);
  EXPECT_EQ(this->Failures([&] {
    this->checker_.CheckGradientExhaustive(relu.get(), this->bottoms_, this->tops_);
  }),
            1)
      << "the slope at 0 lies between the sides'";
  GradientChecker<Dtype> checker(1e-2, 1e-3, 1701, 0., 0.01);
  checker.CheckGradientExhaustive(relu.get(), this->bottoms_, this->tops_);
}

TYPED_TEST(GradientCheckerTest, ChecksNets) {
  typedef typename TypeParam::Dtype Dtype;
  NetParameter param;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "layer { name: 'x' type: 'Input' top: 'x' top: 'label' input_param { shape { dim: 2 dim: 3 } "
      "shape { dim: 2 } } } layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'ip' "
      "inner_product_param { num_output: 4 weight_filler { type: 'gaussian' std: 1 } } } layer { "
      "name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }",
      &param));
  Net<Dtype> net(param);
  Blob<Dtype> labels(vector<int>(1, 2)), x(vector<int>{2, 3});
  labels.mutable_cpu_data()[1] = 3;
  x.CopyFrom(this->bottom_, false, true);
  x.Reshape(vector<int>{2, 3});
  this->checker_.CheckGradientNet(net, {&x, &labels});
  EXPECT_EQ(net.blob_by_name("loss")->cpu_diff()[0], 1) << "the loss weight is kept";
}

}  // namespace
}  // namespace caffe
