#include "caffe/net.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "caffe/test/support/captured_log.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

// y = w x + b for 2 numbers an example, then a loss against labels.
const char kClassifier[] = R"(
    name: "classifier"
    layer { name: "data" type: "Input" top: "data" top: "label"
            input_param { shape { dim: 3 dim: 2 } shape { dim: 3 } } }
    layer { name: "ip1" type: "InnerProduct" bottom: "data" top: "ip1"
            inner_product_param { num_output: 4 weight_filler { type: "gaussian" std: 1 } } }
    layer { name: "relu1" type: "ReLU" bottom: "ip1" top: "ip1" }
    layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
            inner_product_param { num_output: 2 weight_filler { type: "gaussian" std: 1 } } }
    layer { name: "accuracy" type: "Accuracy" bottom: "ip2" bottom: "label" top: "accuracy"
            include { phase: TEST } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" })";

template <typename Dtype>
class NetTest : public testing::Test {
 protected:
  static std::unique_ptr<Net<Dtype>> Make(const std::string& text, Phase phase = TRAIN) {
    return MakeNet<Dtype>(text, phase);
  }
  static std::unique_ptr<Net<Dtype>> MakeClassifier(Phase phase = TRAIN) {
    Caffe::set_random_seed(TestSeed());
    std::unique_ptr<Net<Dtype>> net = Make(kClassifier, phase);
    FillInputs(net.get());
    return net;
  }
  static void FillInputs(Net<Dtype>* net) {
    SetValues(net->input_blobs()[0], {1, 2, -3, 4, 0.5, -1});
    SetValues(net->input_blobs()[1], {0, 1, 1});
  }
  /// What the roundings of sums of up to a dozen terms come to, the largest of which is `largest`.
  static double Rounding(double largest) {
    return 16 * std::numeric_limits<Dtype>::epsilon() * std::max(1., std::abs(largest));
  }
  static double Largest(const std::vector<double>& values) {
    double largest = 0;
    for (const double value : values) largest = std::max(largest, std::abs(value));
    return largest;
  }
};

using NetDtypes = testing::Types<float, double>;
TYPED_TEST_SUITE(NetTest, NetDtypes);

TYPED_TEST(NetTest, ListsLayersAndBlobsWithSplits) {
  const auto net = this->MakeClassifier(TEST);
  const vector<string> layers = {"data", "label_data_1_split", "ip1",      "relu1",
                                 "ip2",  "ip2_ip2_0_split",    "accuracy", "loss"};
  EXPECT_EQ(net->layer_names(), layers);
  EXPECT_EQ(net->name(), "classifier");
  EXPECT_EQ(net->phase(), TEST);
  const vector<string> blobs = {"data",     "label", "label_data_1_split_0", "label_data_1_split_1",
                                "ip1",      "ip2",   "ip2_ip2_0_split_0",    "ip2_ip2_0_split_1",
                                "accuracy", "loss"};
  EXPECT_EQ(net->blob_names(), blobs);
  EXPECT_TRUE(net->has_layer("relu1"));
  EXPECT_FALSE(net->has_layer("relu2"));
  EXPECT_FALSE(net->layer_by_name("relu2"));
  EXPECT_TRUE(net->has_blob("ip1"));
  EXPECT_FALSE(net->blob_by_name("ip3"));
  EXPECT_EQ(net->blob_by_name("ip1")->shape(), (vector<int>{3, 4}));
}

TYPED_TEST(NetTest, KnowsInputsAndOutputs) {
  const auto net = this->MakeClassifier(TEST);
  ASSERT_EQ(net->num_inputs(), 2);
  EXPECT_EQ(net->blob_names()[net->input_blob_indices()[1]], "label");
  ASSERT_EQ(net->num_outputs(), 2);
  EXPECT_EQ(net->blob_names()[net->output_blob_indices()[0]], "accuracy");
  EXPECT_EQ(net->blob_names()[net->output_blob_indices()[1]], "loss");
  EXPECT_EQ(net->blob_loss_weights()[net->output_blob_indices()[1]], 1);
}

TYPED_TEST(NetTest, ConnectsInPlaceLayersToOneBlob) {
  const auto net = this->MakeClassifier();
  EXPECT_EQ(net->bottom_vecs()[2], net->top_vecs()[2]);  // relu1
  EXPECT_EQ(net->bottom_ids(2), net->top_ids(2));
}

TYPED_TEST(NetTest, LossIsTheWeightedSum) {
  const char* kTwoLosses = R"(
      layer { name: "data" type: "Input" top: "a" top: "b"
              input_param { shape { dim: 2 } } }
      layer { name: "double" type: "Eltwise" bottom: "a" bottom: "a" top: "double" loss_weight: 3 }
      layer { name: "sum" type: "Eltwise" bottom: "double" bottom: "b" top: "sum" loss_weight: 0.5 })";
  const auto net = this->Make(kTwoLosses);
  SetValues(net->input_blobs()[0], {1, 2});
  SetValues(net->input_blobs()[1], {10, 20});
  TypeParam loss = 0;
  net->Forward(&loss);
  EXPECT_NEAR(loss, 3 * (2 + 4) + 0.5 * (12 + 24), 1e-5);
}

