// RNN, LSTM, LSTMUnit, Lstm, ContinuationIndicator.
#include <cmath>
#include <map>

#include "caffe/layers/recurrent_layer.hpp"
#include "caffe/onednn/onednn.hpp"
#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

const std::string kRecurrentParam =
    "num_output: 3 weight_filler { type: 'gaussian' std: 0.5 } "
    "bias_filler { type: 'gaussian' std: 0.5 } ";

Bottom Cont(const std::vector<int>& shape, const std::vector<double>& values) {
  return Bottom(shape).Labels(2).Values(values).WithoutGradient();
}

// Three steps of two sequences; the second one starts again at step 1, and the state from before
// the batch is used by the first one only where `first` is 1.
LayerCase Sequences(const std::string& name, const std::string& type, const std::string& fields,
                    double first, const std::vector<Bottom>& more, int tops,
                    const std::vector<std::vector<int>>& more_detour) {
  std::vector<std::vector<int>> detour = {{4, 3, 4}, {4, 3}};
  detour.insert(detour.end(), more_detour.begin(), more_detour.end());
  return LayerCase(type + name,
                   "type: '" + type + "' recurrent_param { " + kRecurrentParam + fields + "}")
      .Bottom({3, 2, 4})
      .Bottom(Cont({3, 2}, {first, 0, 1, 0, 1, 1}))
      .Bottoms(more)
      .Tops(tops)
      .Detour(detour);
}

std::vector<LayerCase> RecurrentCases() {
  const Bottom static_input({2, 5}), state({1, 2, 3});
  std::vector<LayerCase> cases;
  for (const std::string type : {"RNN", "LSTM"}) {
    const std::vector<Bottom> states(type == "RNN" ? 1 : 2, state);
    std::vector<Bottom> all = states;
    all.insert(all.begin(), static_input);
    const std::vector<std::vector<int>> detour(states.size(), {1, 3, 3});
    std::vector<std::vector<int>> detour_all = detour;
    detour_all.insert(detour_all.begin(), {3, 5});
    const int tops = 1 + static_cast<int>(states.size());
    const std::string exposed = "expose_hidden: true ";
    cases.push_back(Sequences("Plain", type, "", 0, {}, 1, {}));
    cases.push_back(Sequences("Static", type, "", 1, {static_input}, 1, {{3, 5}}));
    cases.push_back(Sequences("Exposed", type, exposed, 1, states, tops, detour));
    cases.push_back(Sequences("StaticExposed", type, exposed, 1, all, tops, detour_all));
    LayerCase one = Sequences("OneSequence", type, "", 0, {}, 1, {});
    one.bottoms = {Bottom({4, 1, 2, 5}), Cont({4, 1}, {0, 1, 1, 1})};
    one.detour = {{2, 3, 2, 5}, {2, 3}};
    cases.push_back(one);
    // No sequence begins behind the first step, where one of two goes on: as engine ONEDNN takes
    // it.
    LayerCase on = Sequences("GoesOn", type, exposed, 1, states, tops, detour);
    on.bottoms[1] = Cont({3, 2}, {1, 0, 1, 1, 1, 1});
    cases.push_back(on);
  }
  cases.push_back(LayerCase("LSTMUnit", "type: 'LSTMUnit'")
                      .Bottom({1, 3, 2})
                      .Bottom({1, 3, 8})
                      .Bottom(Cont({1, 3}, {1, 0, 1}))
                      .Tops(2)
                      .Detour({{1, 5, 2}, {1, 5, 8}, {1, 5}}));
  const std::string lstm = "type: 'Lstm' lstm_param { " + kRecurrentParam;
  cases.push_back(LayerCase("LstmOneSequence", lstm + "}").Bottom({5, 2, 3, 1}));
  cases.push_back(LayerCase("LstmBatch", lstm + "batch_size: 2 }").Bottom({6, 4}));
  cases.push_back(LayerCase("LstmSteps", lstm + "}").Bottom({3, 2, kOddC}));
  cases.push_back(LayerCase("LstmContinued", lstm + "batch_size: 2 clipping_threshold: 1000 }")
                      .Bottom({6, 4})
                      .Bottom(Cont({6}, {0, 0, 1, 1, 0, 1})));
  // Steps pass their rounding errors on, and gradients may nearly cancel.
  for (LayerCase& c : cases) c.tolerance = 8;
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Recurrent, LayerCases, ::testing::ValuesIn(RecurrentCases()), CaseName());

