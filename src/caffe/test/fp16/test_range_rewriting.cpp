// Nets whose values leave FP16's range are rewritten: the same numbers in FLOAT, none infinite in
// FLOAT16.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "caffe/fp16/factor_rules.hpp"
#include "caffe/fp16/net_agreement.hpp"
#include "caffe/fp16/range_report.hpp"
#include "caffe/fp16/range_rewriting.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/npy.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_data.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {
namespace {

/// FP16 keeps 11 digits; a few layers' roundings add up.
constexpr double kHalfAccuracy = 8e-3;

using Random = std::mt19937;

float Draw(Random* random, double low, double high) {
  return static_cast<float>(std::uniform_real_distribution<double>(low, high)(*random));
}

/// A net in FLOAT with the ranges of a batch, and its rewritten twins.
class Rewritten {
 public:
  explicit Rewritten(const NetParameter& param) : param_(param) {
    param_.mutable_state()->set_phase(TEST);
    net_ = std::make_unique<Net<float>>(param_);
  }
  explicit Rewritten(const std::string& text) : Rewritten(ParseNet(text)) {}

  Net<float>& net() { return *net_; }
  Blob<float>& Parameter(const std::string& layer, int blob) {
    return *net_->layer_by_name(layer)->blobs()[blob];
  }
  void Multiply(const std::string& layer, int blob, double factor) {
    Blob<float>& parameter = Parameter(layer, blob);
    float* values = parameter.mutable_cpu_data();
    for (int i = 0; i < parameter.count(); ++i) values[i] *= factor;
  }
  /// Multiplies the layer's parameters so that its largest value becomes `size`.
  void SetSize(const std::string& layer, double size) {
    net_->Forward();
    double largest = 0;
    for (double value : Values(*net_->blob_by_name(layer))) {
      largest = std::max(largest, std::abs(value));
    }
    const auto& blobs = net_->layer_by_name(layer)->blobs();
    for (size_t i = 0; i < blobs.size(); ++i) Multiply(layer, int(i), size / largest);
  }
  /// Draws all parameters like those of trained layers: of products so that values keep their size.
  void DrawParameters(Random* random) {
    for (const auto& layer : net_->layers()) {
      const std::string type = layer->layer_param().type();
      for (size_t i = 0; i < layer->blobs().size(); ++i) {
        Blob<float>& blob = *layer->blobs()[i];
        const bool statistics =
            (type == "BatchNorm" && (i == 1 || i == 2)) || (type == "BN" && i == 3);
        const double size = i > 0 || blob.num_axes() < 2
                                ? 0.5
                                : std::sqrt(6.0 / std::max(1, blob.count() / blob.shape(0)));
        float* values = blob.mutable_cpu_data();
        for (int k = 0; k < blob.count(); ++k) {
          values[k] = statistics ? Draw(random, 0.5, 2) : Draw(random, -size, size);
        }
      }
    }
  }
  void DrawInputs(Random* random, double low, double high) {
    for (Blob<float>* input : net_->input_blobs()) {
      float* values = input->mutable_cpu_data();
      for (int i = 0; i < input->count(); ++i) values[i] = Draw(random, low, high);
    }
  }

  Rewritten& Rewrite(const RangeRewritingOptions& options = RangeRewritingOptions()) {
    inspector_ = std::make_unique<RangeInspector>(net_.get());
    inspector_->Forward();
    rewriting_ = std::make_unique<RangeRewriting>(*inspector_, param_, options);
    return *this;
  }
  RangeInspector& inspector() { return *inspector_; }
  const RangeRewriting& rewriting() { return *rewriting_; }
  const LayerParameter& Layer(const std::string& name) {
    for (const LayerParameter& layer : rewriting_->net().layer()) {
      if (layer.name() == name) return layer;
    }
    throw Error("no layer " + name);
  }
  bool IsFloat(const std::string& name) {
    return Layer(name).has_forward_type() && Layer(name).forward_type() == FLOAT;
  }

  /// The original net in FLOAT16 has infinities or NaN.
  bool OverflowedBefore() {
    NetParameter half = param_, weights;
    half.set_default_forward_type(FLOAT16);
    net_->ToProto(&weights);
    return Compare(half, weights).not_finite() > 0;
  }
  void ExpectSameInFloatAndFiniteInHalf(double half_accuracy = kHalfAccuracy) {
    NetParameter plain = rewriting_->net();
    ClearTypes(&plain);
    const NetParameter weights = rewriting_->Weights();
    const NetAgreement in_float = Compare(plain, weights);
    EXPECT_EQ(in_float.not_finite(), 0);
    EXPECT_LE(in_float.relative(), 1e-6);
    const NetAgreement in_half = Compare(rewriting_->net(), weights);
    EXPECT_EQ(in_half.not_finite(), 0) << "first in " << in_half.first_not_finite();
    EXPECT_LE(in_half.relative(), half_accuracy);
    if (!testing::Test::HasFailure()) return;
    std::ostringstream what;
    PrintRanges(*inspector_, what);
    PrintRewriting(*rewriting_, what);
    ADD_FAILURE() << what.str();
  }

 private:
  NetAgreement Compare(NetParameter param, const NetParameter& weights) {
    param.mutable_state()->set_phase(TEST);
    twin_ = std::make_unique<Net<float>>(param);
    twin_->CopyTrainedLayersFrom(weights);
    for (int i = 0; i < net_->num_inputs(); ++i) {
      twin_->input_blobs()[i]->CopyFrom(*net_->input_blobs()[i], false, true);
    }
    NetAgreement agreement(net_.get(), twin_.get());
    agreement.Add();
    return agreement;
  }

