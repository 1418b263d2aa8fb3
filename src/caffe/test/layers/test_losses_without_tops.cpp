// Nets whose losses name no top, in the TEST phase, whose first pass frees what no program has
// asked for: what they freed can be read, and gradients computed, all the same.
#include <gtest/gtest.h>

#include <set>

#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

/// A loss of predictions that an InnerProduct makes (blob x), perhaps of others (x2) and of inputs.
struct LossCase {
  struct Given {
    Shape shape;
    std::vector<double> values;
  };
  string type;
  Shape predictions;
  std::vector<Given> inputs;
  Shape second = {};
  string param = "";

  LossCase(string its_type, Shape its_predictions)
      : type(std::move(its_type)), predictions(std::move(its_predictions)) {}
  LossCase& Input(const Given& input) {
    inputs.push_back(input);
    return *this;
  }
  /// The shape of x2.
  LossCase& Second(Shape shape) {
    second = std::move(shape);
    return *this;
  }
  LossCase& Param(string fields) {
    param = std::move(fields);
    return *this;
  }
};
std::ostream& operator<<(std::ostream& stream, const LossCase& c) { return stream << c.type; }

const std::vector<double> kRow = {0.5, -1, 2, 0.25, 1, -0.75, 0.125, 3, -2, 1.5, 0.75, -0.5};

std::vector<LossCase> LossesWithoutTopsCases() {
  const LossCase::Given labels = {{3}, {1, 0, 3}};
  const LossCase::Given targets = {{3, 4}, kRow};
  const LossCase::Given ones_and_zeros = {{3, 4}, {1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1}};
  const LossCase::Given matrix = {{1, 1, 4, 4},
                                  {1, 0, 0.5, 0, 0, 2, 0, 0, 0, 0.25, 1, 0, 0, 0, 0, 1}};
  const LossCase::Given sequences = {{2, 2}, {1, 2, 3, 3}};
  const LossCase::Given priors = {
      {1, 2, 8}, {.1, .1, .3, .3, .5, .5, .75, .75, .1, .1, .2, .2, .1, .1, .2, .2}};
  const LossCase::Given truths = {{1, 1, 2, 8},
                                  {0, 1, 0, .1, .1, .3, .35, 0, 1, 2, 0, .5, .5, .7, .7, 0}};
  return {
      LossCase("SoftmaxWithLoss", {3, 4}).Input(labels),
      LossCase("MultinomialLogisticLoss", {3, 4}).Input(labels),
      LossCase("FocalLoss", {3, 4}).Input(labels),
      LossCase("InfogainLoss", {3, 4}).Input(labels).Input(matrix),
      LossCase("HingeLoss", {3, 4}).Input(labels),
      LossCase("SigmoidCrossEntropyLoss", {3, 4}).Input(ones_and_zeros),
      LossCase("EuclideanLoss", {3, 4}).Input(targets),
      LossCase("L1Loss", {3, 4}).Input(targets),
      LossCase("SmoothL1Loss", {3, 4}).Input(targets).Input(ones_and_zeros).Input(ones_and_zeros),
      LossCase("SmoothL1LossOHEM", {3, 4}).Input(targets),
      LossCase("SoftmaxWithLossOHEM", {3, 4}).Input(labels),
      LossCase("ContrastiveLoss", {3, 4}).Input({{3}, {1, 0, 0}}).Second({3, 4}),
      LossCase("TripletLoss", {3, 4}).Input(targets).Second({3, 4}),
      LossCase("CenterLoss", {3, 4})
          .Input(labels)
          .Param("center_loss_param { num_output: 4 center_filler { type: 'gaussian' std: 1 } }"),
      LossCase("CTCLoss", {6, 2, 4}).Input(sequences),
      LossCase("CtcLoss", {6, 2, 4}).Input(sequences),
      LossCase("WarpCTCLoss", {6, 2, 4}).Input(sequences),
      LossCase("MultiBoxLoss", {2, 8})
          .Input(priors)
          .Input(truths)
          .Second({2, 6})
          .Param("multibox_loss_param { num_classes: 3 } propagate_down: true propagate_down: true "
                 "propagate_down: false propagate_down: false"),
  };
}

string InputText(const string& name, Shape shape) {
  string text =
      "layer { name: '" + name + "' type: 'Input' top: '" + name + "' input_param { shape { ";
  for (const int extent : shape) text += Join("dim: ", extent, " ");
  return text + "} } } ";
}

