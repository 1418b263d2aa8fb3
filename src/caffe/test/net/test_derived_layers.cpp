// Layers of programs that derive from the library's: what they override is called, whatever the
// library's own layers of that class are computed together with.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "caffe/layers/absval_layer.hpp"
#include "caffe/layers/batch_norm_layer.hpp"
#include "caffe/layers/bnll_layer.hpp"
#include "caffe/layers/clip_layer.hpp"
#include "caffe/layers/conv_layer.hpp"
#include "caffe/layers/depthwise_conv_layer.hpp"
#include "caffe/layers/dropout_layer.hpp"
#include "caffe/layers/elu_layer.hpp"
#include "caffe/layers/inner_product_layer.hpp"
#include "caffe/layers/power_layer.hpp"
#include "caffe/layers/relu6_layer.hpp"
#include "caffe/layers/relu_layer.hpp"
#include "caffe/layers/scale_layer.hpp"
#include "caffe/layers/sigmoid_layer.hpp"
#include "caffe/layers/tanh_layer.hpp"
#include "caffe/net.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe {
namespace {

int forward_calls, backward_calls;

/// Adds 1 to what `Base` computes, and doubles its gradient.
template <typename Base>
class Changed : public Base {
 public:
  using Base::Base;

 protected:
  using Blobs = vector<Blob<float>*>;

  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    ++forward_calls;
    Base::Forward_cpu(bottom, top);
    for (int i = 0; i < top[0]->count(); ++i) top[0]->mutable_cpu_data()[i] += 1;
  }
  void Backward_cpu(const Blobs& top, const vector<bool>& propagate_down,
                    const Blobs& bottom) override {
    ++backward_calls;
    Base::Backward_cpu(top, propagate_down, bottom);
    for (int i = 0; i < bottom[0]->count(); ++i) bottom[0]->mutable_cpu_diff()[i] *= 2;
  }
};

template <typename Made>
shared_ptr<Layer<float>> Make(const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new Made(param));
}

/// Tells its base that it is one of the library's.
class InDisguise : public Changed<ConvolutionLayer<float>> {
 public:
  explicit InDisguise(LayerParameter param) : Changed(AsConvolution(&param)) {}

 private:
  static const LayerParameter& AsConvolution(LayerParameter* param) {
    param->set_type("Convolution");
    return *param;
  }
};

/// Calls what the library has for all programs, by its short name, which no member hides.
class CallsJoin : public ConvolutionLayer<float> {
 public:
  explicit CallsJoin(const LayerParameter& param) : ConvolutionLayer(param) {}
  void LayerSetUp(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>&) override {
    Require(false, Join("axis ", bottom[0]->num_axes() - 1, " is wrong"));
  }
};

void RegisterAll() {
  static const bool registered = [] {
    const auto add = [](const char* type, LayerRegistry<float>::Creator creator) {
      LayerRegistry<float>::AddCreator(std::string("Changed") + type, creator);
    };
    add("Convolution", Make<Changed<ConvolutionLayer<float>>>);
    add("DepthwiseConvolution", Make<Changed<DepthwiseConvolutionLayer<float>>>);
    add("InnerProduct", Make<Changed<InnerProductLayer<float>>>);
    add("BatchNorm", Make<Changed<BatchNormLayer<float>>>);
    add("Scale", Make<Changed<ScaleLayer<float>>>);
    add("Dropout", Make<Changed<DropoutLayer<float>>>);
    add("ReLU", Make<Changed<ReLULayer<float>>>);
    add("ReLU6", Make<Changed<ReLU6Layer<float>>>);
    add("Clip", Make<Changed<ClipLayer<float>>>);
    add("ELU", Make<Changed<ELULayer<float>>>);
    add("Sigmoid", Make<Changed<SigmoidLayer<float>>>);
    add("TanH", Make<Changed<TanHLayer<float>>>);
    add("AbsVal", Make<Changed<AbsValLayer<float>>>);
    add("BNLL", Make<Changed<BNLLLayer<float>>>);
    add("Power", Make<Changed<PowerLayer<float>>>);
    add("InDisguise", Make<InDisguise>);
    // Under the name of a layer that the library has, and BVLC Caffe has not.
    LayerRegistry<float>::AddCreator("ReplacedReLU", Make<ReLULayer<float>>, LayerOrigin::BUILT_IN);
    LayerRegistry<float>::AddCreator("ReplacedReLU", Make<Changed<ReLULayer<float>>>);
    return true;
  }();
  (void)registered;
}

const char kConv[] =
    " convolution_param { num_output: 3 kernel_size: 3 weight_filler { type: 'gaussian' std: 0.3 "
    "} }";
const char kProduct[] =
    " inner_product_param { num_output: 3 weight_filler { type: 'gaussian' std: 0.3 } }";
const char kScale[] =
    " scale_param { bias_term: true filler { value: 0.5 } bias_filler { value: 0.25 } }";

/// The fields of a layer of this type; "Changed" in front of it is skipped.
std::string Fields(std::string type) {
  if (type.compare(0, 7, "Changed") == 0) type.erase(0, 7);
  if (type == "Convolution" || type == "DepthwiseConvolution" || type == "InDisguise") return kConv;
  if (type == "InnerProduct") return kProduct;
  if (type == "Scale") return kScale;
  if (type == "Clip") return " clip_param { min: -1 max: 2 }";
  return "";
}

