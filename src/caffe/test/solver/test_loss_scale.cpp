// The loss scale of FLOAT16 training: when it changes, and what solvers do then.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "caffe/float16.hpp"
#include "caffe/kernels/update.hpp"
#include "caffe/loss_scale.hpp"
#include "caffe/sgd_solvers.hpp"
#include "caffe/test/support/captured_log.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

TEST(LossScale, DynamicOnesAreHalvedByOverflowAndDoubledByALongGoodRun) {
  LossScale scale(1024, /*dynamic=*/true);
  scale.Record(/*finite_gradients=*/false);
  EXPECT_EQ(scale.value(), 512);
  for (int step = 1; step < LossScale::kGoodSteps; ++step) scale.Record(true);
  EXPECT_EQ(scale.value(), 512);
  scale.Record(true);
  EXPECT_EQ(scale.value(), 1024);
  EXPECT_EQ(scale.good_steps(), 0);
}

TEST(LossScale, OverflowInterruptsAGoodRun) {
  LossScale scale(8, true);
  for (int step = 1; step < LossScale::kGoodSteps; ++step) scale.Record(true);
  scale.Record(false);
  scale.Record(true);
  EXPECT_EQ(scale.value(), 4);
  EXPECT_EQ(scale.good_steps(), 1);
}

TEST(LossScale, StaysWithinItsBounds) {
  LossScale scale(1, true);
  for (int step = 0; step < 100; ++step) scale.Record(false);
  EXPECT_EQ(scale.value(), LossScale::kSmallest);
  for (int step = 0; step < 60 * LossScale::kGoodSteps; ++step) scale.Record(true);
  EXPECT_EQ(scale.value(), LossScale::kLargest);
}

TEST(LossScale, RefusesWhatScalesNothing) {
  for (const double bad : {0., -1., double(INFINITY), double(NAN)}) {
    ExpectContains(ErrorOf([&] { LossScale(bad, false); }), "global_grad_scale must be positive");
    ExpectContains(ErrorOf([&] { LossScale(1, true).Resume(bad, 0); }), "damaged");
  }
  ExpectContains(ErrorOf([] { LossScale(1, true).Resume(1, -1); }), "damaged");
  ExpectContains(ErrorOf([] { LossScale(1, true).Resume(1, LossScale::kGoodSteps); }), "damaged");
}

template <typename T>
void ExpectBadOnesAreFound() {
  std::vector<T> values(70000, std::numeric_limits<T>::max());
  values[0] = std::numeric_limits<T>::denorm_min();
  EXPECT_TRUE(kernels::AllFinite(values.size(), values.data()));
  for (const size_t at : {size_t(0), size_t(1500), values.size() - 1}) {
    for (const T bad : {std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(),
                        std::numeric_limits<T>::quiet_NaN()}) {
      std::vector<T> changed = values;
      changed[at] = bad;
      EXPECT_FALSE(kernels::AllFinite(changed.size(), changed.data())) << at << " " << bad;
    }
  }
  EXPECT_TRUE(kernels::AllFinite<T>(0, nullptr));
}

TEST(AllFinite, FindsInfinitiesAndNaNsAnywhere) {
  ExpectBadOnesAreFound<float>();
  ExpectBadOnesAreFound<double>();
}

// The gradient of each logit is one half at first: scaled by 2^17 or more it is no float16.
const char kScaledNet[] = R"(
  default_forward_type: FLOAT16 default_backward_type: FLOAT16
  layer { name: 'x' type: 'DummyData' top: 'x' top: 'label'
    dummy_data_param { shape { dim: 1 dim: 1 } shape { dim: 1 }
      data_filler { type: 'constant' value: 1 } data_filler { type: 'constant' value: 0 } } }
  layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param {
    num_output: 2 bias_term: false weight_filler { type: 'constant' value: 0.5 } } }
  layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'y' bottom: 'label' top: 'loss' } )";