TYPED_TEST(NetTest, NeedsBackwardBetweenParametersAndLossOnly) {
  const auto net = this->MakeClassifier();
  EXPECT_EQ(net->layer_need_backward(), (vector<bool>{false, true, true, true, true}));
  EXPECT_EQ(net->bottom_need_backward()[1], (vector<bool>{false}));
  EXPECT_EQ(net->bottom_need_backward()[3], (vector<bool>{true}));
  EXPECT_EQ(net->bottom_need_backward()[4], (vector<bool>{true, false}));
}

TYPED_TEST(NetTest, WithoutALossNothingNeedsBackward) {
  const auto net = this->Make(R"(
      layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 3 dim: 2 } } }
      layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
              inner_product_param { num_output: 4 } })");
  EXPECT_EQ(net->layer_need_backward(), (vector<bool>{false, false}));
}

TYPED_TEST(NetTest, ForceBackwardReachesTheInputsButNotLabels) {
  const auto net = this->Make(string("force_backward: true ") + kClassifier);
  EXPECT_EQ(net->layer_need_backward(), (vector<bool>{true, true, true, true, true}));
  EXPECT_EQ(net->bottom_need_backward()[1], (vector<bool>{true}));
  EXPECT_EQ(net->bottom_need_backward()[4], (vector<bool>{true, false}));
  this->FillInputs(net.get());
  net->ForwardBackward();
  EXPECT_GT(net->input_blobs()[0]->asum_diff(), 0);
}

// Frozen parameters need no gradient; propagate_down stops it, or asks for it, at one bottom.
TYPED_TEST(NetTest, SkipsWhatNeedsNoGradient) {
  const string kChain = R"(
      layer { name: "data" type: "Input" top: "data" top: "label"
              input_param { shape { dim: 3 dim: 2 } shape { dim: 3 } } }
      layer { name: "ip1" type: "InnerProduct" bottom: "data" top: "ip1" )";
  const string kMiddle = R"(inner_product_param { num_output: 4 } }
      layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2" )";
  const string kEnd = R"(inner_product_param { num_output: 2 } }
      layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" })";
  const string kFrozen = "param { lr_mult: 0 } param { lr_mult: 0 } ";
  const auto frozen = this->Make(kChain + kFrozen + kMiddle + kEnd);
  EXPECT_EQ(frozen->layer_need_backward(), (vector<bool>{false, false, true, true}));
  EXPECT_FALSE(frozen->layers()[1]->param_propagate_down(0));
  EXPECT_EQ(frozen->bottom_need_backward()[2], (vector<bool>{false}));

  const auto stopped = this->Make(kChain + kMiddle + "propagate_down: false " + kEnd);
  EXPECT_EQ(stopped->layer_need_backward(), (vector<bool>{false, false, true, true}));

  const auto forced = this->Make(kChain + kFrozen + kMiddle + "propagate_down: true " + kEnd);
  EXPECT_EQ(forced->layer_need_backward(), (vector<bool>{false, false, true, true}));
  EXPECT_EQ(forced->bottom_need_backward()[2], (vector<bool>{true}));
}

