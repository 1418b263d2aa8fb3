#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <regex>

#include "caffe/sgd_solvers.hpp"
#include "caffe/solver/snapshot_files.hpp"
#include "caffe/test/support/captured_log.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_databases.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/io.hpp"

namespace caffe {
namespace {

// The softmax loss of two logits that are the two weights themselves, with label 0: the gradient is
// known by hand.
const char kNet[] = R"(
  layer { name: 'x' type: 'DummyData' top: 'x' top: 'label'
    dummy_data_param { shape { dim: 1 dim: 1 } shape { dim: 1 }
      data_filler { type: 'constant' value: 1 } data_filler { type: 'constant' value: 0 } } }
  layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y'
    inner_product_param { num_output: 2 bias_term: false weight_filler { type: 'constant' value: 0.5 } } }
  layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'y' bottom: 'label' top: 'loss' } )";

SolverParameter Parse(const std::string& text, const std::string& net = kNet) {
  SolverParameter param;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &param)) << text;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(net, param.mutable_net_param()));
  return param;
}

/// The two weights and their histories by the rules as they are written, in double.
struct ByHand {
  double w[2] = {0.5, 0.5};
  double h[2] = {0, 0}, h2[2] = {0, 0};
  double gradient(int i) const {
    const double p = 1 / (1 + std::exp(w[1] - w[0]));
    return i == 0 ? p - 1 : 1 - p;
  }
};
using Rule = std::function<double(double g, double* h, double* h2, int t, double w)>;

void ExpectRule(const std::string& solver_text, const Rule& rule, int steps = 5) {
  SCOPED_TRACE(solver_text);
  std::unique_ptr<Solver<double>> solver(SolverRegistry<double>::CreateSolver(
      Parse(solver_text + " max_iter: 100 snapshot_after_train: false")));
  ByHand hand;
  for (int t = 0; t < steps; ++t) {
    const double g[2] = {hand.gradient(0), hand.gradient(1)};
    for (int i = 0; i < 2; ++i) hand.w[i] -= rule(g[i], &hand.h[i], &hand.h2[i], t, hand.w[i]);
    solver->Step(1);
    const double* w = solver->net()->learnable_params()[0]->cpu_data();
    // Numbers of the solver's prototxt are floats.
    EXPECT_NEAR(w[0], hand.w[0], 1e-6) << "step " << t;
    EXPECT_NEAR(w[1], hand.w[1], 1e-6) << "step " << t;
  }
}