class DynamicLossScale : public ::testing::Test {
 protected:
  std::unique_ptr<Solver<float>> Make(const string& net_fields, const string& solver_fields = "") {
    SolverParameter param;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        Join("base_lr: 0.1 lr_policy: 'fixed' momentum: 0.9 max_iter: 99 snapshot_prefix: '",
             prefix_, "' ", solver_fields),
        &param));
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(net_fields + kScaledNet,
                                                              param.mutable_net_param()));
    return std::unique_ptr<Solver<float>>(SolverRegistry<float>::CreateSolver(param));
  }

  static std::vector<float> Weights(const Solver<float>& solver) {
    const Blob<float>& blob = *const_cast<Solver<float>&>(solver).net()->learnable_params()[0];
    return {blob.cpu_data(), blob.cpu_data() + blob.count()};
  }

  const string prefix_ = NewFileName();
};

TEST_F(DynamicLossScale, SkipsStepsThatOverflowAndSaysSo) {
  const auto dynamic = Make("global_grad_scale: 262144 global_grad_scale_adaptive: true");
  const auto fixed = Make("global_grad_scale: 1024");
  CapturedLog log;
  dynamic->Step(5);
  EXPECT_EQ(dynamic->iter(), 5);
  const string kSkipped = ": gradients overflow, the update is skipped; the loss scale falls from ";
  EXPECT_TRUE(log.Has("Iteration 0" + kSkipped + "262144 to 131072"));
  EXPECT_TRUE(log.Has("Iteration 1" + kSkipped + "131072 to 65536"));
  EXPECT_FALSE(log.HasPrefix("Iteration 2" + kSkipped));
  fixed->Step(3);
  EXPECT_EQ(Weights(*dynamic), Weights(*fixed));
}

// By how many updates its averages are of.
TEST_F(DynamicLossScale, SkippedStepsDoNotCountForAdam) {
  const auto dynamic =
      Make("global_grad_scale: 262144 global_grad_scale_adaptive: true", "type: 'Adam'");
  const auto fixed = Make("global_grad_scale: 1024", "type: 'Adam'");
  dynamic->Step(5);
  fixed->Step(3);
  EXPECT_EQ(Weights(*dynamic), Weights(*fixed));
}

TEST_F(DynamicLossScale, SaysThatNoScaleHelps) {
  const auto solver = Make("global_grad_scale: 5.9604645e-08 global_grad_scale_adaptive: true");
  solver->net()->learnable_params()[0]->mutable_cpu_data()[0] = NAN;
  CapturedLog log;
  solver->Step(1);
  EXPECT_TRUE(
      log.HasPrefix("Iteration 0: gradients are infinite or not numbers with the smallest loss "
                    "scale, 5.96046e-08, too, and the update is skipped"));
}

TEST_F(DynamicLossScale, ClippingSeesUnscaledGradients) {
  const auto dynamic = Make("global_grad_scale_adaptive: true", "clip_gradients: 0.1");
  const auto fixed = Make("", "clip_gradients: 0.1");
  dynamic->Step(4);
  fixed->Step(4);
  for (int i = 0; i < 2; ++i) EXPECT_NEAR(Weights(*dynamic)[i], Weights(*fixed)[i], 1e-4);
}

TEST_F(DynamicLossScale, AFixedOneSkipsNothing) {
  const auto fixed = Make("global_grad_scale: 262144");
  fixed->Step(1);
  EXPECT_FALSE(std::isfinite(Weights(*fixed)[0]));
}

TEST_F(DynamicLossScale, ARunGoesOnWithTheScaleItHad) {
  const string kAdaptive = "global_grad_scale: 262144 global_grad_scale_adaptive: true";
  for (const char* format : {"BINARYPROTO", "HDF5"}) {
#ifndef USE_HDF5
    if (string(format) == "HDF5") continue;
#endif
    const string snapshot = Join("type: 'Adam' snapshot_format: ", format);
    const auto whole = Make(kAdaptive, snapshot);
    whole->Step(3);
    whole->Snapshot();
    whole->Step(2);
    const auto resumed = Make(kAdaptive, snapshot);
    const string state =
        Join(prefix_, "_iter_3.solverstate", string(format) == "HDF5" ? ".h5" : "");
    resumed->Restore(state.c_str(), /*data_positions=*/true);
    resumed->Step(2);
    EXPECT_EQ(Weights(*resumed), Weights(*whole)) << format;
  }
}

}  // namespace
}  // namespace caffe