const std::vector<BadLayerCase> kRecurrentBadCases = {
    BadLayerCase("NumOutput", "type: 'LSTM'")
        .Bottom({3, 2, 4})
        .Bottom({3, 2})
        .Says("recurrent_param: num_output must be positive, got 0"),
    BadLayerCase("ManyOutputs", "type: 'LSTM' recurrent_param { num_output: 2147483647 }")
        .Bottom({3, 2, 4})
        .Bottom({3, 2})
        .Says("recurrent_param: num_output must be at most 536870911, got 2147483647"),
    BadLayerCase("Input", "type: 'RNN' recurrent_param { num_output: 1 }")
        .Bottom({3})
        .Bottom({3})
        .Says("bottom 0, the inputs, must have axes .time, batch"),
    BadLayerCase("NoSequences", "type: 'LSTM' recurrent_param { num_output: 1 }")
        .Bottom({3, 0, 4})
        .Bottom({3, 0})
        .Says("bottom 0 of shape 3 0 4 .*has no steps or no sequences"),
    BadLayerCase("NoSteps", "type: 'RNN' recurrent_param { num_output: 1 }")
        .Bottom({0, 2, 4})
        .Bottom({0, 2})
        .Says("has no steps or no sequences"),
    BadLayerCase("NoItems", "type: 'Lstm' lstm_param { num_output: 1 }")
        .Bottom({0, 4})
        .Says("has no steps or no sequences"),
    BadLayerCase("Continuation", "type: 'LSTM' recurrent_param { num_output: 1 }")
        .Bottom({3, 2, 4})
        .Bottom({2, 3})
        .Says("continuation indicators, must have shape 3 2, .* not 2 3"),
    BadLayerCase("Static", "type: 'LSTM' recurrent_param { num_output: 1 }")
        .Bottom({3, 2, 4})
        .Bottom({3, 2})
        .Bottom({3, 5})
        .Says("bottom 2, the static input, must have 2 items"),
    BadLayerCase("State", "type: 'LSTM' recurrent_param { num_output: 4 expose_hidden: true }")
        .Bottom({3, 2, 4})
        .Bottom({3, 2})
        .Bottom({1, 2, 4})
        .Bottom({2, 4})
        .Tops(3)
        .Says("bottom 3, a hidden state, must have shape 1 2 4 .* not 2 4"),
    BadLayerCase("StateMissing",
                 "type: 'LSTM' recurrent_param { num_output: 4 expose_hidden: true }")
        .Bottom({3, 2, 4})
        .Bottom({3, 2})
        .Tops(3)
        .Says("at least 4 bottom"),
    BadLayerCase("UnitCells", "type: 'LSTMUnit'")
        .Bottom({2, 3, 4})
        .Bottom({1, 3, 16})
        .Bottom({1, 3})
        .Tops(2)
        .Says("bottom 0, the cells"),
    BadLayerCase("UnitGates", "type: 'LSTMUnit'")
        .Bottom({1, 3, 4})
        .Bottom({1, 3, 4})
        .Bottom({1, 3})
        .Tops(2)
        .Says("bottom 1, the input"),
    BadLayerCase("UnitContinuation", "type: 'LSTMUnit'")
        .Bottom({1, 3, 4})
        .Bottom({1, 3, 16})
        .Bottom({3, 1})
        .Tops(2)
        .Says("bottom 2, the continuation"),
    BadLayerCase("LstmNumOutput", "type: 'Lstm'")
        .Bottom({2, 3})
        .Says("lstm_param: num_output must be positive"),
    BadLayerCase("LstmManyOutputs", "type: 'Lstm' lstm_param { num_output: 536870912 }")
        .Bottom({2, 3})
        .Says("lstm_param: num_output must be at most 536870911, got 536870912"),
    BadLayerCase("LstmBatch", "type: 'Lstm' lstm_param { num_output: 2 batch_size: 2 }")
        .Bottom({3, 3})
        .Says("batch_size 2 must divide the number of items of bottom 0, which has shape 3 3"),
    BadLayerCase("LstmNoBatch", "type: 'Lstm' lstm_param { num_output: 2 batch_size: 0 }")
        .Bottom({3, 3})
        .Says("batch_size 0 must divide"),
    BadLayerCase("LstmThreshold",
                 "type: 'Lstm' lstm_param { num_output: 2 clipping_threshold: -1 }")
        .Bottom({3, 3})
        .Says("clipping_threshold must not be negative, got -1"),
    BadLayerCase("LstmContinuation", "type: 'Lstm' lstm_param { num_output: 2 }")
        .Bottom({3, 2, 4})
        .Bottom({5})
        .Says("must have 3 x 2 values"),
    BadLayerCase("IndicatorSteps",
                 "type: 'ContinuationIndicator' continuation_indicator_param { batch_size: 1 }")
        .Says("time_step must be positive, got 0"),
    BadLayerCase("IndicatorBatch",
                 "type: 'ContinuationIndicator' continuation_indicator_param { time_step: 1 }")
        .Says("batch_size must be positive, got 0"),
    BadLayerCase(
        "IndicatorAxis",
        "type: 'ContinuationIndicator' continuation_indicator_param { time_step: 1 axis: 2 }")
        .Bottom({3, 2})
        .Says("continuation_indicator_param: axis 2 is out of range"),
};
INSTANTIATE_TEST_SUITE_P(Recurrent, BadLayerCases, ::testing::ValuesIn(kRecurrentBadCases),
                         CaseName());