TEST(SolverRules, Sgd) {
  ExpectRule("base_lr: 0.1 lr_policy: 'fixed' momentum: 0.9",
             [](double g, double* h, double*, int, double) { return *h = 0.9 * *h + 0.1 * g; });
}
TEST(SolverRules, Nesterov) {
  ExpectRule("type: 'Nesterov' base_lr: 0.1 lr_policy: 'fixed' momentum: 0.9",
             [](double g, double* h, double*, int, double) {
               const double old = *h;
               *h = 0.9 * *h + 0.1 * g;
               return 1.9 * *h - 0.9 * old;
             });
}
TEST(SolverRules, Sag) {
  ExpectRule("type: 'SAG' base_lr: 0.1 lr_policy: 'fixed' momentum: 0.9 weight_decay: 0.5",
             [](double g, double* h, double*, int, double w) {
               return 0.1 * (*h = 0.9 * *h + 0.1 * (g + 0.5 * w));
             });
}
TEST(SolverRules, AdaGrad) {
  ExpectRule("type: 'AdaGrad' base_lr: 0.1 lr_policy: 'fixed' delta: 0.01",
             [](double g, double* h, double*, int, double) {
               *h += g * g;
               return 0.1 * g / (std::sqrt(*h) + 0.01);
             });
}
TEST(SolverRules, RmsProp) {
  ExpectRule("type: 'RMSProp' base_lr: 0.1 lr_policy: 'fixed' delta: 0.01 rms_decay: 0.9",
             [](double g, double* h, double*, int, double) {
               *h = 0.9 * *h + 0.1 * g * g;
               return 0.1 * g / (std::sqrt(*h) + 0.01);
             });
}
TEST(SolverRules, AdaDelta) {
  ExpectRule("type: 'AdaDelta' base_lr: 1 lr_policy: 'fixed' momentum: 0.9 delta: 0.01",
             [](double g, double* h, double* h2, int, double) {
               *h = 0.9 * *h + 0.1 * g * g;
               const double update = g * std::sqrt((0.01 + *h2) / (0.01 + *h));
               *h2 = 0.9 * *h2 + 0.1 * update * update;
               return update;
             });
}
TEST(SolverRules, Adam) {
  ExpectRule(
      "type: 'Adam' base_lr: 0.1 lr_policy: 'fixed' momentum: 0.9 momentum2: 0.99 delta: 0.01",
      [](double g, double* h, double* h2, int t, double) {
        *h = 0.9 * *h + 0.1 * g;
        *h2 = 0.99 * *h2 + 0.01 * g * g;
        const double correction = std::sqrt(1 - std::pow(0.99, t + 1)) / (1 - std::pow(0.9, t + 1));
        return 0.1 * correction * *h / (std::sqrt(*h2) + 0.01);
      });
}
TEST(SolverRules, WeightDecay) {
  ExpectRule("base_lr: 0.1 lr_policy: 'fixed' weight_decay: 0.5",
             [](double g, double*, double*, int, double w) { return 0.1 * (g + 0.5 * w); });
  ExpectRule("base_lr: 0.1 lr_policy: 'fixed' weight_decay: 0.5 regularization_type: 'L1'",
             [](double g, double*, double*, int, double w) {
               return 0.1 * (g + 0.5 * (w > 0 ? 1 : w < 0 ? -1 : 0));
             });
  ExpectRule(
      "base_lr: 0.1 lr_policy: 'fixed' momentum: 0.5 weight_decay: 0.5 "
      "regularization_type: 'WD'",
      [](double g, double* h, double*, int, double w) {
        *h = 0.5 * *h + 0.1 * g;
        return *h + 0.1 * 0.5 * w;
      });
}
TEST(SolverRules, PoliciesOfTheRate) {
  const auto rates = [](const std::string& policy, const std::function<double(int)>& rate) {
    ExpectRule(
        "base_lr: 0.1 " + policy,
        [rate](double g, double*, double*, int t, double) { return rate(t) * g; }, 8);
  };
  rates("lr_policy: 'step' stepsize: 3 gamma: 0.5",
        [](int t) { return 0.1 * std::pow(0.5, t / 3); });
  rates("lr_policy: 'inv' gamma: 0.1", [](int) { return 0.1; });
  rates("lr_policy: 'poly'", [](int) { return 0.1; });
  rates("lr_policy: 'multistep' gamma: 0.5", [](int) { return 0.1; });
  rates("lr_policy: 'step' stepsize: 3", [](int t) { return t < 3 ? 0.1 : 0; });
  rates("lr_policy: 'exp' gamma: 0.9", [](int t) { return 0.1 * std::pow(0.9, t); });
  rates("lr_policy: 'inv' gamma: 0.1 power: 0.75",
        [](int t) { return 0.1 * std::pow(1 + 0.1 * t, -0.75); });
  rates("lr_policy: 'multistep' stepvalue: 2 stepvalue: 5 gamma: 0.1", [](int t) {
    return 0.1 * (t < 2 ? 1 : t < 5 ? 0.1 : 0.01);
  });
  rates("lr_policy: 'poly' power: 2", [](int t) { return 0.1 * std::pow(1 - t / 100., 2); });
  rates("lr_policy: 'sigmoid' gamma: -0.5 stepsize: 4",
        [](int t) { return 0.1 / (1 + std::exp(0.5 * (t - 4))); });
  // The loss rises, so that its first is the least: steps after 2 and 3 iterations more.
  const auto ascent = [](int t) { return -0.1 * std::pow(0.5, (t >= 2) + (t >= 5)); };
  ExpectRule(
      "base_lr: -0.1 min_lr: -1 lr_policy: 'plateau' gamma: 0.5 plateau_winsize: 2 "
      "plateau_winsize: 3",
      [&](double g, double*, double*, int t, double) { return ascent(t) * g; }, 10);
  rates("lr_policy: 'plateau' gamma: 0.5 plateau_winsize: 1", [](int) { return 0.1; });
  rates("lr_policy: 'fixed' rampup_interval: 4 rampup_lr: 0.02",
        [](int t) { return t < 4 ? 0.02 + 0.08 * t * t / 16. : 0.1; });
  rates("lr_policy: 'exp' gamma: 0.5 min_lr: 0.03",
        [](int t) { return std::max(0.03, 0.1 * std::pow(0.5, t)); });
}
TEST(SolverRules, PoliciesOfMomentumAndDecay) {
  ExpectRule(
      "base_lr: 0.1 lr_policy: 'fixed' momentum: 0.5 momentum_policy: 'poly' max_momentum: "
      "0.9 momentum_power: 2",
      [](double g, double* h, double*, int t, double) {
        return *h = (0.5 + 0.4 * std::pow(t / 100., 2)) * *h + 0.1 * g;
      });
  ExpectRule("base_lr: 0.1 lr_policy: 'fixed' momentum_policy: 'opt'",
             [](double g, double* h, double*, int, double) {
               return *h = std::pow(1 - 0.5 * std::sqrt(0.1), 2) * *h + 0.1 * g;
             });
  ExpectRule(
      "base_lr: 0.1 lr_policy: 'fixed' weight_decay: 0.1 weight_decay_policy: 'poly' "
      "max_weight_decay: 0.5",
      [](double g, double*, double*, int t, double w) {
        return 0.1 * (g + (0.1 + 0.4 * t / 100.) * w);
      });
}
TEST(SolverRules, TheLossScaleCancels) {
  SolverParameter plain = Parse("base_lr: 0.1 lr_policy: 'fixed' max_iter: 9");
  SolverParameter scaled = plain;
  scaled.mutable_net_param()->set_global_grad_scale(1024);
  std::unique_ptr<Solver<float>> a(SolverRegistry<float>::CreateSolver(plain));
  std::unique_ptr<Solver<float>> b(SolverRegistry<float>::CreateSolver(scaled));
  a->Step(5);
  b->Step(5);
  EXPECT_EQ(a->net()->learnable_params()[0]->cpu_data()[0],
            b->net()->learnable_params()[0]->cpu_data()[0]);
}
// Its losses are not scaled, so that its gradients are as they should be.
TEST(SolverRules, AProgramsOwnLoopHasNoLossScale) {
  const auto learned = [](const std::string& net_fields) {
    std::unique_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(
        Parse("base_lr: 0.1 lr_policy: 'fixed' max_iter: 9", net_fields + kNet)));
    solver->Step(1);
    for (int i = 0; i < 2; ++i) {
      solver->net()->ClearParamDiffs();
      solver->net()->ForwardBackward();
      solver->ApplyUpdate();
    }
    solver->Step(1);
    return solver->net()->learnable_params()[0]->cpu_data()[0];
  };
  const float expected = learned("");
  EXPECT_EQ(learned("global_grad_scale: 1024"), expected);
  EXPECT_EQ(learned("global_grad_scale_adaptive: true"), expected);
}
TEST(SolverRules, LarcScalesByNormsForEverySolver) {
  // |w| / |g| times eta times (1 - momentum) multiplies the rate.
  const auto first_step = [](const std::string& text) {
    std::unique_ptr<Solver<double>> solver(SolverRegistry<double>::CreateSolver(
        Parse(text + " base_lr: 0.1 lr_policy: 'fixed' max_iter: 9")));
    solver->Step(1);
    return 0.5 - solver->net()->learnable_params()[0]->cpu_data()[0];
  };
  const double g = -0.5, ratio = std::sqrt(0.5) / std::sqrt(0.5);
  EXPECT_NEAR(first_step("larc: true larc_eta: 0.01"), 0.1 * 0.01 * ratio * g, 1e-8);
  EXPECT_NEAR(first_step("larc: true larc_eta: 0.01 momentum: 0.5"), 0.1 * 0.005 * ratio * g, 1e-8);
  EXPECT_NEAR(first_step("larc: true larc_eta: 0.01 larc_policy: 'clip'"), 0.01 * ratio * g, 1e-8);
  EXPECT_NEAR(first_step("larc: true larc_eta: 10 larc_policy: 'clip'"), 0.1 * g, 1e-8);
  EXPECT_NEAR(first_step("type: 'AdaGrad' larc: true larc_eta: 0.01 delta: 0"), -0.001 * ratio,
              1e-8);
}
TEST(SolverRules, ClippingBoundsTheNorm) {
  std::unique_ptr<Solver<double>> solver(SolverRegistry<double>::CreateSolver(
      Parse("base_lr: 1 lr_policy: 'fixed' clip_gradients: 0.1 max_iter: 9")));
  solver->Step(1);
  const double* w = solver->net()->learnable_params()[0]->cpu_data();
  EXPECT_NEAR(std::hypot(w[0] - 0.5, w[1] - 0.5), 0.1, 1e-6);
}