/// A ReLU in place and a Split lie between the predictions' weights and the data.
string NetText(const LossCase& c, bool top) {
  const auto predict = [](const string& name, const Shape& shape) {
    return Join("layer { name: 'ip_", name, "' type: 'InnerProduct' bottom: 'hidden' top: '", name,
                "' inner_product_param { axis: ", shape.size() - 1, " num_output: ", shape.back(),
                " weight_filler { type: 'gaussian' std: 0.5 } bias_filler { type: 'constant' "
                "value: 0.25 } } } ");
  };
  Shape data = c.predictions;
  data.back() = 5;
  string text = InputText("data", data) +
                Join(
                    "layer { name: 'in' type: 'InnerProduct' bottom: 'data' top: 'hidden' "
                    "inner_product_param { axis: ",
                    data.size() - 1,
                    " num_output: 6 weight_filler { type: 'gaussian' std: 1 } } } layer { name: "
                    "'relu' type: 'ReLU' bottom: 'hidden' top: 'hidden' } ") +
                predict("x", c.predictions);
  string bottoms = "bottom: 'x' ";
  if (!c.second.empty()) {
    text += predict("x2", c.second);
    bottoms += "bottom: 'x2' ";
  }
  // Probabilities where a loss takes their logarithm.
  if (c.type == "MultinomialLogisticLoss" || c.type == "InfogainLoss") {
    text += "layer { name: 'positive' type: 'Sigmoid' bottom: 'x' top: 'x' } ";
  }
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    text += InputText(Join("input", i), c.inputs[i].shape);
    bottoms += Join("bottom: 'input", i, "' ");
  }
  return text + "layer { name: 'loss' type: '" + c.type + "' " + bottoms +
         (top ? "top: 'loss' " : "") + c.param + " }";
}

class LossesWithoutTops : public ::testing::TestWithParam<LossCase> {
 protected:
  static std::unique_ptr<Net<float>> Make(Phase phase, bool top, unsigned seed = TestSeed()) {
    Caffe::set_random_seed(seed);
    auto net = MakeNet(NetText(GetParam(), top), phase);
    Blob<float>& data = *net->input_blobs()[0];
    for (int i = 0; i < data.count(); ++i) data.mutable_cpu_data()[i] = kRow[i * 7 % 12];
    for (size_t i = 0; i < GetParam().inputs.size(); ++i) {
      SetValues(net->input_blobs()[1 + i], GetParam().inputs[i].values);
    }
    return net;
  }
  /// What a net that keeps all its blobs computes.
  LossesWithoutTops() : trained_(Make(TRAIN, true)) {
    trained_->Forward(&loss_);
    trained_->ClearParamDiffs();
    trained_->Backward();
  }
  /// To a hundred roundings of the largest value.
  static void ExpectNear(const std::vector<double>& expected, const std::vector<double>& actual) {
    ASSERT_EQ(expected.size(), actual.size());
    double largest = 1;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(actual[i], expected[i], 1e-5 * largest) << i;
    }
  }
  void ExpectSameBlobs(const Net<float>& net) {
    for (const char* name : {"hidden", "x", "x2"}) {
      if (!trained_->has_blob(name)) continue;
      SCOPED_TRACE(name);
      ExpectNear(Values(*trained_->blob_by_name(name)), Values(*net.blob_by_name(name)));
    }
    ExpectNear({loss_}, {net.blob_by_name("(automatic)")->cpu_data()[0]});
  }
  void ExpectSameGradients(Net<float>* net) {
    net->ClearParamDiffs();
    net->Backward();
    for (size_t i = 0; i < net->learnable_params().size(); ++i) {
      SCOPED_TRACE(Join("parameter ", i));
      ExpectNear(Gradients(*trained_->learnable_params()[i]),
                 Gradients(*net->learnable_params()[i]));
    }
  }

  float loss_ = 0;
  std::unique_ptr<Net<float>> trained_;
};

TEST_P(LossesWithoutTops, BlobsCanBeReadBehindAPass) {
  const auto net = Make(TEST, false);
  float loss = 0;
  for (int pass = 0; pass < 3; ++pass) {
    net->Forward(&loss);
    ExpectNear({loss_}, {loss});
    ExpectSameBlobs(*net);
  }
  EXPECT_TRUE(net->output_blobs().empty()) << "an anonymous top is no output";
}

TEST_P(LossesWithoutTops, GradientsAreThoseOfTraining) {
  const auto net = Make(TEST, false);
  for (int pass = 0; pass < 2; ++pass) {
    net->Forward();
    ExpectSameGradients(net.get());
  }
  ExpectSameBlobs(*net);
}

TEST_P(LossesWithoutTops, AlsoWithWeightsOfAnotherNet) {
  const auto net = Make(TEST, false, TestSeed() + 1);
  net->ShareTrainedLayersWith(trained_.get());
  net->Forward();
  ExpectSameBlobs(*net);
  net->Forward();
  ExpectSameGradients(net.get());
  float loss = 0;
  trained_->Forward(&loss);
  ExpectNear({loss_}, {loss});
}