TYPED_TEST(NetTest, BackwardAddsToParametersUntilCleared) {
  const auto net = this->MakeClassifier();
  net->ForwardBackward();
  const std::vector<double> once = Gradients(*net->learnable_params()[0]);
  net->ForwardBackward();
  const std::vector<double> twice = Gradients(*net->learnable_params()[0]);
  const double bound = this->Rounding(2 * this->Largest(once));
  for (size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(twice[i], 2 * once[i], bound);
  net->ClearParamDiffs();
  for (const Blob<TypeParam>* param : net->learnable_params()) EXPECT_EQ(param->asum_diff(), 0);
}

TYPED_TEST(NetTest, UpdateSubtractsTheGradient) {
  const auto net = this->MakeClassifier();
  net->ForwardBackward();
  const std::vector<double> data = Values(*net->learnable_params()[0]);
  const std::vector<double> diff = Gradients(*net->learnable_params()[0]);
  net->Update();
  const std::vector<double> updated = Values(*net->learnable_params()[0]);
  const double ulp = std::numeric_limits<TypeParam>::epsilon();
  for (size_t i = 0; i < data.size(); ++i) {
    EXPECT_NEAR(updated[i], data[i] - diff[i], ulp * std::abs(updated[i]));
  }
}

TYPED_TEST(NetTest, RunsParts) {
  const auto net = this->MakeClassifier();
  const TypeParam loss = net->ForwardFromTo(0, 4);
  EXPECT_EQ(net->ForwardTo(3), 0);
  EXPECT_EQ(net->ForwardFrom(4), loss);
  SetValues(net->blob_by_name("ip2").get(), {0, 0, 0, 0, 0, 0});
  EXPECT_NEAR(net->ForwardFrom(4), std::log(2.), 1e-6);
  net->BackwardFrom(4);
  net->BackwardFromTo(4, 3);
  net->BackwardTo(1);
  ExpectContains(ErrorOf([&] { net->ForwardTo(5); }), "the net has layers 0 to 4");
  ExpectContains(ErrorOf([&] { net->BackwardFromTo(4, -1); }), "the net has layers 0 to 4");
}

// Programs take the pointer to the input once.
TYPED_TEST(NetTest, SeesWritesThroughOldPointers) {
  NetParameter param = ParseNet(R"(
      default_forward_type: FLOAT16
      layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 } } }
      layer { name: "relu" type: "ReLU" bottom: "data" top: "relu" })");
  Net<TypeParam> net(param);
  TypeParam* input = net.input_blobs()[0]->mutable_cpu_data();
  const TypeParam* output = net.output_blobs()[0]->cpu_data();
  for (const TypeParam value : {1, 2, 3}) {
    input[0] = value;
    input[1] = -value;
    net.Forward();
    EXPECT_EQ(output[0], value);
    EXPECT_EQ(output[1], 0);
  }
}

// The pointer was taken before something else wrote the input in another type.
TYPED_TEST(NetTest, SeesCopiesInOtherTypes) {
  const auto net = this->Make(R"(
      layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 } } }
      layer { name: "relu" type: "ReLU" bottom: "data" top: "relu" })");
  TypeParam* input = net->input_blobs()[0]->mutable_cpu_data();
  input[0] = 1;
  Blob<TypeParam> half(vector<int>{1, 2});
  half.template overwrite_cpu_data_as<float16>()[0] = 3;
  half.template overwrite_cpu_data_as<float16>()[1] = 4;
  EXPECT_EQ(Values(*net->Forward({&half})[0]), (std::vector<double>{3, 4}));
  EXPECT_EQ(input[1], 4);
}