std::string RefusalOf(const SolverParameter& param) {
  try {
    std::unique_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(param));
    solver->CheckTraining();
  } catch (const Error& error) {
    EXPECT_NE(error.field(), "") << error.what();
    return error.what();
  }
  return "";
}

TEST(SolverBadInput, IsRefusedInPlainWords) {
  const std::string fixed = "base_lr: 0.1 lr_policy: 'fixed' ";
  const auto expect = [](const std::string& text, const std::string& wanted) {
    const std::string error = RefusalOf(Parse(text));
    EXPECT_NE(error.find(wanted), std::string::npos) << text << " -> " << error;
  };
  expect(fixed + "type: 'Adamm'", "did you mean 'Adam'");
  expect("base_lr: 1 lr_policy: 'fixd'", "valid are fixed, step");
  expect("base_lr: 1 lr_policy: 'step' gamma: 0.1", "needs a positive stepsize");
  expect("base_lr: 1 lr_policy: 'plateau' gamma: 0.1", "needs positive numbers as plateau_winsize");
  expect("base_lr: 1 lr_policy: 'plateau' gamma: 0.1 plateau_winsize: 0",
         "needs positive numbers as plateau_winsize");
  expect(fixed + "average_loss: 0", "average_loss must be at least 1");
  expect(fixed + "iter_size: 0", "iter_size must be at least 1");
  expect(fixed + "type: 'AdaGrad' momentum: 0.9", "AdaGrad has no momentum");
  expect(fixed + "type: 'RMSProp' rms_decay: 1", "rms_decay");
  expect(fixed + "type: 'RMSProp' momentum: 0.9", "RMSProp has no momentum");
  expect(fixed + "type: 'Adam' momentum: 1", "momentum of Adam is 1: give at least 0 and less");
  expect(fixed + "type: 'Adam' momentum2: 1", "momentum2 of Adam is 1: give at least 0 and less");
  expect("base_lr: nan lr_policy: 'fixed'", "base_lr is nan: give a finite number");
  expect(fixed + "weight_decay: inf", "weight_decay is inf: give a finite number");
  expect("base_lr: 1", "lr_policy is missing: valid are fixed, step");
  expect(fixed + "test_state { } test_state { }", "test_state must be given once for each");
  expect(fixed + "snapshot_prefix: '/no/such/folder/x'", "/no/such/folder/x");
  expect(fixed + "test_iter: 1", "test_interval must be positive");
  expect(fixed + "regularization_type: 'L3'", "valid are L2, L1, WD");
  expect(fixed + "momentum_policy: 'x'", "valid are fixed, poly and opt");
  expect(fixed + "larc: true larc_policy: 'x'", "valid are scale and clip");
  expect(fixed + "snapshot: 1 snapshot_prefix: '/no/such/folder/x'", "/no/such/folder/x");
  SolverParameter two = Parse(fixed);
  two.set_net("x.prototxt");
  EXPECT_NE(RefusalOf(two).find("only one of"), std::string::npos);
  two.clear_net();
  two.mutable_net_param()->set_global_grad_scale(NAN);
  EXPECT_NE(RefusalOf(two).find("global_grad_scale must be positive"), std::string::npos);
  two.clear_net_param();
  EXPECT_NE(RefusalOf(two).find("needs a net"), std::string::npos);
}