TEST_P(LossesWithoutTops, AlsoWhenToldToFreeBlobs) {
  const auto net = Make(TEST, false);
  net->set_share_activations(true);
  float loss = 0;
  for (int pass = 0; pass < 3; ++pass) {
    net->Forward(&loss);
    ExpectNear({loss_}, {loss});
  }
  net->set_share_activations(false);
  net->Forward();
  ExpectSameBlobs(*net);
  ExpectSameGradients(net.get());
}

INSTANTIATE_TEST_SUITE_P(All, LossesWithoutTops, ::testing::ValuesIn(LossesWithoutTopsCases()),
                         [](const auto& info) { return info.param.type; });

TEST(LossesWithoutTopsCases, AreAllThatMayLeaveTheTopOut) {
  std::set<string> tested, all;
  for (const LossCase& c : LossesWithoutTopsCases()) tested.insert(c.type);
  for (const string& type : LayerRegistry<float>::LayerTypeList()) {
    LayerParameter param;
    param.set_type(type);
    if (LayerRegistry<float>::CreateLayer(param)->AutoTopBlobs()) all.insert(type);
  }
  EXPECT_EQ(tested, all);
}

// ---- Nets of BVLC Caffe's own kind: made in the phase that a NetParameter has unless it says
// otherwise, which is TEST.

/// Two inner products of the same numbers, of which the sum is compared with a target.
NetParameter Siamese(const string& first_param, const string& second_param, bool loss_top) {
  const auto branch = [](const string& name, const string& param, double weight) {
    return "layer { name: '" + name + "' type: 'InnerProduct' bottom: 'data' top: '" + name +
           "' param { " + param +
           Join(
               " } inner_product_param { num_output: 1 bias_term: false weight_filler { type: "
               "'constant' value: ",
               weight, " } } } ");
  };
  return ParseNet(
      "layer { name: 'data' type: 'DummyData' top: 'data' top: 'target' "
      "dummy_data_param { shape { dim: 1 dim: 2 } shape { dim: 1 dim: 1 } data_filler "
      "{ type: 'constant' value: 3 } data_filler { type: 'constant' value: 1 } } } " +
      branch("ip1", first_param, 2) + branch("ip2", second_param, 1) +
      "layer { name: 'sum' type: 'Eltwise' bottom: 'ip1' bottom: 'ip2' top: 'sum' } "
      "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'sum' bottom: 'target' " +
      (loss_top ? "top: 'loss' }" : "}"));
}

// sum = 3 (2 + 2) + 3 (1 + 1) = 18 and 24 where both use the weights 2; d loss / d w = (sum - 1) 3.
TEST(OldNets, PropagateToTheParametersThatLearn) {
  for (const bool loss_top : {false, true}) {
    const auto gradients = [&](const string& first, const string& second) {
      Net<float> net(Siamese(first, second, loss_top));
      EXPECT_EQ(net.phase(), TEST);
      net.Forward();
      net.Backward();
      std::vector<double> all;
      for (const auto& param : net.params()) {
        const std::vector<double> own = Gradients(*param);
        all.insert(all.end(), own.begin(), own.end());
      }
      return all;
    };
    using Values = std::vector<double>;
    EXPECT_EQ(gradients("lr_mult: 1", "lr_mult: 1"), (Values{51, 51, 51, 51}));
    EXPECT_EQ(gradients("lr_mult: 0", "lr_mult: 1"), (Values{0, 0, 51, 51}));
    EXPECT_EQ(gradients("lr_mult: 2", "lr_mult: 0"), (Values{51, 51, 0, 0}));
    EXPECT_EQ(gradients("lr_mult: 0", "lr_mult: 0"), (Values{0, 0, 0, 0}));
    EXPECT_EQ(gradients("name: 'w'", "name: 'w'"), (Values{138, 138, 138, 138}));
  }
}

// As BVLC's tests of shared weights and of snapshots do: gradients, update, again.
TEST(OldNets, Learn) {
  Net<float> net(Siamese("name: 'w'", "name: 'w'", false));
  float before = 0, behind = 0;
  net.Forward(&before);
  EXPECT_EQ(before, 23 * 23 / 2.f);
  net.Backward();
  for (Blob<float>* param : net.learnable_params()) param->scale_diff(1e-2f);
  net.Update();
  // w = 2 - 1.38, sum = 4 * 3 * 0.62.
  net.Forward(&behind);
  EXPECT_NEAR(behind, 6.44 * 6.44 / 2, 1e-4);
}

