#include "caffe/ranks.hpp"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>

#include "caffe/data/rank_settings.hpp"
#include "caffe/parallel.hpp"
#include "caffe/parallel/gradient_buckets.hpp"
#include "caffe/test/support/captured_log.hpp"
#include "caffe/test/support/rank_threads.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_databases.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

using Errors = std::vector<std::string>;
using Values = std::vector<double>;

NetParameter ParseNet(const std::string& text) {
  NetParameter net;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &net)) << text;
  return net;
}

std::unique_ptr<Net<double>> TrainNet(const std::string& text) {
  NetParameter param = ParseNet(text);
  param.mutable_state()->set_phase(TRAIN);
  return std::make_unique<Net<double>>(param);
}

// Parameters of 2, 20 + 10, 40 elements in the layers 1, 2, 4; layer 3 works in place on layer 2's.
const char kThreeLayers[] = R"(
  layer { name: 'x' type: 'DummyData' top: 'x' dummy_data_param { shape { dim: 1 dim: 1 } } }
  layer { name: 'a' type: 'InnerProduct' bottom: 'x' top: 'a'
    inner_product_param { num_output: 2 bias_term: false } }
  layer { name: 'b' type: 'InnerProduct' bottom: 'a' top: 'b' inner_product_param { num_output: 10 } }
  layer { name: 'scale' type: 'Scale' bottom: 'b' top: 'b' param { lr_mult: MULT } }
  layer { name: 'c' type: 'InnerProduct' bottom: 'b' top: 'c'
    inner_product_param { num_output: 4 bias_term: false } }
  layer { name: 'loss' type: 'Reduction' bottom: 'c' top: 'loss' loss_weight: 1 } )";

std::string WithMultiplier(int multiplier) {
  std::string text = kThreeLayers;
  return text.replace(text.find("MULT"), 4, std::to_string(multiplier));
}

TEST(GradientBuckets, AreRunsFromTheLastLayerToTheFirst) {
  const auto net = TrainNet(WithMultiplier(1));  // 82 elements
  const std::vector<GradientBucket> one = GradientBuckets(*net, 1);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].offset, 0u);
  EXPECT_EQ(one[0].ready_at, 1);

  const std::vector<GradientBucket> two = GradientBuckets(*net, 2);  // 40 are not yet half of 82
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].ready_at, 2) << "the layer that makes what 'scale' works on";
  EXPECT_EQ(two[1].offset, 0u);
  EXPECT_LE(two[1].count, two[0].offset);

  const std::vector<GradientBucket> each = GradientBuckets(*net, 0);
  ASSERT_EQ(each.size(), 5u);
  EXPECT_EQ(each[0].count, 40u);
  EXPECT_EQ(each[0].ready_at, 4);
  EXPECT_EQ(each[1].ready_at, 2);
  EXPECT_EQ(each[4].count, 2u);
  ExpectContains(ErrorOf([&] { GradientBuckets(*net, -1); }), "reduce_buckets");
}

TEST(GradientBuckets, LeaveOutFrozenParametersAtTheEnds) {
  const auto frozen = TrainNet(WithMultiplier(0));
  EXPECT_EQ(GradientBuckets(*frozen, 0).size(), 4u);
  // Between trained ones they lie in a run.
  EXPECT_EQ(GradientBuckets(*frozen, 1).size(), 1u);
}

TEST(GradientBuckets, OfSharedParametersWaitForTheFirstLayer) {
  const auto net = TrainNet(R"(
    layer { name: 'x' type: 'DummyData' top: 'x' dummy_data_param { shape { dim: 1 dim: 3 } } }
    layer { name: 'a' type: 'InnerProduct' bottom: 'x' top: 'a' param { name: 'w' }
      inner_product_param { num_output: 3 bias_term: false } }
    layer { name: 'b' type: 'InnerProduct' bottom: 'a' top: 'b' param { name: 'w' }
      inner_product_param { num_output: 3 bias_term: false } }
    layer { name: 'loss' type: 'Reduction' bottom: 'b' top: 'loss' loss_weight: 1 } )");
  const std::vector<GradientBucket> buckets = GradientBuckets(*net, 0);
  ASSERT_EQ(buckets.size(), 1u);
  EXPECT_EQ(buckets[0].count, 9u);
  EXPECT_EQ(buckets[0].ready_at, 1);
}