/// A database of random images, and a folder for snapshots.
class Resume : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
#ifndef USE_LMDB
    GTEST_SKIP() << "built without LMDB";
#endif
#ifndef USE_HDF5
    if (string(std::get<1>(GetParam())) == "HDF5") GTEST_SKIP() << "built without HDF5";
#endif
    folder_ = NewFolder();
    std::vector<Datum> records;
    std::mt19937 random(TestSeed());
    for (int i = 0; i < 23; ++i) {
      std::string pixels(64, '\0');
      for (char& pixel : pixels) pixel = static_cast<char>(random());
      records.push_back(GreyDatum(8, pixels, i % 3));
    }
    database_ = NewDatabase(records);
  }

  SolverParameter Param(const std::string& prefix) {
    const std::string data = R"(top: 'data' top: 'label' transform_param { scale: 0.01 crop_size: 6
        mirror: true } data_param { source: ')" +
                             database_ + R"(' batch_size: )";
    const std::string net = "layer { name: 'd' type: 'Data' include { phase: TRAIN } " + data +
                            "5 backend: LMDB } }" +
                            "layer { name: 'd' type: 'Data' include { phase: TEST } " + data +
                            "4 backend: LMDB } }" + R"(
      layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' convolution_param {
        num_output: 4 kernel_size: 3 weight_filler { type: 'xavier' } } }
      layer { name: 'bn' type: 'BatchNorm' bottom: 'conv' top: 'bn' }
      layer { name: 'relu' type: 'ReLU' bottom: 'bn' top: 'bn' }
      layer { name: 'drop' type: 'Dropout' bottom: 'bn' top: 'bn' }
      layer { name: 'ip' type: 'InnerProduct' bottom: 'bn' top: 'ip' inner_product_param {
        num_output: 3 weight_filler { type: 'xavier' } } }
      layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' } )";
    return Parse(
        Join("type: '", std::get<0>(GetParam()), "' base_lr: 0.01 lr_policy: 'inv' gamma: ",
             "0.1 power: 0.75 weight_decay: 0.001 iter_size: 2 average_loss: 4 max_iter: 9 ",
             "random_seed: ", TestSeed(), " test_iter: 2 test_iter: 1 test_interval: 2 ",
             "snapshot_format: ", std::get<1>(GetParam()), " snapshot_prefix: '", folder_, "/",
             prefix, "'"),
        net);
  }

  /// A run that is stopped, restored and ended has the parameters of one that never stopped.
  void ExpectResumes(const NetParameter& net_fields);

  using Values = std::vector<float>;
  static Values Parameters(Solver<float>* solver) {
    Values values;
    for (const auto& blob : solver->net()->params()) {
      values.insert(values.end(), blob->cpu_data(), blob->cpu_data() + blob->count());
    }
    return values;
  }

  std::string folder_, database_;
};