TYPED_TEST(NetTest, SeesWritesToMemoryOfTheCallers) {
  NetParameter param = ParseNet(R"(
      default_forward_type: FLOAT16
      layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 } } }
      layer { name: "relu" type: "ReLU" bottom: "data" top: "relu" })");
  Net<TypeParam> net(param);
  TypeParam input[] = {1, 2};
  net.input_blobs()[0]->set_cpu_data(input);
  net.Forward();
  input[0] = 5;
  EXPECT_EQ(Values(*net.Forward()[0]), (std::vector<double>{5, 2}));
}

TYPED_TEST(NetTest, ReshapesWithItsInputs) {
  const auto net = this->MakeClassifier(TEST);
  net->input_blobs()[0]->Reshape({5, 2});
  net->input_blobs()[1]->Reshape({5});
  net->Reshape();
  EXPECT_EQ(net->blob_by_name("ip2")->shape(), (vector<int>{5, 2}));
  net->input_blobs()[0]->Reshape({2, 2});
  net->input_blobs()[1]->Reshape({2});
  net->Forward();
  EXPECT_EQ(net->blob_by_name("ip1")->shape(), (vector<int>{2, 4}));
}

TYPED_TEST(NetTest, AcceptsInputsAsBlobs) {
  const auto net = this->MakeClassifier();
  Blob<TypeParam> data(vector<int>{3, 2}), label(vector<int>{3});
  SetValues(&data, {1, 2, -3, 4, 0.5, -1});
  SetValues(&label, {0, 1, 1});
  TypeParam expected = 0, actual = 0;
  net->Forward(&expected);
  SetValues(net->input_blobs()[0], {0, 0, 0, 0, 0, 0});
  net->Forward({&data, &label}, &actual);
  EXPECT_EQ(actual, expected);
  // Inputs for which none is given stay as they are.
  SetValues(net->input_blobs()[0], {0, 0, 0, 0, 0, 0});
  net->Forward({&data}, &actual);
  EXPECT_EQ(actual, expected);
  net->Forward({}, &actual);
  EXPECT_EQ(actual, expected);
  ExpectContains(ErrorOf([&] {
                   net->Forward({&data, &label, &data});
                 }),
                 "has 2 input blob(s), not 3");
}

TYPED_TEST(NetTest, HasNamesOfOldCaffes) {
  const auto net = this->MakeClassifier();
  const TypeParam expected = net->ForwardBackward();
  Blob<TypeParam> data;
  data.CopyFrom(*net->input_blobs()[0], false, true);
  SetValues(net->input_blobs()[0], {0, 0, 0, 0, 0, 0});
  EXPECT_EQ(net->ForwardBackward({&data}), expected);
  NetParameter param;
  net->ToProto(&param);
  EXPECT_EQ(Net<TypeParam>(param, net.get()).layers().size(), net->layers().size());
}

// Parameters of one name are one blob with one gradient.
const char kShared[] = R"(
    layer { name: "data" type: "Input" top: "data" top: "target"
            input_param { shape { dim: 3 dim: 2 } shape { dim: 3 } } }
    layer { name: "a" type: "InnerProduct" bottom: "data" top: "a" param { name: "weights" %A }
            inner_product_param { num_output: 2 bias_term: false
                                  weight_filler { type: "gaussian" std: 1 } } }
    layer { name: "b" type: "InnerProduct" bottom: "a" top: "b" param { name: "weights" %B }
            inner_product_param { num_output: %N bias_term: false
                                  weight_filler { type: "gaussian" std: 1 } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "b" bottom: "target" top: "loss" })";

string Shared(const string& a, const string& b, const string& outputs = "2") {
  string text = kShared;
  text.replace(text.find("%A"), 2, a);
  text.replace(text.find("%B"), 2, b);
  text.replace(text.find("%N"), 2, outputs);
  return text;
}

