// Training in GPU mode, on a device that behaves as badly as a real one may: what the CPU learns.
// In builds with CUDA the updates are the GPU's kernels, run by the host.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "caffe/context.hpp"
#include "caffe/sgd_solvers.hpp"
#include "caffe/test/support/captured_log.hpp"
#include "caffe/test/support/each_device.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

// Parameters of several blocks of a sum and of less than one, one frozen, one with multipliers. The
// activation has no kink, on whose sides roundings would make gradients differ.
const char kDeviceNet[] = R"(
  layer { name: 'x' type: 'DummyData' top: 'x' top: 'label'
    dummy_data_param { shape { dim: 4 dim: 90 } shape { dim: 4 }
      data_filler { type: 'uniform' min: -1 max: 1 } data_filler { type: 'constant' value: 1 } } }
  layer { name: 'ip1' type: 'InnerProduct' bottom: 'x' top: 'a'
    param { lr_mult: 1 decay_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
    inner_product_param { num_output: 100 weight_filler { type: 'xavier' }
      bias_filler { type: 'constant' value: 0.1 } } }
  layer { name: 'tanh' type: 'TanH' bottom: 'a' top: 'a' }
  layer { name: 'ip2' type: 'InnerProduct' bottom: 'a' top: 'b'
    param { lr_mult: 0 decay_mult: 0 }
    inner_product_param { num_output: 20 weight_filler { type: 'xavier' } } }
  layer { name: 'ip3' type: 'InnerProduct' bottom: 'b' top: 'y'
    inner_product_param { num_output: 3 bias_term: false weight_filler { type: 'xavier' } } }
  layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'y' bottom: 'label' top: 'loss' } )";

SolverParameter ParseOnDevice(const string& text, const string& net = kDeviceNet) {
  SolverParameter param;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      Join("base_lr: 0.05 max_iter: 99 random_seed: ", TestSeed(), " ",
           text.find("lr_policy") == string::npos ? "lr_policy: 'fixed' " : "", text),
      &param))
      << text;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(net, param.mutable_net_param()));
  return param;
}

template <typename Dtype>
std::unique_ptr<Solver<Dtype>> Make(const SolverParameter& param) {
  return std::unique_ptr<Solver<Dtype>>(SolverRegistry<Dtype>::CreateSolver(param));
}

/// All parameters, one after another.
template <typename Dtype>
std::vector<Dtype> Weights(Solver<Dtype>* solver) {
  std::vector<Dtype> weights;
  for (const Blob<Dtype>* param : solver->net()->learnable_params()) {
    weights.insert(weights.end(), param->cpu_data(), param->cpu_data() + param->count());
  }
  return weights;
}

template <typename Dtype>
std::vector<Dtype> Learned(const SolverParameter& param, int steps) {
  const std::unique_ptr<Solver<Dtype>> solver = Make<Dtype>(param);
  solver->Step(steps);
  return Weights(solver.get());
}

/// `bound` is for sums of roundings. L1's term has a kink at 0: a weight that passes it in another
/// step may differ by twice what the terms of all steps come to, 1 + 1.9 + 2.71 + 3.44 + 4.1 of
/// them with a momentum of 0.9.
template <typename Dtype>
void ExpectTheCpusWeights(const SolverParameter& param, Dtype bound) {
  constexpr int kSteps = 5;
  const std::vector<Dtype> start = Learned<Dtype>(param, 0);
  const std::vector<Dtype> expected = Learned<Dtype>(param, kSteps);
  EXPECT_NE(start, expected);
  OnEachDevice([&] {
    const std::vector<Dtype> actual = Learned<Dtype>(param, kSteps);
    ASSERT_EQ(actual.size(), expected.size());
    const bool l1 = param.regularization_type() == "L1";
    const Dtype kink = l1 ? 27 * param.base_lr() * param.weight_decay() : 0;
    size_t other_side = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      const Dtype near = bound * std::max(Dtype(1), std::abs(expected[i]));
      ASSERT_NEAR(actual[i], expected[i], near + kink) << i;
      other_side += std::abs(actual[i] - expected[i]) > near;
    }
    EXPECT_LE(other_side, expected.size() / 100);
  });
}