void Resume::ExpectResumes(const NetParameter& net_fields) {
  const auto make = [&](const std::string& prefix) {
    SolverParameter param = Param(prefix);
    param.mutable_net_param()->MergeFrom(net_fields);
    return std::unique_ptr<Solver<float>>(SolverRegistry<float>::CreateSolver(param));
  };
  const std::unique_ptr<Solver<float>> whole = make("whole");
  whole->Step(9);
  const Values expected = Parameters(whole.get());

  const bool hdf5 = std::string(std::get<1>(GetParam())) == "HDF5";
  std::unique_ptr<Solver<float>> first = make("part");
  first->Step(5);
  first->Snapshot();
  first->Step(1);  // the run that is interrupted may have gone on
  first.reset();

  const std::unique_ptr<Solver<float>> second = make("part");
  const std::string state = folder_ + "/part_iter_5.solverstate" + (hdf5 ? ".h5" : "");
  second->Restore(state.c_str(), /*data_positions=*/true);
  EXPECT_EQ(second->iter(), 5);
  second->Step(4);
  EXPECT_EQ(Parameters(second.get()), expected);
}

TEST_P(Resume, IsBitIdenticalToARunThatNeverStopped) { ExpectResumes(NetParameter()); }

// As Caffe's own tests of snapshots: Restore, and then a forward pass for each batch of the past.
TEST_P(Resume, RestoreAloneLeavesThePastDataToTheProgram) {
  const auto make = [&] {
    SolverParameter param = Param("part");
    param.clear_test_iter();
    param.clear_test_interval();
    for (LayerParameter& layer : *param.mutable_net_param()->mutable_layer()) {
      if (layer.name() == "bn") layer.set_type("ReLU");  // forward passes change statistics
    }
    return std::unique_ptr<Solver<float>>(SolverRegistry<float>::CreateSolver(param));
  };
  const std::unique_ptr<Solver<float>> whole = make();
  whole->Step(5);
  whole->Snapshot();
  whole->Step(4);

  const std::unique_ptr<Solver<float>> second = make();
  const bool hdf5 = std::string(std::get<1>(GetParam())) == "HDF5";
  second->Restore((folder_ + "/part_iter_5.solverstate" + (hdf5 ? ".h5" : "")).c_str());
  for (int i = 0; i < 5 * 2; ++i) second->net()->Forward();  // iter_size is 2
  second->Step(4);
  EXPECT_EQ(Parameters(second.get()), Parameters(whole.get()));
}