// All gates are open: cells add up tanh(x).
const Floats kAddingBias = {100, 100, 100, 0}, kAddingWeights = {0, 0, 0, 1};

TEST(LstmValues, AddsUpUntilASequenceBegins) {
  Example example("type: 'LSTM' recurrent_param { num_output: 1 }");
  example.Bottom({3, 1, 1}, {0.5, 0.25, -2}).Bottom({3, 1}, {0, 1, 0}).SetUp();
  example.Parameter(0, kAddingWeights).Parameter(1, kAddingBias);
  const Floats h = example.Forward();
  EXPECT_EQ(example.TopShape(), (Shape{3, 1, 1}));
  EXPECT_FLOAT_EQ(h[0], std::tanh(std::tanh(0.5)));
  EXPECT_FLOAT_EQ(h[1], std::tanh(std::tanh(0.5) + std::tanh(0.25)));
  EXPECT_FLOAT_EQ(h[2], std::tanh(std::tanh(-2.)));
}

TEST(LstmValues, SequencesGoOnInTheNextBatch) {
  Example example("type: 'LSTM' recurrent_param { num_output: 1 }");
  example.Bottom({1, 1, 1}, {0.5}).Bottom({1, 1}, {1}).SetUp();
  example.Parameter(0, kAddingWeights).Parameter(1, kAddingBias);
  EXPECT_FLOAT_EQ(example.Forward()[0], std::tanh(std::tanh(0.5)));
  const std::string state = example.layer().SaveState();
  EXPECT_FLOAT_EQ(example.Forward()[0], std::tanh(2 * std::tanh(0.5)));
  EXPECT_FLOAT_EQ(example.Forward()[0], std::tanh(3 * std::tanh(0.5)));
  example.layer().RestoreState(state);
  EXPECT_FLOAT_EQ(example.Forward()[0], std::tanh(2 * std::tanh(0.5)));
  dynamic_cast<RecurrentLayer<float>&>(example.layer()).Reset();
  EXPECT_FLOAT_EQ(example.Forward()[0], std::tanh(std::tanh(0.5)));
  ExpectContains(ErrorOf([&] { example.layer().RestoreState("short"); }), "has 5 bytes");
}

TEST(LstmValues, ParametersAreInCaffesOrder) {
  Example example("type: 'LSTM' recurrent_param { num_output: 2 }");
  example.Bottom({1, 1, 3}, Floats(3)).Bottom({1, 1}, {0}).Bottom({1, 5}, Floats(5)).SetUp();
  const auto& blobs = example.layer().blobs();
  ASSERT_EQ(blobs.size(), 4u);
  EXPECT_EQ(blobs[0]->shape(), (Shape{8, 3}));
  EXPECT_EQ(blobs[1]->shape(), (Shape{8}));
  EXPECT_EQ(blobs[2]->shape(), (Shape{8, 5}));
  EXPECT_EQ(blobs[3]->shape(), (Shape{8, 2}));
}