#ifdef USE_LMDB

/// What a solver keeps to itself.
template <typename Dtype>
struct Inside : Solver<Dtype> {
  static Dtype Loss(Solver<Dtype>* solver) { return solver->*&Inside::smoothed_loss_; }
  static double Scale(Solver<Dtype>* solver) { return (solver->*&Inside::loss_scale_).value(); }
};

class RanksTest : public ::testing::Test {
 protected:
  static constexpr int kRecords = 24;

  // Records of 1 x 6 x 6 with three labels; number `dazzling`, if any, is white.
  static std::string Database(int dazzling = -1) {
    std::vector<Datum> records;
    std::mt19937 random(TestSeed());
    for (int i = 0; i < kRecords; ++i) {
      std::string pixels;
      for (int pixel = 0; pixel < 36; ++pixel) {
        pixels.push_back(i == dazzling ? '\xff' : static_cast<char>(random() % 128));
      }
      records.push_back(GreyDatum(6, pixels, i % 3));
    }
    return NewDatabase(records);
  }

  // Two parameters are one: that of the layers 'ip1' and 'ip2'.
  static std::string Layers() {
    return R"(
      layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' convolution_param {
        num_output: 4 kernel_size: 3 weight_filler { type: 'xavier' } } }
      layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }
      layer { name: 'flat' type: 'Flatten' bottom: 'conv' top: 'flat' }
      layer { name: 'ip0' type: 'InnerProduct' bottom: 'flat' top: 'ip0' inner_product_param {
        num_output: 5 weight_filler { type: 'xavier' } } }
      layer { name: 'ip1' type: 'InnerProduct' bottom: 'ip0' top: 'ip1' param { name: 'w' }
        inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }
      layer { name: 'tanh' type: 'TanH' bottom: 'ip1' top: 'ip1' }
      layer { name: 'ip2' type: 'InnerProduct' bottom: 'ip1' top: 'ip2' param { name: 'w' }
        inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }
      layer { name: 'ip3' type: 'InnerProduct' bottom: 'ip2' top: 'ip3' inner_product_param {
        num_output: 3 weight_filler { type: 'xavier' } } }
      layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip3' bottom: 'label' top: 'loss' }
      layer { name: 'accuracy' type: 'Accuracy' bottom: 'ip3' bottom: 'label' top: 'accuracy'
        include { phase: TEST } } )";
  }

  static std::string DataLayer(const std::string& database, int batch_size, const char* phase,
                               const std::string& transform = "") {
    return Join("layer { name: 'd' type: 'Data' top: 'data' top: 'label' include { phase: ", phase,
                " } transform_param { scale: 0.01 ", transform, " } data_param { source: '",
                database, "' backend: LMDB batch_size: ", batch_size, " } } ");
  }

  static SolverParameter Solver(const std::string& solver, const std::string& net) {
    SolverParameter param;
    CHECK(google::protobuf::TextFormat::ParseFromString(
        Join("lr_policy: 'fixed' max_iter: 100 random_seed: ", TestSeed(),
             " snapshot_after_train: false ", solver),
        &param))
        << solver;
    *param.mutable_net_param() = ParseNet(net);
    return param;
  }

  /// The final state of every rank.
  template <typename Dtype>
  struct Outcome {
    std::vector<Values> losses, parameters;  // per rank
    Values scales;
  };

  template <typename Dtype>
  static Values ParametersOf(caffe::Solver<Dtype>* solver) {
    Values values;
    for (const Blob<Dtype>* blob : solver->net()->learnable_params()) {
      values.insert(values.end(), blob->cpu_data(), blob->cpu_data() + blob->count());
    }
    return values;
  }

  template <typename Dtype>
  static shared_ptr<caffe::Solver<Dtype>> Create(const SolverParameter& param) {
    return shared_ptr<caffe::Solver<Dtype>>(SolverRegistry<Dtype>::CreateSolver(param));
  }

  /// `steps` iterations of a solver alone.
  template <typename Dtype>
  static Outcome<Dtype> Alone(const SolverParameter& param, int steps) {
    const auto solver = Create<Dtype>(param);
    Outcome<Dtype> outcome;
    outcome.losses.resize(1);
    for (int i = 0; i < steps; ++i) {
      solver->Step(1);
      outcome.losses[0].push_back(Inside<Dtype>::Loss(solver.get()));
    }
    outcome.parameters.push_back(ParametersOf(solver.get()));
    outcome.scales.push_back(Inside<Dtype>::Scale(solver.get()));
    return outcome;
  }

  /// The same of `count` solvers together.
  template <typename Dtype>
  static Outcome<Dtype> Together(int count, const SolverParameter& param, int steps,
                                 BatchPer batch_per = BatchPer::RANK) {
    Outcome<Dtype> outcome;
    outcome.losses.resize(count);
    outcome.parameters.resize(count);
    outcome.scales.resize(count);
    const Errors errors = RunRanks(count, [&](Communicator* communicator) {
      SolverParameter own = param;
      JoinRanks(communicator, batch_per, &own);
      const auto solver = Create<Dtype>(own);
      Ranks<Dtype> ranks(solver, communicator);
      const int rank = communicator->rank();
      for (int i = 0; i < steps; ++i) {
        solver->Step(1);
        outcome.losses[rank].push_back(Inside<Dtype>::Loss(solver.get()));
      }
      outcome.parameters[rank] = ParametersOf(solver.get());
      outcome.scales[rank] = Inside<Dtype>::Scale(solver.get());
    });
    EXPECT_EQ(errors, Errors(count));
    return outcome;
  }

  static void ExpectNear(const Values& found, const Values& expected, double tolerance) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], expected[i], tolerance) << "number " << i;
    }
  }

  /// All ranks have the same parameters, bit for bit, and those of a solver alone to `tolerance`.
  template <typename Dtype>
  static void ExpectEqual(const Outcome<Dtype>& together, const Outcome<Dtype>& alone,
                          double tolerance) {
    for (size_t rank = 0; rank < together.losses.size(); ++rank) {
      SCOPED_TRACE(Join("rank ", rank));
      EXPECT_EQ(together.parameters[rank], together.parameters[0]);
      ExpectNear(together.losses[rank], alone.losses[0], tolerance);
      EXPECT_EQ(together.scales[rank], alone.scales[0]);
    }
    ExpectNear(together.parameters[0], alone.parameters[0], tolerance);
  }
};