// 23 records, of which an iteration takes 2 * 5: epochs end with iterations 3, 5, 7 (and 10).
TEST_P(Resume, TestsAndSnapshotsAtTheEndOfTheLastEpochs) {
  const auto train = [&](const std::string& prefix, const std::string& state) {
    SolverParameter param = Param(prefix);
    param.set_max_iter(7);
    param.set_snapshot_after_train(false);
    param.set_display(7);
    param.set_test_and_snapshot_last_epochs(2);
    const std::unique_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(param));
    solver->Solve(state.empty() ? nullptr : state.c_str());
    return Parameters(solver.get());
  };
  const auto snapshots = [&](const std::string& prefix) {
    std::vector<std::string> names;  // without the prefix
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path().filename();
      if (name.rfind(prefix, 0) == 0) names.push_back(name.substr(prefix.size()));
    }
    std::sort(names.begin(), names.end());
    return names;
  };
  const Values whole = train("whole", "");
  const std::vector<std::string> expected = snapshots("whole");
  ASSERT_EQ(expected.size(), 4u);
  const std::regex form(
      "_iter_([57])_score0_[0-9.e-]+_score1_[0-9.e-]+\\.(caffemodel|solverstate)(\\.h5)?");
  for (const std::string& name : expected) EXPECT_TRUE(std::regex_match(name, form)) << name;

  EXPECT_EQ(train("part", folder_ + "/whole" + expected[1]), whole);
  EXPECT_EQ(snapshots("part"), expected) << "of the same scores";
  for (const std::string& name : expected) {
    if (name.find("caffemodel") == std::string::npos) continue;
    EXPECT_EQ(ReadFile(folder_ + "/part" + name), ReadFile(folder_ + "/whole" + name)) << name;
  }

  // The pass that shows the last loss is no part of the last snapshot, which goes on from there.
  SolverParameter param = Param("more");
  param.set_max_iter(9);
  const auto more = [&](int from, const std::string& state) {
    const std::unique_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(param));
    if (!state.empty()) solver->Restore(state.c_str(), /*data_positions=*/true);
    solver->Step(9 - from);
    return Parameters(solver.get());
  };
  EXPECT_EQ(more(7, folder_ + "/whole" + expected[3]), more(0, ""));
}