#ifdef TEST_FP16
/// The same with activations and their gradients in FLOAT16, whose roundings may differ.
SolverParameter WithHalves(SolverParameter param) {
  param.mutable_net_param()->set_default_forward_type(FLOAT16);
  param.mutable_net_param()->set_default_backward_type(FLOAT16);
  return param;
}
#endif

class RulesOnDevice : public ::testing::TestWithParam<const char*> {};

TEST_P(RulesOnDevice, LearnWhatTheCpuLearns) {
  const SolverParameter param = ParseOnDevice(GetParam());
  ExpectTheCpusWeights<float>(param, 2e-5f);
  ExpectTheCpusWeights<double>(param, 1e-12);
#ifdef TEST_FP16
  ExpectTheCpusWeights<float>(WithHalves(param), 2e-3f);
#endif
}

INSTANTIATE_TEST_SUITE_P(
    Solver, RulesOnDevice,
    ::testing::Values(
        "momentum: 0.9", "momentum: 0.9 weight_decay: 0.01",
        "momentum: 0.9 weight_decay: 0.01 regularization_type: 'L1'",
        "momentum: 0.9 weight_decay: 0.01 regularization_type: 'WD'", "momentum: 0.9 iter_size: 3",
        "momentum: 0.9 clip_gradients: 0.01 iter_size: 2 weight_decay: 0.01",
        "momentum: 0.9 clip_gradients: 1000", "type: 'Nesterov' momentum: 0.9 weight_decay: 0.01",
        "type: 'AdaGrad' delta: 0.01 weight_decay: 0.01 iter_size: 2",
        "type: 'RMSProp' delta: 0.01 rms_decay: 0.9 weight_decay: 0.01",
        "type: 'AdaDelta' momentum: 0.9 delta: 0.01 weight_decay: 0.01",
        "type: 'Adam' momentum: 0.9 momentum2: 0.99 delta: 0.01 weight_decay: 0.01",
        "momentum: 0.5 larc: true larc_eta: 0.01 weight_decay: 0.01",
        "momentum: 0.5 larc: true larc_eta: 0.01 larc_policy: 'clip' clip_gradients: 0.1",
        "momentum: 0.5 larc: true larc_turbo: true iter_size: 2",
        "type: 'Adam' delta: 0.01 larc: true larc_policy: 'clip'", "momentum: 0.9 debug_info: true",
        "momentum_policy: 'opt' lr_policy: 'step' stepsize: 2 gamma: 0.5"));

TEST(SolverOnDevice, ScaledLossesCancel) {
  const SolverParameter param = ParseOnDevice("momentum: 0.9 clip_gradients: 0.05 larc: true");
  SolverParameter with_scale = param;
  with_scale.mutable_net_param()->set_global_grad_scale(1024);
  OnEachDevice([&] {
    const std::vector<float> plain = Learned<float>(param, 4);
    const std::vector<float> scaled = Learned<float>(with_scale, 4);
    for (size_t i = 0; i < plain.size(); ++i) ASSERT_NEAR(plain[i], scaled[i], 1e-6);
  });
}

// The gradient of each logit is about one half: scaled by 2^17 or more it is no float16.
TEST(SolverOnDevice, StepsThatOverflowAreSkipped) {
  const string net = R"(
    default_forward_type: FLOAT16 default_backward_type: FLOAT16
    global_grad_scale: 262144 global_grad_scale_adaptive: true
    layer { name: 'x' type: 'DummyData' top: 'x' top: 'label'
      dummy_data_param { shape { dim: 1 dim: 1 } shape { dim: 1 }
        data_filler { type: 'constant' value: 1 } data_filler { type: 'constant' value: 0 } } }
    layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param {
      num_output: 2 bias_term: false weight_filler { type: 'constant' value: 0.5 } } }
    layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'y' bottom: 'label' top: 'loss' } )";
  for (const char* clip : {"", " clip_gradients: 0.1"}) {
    SCOPED_TRACE(clip);
    const SolverParameter param = ParseOnDevice(string("momentum: 0.9") + clip, net);
    const std::vector<float> expected = Learned<float>(param, 5);
    OnEachDevice([&] {
      const std::unique_ptr<Solver<float>> solver = Make<float>(param);
      const std::vector<float> start = Weights(solver.get());
      CapturedLog log;
      solver->Step(2);
      EXPECT_EQ(Weights(solver.get()), start);
      EXPECT_TRUE(log.HasPrefix(
          "Iteration 1: gradients overflow, the update is skipped; the loss scale falls from"));
      solver->Step(3);
      const std::vector<float> actual = Weights(solver.get());
      for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-6);
    });
  }
}

