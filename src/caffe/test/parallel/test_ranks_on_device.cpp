// Solvers that train together, each on a device of its own: what ranks on the CPU learn.
#ifndef CPU_ONLY
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "caffe/ranks.hpp"
#include "caffe/sgd_solvers.hpp"
#include "caffe/test/support/each_device.hpp"
#include "caffe/test/support/fake_device.hpp"
#include "caffe/test/support/rank_threads.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

// Every rank draws data of its own.
SolverParameter Parameters(const string& solver_fields, const string& net_fields) {
  SolverParameter param;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      Join("base_lr: 0.1 lr_policy: 'fixed' momentum: 0.9 max_iter: 99 random_seed: ", TestSeed(),
           " ", solver_fields),
      &param));
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(net_fields + R"(
      layer { name: 'x' type: 'DummyData' top: 'x' top: 'label'
        dummy_data_param { shape { dim: 4 dim: 8 } shape { dim: 4 }
          data_filler { type: 'uniform' min: -1 max: 1 }
          data_filler { type: 'constant' value: 1 } } }
      layer { name: 'ip1' type: 'InnerProduct' bottom: 'x' top: 'a'
        inner_product_param { num_output: 30 weight_filler { type: 'xavier' } } }
      layer { name: 'tanh' type: 'TanH' bottom: 'a' top: 'a' }
      layer { name: 'ip2' type: 'InnerProduct' bottom: 'a' top: 'y'
        inner_product_param { num_output: 3 weight_filler { type: 'xavier' } } }
      layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'y' bottom: 'label' top: 'loss' } )",
                                                            param.mutable_net_param()));
  return param;
}

/// What each of `size` ranks has learned after a few steps.
std::vector<std::vector<float>> Learned(int size, Caffe::Brew mode, const SolverParameter& start) {
  std::vector<std::vector<float>> weights(size);
  const std::vector<string> errors = RunRanks(size, [&](Communicator* communicator) {
    Caffe::set_mode(mode);
    SolverParameter param = start;
    JoinRanks(communicator, BatchPer::RANK, &param);
    const shared_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(param));
    const Ranks<float> ranks(solver, communicator);
    solver->Step(4);
    for (const Blob<float>* blob : solver->net()->learnable_params()) {
      std::vector<float>& own = weights[communicator->rank()];
      own.insert(own.end(), blob->cpu_data(), blob->cpu_data() + blob->count());
    }
  });
  for (const string& error : errors) EXPECT_EQ(error, "");
  return weights;
}

/// Ranks on devices against ranks on the CPU, with further fields of the net.
void ExpectTheSame(const string& net_fields, float bound) {
  const SolverParameter param = Parameters("iter_size: 2 clip_gradients: 0.5", net_fields);
  const auto alone = Learned(1, Caffe::CPU, param);
  const auto expected = Learned(2, Caffe::CPU, param);
  EXPECT_NE(alone[0], expected[0]);
  const FakeDevice::Installed device;
  const ModeScope gpu(Caffe::GPU);
  const auto actual = Learned(2, Caffe::GPU, param);
  EXPECT_EQ(actual[0], actual[1]) << "ranks drift apart";
  ASSERT_EQ(actual[0].size(), expected[0].size());
  for (size_t i = 0; i < expected[0].size(); ++i) ASSERT_NEAR(actual[0][i], expected[0][i], bound);
}

class RanksOnDevice : public ::testing::TestWithParam<const char*> {};

TEST_P(RanksOnDevice, LearnWhatRanksOnTheCpuLearn) {
  ExpectTheSame(GetParam(), 1e-5f);
#ifdef TEST_FP16
  SCOPED_TRACE("FLOAT16");
  const string fp16 = " default_forward_type: FLOAT16 default_backward_type: FLOAT16";
  ExpectTheSame(GetParam() + fp16, 1e-3f);
#endif
}

INSTANTIATE_TEST_SUITE_P(Buckets, RanksOnDevice,
                         ::testing::Values("", "reduce_buckets: 3", "reduce_buckets: 0",
                                           "global_grad_scale: 1024 global_grad_scale_adaptive: "
                                           "true"));

}  // namespace
}  // namespace caffe
#endif  // CPU_ONLY