// The resumed run tests again, with the same batches.
TEST_P(Resume, ASnapshotInTheMiddleOfATestHasItBeginAgain) {
  const auto make = [&](const std::string& prefix) {
    return std::unique_ptr<Solver<float>>(SolverRegistry<float>::CreateSolver(Param(prefix)));
  };
  const auto positions = [](Solver<float>* solver) {
    std::vector<std::string> states;
    for (const auto& net : solver->test_nets()) states.push_back(net->layers()[0]->SaveState());
    return states;
  };
  const std::unique_ptr<Solver<float>> whole = make("whole");
  whole->Step(7);
  const bool hdf5 = std::string(std::get<1>(GetParam())) == "HDF5";
  const std::string state = folder_ + "/part_iter_4.solverstate" + (hdf5 ? ".h5" : "");
  for (const SolverAction::Enum request : {SolverAction::SNAPSHOT, SolverAction::STOP}) {
    std::remove(state.c_str());
    const std::unique_ptr<Solver<float>> first = make("part");
    int calls = 0;
    first->SetActionFunction([&] {
      if (first->iter() != 4 || ++calls != 3) return SolverAction::NONE;
      return request;  // behind iteration 4 and the first of two batches of its test
    });
    first->Solve();
    EXPECT_EQ(first->iter(), request == SolverAction::STOP ? 4 : 9);
    const std::unique_ptr<Solver<float>> second = make("part");
    second->Restore(state.c_str(), /*data_positions=*/true);
    second->Step(3);
    EXPECT_EQ(positions(second.get()), positions(whole.get())) << request;
    EXPECT_EQ(Parameters(second.get()), Parameters(whole.get())) << request;
  }
}

// Snapshots hold the masters, which float16 would truncate.
TEST_P(Resume, IsBitIdenticalInFloat16) {
  NetParameter half;
  half.set_default_forward_type(FLOAT16);
  half.set_default_backward_type(FLOAT16);
  half.set_global_grad_scale_adaptive(true);
  ExpectResumes(half);
}

// Ranges and their counters are resumed, and what is simulated from which iteration on.
TEST_P(Resume, IsBitIdenticalWithQuantizedTraining) {
  NetParameter quantized;
  QuantizedTrainingParameter* param = quantized.mutable_quantized_training();
  param->set_weight_bits(4);
  param->set_start_iter(2);
  param->set_activation_delay(2);
  param->set_freeze_batch_norm_iter(7);
  ExpectResumes(quantized);
}

TEST_P(Resume, APreviousSnapshotSurvivesAFullDisk) {
  const auto files = [this] {
    std::map<std::string, std::string> contents;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.is_regular_file()) contents[entry.path()] = ReadFile(entry.path());
    }
    return contents;
  };
  std::unique_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(Param("part")));
  solver->Step(2);
  solver->Snapshot();
  const auto before = files();
  ASSERT_EQ(before.size(), 2u);
  solver->Step(1);
  std::string message;
  {
    const FileSizeLimit limit(1000);
    message = ErrorOf([&] { solver->Snapshot(); });
  }
  ExpectContains(message, folder_ + "/part_iter_3.caffemodel");
  EXPECT_EQ(files(), before);
  solver->Step(1);
  solver->Snapshot();  // there is space again
  EXPECT_EQ(files().size(), 4u);
}

INSTANTIATE_TEST_SUITE_P(Solver, Resume,
                         ::testing::Combine(::testing::Values("SGD", "Nesterov", "SAG", "AdaGrad",
                                                              "RMSProp", "AdaDelta", "Adam"),
                                            ::testing::Values("BINARYPROTO", "HDF5")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + std::get<1>(info.param);
                         });

TEST(SolverSnapshot, AStateOfAnotherSolverNeedsAsMuchHistory) {
  const std::string folder = NewFolder();
  const std::string common = "base_lr: 0.1 lr_policy: 'fixed' max_iter: 9 ";
  std::unique_ptr<Solver<float>> sgd(
      SolverRegistry<float>::CreateSolver(Parse(common + "snapshot_prefix: '" + folder + "/s'")));
  sgd->Step(1);
  sgd->Snapshot();
  const std::string state = folder + "/s_iter_1.solverstate";
  std::unique_ptr<Solver<float>> adam(
      SolverRegistry<float>::CreateSolver(Parse(common + "type: 'Adam'")));
  EXPECT_THROW(adam->Restore(state.c_str()), Error);
  std::unique_ptr<Solver<float>> nesterov(
      SolverRegistry<float>::CreateSolver(Parse(common + "type: 'Nesterov'")));
  nesterov->Restore(state.c_str());  // with a warning, as in Caffe
  EXPECT_EQ(nesterov->iter(), 1);
  EXPECT_THROW(sgd->Restore((folder + "/none.solverstate").c_str()), Error);
}