// Programs that were written for Caffe look for the last update there.
TEST(SolverOnDevice, GradientsHoldTheLastUpdate) {
  const FakeDevice::Installed device;
  const ModeScope gpu(Caffe::GPU);
  const auto solver = Make<double>(ParseOnDevice("momentum: 0.9"));
  const std::vector<double> before = Weights(solver.get());
  solver->Step(1);
  const std::vector<double> after = Weights(solver.get());
  size_t i = 0;
  for (const Blob<double>* param : solver->net()->learnable_params()) {
    for (int k = 0; k < param->count(); ++k, ++i) {
      ASSERT_NEAR(before[i] - param->cpu_diff()[k], after[i], 1e-15);
    }
  }
}

TEST(SolverOnDevice, ParametersAndGradientsLieInOneRunEach) {
  const FakeDevice::Installed device;
  const ModeScope gpu(Caffe::GPU);
  const auto solver = Make<float>(ParseOnDevice("momentum: 0.9"));
  solver->Step(1);
  Net<float>& net = *solver->net();
  const Net<float>::Arena data = net.device_parameter_arena(), diff = net.device_gradient_arena();
  ASSERT_EQ(data.params.size(), net.learnable_params().size());
  EXPECT_EQ(data.count, net.parameter_arena().count);
  for (size_t i = 0; i < data.params.size(); ++i) {
    const Blob<float>& param = *net.learnable_params()[data.params[i]];
    EXPECT_EQ(param.gpu_data(), data.data + data.offsets[i]);
    EXPECT_EQ(param.gpu_diff(), diff.data + diff.offsets[i]);
  }
  net.ClearParamDiffs();
  for (const Blob<float>* param : net.learnable_params()) EXPECT_EQ(param->asum_diff(), 0);
}

TEST(SolverOnDevice, ArenasOfADeviceGoWithTheirNet) {
  const FakeDevice::Installed device;
  const ModeScope gpu(Caffe::GPU);
  {
    const auto solver = Make<float>(ParseOnDevice("momentum: 0.9"));
    solver->Step(1);
    EXPECT_GT(device->bytes_in_use(), 0u);
  }
  EXPECT_EQ(device->bytes_in_use(), 0u);
  EXPECT_EQ(device->bad_frees(), 0);
}

#ifndef CPU_ONLY
// Nothing is fetched layer by layer: clipping alone has a number to read.
TEST(SolverOnDevice, UpdatesWithoutWaiting) {
  const FakeDevice::Installed device;
  const ModeScope gpu(Caffe::GPU);
  const auto waits = [&](const string& text) {
    const auto solver = Make<float>(ParseOnDevice(text));
    solver->Step(2);  // now the list of parameters is on the device
    for (const Blob<float>* param : solver->net()->learnable_params()) param->gpu_diff();
    const int before = device->waits();
    solver->ApplyUpdate();
    return device->waits() - before;
  };
  EXPECT_EQ(waits("momentum: 0.9 weight_decay: 0.01"), 0);
  EXPECT_EQ(waits("type: 'Adam' delta: 0.01 larc: true larc_turbo: true iter_size: 2"), 0);
  EXPECT_EQ(waits("momentum: 0.9 clip_gradients: 0.01"), 1);
}
#endif

template <typename Dtype>
class HalvingSolver : public SGDSolver<Dtype> {
 public:
  using SGDSolver<Dtype>::SGDSolver;