class RanksOfSolver : public RanksTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(RanksOfSolver, TrainAsOneWithTheWholeBatch) {
  const std::string database = Database();
  const auto param = [&](int batch_size) {
    return Solver(GetParam(), DataLayer(database, batch_size, "TRAIN") + Layers());
  };
  ExpectEqual(Together<double>(2, param(4), 6), Alone<double>(param(8), 6), 1e-10);
  ExpectEqual(Together<float>(2, param(4), 6), Alone<float>(param(8), 6), 1e-6);
  ExpectEqual(Together<double>(3, param(2), 6), Alone<double>(param(6), 6), 1e-10);
}

INSTANTIATE_TEST_SUITE_P(
    All, RanksOfSolver,
    ::testing::Values("type: 'SGD' base_lr: 0.05 momentum: 0.9 weight_decay: 0.01",
                      "type: 'Nesterov' base_lr: 0.05 momentum: 0.9 weight_decay: 0.01",
                      "type: 'AdaGrad' base_lr: 0.01 delta: 0.01 weight_decay: 0.01",
                      "type: 'RMSProp' base_lr: 0.001 delta: 0.01 rms_decay: 0.9",
                      "type: 'AdaDelta' base_lr: 1 momentum: 0.9 delta: 0.001",
                      "type: 'Adam' base_lr: 0.01 momentum: 0.9 momentum2: 0.99 delta: 0.001",
                      "base_lr: 0.05 momentum: 0.9 iter_size: 3",
                      "base_lr: 0.05 momentum: 0.9 clip_gradients: 0.05",
                      "base_lr: 0.05 momentum: 0.9 iter_size: 2 clip_gradients: 0.05",
                      "base_lr: 0.05 momentum: 0.9 regularization_type: 'L1' weight_decay: 0.01",
                      "base_lr: 0.5 momentum: 0.9 larc: true larc_eta: 0.01",
                      "base_lr: 0.05 momentum: 0.9 debug_info: true"));