TEST(LstmValues, ExposesItsState) {
  Example example("type: 'LSTM' recurrent_param { num_output: 1 expose_hidden: true }", 3);
  example.Bottom({1, 1, 1}, {0.5}).Bottom({1, 1}, {1});
  example.Bottom({1, 1, 1}, {7}).Bottom({1, 1, 1}, {0.125}).SetUp();
  example.Parameter(0, kAddingWeights).Parameter(1, kAddingBias);
  const float c = std::tanh(0.5f) + 0.125f;
  for (int i = 0; i < 2; ++i) EXPECT_FLOAT_EQ(example.Forward(2)[0], c) << "pass " << i;
  EXPECT_FLOAT_EQ(example.Forward(1)[0], std::tanh(c));
}

TEST(LstmValues, TrainsOnOneDnnWhereItCan) {
  if (!onednn::Enabled()) GTEST_SKIP() << "oneDNN is off";
  for (const bool begins : {false, true}) {
    Example example("type: 'LSTM' engine: 'ONEDNN' recurrent_param { num_output: 4 }");
    example.Bottom({2, 1, 3}, Floats(6, 0.5f)).Bottom({2, 1}, {0, begins ? 0.f : 1.f}).SetUp();
    example.Forward();
    EXPECT_STREQ(example.layer().forward_engine(), begins ? "native" : "oneDNN");
  }
}

TEST(RnnValues, IsTwoTanhs) {
  Example example("type: 'RNN' recurrent_param { num_output: 1 }");
  example.Bottom({2, 1, 1}, {0.5, 0.25}).Bottom({2, 1}, {0, 1}).SetUp();
  example.Parameter(0, {2}).Parameter(1, {0.125}).Parameter(2, {3}).Parameter(3, {0.5});
  example.Parameter(4, {-1});
  const Floats o = example.Forward();
  const double h = std::tanh(2 * 0.5 + 0.125);
  EXPECT_FLOAT_EQ(o[0], std::tanh(0.5 * h - 1));
  EXPECT_FLOAT_EQ(o[1], std::tanh(0.5 * std::tanh(3 * h + 2 * 0.25 + 0.125) - 1));
}

// Rows of the input are steps of all sequences in turn; every batch starts again.
TEST(LstmValues, TheForkTakesStepsAndSequencesOnOneAxis) {
  Example example("type: 'Lstm' lstm_param { num_output: 1 batch_size: 2 }");
  example.Bottom({4, 1}, {0.5, 2, 0.25, -1}).SetUp();
  example.Parameter(0, kAddingWeights).Parameter(2, kAddingBias);
  EXPECT_EQ(example.layer().blobs()[1]->shape(), (Shape{4, 1}));
  for (int pass = 0; pass < 2; ++pass) {
    const Floats h = example.Forward();
    EXPECT_EQ(example.TopShape(), (Shape{4, 1}));
    EXPECT_FLOAT_EQ(h[0], std::tanh(std::tanh(0.5)));
    EXPECT_FLOAT_EQ(h[2], std::tanh(std::tanh(0.5) + std::tanh(0.25)));
    EXPECT_FLOAT_EQ(h[3], std::tanh(std::tanh(2.) + std::tanh(-1.)));
  }
}

TEST(LstmValues, TheForkCutsGradientsOff) {
  for (const std::string engine : {"CAFFE", "ONEDNN"}) {
    Example example("type: 'Lstm' engine: '" + engine +
                    "' lstm_param { num_output: 1 clipping_threshold: 0.125 }");
    example.Bottom({1, 1}, {0}).SetUp();
    example.Parameter(0, kAddingWeights).Parameter(2, kAddingBias);
    example.Forward();
    EXPECT_FLOAT_EQ(example.Backward({1})[0], 0.125) << engine;
    EXPECT_FLOAT_EQ(example.Backward({0.0625})[0], 0.0625) << engine;
  }
}

