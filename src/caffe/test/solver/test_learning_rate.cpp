#include "caffe/solver/learning_rate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "caffe/io/proto_text.hpp"
#include "caffe/sgd_solvers.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/io.hpp"

namespace caffe {
namespace {

TEST(Plateau, StepsWhereTheLossHasHadNoNewMinimum) {
  SolverParameter param;
  param.set_lr_policy("plateau");
  param.add_plateau_winsize(2);
  param.add_plateau_winsize(3);
  float minimum = 1e38f;
  int last_event = 0, step = 0;
  std::vector<int> steps;
  // Minima at 0, 1 and 5; steps at 3, two later than a minimum, and at 8, three later.
  const double same = 2.9999999;  // as a float it is larger
  const std::vector<double> losses = {5, 4, 4, 4.5, 6, same, same, NAN, same, 7, 7, 7, 7};
  for (size_t iter = 0; iter < losses.size(); ++iter) {
    FollowPlateau(param, static_cast<int>(iter), losses[iter], &minimum, &last_event, &step);
    steps.push_back(step);
  }
  EXPECT_EQ(steps, (std::vector<int>{0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2}));
  EXPECT_EQ(minimum, static_cast<float>(same));
  EXPECT_EQ(last_event, 8);
  param.set_lr_policy("step");
  step = 0;
  FollowPlateau(param, 100, 9, &minimum, &last_event, &step);
  EXPECT_EQ(step, 0) << "of other policies";
}

/// Climbs: the first loss is the least.
class PlateauRun : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Solver<float>> Make() {
    SolverParameter param;
    const std::string text = Join(
        "base_lr: -0.1 min_lr: -1 lr_policy: 'plateau' gamma: 0.5 plateau_winsize: 4 "
        "plateau_winsize: 3 "
        "max_iter: 100 snapshot_prefix: '",
        prefix_, "' snapshot_format: ", GetParam(), R"( net_param {
          layer { name: 'x' type: 'DummyData' top: 'x' top: 'label'
            dummy_data_param { shape { dim: 1 dim: 1 } shape { dim: 1 }
              data_filler { type: 'constant' value: 1 } data_filler { type: 'constant' } } }
          layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y'
            inner_product_param { num_output: 2 weight_filler { type: 'constant' value: 0.5 } } }
          layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'y' bottom: 'label' top: 'loss' } })");
    ParseProtoText(text, "test solver", &param);
    return std::unique_ptr<Solver<float>>(SolverRegistry<float>::CreateSolver(param));
  }
  static float WeightOf(Solver<float>* solver) {
    return solver->net()->learnable_params()[0]->cpu_data()[0];
  }

  const std::string prefix_ = NewFileName();
};

TEST_P(PlateauRun, ResumesWithItsMinimum) {
  const auto whole = Make();
  whole->Step(3);
  whole->Snapshot();
  whole->Step(6);
  const auto resumed = Make();
  const std::string hdf5 = std::string(GetParam()) == "HDF5" ? ".h5" : "";
  const std::string state = prefix_ + "_iter_3.solverstate" + hdf5;
  resumed->Restore(state.c_str(), /*data_positions=*/true);
  resumed->Step(6);
  EXPECT_LT(WeightOf(whole.get()), 0.5f) << "it climbs";
  EXPECT_EQ(WeightOf(resumed.get()), WeightOf(whole.get()));
  if (!hdf5.empty()) return;
  // SSD's fork has the minimum in fields of its own.
  SolverState of_ssd;
  ReadProtoFromBinaryFileOrDie(state, &of_ssd);
  EXPECT_NEAR(of_ssd.minimum_loss(), 0.6931, 1e-4) << "two equal logits";
  EXPECT_EQ(of_ssd.iter_last_event(), 0);
  of_ssd.clear_training_state();
  WriteProtoToBinaryFile(of_ssd, state);
  const auto other = Make();
  other->Restore(state.c_str());
  other->Step(6);
  EXPECT_EQ(WeightOf(other.get()), WeightOf(whole.get()));
}

#ifdef USE_HDF5
INSTANTIATE_TEST_SUITE_P(Solver, PlateauRun, ::testing::Values("BINARYPROTO", "HDF5"));
#else
INSTANTIATE_TEST_SUITE_P(Solver, PlateauRun, ::testing::Values("BINARYPROTO"));
#endif

}  // namespace
}  // namespace caffe