TEST_F(RanksTest, TrainAlikeInAnyNumberOfMessages) {
  const std::string net = DataLayer(Database(), 4, "TRAIN", "mirror: true crop_size: 5") + Layers();
  const auto buckets = [&](int count) {
    return Together<float>(
               2, Solver("base_lr: 0.05 momentum: 0.9", Join(net, "reduce_buckets: ", count)), 4)
        .parameters;
  };
  const std::vector<Values> expected = buckets(1);
  for (const int count : {0, 2, 3, 6, 1000}) EXPECT_EQ(buckets(count), expected) << count;
}

// Random mirrors and crops are those that each record would get in the large batch.
TEST_F(RanksTest, AugmentRecordsAsOneSolverDoes) {
  const std::string database = Database();
  const auto param = [&](int batch_size) {
    return Solver("base_lr: 0.05",
                  DataLayer(database, batch_size, "TRAIN", "mirror: true crop_size: 4") + Layers());
  };
  ExpectEqual(Together<double>(2, param(3), 9), Alone<double>(param(6), 9), 1e-10);
}

TEST_F(RanksTest, DivideTheBatchWhereItIsThatOfAll) {
  const std::string net = DataLayer(Database(), 6, "TRAIN") + Layers();
  const SolverParameter param = Solver("base_lr: 0.05", net);
  ExpectEqual(Together<double>(2, param, 3, BatchPer::ALL_RANKS), Alone<double>(param, 3), 1e-10);
  const Errors errors = RunRanks(4, [&](Communicator* communicator) {
    SolverParameter own = param;
    JoinRanks(communicator, BatchPer::ALL_RANKS, &own);
    Create<float>(own);
  });
  for (const std::string& error : errors) {
    ExpectContains(error, "layer 'd' (Data): data_param: batch_size 6 cannot be divided among 4");
  }
}

TEST_F(RanksTest, UndoTheLossScale) {
  const std::string database = Database();
  const auto param = [&](int batch_size) {
    return Solver("base_lr: 0.05 momentum: 0.9 clip_gradients: 0.1",
                  DataLayer(database, batch_size, "TRAIN") + Layers() + "global_grad_scale: 128");
  };
  ExpectEqual(Together<float>(2, param(4), 6), Alone<float>(param(8), 6), 1e-6);
}

// The white image is rank 1's: the exponential of its pixels overflows there alone.
TEST_F(RanksTest, SkipAStepThatOverflowsOnAnyOfThem) {
  const std::string database = Database(/*dazzling=*/9);
  const std::string layers =
      "layer { name: 'exp' type: 'Exp' bottom: 'data' top: 'bright' exp_param { scale: 50 } }"
      "layer { name: 'dim' type: 'Power' bottom: 'bright' top: 'dim' power_param { scale: 1e-30 } }"
      "layer { name: 'fc' type: 'InnerProduct' bottom: 'dim' top: 'fc' inner_product_param { "
      "  num_output: 3 weight_filler { type: 'xavier' } } }"
      "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'fc' bottom: 'label' top: 'loss' }"
      "global_grad_scale_adaptive: true global_grad_scale: 64";
  const auto param = [&](int batch_size) {
    return Solver("base_lr: 0.05 momentum: 0.9", DataLayer(database, batch_size, "TRAIN") + layers);
  };
  const auto alone = Alone<float>(param(4), 4);
  EXPECT_EQ(alone.scales[0], 32) << "one step overflows";
  EXPECT_TRUE(std::isfinite(alone.parameters[0][0]));
  const auto together = Together<float>(2, param(2), 4);
  EXPECT_EQ(together.scales, (Values{32, 32}));
  EXPECT_EQ(together.parameters[1], together.parameters[0]);
  ExpectNear(together.parameters[0], alone.parameters[0], 1e-6);
}