/// Two layers, the second in place on the first's top.
NetParameter TwoLayers(const std::string& first, const std::string& second, Phase phase) {
  NetParameter param;
  const std::string text =
      "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 dim: 6 dim: 5 "
      "} } }"
      "layer { name: 'a' type: '" +
      first + "' bottom: 'x' top: 'y'" + Fields(first) +
      " }"
      "layer { name: 'b' type: '" +
      second + "' bottom: 'y' top: 'y'" + Fields(second) + " }";
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &param));
  param.mutable_state()->set_phase(phase);
  param.set_force_backward(phase == TRAIN);  // else nothing is computed together
  return param;
}

/// With a callback each layer runs by itself.
struct EachLayerApart : public Net<float>::Callback {
  void run(int) override {}
};

struct Results {
  std::vector<float> top, gradients;
  int forward, backward;
};

Results ResultsOf(const NetParameter& param, bool watched) {
  Caffe::set_random_seed(TestSeed());
  Net<float> net(param);
  EachLayerApart callback;
  if (watched) net.add_after_forward(&callback);
  for (const auto& layer : net.layers()) {
    if (layer->blobs().size() != 3) continue;  // statistics
    caffe_set(3, 1.5f, layer->blobs()[1]->mutable_cpu_data());
    layer->blobs()[2]->mutable_cpu_data()[0] = 1;
  }
  Blob<float>& x = *net.input_blobs()[0];
  for (int i = 0; i < x.count(); ++i) x.mutable_cpu_data()[i] = i * 37 % 101 / 50.f - 0.9f;
  forward_calls = backward_calls = 0;
  Caffe::set_random_seed(TestSeed());  // of dropout
  net.Forward();
  Results results;
  const Blob<float>& y = *net.output_blobs()[0];
  results.top.assign(y.cpu_data(), y.cpu_data() + y.count());
  if (net.phase() == TRAIN) {
    for (int i = 0; i < y.count(); ++i) {
      net.output_blobs()[0]->mutable_cpu_diff()[i] = i * 29 % 83 / 40.f - 1;
    }
    net.ClearParamDiffs();
    net.Backward();
    results.gradients.assign(x.cpu_diff(), x.cpu_diff() + x.count());
    for (const Blob<float>* learned : net.learnable_params()) {
      results.gradients.insert(results.gradients.end(), learned->cpu_diff(),
                               learned->cpu_diff() + learned->count());
    }
  }
  results.forward = forward_calls;
  results.backward = backward_calls;
  return results;
}

TEST(DerivedLayer, CallsFunctionsOfTheLibraryByTheirShortNames) {
  Blob<float> bottom(vector<int>{1, 2, 3, 4}), top;
  try {
    CallsJoin{LayerParameter()}.SetUp({&bottom}, {&top});
    ADD_FAILURE() << "it refuses every bottom";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "axis 3 is wrong");
  }
}

class DerivedLayers : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(DerivedLayers, RunInWholePassesAsByThemselves) {
  RegisterAll();
  const auto& [first, second] = GetParam();
  for (const Phase phase : {TEST, TRAIN}) {
    SCOPED_TRACE(Phase_Name(phase));
    const NetParameter param = TwoLayers(first, second, phase);
    const Results whole = ResultsOf(param, false), apart = ResultsOf(param, true);
    EXPECT_EQ(whole.forward, 1);
    EXPECT_EQ(whole.backward, phase == TRAIN ? 1 : 0);
    EXPECT_EQ(whole.top, apart.top);
    EXPECT_EQ(whole.gradients, apart.gradients);
  }
}

INSTANTIATE_TEST_SUITE_P(Hosts, DerivedLayers,
                         ::testing::Values(std::make_pair("ChangedConvolution", "ReLU"),
                                           std::make_pair("ChangedDepthwiseConvolution", "ReLU"),
                                           std::make_pair("ChangedInnerProduct", "ReLU"),
                                           std::make_pair("ChangedBatchNorm", "Scale"),
                                           std::make_pair("ChangedBatchNorm", "ReLU"),
                                           std::make_pair("ChangedInDisguise", "ReLU")));

INSTANTIATE_TEST_SUITE_P(Followers, DerivedLayers,
                         ::testing::Values(std::make_pair("Convolution", "ChangedBatchNorm"),
                                           std::make_pair("Convolution", "ChangedScale"),
                                           std::make_pair("Convolution", "ChangedDropout"),
                                           std::make_pair("Convolution", "ChangedReLU"),
                                           std::make_pair("Convolution", "ChangedReLU6"),
                                           std::make_pair("Convolution", "ChangedClip"),
                                           std::make_pair("Convolution", "ReplacedReLU"),
                                           std::make_pair("Convolution", "ChangedELU"),
                                           std::make_pair("Convolution", "ChangedSigmoid"),
                                           std::make_pair("Convolution", "ChangedTanH"),
                                           std::make_pair("Convolution", "ChangedAbsVal"),
                                           std::make_pair("Convolution", "ChangedBNLL"),
                                           std::make_pair("Convolution", "ChangedPower"),
                                           std::make_pair("InnerProduct", "ChangedReLU"),
                                           std::make_pair("BatchNorm", "ChangedScale"),
                                           std::make_pair("BatchNorm", "ChangedReLU")));

}  // namespace
}  // namespace caffe