 protected:
  void ComputeUpdateValue(int param_id, Dtype) override {
    Blob<Dtype>& param = *this->net_->learnable_params()[param_id];
    for (int k = 0; k < param.count(); ++k) {
      param.mutable_cpu_diff()[k] = param.cpu_data()[k] / 2;
    }
  }
};

TEST(SolverOnDevice, OtherPeoplesRulesAreAsked) {
  const FakeDevice::Installed device;
  const ModeScope gpu(Caffe::GPU);
  HalvingSolver<double> solver(ParseOnDevice(""));
  const std::vector<double> before = Weights<double>(&solver);
  solver.Step(1);
  const std::vector<double> after = Weights<double>(&solver);
  for (size_t i = 0; i < before.size(); ++i) ASSERT_EQ(before[i] / 2, after[i]);
}

class SnapshotAcrossModes : public ::testing::TestWithParam<const char*> {
 protected:
  SolverParameter Param() {
    SolverParameter param = ParseOnDevice(GetParam());
    param.set_snapshot_prefix(prefix_);
    param.set_snapshot_after_train(false);
    // Data that a resumed run sees again: constant.
    param.mutable_net_param()
        ->mutable_layer(0)
        ->mutable_dummy_data_param()
        ->mutable_data_filler(0)
        ->set_type("constant");
    param.mutable_net_param()
        ->mutable_layer(0)
        ->mutable_dummy_data_param()
        ->mutable_data_filler(0)
        ->set_value(0.5);
    return param;
  }
  string StateAt(int iteration) const { return Join(prefix_, "_iter_", iteration, ".solverstate"); }
  /// The bytes of the two files that `solver` writes.
  std::pair<string, string> SnapshotOf(Solver<float>* solver) {
    solver->Snapshot();
    return {ReadFile(Join(prefix_, "_iter_", solver->iter(), ".caffemodel")),
            ReadFile(StateAt(solver->iter()))};
  }

  const string prefix_ = NewFileName();
};

TEST_P(SnapshotAcrossModes, ResumesBitForBitOnTheDevice) {
  OnEachDevice([&] {
    const auto whole = Make<float>(Param());
    whole->Step(3);
    whole->Snapshot();
    whole->Step(3);
    const auto resumed = Make<float>(Param());
    resumed->Step(1);  // not from a fresh device
    resumed->Restore(StateAt(3).c_str(), /*data_positions=*/true);
    resumed->Step(3);
    EXPECT_EQ(Weights(whole.get()), Weights(resumed.get()));
  });
}

TEST_P(SnapshotAcrossModes, TheOtherModeTakesUpTheSameBits) {
  for (const Caffe::Brew from : {Caffe::CPU, Caffe::GPU}) {
    OnEachDevice([&] {
      Caffe::set_mode(from);
      const auto writer = Make<float>(Param());
      writer->Step(3);
      const std::pair<string, string> written = SnapshotOf(writer.get());
      ASSERT_FALSE(written.first.empty());
      Caffe::set_mode(from == Caffe::CPU ? Caffe::GPU : Caffe::CPU);
      const auto reader = Make<float>(Param());
      reader->Restore(StateAt(3).c_str(), /*data_positions=*/true);
      EXPECT_EQ(SnapshotOf(reader.get()), written);
      reader->Step(1);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, SnapshotAcrossModes,
                         ::testing::Values("momentum: 0.9 weight_decay: 0.01",
                                           "type: 'Adam' delta: 0.01",
                                           "momentum: 0.5 larc: true larc_turbo: true"));

#ifndef CPU_ONLY
TEST(DeviceMemory, IsMissedWithTheLayersName) {
  const FakeDevice::Installed device(20000);
  const ModeScope gpu(Caffe::GPU);
  NetParameter param;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
    layer { name: 'x' type: 'DummyData' top: 'x' dummy_data_param { shape { dim: 4 dim: 9000 } } }
    layer { name: 'squash' type: 'TanH' bottom: 'x' top: 'y' } )",
                                                            &param));
  Net<float> net(param);
  const string error = ErrorOf([&] { net.Forward(); });
  ExpectContains(error, "layer 'squash'");
  ExpectContains(error, "144000 bytes were asked for, 20000 are free");
}
#endif

}  // namespace
}  // namespace caffe