TEST_F(RanksTest, BeginWithTheParametersOfRank0) {
  const SolverParameter param = Solver("base_lr: 0", DataLayer(Database(), 2, "TRAIN") + Layers());
  std::vector<Values> parameters(2);
  const Errors errors = RunRanks(2, [&](Communicator* communicator) {
    SolverParameter own = param;
    JoinRanks(communicator, BatchPer::RANK, &own);
    const auto solver = Create<float>(own);
    for (Blob<float>* blob : solver->net()->learnable_params()) {
      std::fill_n(blob->mutable_cpu_data(), blob->count(), 1.f + communicator->rank());
    }
    Ranks<float> ranks(solver, communicator);
    parameters[communicator->rank()] = ParametersOf(solver.get());
  });
  EXPECT_EQ(errors, Errors(2));
  EXPECT_EQ(parameters[1], Values(parameters[0].size(), 1));
}

TEST_F(RanksTest, RefuseToTrainDifferentNets) {
  const std::string database = Database();
  const Errors errors = RunRanks(2, [&](Communicator* communicator) {
    std::string layers = Layers();
    SolverParameter own = Solver("base_lr: 0", DataLayer(database, 2, "TRAIN") + layers);
    JoinRanks(communicator, BatchPer::RANK, &own);
    if (communicator->rank() == 1) {
      own.mutable_net_param()->mutable_layer(1)->mutable_convolution_param()->set_num_output(3);
    }
    Ranks<float> ranks(Create<float>(own), communicator);
  });
  ExpectContains(errors[0], "the ranks train different nets");
  ExpectContains(errors[1], "the ranks train different nets");
}

TEST_F(RanksTest, TellTheErrorOfTheLowestThatFailsOnce) {
  std::mutex mutex;
  Errors told;
  const Errors errors = RunRanks(3, [&](Communicator* communicator) {
    const auto tell = [&](const std::string& message) {
      const std::lock_guard<std::mutex> lock(mutex);
      told.push_back(message);
    };
    AllOf(
        communicator, [] {}, tell);
    const auto work = [&] { Require(communicator->rank() == 0, "not ", communicator->rank()); };
    AllOf(communicator, work, tell);
  });
  EXPECT_EQ(told, (Errors{"not 1"}));
  EXPECT_EQ(errors, Errors(3, "another rank has failed"));
}

/// The numbers of logged lines that begin with `prefix`: behind "= ", or ": " where there is none.
Values LoggedValues(const CapturedLog& log, const std::string& prefix) {
  Values values;
  for (const std::string& line : log.lines()) {
    if (line.compare(0, prefix.size(), prefix) != 0) continue;
    const size_t number = line.find("= ");
    values.push_back(std::stod(line.substr((number == line.npos ? line.find(": ") : number) + 2)));
  }
  return values;
}

TEST_F(RanksTest, ShareTheBatchesOfATest) {
  const std::string database = Database();
  // 6 batches of 4: all records. Of 3 not each of 4 ranks has one, and of 3 and 5 the next test
  // begins with those of another rank.
  for (const int batches : {6, 5, 3}) {
    SCOPED_TRACE(batches);
    const auto param = [&](int batch_size) {
      return Solver(
          Join("base_lr: 0.1 test_iter: ", batches,
               " test_interval: 2 display: 1 test_compute_loss: true"),
          DataLayer(database, batch_size, "TRAIN") + DataLayer(database, 4, "TEST") + Layers());
    };
    const auto logged = [](const CapturedLog& log) {
      Values values = LoggedValues(log, "    Test net output");
      for (const char* prefix : {"    Train net output", "Test loss"}) {
        for (const double value : LoggedValues(log, prefix)) values.push_back(value);
      }
      return values;
    };
    Values expected;
    {
      const CapturedLog log;
      Alone<float>(param(8), 5);
      expected = logged(log);
      EXPECT_EQ(LoggedValues(log, "    Test net output").size(), 6u);
    }
    for (const int ranks : {2, 4}) {
      const CapturedLog log;
      Together<float>(ranks, param(8 / ranks), 5);
      ExpectNear(logged(log), expected, 2e-6);
      EXPECT_TRUE(log.Has(Join("Test net (#0): ", batches, " batches, of which each of the ", ranks,
                               " ranks tests its share")));
      EXPECT_TRUE(log.Has(
          Join("Effective batch of layer 'd': 8 (", 8 / ranks, " on each of ", ranks, " ranks)")));
    }
  }
}