TYPED_TEST(NetTest, SharesParametersByName) {
  const auto net = this->Make(Shared("", ""));
  ASSERT_EQ(net->params().size(), 2u);
  ASSERT_EQ(net->learnable_params().size(), 1u);
  EXPECT_EQ(net->param_owners(), (vector<int>{-1, 0}));
  EXPECT_EQ(net->param_names_index().at("weights"), 0);
  EXPECT_EQ(net->param_display_names(), (vector<string>{"weights", "weights"}));
  EXPECT_EQ(net->params()[0]->cpu_data(), net->params()[1]->cpu_data());
  EXPECT_EQ(net->params()[0]->cpu_diff(), net->params()[1]->cpu_diff());
}

TYPED_TEST(NetTest, MergesMultipliersOfSharedParameters) {
  const auto net = this->Make(Shared("lr_mult: 2", "lr_mult: 2 decay_mult: 0.5"));
  EXPECT_EQ(net->params_lr(), (vector<float>{2}));
  EXPECT_EQ(net->has_params_lr(), (vector<bool>{true}));
  EXPECT_EQ(net->params_weight_decay(), (vector<float>{0.5}));
  EXPECT_EQ(net->has_params_decay(), (vector<bool>{true}));
  ExpectContains(ErrorOf([&] { this->Make(Shared("lr_mult: 2", "lr_mult: 3")); }),
                 "Shared param 'weights' has mismatched lr_mult.");
  ExpectContains(ErrorOf([&] { this->Make(Shared("decay_mult: 2", "decay_mult: 3")); }),
                 "Shared param 'weights' has mismatched decay_mult.");
}

TYPED_TEST(NetTest, SharesPermissivelyByCount) {
  ExpectContains(ErrorOf([&] { this->Make(Shared("", "", "3")); }),
                 "Cannot share param 'weights' owned by layer 'a' with layer 'b'; shape mismatch.");
  ExpectContains(ErrorOf([&] { this->Make(Shared("", "share_mode: PERMISSIVE", "3")); }),
                 "count mismatch.");
}

TYPED_TEST(NetTest, SharedGradientIsTheSum) {
  const auto shared = this->Make(Shared("", ""));
  string text = Shared("", "");
  text.replace(text.rfind("\"weights\""), 9, "\"others\"");
  const auto apart = this->Make(text);
  for (Blob<TypeParam>* param : apart->learnable_params()) {
    param->CopyFrom(*shared->learnable_params()[0]);
  }
  for (Net<TypeParam>* net : {shared.get(), apart.get()}) {
    this->FillInputs(net);
    net->ForwardBackward();
  }
  const std::vector<double> sum = Gradients(*shared->learnable_params()[0]);
  const std::vector<double> first = Gradients(*apart->learnable_params()[0]);
  const std::vector<double> second = Gradients(*apart->learnable_params()[1]);
  const double bound = this->Rounding(this->Largest(first) + this->Largest(second));
  for (size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], first[i] + second[i], bound);
}

template <typename Dtype>
class CallbackRecorder : public Net<Dtype>::Callback {
 public:
  vector<int> layers;

 protected:
  void run(int layer) override { layers.push_back(layer); }
};