  NetParameter param_;
  std::unique_ptr<Net<float>> net_, twin_;
  std::unique_ptr<RangeInspector> inspector_;
  std::unique_ptr<RangeRewriting> rewriting_;
};

std::string InputLayer(int channels, int size, int num = 1) {
  return Join("layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: ", num,
              " dim: ", channels, " dim: ", size, " dim: ", size, " } } } ");
}
std::string Conv(const std::string& name, const std::string& bottom, int outputs,
                 const std::string& more = "kernel_size: 3 pad: 1") {
  return Join("layer { name: '", name, "' type: 'Convolution' bottom: '", bottom, "' top: '", name,
              "' convolution_param { num_output: ", outputs, " ", more, " } } ");
}
std::string InPlace(const std::string& type, const std::string& blob, const std::string& name,
                    const std::string& more = "") {
  return Join("layer { name: '", name, "' type: '", type, "' bottom: '", blob, "' top: '", blob,
              "' ", more, " } ");
}
std::string Simple(const std::string& type, const std::string& name, const std::string& bottom,
                   const std::string& more = "") {
  return Join("layer { name: '", name, "' type: '", type, "' bottom: '", bottom, "' top: '", name,
              "' ", more, " } ");
}
std::string Sum(const std::string& name, const std::string& a, const std::string& b) {
  return Join("layer { name: '", name, "' type: 'Eltwise' bottom: '", a, "' bottom: '", b,
              "' top: '", name, "' } ");
}
constexpr char kPrelu[] = "prelu_param { filler { value: 0.25 } }";
constexpr char kScaleBias[] = "scale_param { bias_term: true }";

// ------------------------------------------------------------------ by hand

// Of two channels one needs p = 2^14, which leaves nothing of the other.
TEST(RangeRewriting, SaysWhatLosesItsDigits) {
  Rewritten it(InputLayer(1, 1) + Conv("a", "data", 2, "kernel_size: 1") +
               Conv("b", "a", 1, "kernel_size: 1"));
  SetValues(&it.Parameter("a", 0), {2e8, 1e-4});
  SetValues(it.net().input_blobs()[0], {1});
  it.Rewrite();
  ASSERT_EQ(it.rewriting().regions().size(), 1u);
  EXPECT_EQ(it.rewriting().regions()[0].exponent, 14);
  std::ostringstream some, none;
  EXPECT_TRUE(PrintLostDigits(it.rewriting(), 0.05, some));
  EXPECT_EQ(
      some.str().find("warning: 50.00 % of the values from layer 'a' to layer 'b' are subnormal"),
      0u)
      << some.str();
  EXPECT_FALSE(PrintLostDigits(it.rewriting(), 0.5, none));
  EXPECT_EQ(none.str(), "");
}

TEST(RangeRewriting, FoldsOneOverPIntoTheFirstLayerAndPIntoTheLast) {
  Rewritten it(InputLayer(1, 1) + Conv("a", "data", 1, "kernel_size: 1") +
               InPlace("ReLU", "a", "r") + Conv("b", "a", 1, "kernel_size: 1"));
  SetValues(&it.Parameter("a", 0), {40000});
  SetValues(&it.Parameter("a", 1), {960});
  SetValues(&it.Parameter("b", 0), {0.0009765625});
  SetValues(&it.Parameter("b", 1), {3});
  SetValues(it.net().input_blobs()[0], {10});
  // 400960 * 4 / 65504 = 24.5: p = 32.
  it.Rewrite();
  ASSERT_EQ(it.rewriting().regions().size(), 1u);
  const ScaledRegion& region = it.rewriting().regions()[0];
  EXPECT_EQ(region.exponent, 5);
  EXPECT_EQ(region.from, "a");
  EXPECT_EQ(region.to, "b");
  EXPECT_EQ(region.blobs, std::vector<std::string>{"a"});
  EXPECT_EQ(region.largest, 400960);
  const NetParameter weights = it.rewriting().Weights();
  EXPECT_EQ(weights.layer(1).blobs(0).data(0), 1250);
  EXPECT_EQ(weights.layer(1).blobs(1).data(0), 30);
  EXPECT_EQ(weights.layer(3).blobs(0).data(0), 0.03125);
  EXPECT_EQ(weights.layer(3).blobs(1).data(0), 3);
  EXPECT_TRUE(it.rewriting().inserted_layers().empty());
  EXPECT_TRUE(it.rewriting().float_layers().empty());
  EXPECT_EQ(it.rewriting().net().default_forward_type(), FLOAT16);
  EXPECT_TRUE(it.OverflowedBefore());
  it.ExpectSameInFloatAndFiniteInHalf();
}

TEST(RangeRewriting, LeavesANetThatFitsAsItIs) {
  const std::string text = InputLayer(1, 2) + Conv("a", "data", 1) + Simple("Softmax", "s", "a");
  Rewritten it(text);
  Random random(TestSeed());
  it.DrawParameters(&random);
  it.DrawInputs(&random, -1, 1);
  it.Rewrite();
  EXPECT_TRUE(it.rewriting().regions().empty());
  EXPECT_TRUE(it.rewriting().folded().empty());
  EXPECT_TRUE(it.rewriting().float_layers().empty());
  EXPECT_EQ(it.rewriting().net().layer_size(), 3);
  it.ExpectSameInFloatAndFiniteInHalf();
}

TEST(RangeRewriting, LeavesTheHeadroomThatIsAskedFor) {
  Rewritten it(InputLayer(1, 1) + Simple("Power", "a", "data", "power_param { scale: 65504 }") +
               Simple("Power", "b", "a", "power_param { scale: 0.001 }"));
  SetValues(it.net().input_blobs()[0], {1});
  RangeRewritingOptions options;
  for (const auto& [headroom, exponent] : std::vector<std::pair<double, int>>{{2, 1}, {8, 3}}) {
    options.headroom = headroom;
    it.Rewrite(options);
    ASSERT_EQ(it.rewriting().regions().size(), 1u);
    EXPECT_EQ(it.rewriting().regions()[0].exponent, exponent);
  }
  options.headroom = 1;
  EXPECT_TRUE(it.Rewrite(options).rewriting().regions().empty());
}

TEST(RangeRewriting, ScalesEpsAndVarianceOfBatchNormBySquares) {
  Rewritten it(InputLayer(1, 1) + Simple("Power", "big", "data", "power_param { scale: 1e6 }") +
               Simple("BatchNorm", "bn", "big", "batch_norm_param { eps: 0.5 }"));
  SetValues(&it.Parameter("bn", 0), {200});
  SetValues(&it.Parameter("bn", 1), {1e9});
  SetValues(&it.Parameter("bn", 2), {1});
  SetValues(it.net().input_blobs()[0], {1});
  it.Rewrite();  // 4e6 / 65504 = 61.07: p = 64
  EXPECT_EQ(it.Layer("bn").batch_norm_param().eps(), 0.5f / 4096);
  const LayerParameter weights = it.rewriting().Weights().layer(2);
  EXPECT_EQ(weights.blobs(0).data(0), 200.f / 64);
  EXPECT_EQ(weights.blobs(1).data(0), 1e9f / 4096);
  EXPECT_EQ(weights.blobs(2).data(0), 1);
  it.ExpectSameInFloatAndFiniteInHalf();
}

TEST(RangeRewriting, DividesStatisticsThatAreStoredTooLarge) {
  Rewritten it(InputLayer(1, 1) + Simple("BatchNorm", "bn", "data"));
  SetValues(&it.Parameter("bn", 0), {100e3});
  SetValues(&it.Parameter("bn", 1), {400e3});
  SetValues(&it.Parameter("bn", 2), {1000});
  SetValues(it.net().input_blobs()[0], {140});
  it.Rewrite();
  EXPECT_EQ(it.rewriting().normalized_layers(), std::vector<std::string>{"bn"});
  const LayerParameter weights = it.rewriting().Weights().layer(1);
  EXPECT_FLOAT_EQ(weights.blobs(0).data(0), 100);
  EXPECT_FLOAT_EQ(weights.blobs(1).data(0), 400);
  EXPECT_EQ(weights.blobs(2).data(0), 1);
  it.ExpectSameInFloatAndFiniteInHalf();
}

TEST(RangeRewriting, PutsLayersInOnlyAtOutputsAndBeforeLayersThatDoNotCommute) {
  Rewritten it(InputLayer(2, 1) + Simple("Power", "big", "data", "power_param { scale: 1e5 }") +
               Simple("ReLU", "relu", "big") + Simple("Softmax", "soft", "relu"));
  SetValues(it.net().input_blobs()[0], {1, 2});
  it.Rewrite();
  EXPECT_EQ(it.rewriting().inserted_layers().size(), 1u);
  EXPECT_EQ(it.rewriting().float_layers(), std::vector<std::string>{"soft"});
  EXPECT_TRUE(it.OverflowedBefore());
  it.ExpectSameInFloatAndFiniteInHalf();

  Rewritten output(InputLayer(2, 1) + Simple("Power", "big", "data", "power_param { scale: 1e5 }"));
  SetValues(output.net().input_blobs()[0], {1, 2});
  output.Rewrite();
  ASSERT_EQ(output.rewriting().inserted_layers().size(), 1u);
  EXPECT_EQ(output.Layer("rescale_big").top(0), "big");  // the output keeps its name
  EXPECT_EQ(output.Layer("big").top(0), "big_scaled");
  output.ExpectSameInFloatAndFiniteInHalf();
}

TEST(RangeRewriting, ANetWithValuesBetweenFloatLayersOnlyNeedsNoFactor) {
  Rewritten it(InputLayer(1, 1) + Simple("Exp", "exp", "data") + Simple("Log", "log", "exp"));
  SetValues(it.net().input_blobs()[0], {20});
  it.Rewrite();
  EXPECT_TRUE(it.rewriting().regions().empty());
  EXPECT_EQ(it.rewriting().float_layers(), (std::vector<std::string>{"exp", "log"}));
  it.ExpectSameInFloatAndFiniteInHalf();
}

TEST(RangeRewriting, KeepsLayersFloatThatOverflowInside) {
  Rewritten it(InputLayer(2, 1) + Simple("LRN", "norm", "data", "lrn_param { local_size: 3 }"));
  SetValues(it.net().input_blobs()[0], {300, 100});
  it.Rewrite();
  EXPECT_EQ(it.rewriting().float_layers(), std::vector<std::string>{"norm"});
  it.ExpectSameInFloatAndFiniteInHalf();
}

TEST(RangeRewriting, AddsUpProductsInFloatWhoseSumsOverflowOnTheWay) {
  Rewritten it(InputLayer(2, 1) +
               Simple("InnerProduct", "ip", "data", "inner_product_param { num_output: 1 }"));
  SetValues(&it.Parameter("ip", 0), {100, -100});
  SetValues(it.net().input_blobs()[0], {1000, 999});
  it.Rewrite();
  EXPECT_EQ(it.rewriting().float_math_layers(), std::vector<std::string>{"ip"});
  EXPECT_TRUE(it.rewriting().regions().empty());
  it.ExpectSameInFloatAndFiniteInHalf();
}

TEST(RangeRewriting, InputsBeyondTheRangeStayFloat) {
  Rewritten it(InputLayer(1, 1) + Conv("a", "data", 1, "kernel_size: 1"));
  SetValues(&it.Parameter("a", 0), {0.001});
  SetValues(it.net().input_blobs()[0], {1e6});
  it.Rewrite();
  EXPECT_TRUE(it.IsFloat("data"));
  EXPECT_EQ(it.rewriting().inserted_layers().size(), 1u);
  it.ExpectSameInFloatAndFiniteInHalf();
}

TEST(RangeRewriting, DividesMoreWhereWeightsAreTooSmallForFloat16) {
  Rewritten it(InputLayer(8, 2) + Conv("a", "data", 8) + InPlace("ReLU", "a", "relu") +
               Conv("b", "a", 8));
  Random random(TestSeed());
  it.DrawParameters(&random);
  it.DrawInputs(&random, 0.5, 1);
  it.Multiply("a", 0, 1000);
  it.Multiply("b", 0, 1e-6);
  it.Rewrite();
  ASSERT_EQ(it.rewriting().folded().size(), 3u);
  const FoldedFactor& folded = it.rewriting().folded()[2];
  EXPECT_EQ(folded.layer, "b");
  EXPECT_GT(folded.exponent, 0);
  EXPECT_EQ(folded.subnormal_before, 1);
  EXPECT_LT(folded.subnormal_after, 1);
  EXPECT_FALSE(it.IsFloat("b"));
  it.ExpectSameInFloatAndFiniteInHalf();
}

// ------------------------------------------------------------------ connections

TEST(RangeRewriting, LayersInPlaceBehindEachOtherMayHaveDifferentFactors) {
  Rewritten it(InputLayer(1, 2) + Conv("x", "data", 1) + InPlace("BatchNorm", "x", "bn") +
               InPlace("Scale", "x", "scale", kScaleBias) + InPlace("ReLU", "x", "relu") +
               InPlace("Sigmoid", "x", "sigmoid") + Conv("y", "x", 1));
  Random random(TestSeed());
  it.DrawParameters(&random);
  it.DrawInputs(&random, -1, 1);
  it.Multiply("x", 0, 1e6);
  it.Multiply("scale", 0, 1e7);
  it.net().ForwardTo(3);  // to 'scale', of which the ReLU is to leave something
  const std::vector<double> scaled = Values(*it.net().blob_by_name("x"));
  if (*std::max_element(scaled.begin(), scaled.end()) < 0) it.Multiply("scale", 0, -1);
  it.Rewrite();
  EXPECT_TRUE(it.IsFloat("sigmoid"));
  EXPECT_TRUE(it.OverflowedBefore());
  it.ExpectSameInFloatAndFiniteInHalf();
}

TEST(RangeRewriting, BranchesOfAJoinCarryOneFactor) {
  Rewritten it(InputLayer(2, 3) + Conv("a", "data", 2) + Conv("b", "data", 2) +
               "layer { name: 'max' type: 'Eltwise' bottom: 'a' bottom: 'b' top: 'max' "
               "eltwise_param { operation: MAX } } " +
               Sum("sum", "max", "b") +
               "layer { name: 'cat' type: 'Concat' bottom: 'sum' bottom: 'a' top: 'cat' } "
               "layer { name: 'cut' type: 'Slice' bottom: 'cat' top: 'l' top: 'r' } " +
               Conv("y", "l", 2) + Conv("z", "r", 1));
  Random random(TestSeed());
  it.DrawParameters(&random);
  it.DrawInputs(&random, -1, 1);
  it.Multiply("a", 0, 1e6);
  it.Multiply("a", 1, 1e6);
  it.Multiply("y", 0, 1e-6);
  it.Multiply("z", 0, 1e-6);
  it.Rewrite();
  ASSERT_EQ(it.rewriting().regions().size(), 1u);
  EXPECT_EQ(it.rewriting().regions()[0].blobs,
            (std::vector<std::string>{"a", "b", "max", "sum", "cat", "l", "r"}));
  EXPECT_TRUE(it.rewriting().inserted_layers().empty());
  EXPECT_TRUE(it.OverflowedBefore());
  it.ExpectSameInFloatAndFiniteInHalf();
}

TEST(RangeRewriting, AProductCarriesTheFactorOfItsLargestBottom) {
  for (const char* product :
       {"layer { name: 'y' type: 'Eltwise' bottom: 'gate' bottom: 'x' top: 'y' eltwise_param { "
        "operation: PROD } } ",
        "layer { name: 'y' type: 'Scale' bottom: 'x' bottom: 'gate' top: 'y' scale_param { axis: 0 "
        "bias_term: true bias_filler { value: 1e5 } } } ",
        "layer { name: 'y' type: 'Axpy' bottom: 'gate' bottom: 'x' bottom: 'x' top: 'y' } "}) {
    SCOPED_TRACE(product);
    // Of eight outputs the largest, which errors are parts of, is no small difference.
    Rewritten it(InputLayer(2, 1) + Conv("x", "data", 2) + Conv("g", "data", 2) +
                 Simple("Sigmoid", "gate", "g") + product + Conv("z", "y", 8));
    Random random(TestSeed());
    it.DrawParameters(&random);
    it.DrawInputs(&random, -1, 1);
    it.Multiply("x", 0, 1e6);
    it.Multiply("z", 0, 1e-6);
    it.Rewrite();
    EXPECT_FALSE(it.IsFloat("gate"));
    EXPECT_TRUE(it.rewriting().inserted_layers().empty());
    EXPECT_TRUE(it.OverflowedBefore());
    it.ExpectSameInFloatAndFiniteInHalf();
  }
}

TEST(RangeRewriting, SharedParametersAbsorbOneFactor) {
  const char* shared =
      "param { name: 'w' } param { name: 'b' } inner_product_param { num_output: 4 } ";
  Rewritten it(InputLayer(4, 1) + Simple("Power", "other", "data", "power_param { scale: -0.5 }") +
               Simple("InnerProduct", "a", "data", shared) +
               Simple("InnerProduct", "b", "other", shared) +
               Simple("Power", "small", "b", "power_param { scale: 1e-6 }") +
               Simple("InnerProduct", "c", "small", shared) + Sum("d", "a", "c") +
               Simple("Power", "y", "d", "power_param { scale: 1e-6 }"));
  Random random(TestSeed());
  it.DrawParameters(&random);
  it.DrawInputs(&random, -1, 1);
  it.Multiply("a", 0, 1e6);
  it.Rewrite();
  EXPECT_TRUE(it.OverflowedBefore());
  it.ExpectSameInFloatAndFiniteInHalf();
  const NetParameter weights = it.rewriting().Weights();
  std::vector<float> first;
  for (const LayerParameter& layer : weights.layer()) {
    if (layer.type() != "InnerProduct") continue;
    const std::vector<float> own(layer.blobs(0).data().begin(), layer.blobs(0).data().end());
    if (first.empty()) first = own;
    EXPECT_EQ(own, first) << layer.name();
  }
}

TEST(RangeRewriting, ShapesAndOrdersAreReadWhateverTheFactor) {
  Rewritten it(InputLayer(3, 4) + Conv("x", "data", 3) +
               Simple("Pooling", "pool", "x", "pooling_param { kernel_size: 2 stride: 2 }") +
               "layer { name: 'crop' type: 'Crop' bottom: 'data' bottom: 'pool' top: 'crop' "
               "crop_param { offset: 1 } } " +
               Simple("ArgMax", "best", "pool", "argmax_param { axis: 1 }") +
               "layer { name: 'prior' type: 'PriorBox' bottom: 'pool' bottom: 'data' top: 'prior' "
               "prior_box_param { min_size: 2 } } "
               "layer { name: 'quiet' type: 'Silence' bottom: 'x' } ");
  Random random(TestSeed());
  it.DrawParameters(&random);
  it.DrawInputs(&random, -1, 1);
  it.Multiply("x", 0, 1e6);
  // Channels further apart than sums of 27 products go: which one is largest is no matter of
  // digits.
  SetValues(&it.Parameter("x", 1), {0, 3e7, -3e7});
  it.Rewrite();
  EXPECT_TRUE(it.rewriting().inserted_layers().empty());
  it.ExpectSameInFloatAndFiniteInHalf();
}

/// Of large values TanH leaves the sign, which in FLOAT16 a sum near 0 may lose. Here the sums of
/// "x", a convolution of as many channels as it has outputs, have the sign of the pixel that they
/// are for, which outweighs the others.
void KeepSumsOffZero(Rewritten* it) {
  Blob<float>& input = *it->net().input_blobs()[0];
  for (int i = 0; i < input.count(); ++i) {
    float& value = input.mutable_cpu_data()[i];
    value = std::copysign(0.5f + std::fabs(value) / 2, value);
  }
  Blob<float>& weights = it->Parameter("x", 0);
  const int channels = weights.shape(1), taps = weights.count(2), terms = channels * taps;
  for (int i = 0; i < weights.count(); ++i) {
    const int output = i / terms, channel = i % terms / taps;
    float& weight = weights.mutable_cpu_data()[i];
    const bool own = channel == output && i % taps == taps / 2;
    weight = own ? 1 : std::clamp(weight, -1.f, 1.f) / (5 * terms);
  }
  SetValues(&it->Parameter("x", 1), std::vector<double>(weights.shape(0), 0));
}

TEST(RangeRewriting, FoldsIntoEveryKindOfLayerThatAbsorbsFactors) {
  const char* layers[] = {
      "type: 'Convolution' convolution_param { num_output: 4 kernel_size: 1 }",
      "type: 'Convolution' convolution_param { num_output: 4 kernel_size: 1 bias_term: false }",
      "type: 'DepthwiseConvolution' convolution_param { num_output: 4 kernel_size: 3 pad: 1 }",
      "type: 'Deconvolution' convolution_param { num_output: 4 kernel_size: 2 stride: 2 }",
      "type: 'InnerProduct' inner_product_param { num_output: 5 transpose: true }",
      "type: 'Scale' scale_param { bias_term: true }",
      "type: 'Scale' scale_param { axis: 0 num_axes: 0 }",
      "type: 'Bias'",
      "type: 'BatchNorm'",
      "type: 'BatchNorm' batch_norm_param { scale_bias: true }",
      "type: 'BatchNorm' batch_norm_param { use_global_stats: false }",
      "type: 'BN' bn_param { slope_filler { value: 2 } frozen: true }",
      "type: 'BN' bn_param { bn_mode: INFERENCE scale_filler { value: 2 } }",
      "type: 'Power' power_param { scale: 3 shift: 7 }",
      "type: 'Power' power_param { power: 2 }",
      "type: 'Clip' clip_param { min: -1e5 max: 2e5 }",
      "type: 'ReLU6' relu6_param { threshold: 2e5 }",
      "type: 'Reduction' reduction_param { axis: 2 coeff: 3 }",
      "type: 'Reduction' reduction_param { axis: 2 operation: SUMSQ }",
      "type: 'Reduction' reduction_param { axis: 3 operation: MEAN }",
      "type: 'MVN' mvn_param { normalize_variance: false }",
      "type: 'MVN'",
      "type: 'ReLU' relu_param { negative_slope: 0.1 }",
      "type: 'PReLU'",
      "type: 'AbsVal'",
      "type: 'Pooling' pooling_param { kernel_size: 2 }",
      "type: 'Pooling' pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }",
      "type: 'Interp' interp_param { zoom_factor: 2 }",
      "type: 'Flatten'",
      "type: 'Dropout'",
      "type: 'LRN'",
      "type: 'ELU'",
      "type: 'Normalize'",
      "type: 'TanH'",
  };
  for (const char* layer : layers) {
    SCOPED_TRACE(layer);
    Random random(TestSeed());
    Rewritten it(InputLayer(4, 4, 2) + Conv("x", "data", 4) +
                 Join("layer { name: 'y' bottom: 'x' top: 'y' ", layer, " } ") +
                 Simple("InnerProduct", "z", "y", "inner_product_param { num_output: 3 }"));
    it.DrawParameters(&random);
    it.DrawInputs(&random, -1, 1);
    if (layer == std::string("type: 'TanH'")) KeepSumsOffZero(&it);
    it.Multiply("x", 0, 3e5);
    it.Rewrite();
    EXPECT_FALSE(it.rewriting().regions().empty());
    it.ExpectSameInFloatAndFiniteInHalf();
  }
}

// ------------------------------------------------------------------ nets that overflow

/// Blocks that add to their bottom.
std::string ResidualStack(int blocks) {
  std::string net = InputLayer(8, 5) + Conv("block0", "data", 8);
  for (int i = 1; i <= blocks; ++i) {
    const std::string in = Join("block", i - 1), branch = Join("branch", i);
    net += Conv(branch, in, 8) + InPlace("BatchNorm", branch, branch + "_bn") +
           InPlace("Scale", branch, branch + "_scale", kScaleBias) +
           InPlace("ReLU", branch, branch + "_relu") + Conv(branch + "b", branch, 8) +
           Sum(Join("block", i), in, branch + "b") +
           InPlace("PReLU", Join("block", i), Join("block", i, "_prelu"), kPrelu);
  }
  return net +
         Simple("Pooling", "pool", Join("block", blocks),
                "pooling_param { pool: AVE global_pooling: true }") +
         Simple("InnerProduct", "fc", "pool", "inner_product_param { num_output: 10 }") +
         Simple("Softmax", "prob", "fc");
}

TEST(RangeRewriting, CuresAResidualStackWhoseActivationsGrow) {
  Rewritten it(ResidualStack(12));
  Random random(TestSeed());
  it.DrawParameters(&random);
  it.DrawInputs(&random, -1, 1);
  for (int i = 1; i <= 12; ++i) {
    it.SetSize(Join("branch", i), 10);
    it.SetSize(Join("branch", i, "b"), std::pow(4, i));
  }
  it.SetSize("fc", 3);
  it.Rewrite();
  EXPECT_GT(it.inspector().Regions().back().largest, 1e6);
  EXPECT_TRUE(it.rewriting().inserted_layers().empty());
  EXPECT_TRUE(it.rewriting().float_layers().empty());
  EXPECT_TRUE(it.OverflowedBefore());
  // Eight roundings to 11 digits, six of the last block and a third as many of those before it, of
  // logits up to 3 on either side.
  it.ExpectSameInFloatAndFiniteInHalf(8 * 6 / 2048.);
}

// relu(bn(x) + residual), then bn(conv(.)): what broke PANet in FP16.
std::string FeaturePyramid() {
  const auto depthwise = [](const std::string& name, const std::string& bottom, int stride) {
    return Join("layer { name: '", name, "' type: 'DepthwiseConvolution' bottom: '", bottom,
                "' top: '", name, "' convolution_param { num_output: 8 kernel_size: 3 pad: 1 ",
                "stride: ", stride, " bias_term: false } } ") +
           InPlace("BatchNorm", name, name + "_bn") +
           InPlace("Scale", name, name + "_scale", kScaleBias);
  };
  std::string net = InputLayer(3, 16) + Conv("p3", "data", 8);
  std::string below = "p3";
  for (const char* level : {"p4", "p5"}) {
    net += depthwise(level, below, 2);
    below = level;
  }
  for (const char* level : {"p4", "p3"}) {
    const std::string up = below + "_up", joined = std::string(level) + "_joined";
    const int size = level[1] == '4' ? 8 : 16;
    net +=
        Simple("Interp", up, below, Join("interp_param { height: ", size, " width: ", size, " }"));
    net += Sum(joined, up, level) + InPlace("ReLU", joined, joined + "_relu") +
           depthwise(joined + "_smooth", joined, 1) +
           Conv(joined + "_point", joined + "_smooth", 8, "kernel_size: 1");
    below = joined;
  }
  return net + Conv("head", "p3_joined_point", 4, "kernel_size: 1") +
         Simple("Sigmoid", "score", "head");
}

/// With values of p4 and p5 up to about `size`.
void MakePyramidOverflow(double size, Rewritten* it) {
  Random random(TestSeed());
  it->DrawParameters(&random);
  it->DrawInputs(&random, 0, 1);
  it->Multiply("p4_scale", 0, size);
  for (const char* level : {"p4", "p3"}) {  // trained on such values
    it->Multiply(Join(level, "_joined_smooth_bn"), 1, size * size);
  }
  it->SetSize("head", 3);
}

TEST(RangeRewriting, CuresAFeaturePyramidOfDepthwiseConvolutions) {
  Rewritten it(FeaturePyramid());
  MakePyramidOverflow(4e5, &it);
  it.Rewrite();
  EXPECT_TRUE(it.OverflowedBefore());
  EXPECT_TRUE(it.rewriting().inserted_layers().empty());
  EXPECT_TRUE(it.rewriting().float_layers().empty());
  it.ExpectSameInFloatAndFiniteInHalf();
}

TEST(RangeRewriting, ABranchThatWouldBecomeSubnormalHasAFactorOfItsOwn) {
  Rewritten it(InputLayer(2, 4) + Conv("small", "data", 2) + Conv("large", "small", 2) +
               Sum("sum", "small", "large") + Conv("of_small", "small", 2) +
               Conv("of_sum", "sum", 2));
  Random random(TestSeed());
  it.DrawParameters(&random);
  it.DrawInputs(&random, 0.5, 1);
  it.SetSize("large", 1e10);
  it.SetSize("of_sum", 3);
  it.Rewrite();
  EXPECT_TRUE(it.rewriting().inserted_layers().empty());
  const EltwiseParameter& sum = it.Layer("sum").eltwise_param();
  ASSERT_EQ(sum.coeff_size(), 2);
  EXPECT_LT(sum.coeff(0), 1e-4);
  EXPECT_EQ(sum.coeff(1), 1);
  it.ExpectSameInFloatAndFiniteInHalf();
}

// An alpha for values as large as these: with 1 the result would be that of small differences, and
// oneDNN's running sums of squares may be negative behind large ones.
TEST(RangeRewriting, CuresUnnormalisedPixels) {
  Rewritten it(InputLayer(3, 12) + Conv("a", "data", 32, "kernel_size: 7 stride: 2") +
               InPlace("ReLU", "a", "relu") + Simple("LRN", "norm", "a", "lrn_param { alpha: 1 }") +
               Simple("Power", "small", "norm", "power_param { scale: 1e-4 }") +
               Simple("InnerProduct", "fc", "small", "inner_product_param { num_output: 4 }") +
               Simple("Softmax", "prob", "fc"));
  Random random(TestSeed());
  it.DrawParameters(&random);
  it.DrawInputs(&random, 0, 255);
  it.Multiply("a", 0, 200);
  it.Rewrite();
  EXPECT_TRUE(it.IsFloat("norm"));
  EXPECT_TRUE(it.OverflowedBefore());
  it.ExpectSameInFloatAndFiniteInHalf();
}

TEST(RangeRewriting, CuresLargeRunningMeans) {
  Rewritten it(InputLayer(3, 6) + Conv("a", "data", 4) + InPlace("BatchNorm", "a", "bn") +
               InPlace("Scale", "a", "scale", kScaleBias) + InPlace("ReLU", "a", "relu") +
               Conv("b", "a", 2));
  Random random(TestSeed());
  it.DrawParameters(&random);
  it.DrawInputs(&random, 0, 1);
  for (int c = 0; c < 4; ++c) {
    it.Parameter("a", 1).mutable_cpu_data()[c] = 2e5f;
    it.Parameter("bn", 0).mutable_cpu_data()[c] = 2e5f;
    it.Parameter("bn", 1).mutable_cpu_data()[c] = 1e10f;
  }
  it.Parameter("bn", 2).mutable_cpu_data()[0] = 1;
  it.Rewrite();
  EXPECT_TRUE(it.OverflowedBefore());
  it.ExpectSameInFloatAndFiniteInHalf();
}

TEST(RangeRewriting, SpreadsAFactorOverLayersWhoseWeightsWouldLoseDigits) {
  // A factor of 2^20 at once would make b's weights of 0.01 subnormal; a can take a part of it.
  Rewritten it(InputLayer(16, 4) + Conv("a", "data", 16) + InPlace("ReLU", "a", "relu") +
               Conv("b", "a", 16) + Conv("c", "b", 4));
  Random random(TestSeed());
  it.DrawParameters(&random);
  it.DrawInputs(&random, 0.5, 1);
  it.Multiply("a", 0, 1e4);
  it.Multiply("b", 0, 0.01);
  it.Multiply("b", 1, 2e10);
  it.Multiply("c", 0, 1e-9);
  it.Rewrite();
  bool raised = false;
  for (const ScaledRegion& region : it.rewriting().regions()) {
    raised |= region.blobs[0] == "a" && region.exponent > ExponentFor(region.largest, 4);
  }
  EXPECT_TRUE(raised);
  it.ExpectSameInFloatAndFiniteInHalf();
}

TEST(RangeRewriting, KeepsALayerFloatWhoseWeightsDoNotFit) {
  Rewritten it(InputLayer(2, 1) + Conv("a", "data", 2, "kernel_size: 1") +
               Conv("b", "a", 2, "kernel_size: 1"));
  SetValues(&it.Parameter("a", 0), {1e-9, 2e-9, 3e-9, 4e-9});
  SetValues(&it.Parameter("b", 0), {1e8, 2e8, 3e8, 4e8});
  SetValues(it.net().input_blobs()[0], {1000, -2000});
  it.Rewrite();
  EXPECT_TRUE(it.rewriting().inserted_layers().empty());
  EXPECT_TRUE(it.IsFloat("a"));
  EXPECT_TRUE(it.IsFloat("b"));
  it.ExpectSameInFloatAndFiniteInHalf();
}

// ------------------------------------------------------------------ random chains

/// Layers that follow each other at random, some in place, some joined, with weights that make
/// values jump by factors of up to a million and back.
std::string RandomChain(Random* random, int layers) {
  const auto below = [random](int n) { return int((*random)() % unsigned(n)); };
  std::string net = InputLayer(4, 6);
  std::vector<std::string> blobs = {"data"};
  for (int i = 0; i < layers; ++i) {
    const std::string name = Join("l", i), last = blobs.back();
    std::string top = name;
    const bool may_be_in_place = last != "data" && blobs.size() > 1;
    switch (below(12)) {
      case 0:
      case 1:
        net += Conv(name, last, 4);
        break;
      case 2:
        net += Simple("DepthwiseConvolution", name, last,
                      "convolution_param { num_output: 4 kernel_size: 3 pad: 1 }");
        break;
      case 3:
        net += Simple("BatchNorm", name, last);
        break;
      case 4:
        net += Simple("Scale", name, last, kScaleBias);
        break;
      case 5:
        net += may_be_in_place ? InPlace("ReLU", last, name) : Simple("ReLU", name, last);
        if (may_be_in_place) top = last;
        break;
      case 6:
        net += may_be_in_place
                   ? InPlace("BatchNorm", last, name, "batch_norm_param { scale_bias: true }")
                   : Simple("PReLU", name, last, kPrelu);
        if (may_be_in_place) top = last;
        break;
      case 7:
        net += Sum(name, last, blobs[below(int(blobs.size()))]);
        break;
      case 8:
        net += Simple("Pooling", name, last,
                      "pooling_param { pool: AVE kernel_size: 3 stride: 1 pad: 1 }");
        break;
      case 9:
        net += Simple("Bias", name, last);
        break;
      case 10:
        net += Simple(below(2) ? "TanH" : "Sigmoid", name, last);
        break;
      case 11:
        net += Simple("Power", name, last, "power_param { scale: 0.5 shift: 0.25 }");
        break;
    }
    // No other layer may read what a layer in place overwrites.
    if (top != last) {
      blobs.push_back(top);
    } else {
      blobs = {top};
    }
    if (below(3) == 0 && top == name) blobs = {top};
  }
  return net;
}

TEST(RangeRewriting, RandomChainsStayTheSameAndFit) {
  const unsigned first = TestSeed();
  int overflowed = 0;
  for (unsigned seed = first; seed < first + 40; ++seed) {
    SCOPED_TRACE(Join("seed ", seed));
    Random random(seed);
    Rewritten it(RandomChain(&random, 10));
    it.DrawParameters(&random);
    it.DrawInputs(&random, -1, 1);
    for (const auto& layer : it.net().layers()) {
      const std::string& name = layer->layer_param().name();
      if (layer->blobs().empty() || random() % 3 != 0) continue;
      const int scale =
          layer->layer_param().type() == "BatchNorm" ? (layer->blobs().size() == 5 ? 3 : -1) : 0;
      if (scale >= 0) it.Multiply(name, scale, std::pow(10, Draw(&random, 0, 5)));
    }
    it.net().Forward();
    double largest = 0;
    for (const auto& blob : it.net().blobs()) {
      for (double value : Values(*blob)) largest = std::max(largest, std::abs(value));
    }
    if (largest > 1e13) continue;  // weights that FP16 cannot distinguish
    it.Rewrite();
    overflowed += it.OverflowedBefore();
    // Behind a Sigmoid of large values nothing but their signs is left: differences may be large.
    it.ExpectSameInFloatAndFiniteInHalf(2);
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(overflowed, 0);
}

// ------------------------------------------------------------------ trained nets

/// A trained net and an input of which Caffe's results are known.
struct Model {
  const char* folder;
  const char* reference;
};
std::ostream& operator<<(std::ostream& stream, const Model& model) {
  return stream << model.folder;
}

const Model kModels[] = {
    {"lenet_v1format", "two"},
    {"cifar10_quick_current", "dog4"},
    {"mtcnn_v1_det1", "test1"},
    {"wechat_qrcode_sr", "qrcode"},
    {"retinaface_mnet25_charrin", "face"},
};

class RescaledModel : public testing::TestWithParam<Model> {};

/// A convolution or Scale and a convolution between which lie only layers that carry factors. With
/// the first one's weights and bias multiplied and the second one's weights divided by a number,
/// the outputs are as before.
std::vector<std::pair<std::string, std::string>> Pairs(const RangeInspector& inspector) {
  std::vector<std::pair<std::string, std::string>> pairs;
  const ValueGraph& graph = inspector.graph();
  const auto is_convolution = [&](int layer) {
    return inspector.layers()[layer].type == "Convolution";
  };
  for (int i = 0; i < int(graph.layers.size()); ++i) {
    if (!is_convolution(i) && inspector.layers()[i].type != "Scale") continue;
    int value = graph.layers[i].tops[0];
    while (graph.values[value].readers.size() == 1) {
      const int reader = graph.values[value].readers[0].first;
      const std::string& type = inspector.layers()[reader].type;
      if (is_convolution(reader)) {
        pairs.emplace_back(inspector.layers()[i].name, inspector.layers()[reader].name);
        break;
      }
      if (type != "ReLU" && type != "PReLU" && type != "Pooling") break;
      value = graph.layers[reader].tops[0];
    }
  }
  return pairs;
}

TEST_P(RescaledModel, IsCured) {
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  const std::string folder = SharedData(Join("models/", GetParam().folder)) + "/";
  NetParameter param;
  ReadNetParamsFromTextFileOrDie(folder + "deploy.prototxt", &param);
  const NpyArray input = ReadNpy(folder + "caffe_ref/" + GetParam().reference + "/input.npy");
  for (LayerParameter& layer : *param.mutable_layer()) {
    if (layer.type() != "Input") continue;
    layer.mutable_input_param()->clear_shape();
    BlobShape* shape = layer.mutable_input_param()->add_shape();
    for (int dim : input.shape) shape->add_dim(dim);
  }
  Rewritten rescaled(param);
  rescaled.net().CopyTrainedLayersFrom(folder + "weights.caffemodel");
  SetValues(rescaled.net().input_blobs()[0], input.values);
  rescaled.net().Forward();
  std::vector<std::vector<double>> outputs;
  for (const Blob<float>* output : rescaled.net().output_blobs()) {
    outputs.push_back(Values(*output));
  }
  const auto pairs = Pairs(RangeInspector(&rescaled.net()));
  ASSERT_FALSE(pairs.empty());
  const double factor = 1 << 20;
  for (size_t i = 0; i < pairs.size(); i += 2) {  // not two pairs in a row
    const auto& blobs = rescaled.net().layer_by_name(pairs[i].first)->blobs();
    for (size_t j = 0; j < blobs.size(); ++j) rescaled.Multiply(pairs[i].first, int(j), factor);
    rescaled.Multiply(pairs[i].second, 0, 1 / factor);
  }
  rescaled.Rewrite();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::vector<double> values = Values(*rescaled.net().output_blobs()[i]);
    for (size_t k = 0; k < values.size(); ++k) {
      ASSERT_NEAR(values[k], outputs[i][k], 1e-4 * (1 + std::abs(outputs[i][k])));
    }
  }
  EXPECT_FALSE(rescaled.inspector().Regions().empty());
  EXPECT_TRUE(rescaled.OverflowedBefore());
  rescaled.ExpectSameInFloatAndFiniteInHalf(3e-2);
}

INSTANTIATE_TEST_SUITE_P(Models, RescaledModel, testing::ValuesIn(kModels));

// ------------------------------------------------------------------ files and bad input

TEST(RangeRewriting, WritesTheModelItDescribes) {
  Rewritten it(InputLayer(1, 2) + Conv("a", "data", 1) + Simple("BatchNorm", "bn", "a"));
  Random random(TestSeed());
  it.DrawParameters(&random);
  it.DrawInputs(&random, -1, 1);
  it.Multiply("a", 0, 1e6);
  it.Rewrite();
  const std::string file = NewFileName();
  it.rewriting().WriteModel(file);
  NetParameter param = it.rewriting().net();
  param.mutable_state()->set_phase(TEST);
  Net<float> from_file(param), from_message(param);
  from_file.CopyTrainedLayersFrom(file);
  from_message.CopyTrainedLayersFrom(it.rewriting().Weights());
  for (size_t i = 0; i < from_file.params().size(); ++i) {
    EXPECT_EQ(Values(*from_file.params()[i]), Values(*from_message.params()[i]));
  }
}

TEST(RangeRewriting, RefusesNetsThatAreNotFiniteInFloat) {
  Rewritten it(InputLayer(1, 1) + Simple("Power", "a", "data", "power_param { scale: 1e30 }") +
               Simple("Power", "b", "a", "power_param { scale: 1e30 }"));
  SetValues(it.net().input_blobs()[0], {1});
  ExpectContains(ErrorOf([&] { it.Rewrite(); }), "layer 'b' (Power)");
}

TEST(RangeRewriting, RefusesAHeadroomBelowOne) {
  Rewritten it(InputLayer(1, 1));
  RangeRewritingOptions options;
  options.headroom = 0.5;
  ExpectContains(ErrorOf([&] { it.Rewrite(options); }), "headroom must be 1 or more, got 0.5");
}

TEST(FactorRules, FollowTheOperationTable) {
  const auto net = MakeNet(InputLayer(1, 2) + Simple("ReLU", "r", "data") +
                           Simple("Sigmoid", "s", "r") + Conv("c", "s", 1));
  const auto rule = [&](const char* layer) {
    return FactorRuleOf(*net->layer_by_name(layer), 1, 1).bottoms[0];
  };
  EXPECT_EQ(rule("r"), FactorSlot::CARRIED);
  EXPECT_EQ(rule("s"), FactorSlot::RIGID);
  EXPECT_EQ(rule("c"), FactorSlot::FREE);
}

}  // namespace
}  // namespace caffe