TEST_F(RanksTest, TestEachAllOfDataThatIsNotDealtOut) {
  const std::string database = Database();
  std::string layers = Layers();
  const SolverParameter param = Solver(
      "base_lr: 0 test_iter: 3 test_interval: 1",
      DataLayer(database, 2, "TRAIN") + layers +
          R"(layer { name: 'same' type: 'DummyData' top: 'data' top: 'label' include { phase: TEST }
             dummy_data_param { shape { dim: 1 dim: 1 dim: 6 dim: 6 } shape { dim: 1 } } })");
  // Data come first.
  SolverParameter ordered = param;
  NetParameter* net = ordered.mutable_net_param();
  const LayerParameter dummy = net->layer(net->layer_size() - 1);
  for (int i = net->layer_size() - 1; i > 0; --i) *net->mutable_layer(i) = net->layer(i - 1);
  *net->mutable_layer(0) = dummy;
  const CapturedLog log;
  Together<float>(2, ordered, 1);
  EXPECT_TRUE(
      log.Has("Test net (#0): every rank tests 3 batches: layer 'same' (DummyData) does not "
              "deal out its data"));
  const Values scores = LoggedValues(log, "    Test net output");
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_LE(scores[0], 1);
}

/// Stops, or asks for a snapshot, on rank 1 after two iterations.
ActionCallback After(int iterations, SolverAction::Enum action) {
  auto left = std::make_shared<int>(iterations);
  return [left, action] { return --*left == 0 ? action : SolverAction::NONE; };
}

TEST_F(RanksTest, StopTogetherWhenOneIsAskedTo) {
  const SolverParameter param = Solver("base_lr: 0", DataLayer(Database(), 2, "TRAIN") + Layers());
  std::vector<int> iterations(3);
  const Errors errors = RunRanks(3, [&](Communicator* communicator) {
    SolverParameter own = param;
    JoinRanks(communicator, BatchPer::RANK, &own);
    const auto solver = Create<float>(own);
    Ranks<float> ranks(solver, communicator);
    const int rank = communicator->rank();
    solver->SetActionFunction(ranks.Agreed(After(rank == 1 ? 2 : -1, SolverAction::STOP)));
    solver->Solve();
    iterations[rank] = solver->iter();
  });
  EXPECT_EQ(errors, Errors(3));
  EXPECT_EQ(iterations, (std::vector<int>{2, 2, 2}));
}

/// Caffe::set_solver_count as programs call it, until the end of a test.
class SolverCount {
 public:
  explicit SolverCount(int count) { Caffe::set_solver_count(count); }
  ~SolverCount() { Caffe::set_solver_count(1); }
};

TEST_F(RanksTest, OfP2PSyncTrainAsOneWithTheWholeBatch) {
  const std::string database = Database();
  const auto param = [&](int batch_size) {
    SolverParameter param =
        Solver("base_lr: 0.1 momentum: 0.9", DataLayer(database, batch_size, "TRAIN") + Layers());
    param.set_max_iter(5);
    return param;
  };
  const SolverCount count(3);
  const shared_ptr<caffe::Solver<double>> root(GetSolver<double>(param(2)));
  P2PSync<double> sync(root, nullptr, root->param());
  EXPECT_EQ(sync.solver(), root);
  sync.Run({0, 1, 2});
  EXPECT_EQ(root->iter(), 5);
  Caffe::set_solver_count(1);
  const auto alone = Alone<double>(param(6), 5);
  ExpectNear(ParametersOf(root.get()), alone.parameters[0], 1e-12);

  // Afterwards it is an ordinary solver.
  EXPECT_TRUE(root->callbacks().empty());
  EXPECT_FALSE(RankSettings::Current().joined);
  root->Step(1);
  EXPECT_EQ(root->iter(), 6);
}