// ---- A pass or a repetition that fails leaves a net that works.

string Classifier(const string& top) {
  return "layer { name: 'data' type: 'Input' top: 'data' top: 'label' input_param { shape { dim: 2 "
         "dim: 3 } shape { dim: 2 } } }"
         "layer { name: 'a' type: 'Power' bottom: 'data' top: 'a' power_param { shift: 1 } }"
         "layer { name: 'a2' type: 'Power' bottom: 'a' top: 'a' power_param { scale: 2 } }"
         "layer { name: 'ip' type: 'InnerProduct' bottom: 'a' top: 'ip' inner_product_param { "
         "num_output: 2 weight_filler { type: 'gaussian' std: 1 } } }"
         "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' " +
         top + " } ";
}

class NetsThatFail : public ::testing::Test {
 protected:
  NetsThatFail() : net_(MakeNet(Classifier(""))) { GoodInputs(); }
  void GoodInputs() {
    SetValues(net_->input_blobs()[0], {1, 2, -3, 4, 0.5, -1});
    SetValues(net_->input_blobs()[1], {0, 1});
  }
  void ExpectWorks() {
    GoodInputs();
    float loss = 0;
    net_->Forward(&loss);
    EXPECT_GT(loss, 0);
    EXPECT_EQ(Values(*net_->blob_by_name("a")), (std::vector<double>{4, 6, -4, 10, 3, 0}));
    EXPECT_EQ(net_->blob_by_name("(automatic)")->cpu_data()[0], loss);
    net_->ClearParamDiffs();
    net_->Backward();
    EXPECT_GT(net_->learnable_params()[0]->asum_diff(), 0);
  }
  std::unique_ptr<Net<float>> net_;
};

TEST_F(NetsThatFail, WorkAgainBehindAFailedFirstPass) {
  SetValues(net_->input_blobs()[1], {0, 5});
  ExpectContains(ErrorOf([&] { net_->Forward(); }), "label number 1 is 5");
  ExpectWorks();
}

TEST_F(NetsThatFail, CanBeLookedAtBehindAFailedPass) {
  SetValues(net_->input_blobs()[1], {0, 5});
  ExpectContains(ErrorOf([&] { net_->Forward(); }), "label number 1 is 5");
  EXPECT_EQ(Values(*net_->blob_by_name("a")), (std::vector<double>{4, 6, -4, 10, 3, 0}));
  ExpectWorks();
}

// The number of labels has changed since the pass: the loss cannot be computed again, the rest can.
TEST_F(NetsThatFail, CanBeLookedAtWhereARepetitionFails) {
  net_->Forward();
  net_->input_blobs()[1]->Reshape({3});
  EXPECT_EQ(net_->blobs().size(), net_->blob_names().size());
  EXPECT_EQ(Values(*net_->blob_by_name("a")), (std::vector<double>{4, 6, -4, 10, 3, 0}));
  EXPECT_EQ(Values(*net_->blob_by_name("ip")).size(), 4u);
  ExpectContains(ErrorOf([&] { net_->blob_by_name("(automatic)")->cpu_data(); }),
                 "computing it again failed");
  net_->input_blobs()[1]->Reshape({2});
  ExpectWorks();
}

TEST_F(NetsThatFail, DoNotShowWhatIsHalfComputed) {
  net_ = MakeNet(Classifier("top: 'loss'") +
                 "layer { name: 'pos' type: 'Power' bottom: 'loss' top: 'pos' }"
                 "layer { name: 'flat' type: 'Flatten' bottom: 'a' top: 'flat' }"
                 "layer { name: 'twice' type: 'Power' bottom: 'pos' top: 'twice' }"
                 "layer { name: 'end' type: 'Power' bottom: 'twice' top: 'end' }"
                 "layer { name: 'end2' type: 'Power' bottom: 'flat' top: 'end2' }");
  GoodInputs();
  net_->Forward();
  net_->input_blobs()[1]->Reshape({3});
  EXPECT_EQ(Values(*net_->blob_by_name("a")), (std::vector<double>{4, 6, -4, 10, 3, 0}));
  for (const char* name : {"loss", "pos", "twice"}) {
    ExpectContains(ErrorOf([&] { net_->blob_by_name(name)->cpu_data(); }),
                   "computing it again failed");
  }
  net_->input_blobs()[1]->Reshape({2});
  GoodInputs();
  net_->Forward();
  EXPECT_EQ(Values(*net_->blob_by_name("twice")), Values(*net_->blob_by_name("loss")));
  EXPECT_EQ(Values(*net_->blob_by_name("flat")), (std::vector<double>{4, 6, -4, 10, 3, 0}));
}

}  // namespace
}  // namespace caffe