TEST(SolverSnapshot, TakesUpWhenTheFolderWasMoved) {
  const std::string folder = NewFolder();
  const std::string common = "base_lr: 0.1 lr_policy: 'fixed' max_iter: 9 ";
  mkdir((folder + "/a").c_str(), 0755);
  std::unique_ptr<Solver<float>> solver(
      SolverRegistry<float>::CreateSolver(Parse(common + "snapshot_prefix: '" + folder + "/a/s'")));
  solver->Step(2);
  solver->Snapshot();
  const float w = solver->net()->learnable_params()[0]->cpu_data()[0];
  ASSERT_EQ(std::rename((folder + "/a").c_str(), (folder + "/b").c_str()), 0);
  std::unique_ptr<Solver<float>> other(SolverRegistry<float>::CreateSolver(Parse(common)));
  other->Restore((folder + "/b/s_iter_2.solverstate").c_str());
  EXPECT_EQ(other->iter(), 2);
  EXPECT_EQ(other->net()->learnable_params()[0]->cpu_data()[0], w);
}

TEST(SolverActions, StopsAndSnapshotsWhenAsked) {
  const std::string folder = NewFolder();
  std::unique_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(
      Parse("base_lr: 0.1 lr_policy: 'fixed' max_iter: 100 snapshot_prefix: '" + folder + "/s'")));
  int calls = 0;
  solver->SetActionFunction([&calls] {
    ++calls;
    return calls == 3   ? SolverAction::SNAPSHOT
           : calls == 5 ? SolverAction::STOP
                        : SolverAction::NONE;
  });
  solver->Solve();
  EXPECT_EQ(solver->iter(), 5);
  EXPECT_TRUE(std::ifstream(folder + "/s_iter_3.solverstate").good());
  EXPECT_TRUE(std::ifstream(folder + "/s_iter_5.solverstate").good());
}

TEST(Solver, WarnsOfOddFieldsOfThePolicyOfTheRate) {
  const auto logs = [](const std::string& policy, const std::string& wanted) {
    CapturedLog log;
    std::unique_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(
        Parse("base_lr: 1 snapshot_after_train: false lr_policy: " + policy)));
    return log.HasPrefix(wanted);
  };
  const auto warns = [&](const std::string& policy, const std::string& wanted) {
    return logs(policy, "lr_policy " + wanted);
  };
  const std::string steps = "'multistep' gamma: 0.1 stepvalue: 5 stepvalue: ";
  EXPECT_TRUE(logs(steps + "2", "stepvalue 2 stands behind 5"));
  EXPECT_FALSE(logs(steps + "5", "stepvalue"));
  EXPECT_TRUE(warns("'inv' gamma: 0.1", "'inv' is given no power, which is taken for 0"));
  EXPECT_TRUE(warns("'step' stepsize: 3", "'step' is given no gamma, which is taken for 0"));
  EXPECT_TRUE(warns("'multistep' gamma: 0.1", "'multistep' is given no stepvalue, which is taken"));
  EXPECT_FALSE(warns("'inv' gamma: 0.1 power: 0.75", ""));
}

TEST(Solver, SaysWhereNoLayerTellsTheLengthOfAnEpoch) {
  CapturedLog log;
  std::unique_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(
      Parse("base_lr: 1 lr_policy: 'fixed' test_and_snapshot_last_epochs: 5 snapshot_prefix: '" +
            NewFileName() + "'")));
  solver->Step(1);
  EXPECT_TRUE(log.HasPrefix("test_and_snapshot_last_epochs has no effect"));
}

TEST(Solver, PutsFiveScoresIntoTheNamesOfSnapshots) {
  EXPECT_EQ(ScoresInName({0.5, NAN, 1e-7, 3, 4, 5}), "_score0_0.5_score2_1e-07_score3_3_score4_4");
  EXPECT_EQ(ScoresInName({}), "");
}

}  // namespace
}  // namespace caffe