TEST_F(RanksTest, OfP2PSyncGoOnWhereTheRootSolverIs) {
  SolverParameter param = Solver("base_lr: 0.1", DataLayer(Database(), 4, "TRAIN") + Layers());
  param.set_max_iter(4);
  const SolverCount count(2);
  const shared_ptr<caffe::Solver<float>> root(GetSolver<float>(param));
  root->Step(3);
  P2PSync<float>(root, nullptr, root->param()).Run({0, 1});
  EXPECT_EQ(root->iter(), 4) << "and the other rank has waited for it no longer than that";
}

TEST_F(RanksTest, OfP2PSyncStopTogetherWhenTheRootIsAskedTo) {
  const SolverParameter param = Solver("base_lr: 0", DataLayer(Database(), 2, "TRAIN") + Layers());
  const SolverCount count(2);
  const shared_ptr<caffe::Solver<float>> root(GetSolver<float>(param));
  root->SetActionFunction(After(2, SolverAction::STOP));
  P2PSync<float>(root, nullptr, root->param()).Run({0, 1});
  EXPECT_EQ(root->iter(), 2);
}

TEST_F(RanksTest, OfP2PSyncAreAsManyAsTheSolverWasMadeFor) {
  const SolverParameter param = Solver("base_lr: 0", DataLayer(Database(), 2, "TRAIN") + Layers());
  const shared_ptr<caffe::Solver<float>> root(GetSolver<float>(param));
  P2PSync<float> sync(root, nullptr, param);
  ExpectContains(ErrorOf([&] { sync.Run({0, 1}); }), "call Caffe::set_solver_count");
  ExpectContains(ErrorOf([&] { P2PSync<float> child(root, &sync, param); }), "null parent");
}

TEST_F(RanksTest, OfP2PSyncSayWhatFailedFirst) {
  SolverParameter param = Solver("base_lr: 0", DataLayer(Database(), 2, "TRAIN") + Layers());
  const SolverCount count(2);
  const shared_ptr<caffe::Solver<float>> root(GetSolver<float>(param));
  param.clear_net_param();
  param.set_net("/nowhere/net.prototxt");  // what the other rank is made of
  P2PSync<float> sync(root, nullptr, param);
  ExpectContains(ErrorOf([&] { sync.Run({0, 1}); }), "/nowhere/net.prototxt");
}

class RanksSnapshot : public RanksTest {
 protected:
  // What each rank draws by itself, and statistics that each has of its own.
  SolverParameter Param(const std::string& prefix) {
    const std::string layers = R"(
      layer { name: 'bn' type: 'BatchNorm' bottom: 'data' top: 'bn' }
      layer { name: 'scale' type: 'Scale' bottom: 'bn' top: 'bn' scale_param { bias_term: true } }
      layer { name: 'drop' type: 'Dropout' bottom: 'bn' top: 'bn' }
      layer { name: 'ip' type: 'InnerProduct' bottom: 'bn' top: 'ip' inner_product_param {
        num_output: 3 weight_filler { type: 'xavier' } } }
      layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' } )";
    return Solver(Join("type: 'Adam' base_lr: 0.01 momentum: 0.9 momentum2: 0.99 average_loss: 3 ",
                       tests_, " snapshot: 3 snapshot_prefix: '", prefix, "'"),
                  DataLayer(database_, 4, "TRAIN", "mirror: true crop_size: 5") +
                      DataLayer(database_, 3, "TEST", "crop_size: 5") + layers);
  }