TEST(ContinuationIndicatorValues, OnlyTheFirstRowIsZero) {
  Example example(
      "type: 'ContinuationIndicator' continuation_indicator_param { time_step: 3 batch_size: 2 }");
  example.SetUp();
  EXPECT_EQ(example.Forward(), (Floats{0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(example.TopShape(), (Shape{3, 2}));
}

// DeepDetect's CRNN gives it the images.
TEST(ContinuationIndicatorValues, TakesTheBatchFromABottom) {
  const std::string type = "type: 'ContinuationIndicator' continuation_indicator_param { ";
  for (const auto& [fields, shape] :
       std::map<std::string, Shape>{{"time_step: 3", {3, 2}},
                                    {"time_step: 4 axis: -1", {4, 5}},
                                    {"time_step: 3 batch_size: 7 axis: 1", {3, 7}}}) {
    Example example(type + fields + " }");
    example.Bottom({2, 1, 5}, Floats(10, 9)).SetUp();
    const Floats cont = example.Forward();
    EXPECT_EQ(example.TopShape(), shape) << fields;
    for (size_t i = 0; i < cont.size(); ++i) EXPECT_EQ(cont[i], i < size_t(shape[1]) ? 0 : 1);
    EXPECT_EQ(example.Backward(cont), Floats(10, 0));
    EXPECT_EQ(OperationTable::Find("ContinuationIndicator")
                  ->top_shapes(example.layer().layer_param(), {{2, 1, 5}}),
              (std::vector<Shape>{shape}));
  }
}

// A layer as users of Caffe wrote them, by its unrolled net: h_t = cont_t h_(t-1) + W x_t, state
// "h_0".
template <typename Dtype>
class SumUpLayer : public RecurrentLayer<Dtype> {
 public:
  explicit SumUpLayer(const LayerParameter& param) : RecurrentLayer<Dtype>(param) {}
  const char* type() const override { return "SumUp"; }

 protected:
  string H(int t) const { return t == this->T_ ? "h_T" : "h_" + std::to_string(t); }
  void RecurrentInputBlobNames(vector<string>* names) const override { names->assign(1, "h_0"); }
  void RecurrentOutputBlobNames(vector<string>* names) const override { names->assign(1, "h_T"); }
  void OutputBlobNames(vector<string>* names) const override { names->assign(1, "h"); }
  void RecurrentInputShapes(vector<BlobShape>* shapes) const override {
    shapes->assign(1, BlobShape());
    for (const int extent : {1, this->N_, Outputs()}) shapes->front().add_dim(extent);
  }
  void FillUnrolledNet(NetParameter* net) const override {
    vector<BlobShape> shapes;
    RecurrentInputShapes(&shapes);
    LayerParameter* state = Add("Input", "state", {}, {"h_0"}, net);
    *state->mutable_input_param()->add_shape() = shapes[0];
    vector<string> xs, conts, hs;
    for (int t = 1; t <= this->T_; ++t) {
      xs.push_back("x_" + std::to_string(t));
      conts.push_back("cont_" + std::to_string(t));
      hs.push_back(H(t));
    }
    Add("Slice", "x_slice", {"x"}, xs, net)->mutable_slice_param()->set_axis(0);
    Add("Slice", "cont_slice", {"cont"}, conts, net)->mutable_slice_param()->set_axis(0);
    for (int t = 1; t <= this->T_; ++t) {
      const string number = std::to_string(t);
      LayerParameter* product =
          Add("InnerProduct", "w_" + number, {xs[t - 1]}, {"wx_" + number}, net);
      product->add_param()->set_name("W");
      InnerProductParameter* param = product->mutable_inner_product_param();
      param->set_num_output(Outputs());
      param->set_bias_term(false);
      param->set_axis(2);
      param->mutable_weight_filler()->set_value(2);  // constant
      Add("Scale", "conted_" + number, {H(t - 1), conts[t - 1]}, {"conted_" + number}, net)
          ->mutable_scale_param()
          ->set_axis(0);
      Add("Eltwise", "sum_" + number, {"conted_" + number, "wx_" + number}, {H(t)}, net);
    }
    Add("Concat", "all", hs, {"h"}, net)->mutable_concat_param()->set_axis(0);
  }

 private:
  int Outputs() const { return this->layer_param_.recurrent_param().num_output(); }
  static LayerParameter* Add(const string& type, const string& name, const vector<string>& bottoms,
                             const vector<string>& tops, NetParameter* net) {
    LayerParameter* layer = net->add_layer();
    layer->set_type(type);
    layer->set_name(name);
    for (const string& bottom : bottoms) layer->add_bottom(bottom);
    for (const string& top : tops) layer->add_top(top);
    return layer;
  }
};
REGISTER_LAYER_CLASS(SumUp);

const char kSumUp[] = "type: 'SumUp' recurrent_param { num_output: 1 }";

TEST(RecurrentLayer, RunsASubclassesUnrolledNet) {
  Example example(kSumUp);
  example.Bottom({3, 1, 1}, {1, 2, 3}).Bottom({3, 1}, {0, 1, 0}).SetUp();
  ASSERT_EQ(example.layer().blobs().size(), 1u);  // shared by the steps
  EXPECT_EQ(example.Forward(), (Floats{2, 6, 6}));
  // x_1 counts in h_1 and h_2.
  EXPECT_EQ(example.Backward({1, 1, 1}), (Floats{4, 2, 2}));
  EXPECT_EQ(example.layer().blobs()[0]->cpu_diff()[0], 2 * 1 + 2 + 3);
}

TEST(RecurrentLayer, KeepsTheStateOfASubclass) {
  Example example(kSumUp);
  example.Bottom({1, 1, 1}, {1}).Bottom({1, 1}, {1}).SetUp();
  EXPECT_EQ(example.Forward(), (Floats{2}));
  const std::string state = example.layer().SaveState();
  EXPECT_EQ(example.Forward(), (Floats{4}));
  EXPECT_EQ(example.Forward(), (Floats{6}));
  example.layer().RestoreState(state);
  EXPECT_EQ(example.Forward(), (Floats{4}));
  dynamic_cast<RecurrentLayer<float>&>(example.layer()).Reset();
  EXPECT_EQ(example.Forward(), (Floats{2}));
  ExpectContains(ErrorOf([&] { example.layer().RestoreState("short"); }), "has 5 bytes");
}

TEST(RecurrentLayer, ExposesTheStateOfASubclass) {
  Example example("type: 'SumUp' recurrent_param { num_output: 1 expose_hidden: true }", 2);
  example.Bottom({2, 1, 1}, {1, 2}).Bottom({2, 1}, {1, 1}).Bottom({1, 1, 1}, {10}).SetUp();
  for (int pass = 0; pass < 2; ++pass) EXPECT_EQ(example.Forward(0), (Floats{12, 16}));
  EXPECT_EQ(example.Forward(1), (Floats{16}));
}

// In a net the parameter moves into the net's memory; all steps go on using it.
TEST(RecurrentLayer, TrainsASubclass) {
  for (const char* type : {"FLOAT", "FLOAT16"}) {
    SCOPED_TRACE(type);
    auto net = MakeNet(std::string("default_forward_type: ") + type +
                           " force_backward: true "
                           "layer { name: 'in' type: 'Input' top: 'x' top: 'cont' input_param {"
                           "  shape { dim: 3 dim: 1 dim: 1 } shape { dim: 3 dim: 1 } } }"
                           "layer { name: 'sum' bottom: 'x' bottom: 'cont' top: 'h' " +
                           kSumUp +
                           " }"
                           "layer { name: 'l' type: 'Reduction' bottom: 'h' top: 'l' "
                           "loss_weight: 1 }",
                       TRAIN);
    SetValues(net->input_blobs()[0], {1, 2, 3});
    SetValues(net->input_blobs()[1], {0, 1, 0});
    ASSERT_EQ(net->learnable_params().size(), 1u);
    net->ClearParamDiffs();
    EXPECT_EQ(net->ForwardBackward(), 14);
    EXPECT_EQ(net->learnable_params()[0]->cpu_diff()[0], 7);
    net->learnable_params()[0]->scale_diff(1 / 7.f);
    net->Update();  // W = 1
    EXPECT_EQ(net->ForwardBackward(), 7);
  }
}

}  // namespace
}  // namespace caffe