TYPED_TEST(NetTest, CallsBack) {
  const auto net = this->MakeClassifier();
  CallbackRecorder<TypeParam> before_forward, after_forward, before_backward, after_backward;
  net->add_before_forward(&before_forward);
  net->add_after_forward(&after_forward);
  net->add_before_backward(&before_backward);
  net->add_after_backward(&after_backward);
  net->ForwardBackward();
  EXPECT_EQ(before_forward.layers, (vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(after_forward.layers, (vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(before_backward.layers, (vector<int>{4, 3, 2, 1, 0}));
  EXPECT_EQ(after_backward.layers, (vector<int>{4, 3, 2, 1, 0}));
  EXPECT_EQ(net->before_forward().size(), 1u);
}

TYPED_TEST(NetTest, SharesTrainedLayersWithAnotherNet) {
  const auto trained = this->MakeClassifier(TRAIN);
  const auto tester = this->MakeClassifier(TEST);
  tester->ShareTrainedLayersWith(trained.get());
  EXPECT_EQ(tester->layer_by_name("ip1")->blobs()[0]->cpu_data(),
            trained->layer_by_name("ip1")->blobs()[0]->cpu_data());
  TypeParam expected = 0, actual = 0;
  trained->ForwardBackward();
  trained->Update();
  trained->Forward(&expected);
  tester->Forward(&actual);
  EXPECT_NEAR(actual, expected, this->Rounding(expected));
  string other = kClassifier;
  other.replace(other.find("num_output: 4"), 13, "num_output: 5");
  const auto larger = this->Make(other);
  ExpectContains(ErrorOf([&] { larger->ShareTrainedLayersWith(trained.get()); }),
                 "Cannot share param 0 weights from layer 'ip1'; shape mismatch.  Source param "
                 "shape is 4 2 (8); target param shape is 5 2 (10)");
}

TYPED_TEST(NetTest, UpgradesOldDescriptions) {
  const auto net = this->Make(R"(
      input: "data" input_dim: 1 input_dim: 1 input_dim: 2 input_dim: 2
      layers { name: "relu" type: RELU bottom: "data" top: "relu" })");
  EXPECT_EQ(net->num_inputs(), 1);
  EXPECT_EQ(net->layers().back()->layer_param().type(), "ReLU");
}

TYPED_TEST(NetTest, CountsAnonymousTops) {
  const auto net = this->Make(R"(
      layer { name: "data" type: "Input" top: "data" top: "label"
              input_param { shape { dim: 3 dim: 2 } shape { dim: 3 } } }
      layer { name: "loss" type: "SoftmaxWithLoss" bottom: "data" bottom: "label" })");
  EXPECT_EQ(net->blob_names().back(), "(automatic)");
  EXPECT_EQ(net->num_outputs(), 0);
  this->FillInputs(net.get());
  TypeParam loss = 0;
  net->Forward(&loss);
  EXPECT_GT(loss, 0);
}

// --- phases, levels and stages -----------------------------------------------------------------

/// The names of the layers that are left of `net` in the given state.
string Filtered(const string& state, const string& rules) {
  NetParameter filtered;
  Net<float>::FilterNet(ParseNet("state { " + state + " } layer { name: 'ruled' " + rules +
                                 " } layer { name: 'always' }"),
                        &filtered);
  string names;
  for (const LayerParameter& layer : filtered.layer()) names += layer.name() + " ";
  return names;
}

const char kBoth[] = "ruled always ";
const char kOne[] = "always ";

TEST(FilterNet, IncludesByPhase) {
  EXPECT_EQ(Filtered("phase: TEST", "include { phase: TEST }"), kBoth);
  EXPECT_EQ(Filtered("phase: TRAIN", "include { phase: TEST }"), kOne);
  EXPECT_EQ(Filtered("phase: TRAIN", "exclude { phase: TEST }"), kBoth);
  EXPECT_EQ(Filtered("phase: TEST", "exclude { phase: TEST }"), kOne);
}

TEST(FilterNet, IncludesByLevel) {
  EXPECT_EQ(Filtered("level: 2", "include { min_level: 2 }"), kBoth);
  EXPECT_EQ(Filtered("level: 1", "include { min_level: 2 }"), kOne);
  EXPECT_EQ(Filtered("level: 2", "include { max_level: 2 }"), kBoth);
  EXPECT_EQ(Filtered("level: 3", "include { max_level: 2 }"), kOne);
  EXPECT_EQ(Filtered("", "exclude { min_level: -1 max_level: 1 }"), kOne);
}

TEST(FilterNet, IncludesByStage) {
  EXPECT_EQ(Filtered("stage: 'a' stage: 'b'", "include { stage: 'a' }"), kBoth);
  EXPECT_EQ(Filtered("stage: 'a'", "include { stage: 'a' stage: 'b' }"), kOne);
  EXPECT_EQ(Filtered("stage: 'a'", "include { not_stage: 'a' }"), kOne);
  EXPECT_EQ(Filtered("", "include { not_stage: 'a' }"), kBoth);
}

TEST(FilterNet, OneMetRuleIsEnough) {
  EXPECT_EQ(Filtered("stage: 'a'", "include { phase: TRAIN } include { stage: 'a' }"), kBoth);
  EXPECT_EQ(Filtered("stage: 'a'", "exclude { phase: TRAIN } exclude { stage: 'a' }"), kOne);
  EXPECT_EQ(Filtered("stage: 'a'", "include { phase: TRAIN stage: 'a' }"), kOne);
}

TEST(FilterNet, RefusesBothKindsOfRules) {
  ExpectContains(ErrorOf([] { Filtered("", "include { phase: TEST } exclude { phase: TRAIN }"); }),
                 "layer 'ruled' (): specify either include rules or exclude rules, not both");
}

TEST(FilterNet, FileTakesPhaseLevelAndStages) {
  const string file = NewFile(R"(
      layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 } } }
      layer { name: "a" type: "ReLU" bottom: "data" top: "a" include { min_level: 1 stage: "s" } }
      layer { name: "b" type: "ReLU" bottom: "data" top: "b" include { phase: TRAIN } })");
  const vector<string> stages = {"s"};
  EXPECT_TRUE(Net<float>(file, TRAIN, 1, &stages).has_layer("a"));
  EXPECT_FALSE(Net<float>(file, TRAIN, 0, &stages).has_layer("a"));
  EXPECT_FALSE(Net<float>(file, TRAIN, 1).has_layer("a"));
  EXPECT_TRUE(Net<float>(file, TRAIN).has_layer("b"));
  EXPECT_FALSE(Net<float>(file, TEST).has_layer("b"));
}

// --- the log, which scripts read ---------------------------------------------------------------

TEST(NetLog, TellsHowTheNetIsBuilt) {
  CapturedLog log;
  MakeNet(kClassifier, TRAIN);
  EXPECT_TRUE(log.HasPrefix("Initializing net from parameters: \n"));
  for (const char* line :
       {"The NetState phase (0) differed from the phase (1) specified by a rule in layer accuracy",
        "Creating Layer ip1", "ip1 <- data", "ip1 -> ip1", "relu1 -> ip1 (in-place)",
        "Setting up ip1", "Top shape: 3 4 (12)", "    with loss weight 1",
        "ip1 needs backward computation.", "data does not need backward computation.",
        "This network produces output loss", "Network initialization done."}) {
    EXPECT_TRUE(log.Has(line)) << line;
  }
  // data 6 + label 3 + ip1 12 twice + ip2 6 + loss 1, four bytes each.
  EXPECT_TRUE(log.Has("Memory required for data: 160"));
}

TEST(NetLog, TellsOfSharedParameters) {
  CapturedLog log;
  MakeNet(Shared("", ""), TRAIN);
  EXPECT_TRUE(log.Has("Sharing parameters 'weights' owned by layer 'a', param index 0"));
}

TEST(NetLog, ShowsMagnitudesWithDebugInfo) {
  const auto net = MakeNet(kClassifier, TRAIN);
  net->set_debug_info(true);
  CapturedLog log;
  net->ForwardBackward();
  net->Update();
  for (const char* prefix : {"    [Forward] Layer data, top blob data data: ",
                             "    [Forward] Layer ip1, param blob 0 data: ",
                             "    [Backward] Layer ip2, bottom blob ip1 diff: ",
                             "    [Backward] Layer ip1, param blob 1 diff: ",
                             "    [Backward] All net params (data, diff): L1 norm = (",
                             "    [Update] Layer ip1, param 0 data: "}) {
    EXPECT_TRUE(log.HasPrefix(prefix)) << prefix;
  }
}

}  // namespace
}  // namespace caffe