  /// Trains to iteration `end`, from a snapshot if `state` names one; the ranks' losses on the way.
  std::vector<Values> Run(int count, const std::string& prefix, int end,
                          const std::string& state = "") {
    std::vector<Values> found(count);
    const Errors errors = RunRanks(count, [&](Communicator* communicator) {
      SolverParameter param = Param(prefix);
      JoinRanks(communicator, BatchPer::RANK, &param);
      const auto solver = Create<float>(param);
      Ranks<float> ranks(solver, communicator);
      if (!state.empty()) {
        if (communicator->rank() == 0) solver->Restore(state.c_str(), /*data_positions=*/true);
        ranks.BroadcastState();
        EXPECT_EQ(solver->iter(), 3);
      }
      while (solver->iter() < end) solver->Step(1);
      found[communicator->rank()] = ParametersOf(solver.get());
      found[communicator->rank()].push_back(Inside<float>::Loss(solver.get()));
    });
    EXPECT_EQ(errors, Errors(count));
    return found;
  }

  const std::string database_ = Database();
  std::string tests_ = "test_iter: 2 test_interval: 2";
};

// Of three batches rank 0 has two in the first test, rank 1 in the second.
TEST_F(RanksSnapshot, TestsGoOnWithTheirNextBatch) {
  tests_ = "test_iter: 3 test_interval: 3";
  const auto scores = [&](const std::string& state) {
    const CapturedLog log;
    Run(2, NewFileName(), 5, state);
    return LoggedValues(log, "    Test net output");
  };
  const std::string prefix = NewFileName();
  Run(2, prefix, 3);
  const Values whole = scores(""), resumed = scores(prefix + "_iter_3.solverstate");
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_EQ(resumed, Values(1, whole[1]));
}

TEST_F(RanksSnapshot, IsWrittenByRank0AndResumedBitForBit) {
  const std::string whole = NewFileName(), part = NewFileName();
  const std::vector<Values> expected = Run(2, whole, 5);
  Run(2, part, 4);
  EXPECT_EQ(Run(2, part, 5, part + "_iter_3.solverstate"), expected);
  const auto folder = std::filesystem::path(part).parent_path();
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files += entry.is_regular_file();
  }
  EXPECT_EQ(files, 2) << "a caffemodel and a solverstate";
}

TEST_F(RanksSnapshot, IsResumedByAnotherNumberOfRanks) {
  const std::string prefix = NewFileName();
  Run(2, prefix, 3);
  const std::string state = prefix + "_iter_3.solverstate";
  EXPECT_EQ(Run(3, prefix, 5, state).size(), 3u);
  const auto alone = Create<float>(Param(prefix));
  alone->Restore(state.c_str(), /*data_positions=*/true);
  alone->Step(2);
  EXPECT_EQ(alone->iter(), 5);
}

// BatchNorm's are its mean, its variance and how much they weigh.
TEST_F(RanksSnapshot, HasTheMeanOfTheRanksStatistics) {
  const std::string prefix = NewFileName();
  std::vector<std::vector<float>> own(2);
  std::vector<float> after;
  const Errors errors = RunRanks(2, [&](Communicator* communicator) {
    SolverParameter param = Param(prefix);
    param.set_snapshot(0);
    JoinRanks(communicator, BatchPer::RANK, &param);
    const auto solver = Create<float>(param);
    Ranks<float> ranks(solver, communicator);
    solver->Step(1);
    const Blob<float>& mean = *solver->net()->layer_by_name("bn")->blobs()[0];
    own[communicator->rank()].assign(mean.cpu_data(), mean.cpu_data() + mean.count());
    solver->Snapshot();
    if (communicator->rank() == 1) after.assign(mean.cpu_data(), mean.cpu_data() + mean.count());
  });
  EXPECT_EQ(errors, Errors(2));
  ASSERT_EQ(after.size(), own[0].size());
  EXPECT_NE(own[0], own[1]);
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_FLOAT_EQ(after[i], (own[0][i] + own[1][i]) / 2) << own[0][i] << " and " << own[1][i];
  }
}

#endif  // USE_LMDB

}  // namespace
}  // namespace caffe
