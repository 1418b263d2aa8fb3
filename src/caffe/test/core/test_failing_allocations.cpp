// What is left when memory is refused, at any moment: an Error or std::bad_alloc, nothing lost, and
// objects that work when there is memory again.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "caffe/inference/builder.hpp"
#include "caffe/inference/calibrator.hpp"
#include "caffe/sgd_solvers.hpp"
#include "caffe/test/support/failing_allocations.hpp"
#include "caffe/test/support/inference_test.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/test_databases.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

constexpr int64_t kAll = 400;    // allocations that are each refused
constexpr int64_t kStride = 37;  // and from there on

const char kLayers[] = R"(
  layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'
    convolution_param { num_output: 8 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }
  layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }
  layer { name: 'pool' type: 'Pooling' bottom: 'conv' top: 'pool'
    pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
  layer { name: 'again' type: 'Convolution' bottom: 'pool' top: 'again'
    convolution_param { num_output: 8 kernel_size: 1 weight_filler { type: 'xavier' } } }
  layer { name: 'sum' type: 'Eltwise' bottom: 'pool' bottom: 'again' top: 'sum' }
  layer { name: 'ip' type: 'InnerProduct' bottom: 'sum' top: 'ip'
    inner_product_param { num_output: 3 weight_filler { type: 'xavier' } } } )";

std::string DeployText() {
  return std::string(
             "name: 'small' layer { name: 'data' type: 'Input' top: 'data' "
             "input_param { shape { dim: 2 dim: 4 dim: 8 dim: 8 } } }") +
         kLayers + "layer { name: 'prob' type: 'Softmax' bottom: 'ip' top: 'prob' }";
}

std::string TrainText() {
  return std::string(R"(
    layer { name: 'data' type: 'DummyData' top: 'data' top: 'label'
      dummy_data_param { shape { dim: 2 dim: 4 dim: 8 dim: 8 } shape { dim: 2 }
        data_filler { type: 'gaussian' std: 1 } data_filler { type: 'constant' value: 1 } } } )") +
         kLayers +
         "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }";
}

/// The net's two files.
struct SavedNet {
  SavedNet() : model(NewFile(DeployText())), weights(NewFileName()) {
    const std::unique_ptr<Net<float>> net = MakeNet<float>(DeployText());
    NetParameter param;
    net->ToProto(&param);
    WriteProtoToBinaryFile(param, weights);
    hdf5 = NewFileName() + ".h5";
    net->ToHDF5(hdf5);
  }
  std::string model, weights, hdf5;
};

void NothingToCheck() {}

/// Fills what the process keeps, then refuses each allocation of work().
void RefuseInTurn(const std::function<void()>& work,
                  const std::function<void()>& check = NothingToCheck, int64_t all = kAll,
                  int64_t stride = kStride) {
  for (int i = 0; i < 4; ++i) {
    work();
    check();
  }
  RefuseEachAllocation(work, check, all, stride);
}

TEST(FailingAllocations, OfANetThatIsLoadedAndRun) {
  const SavedNet saved;
  RefuseInTurn([&] {
    Net<float> net(saved.model, TEST);
    net.CopyTrainedLayersFrom(saved.weights);
    net.Forward();
  });
}

TEST(FailingAllocations, OfANetOfFloat16) {
  const SavedNet saved;
  RefuseInTurn([&] {
    NetParameter param = ParseNet("default_forward_type: FLOAT16 " + DeployText());
    param.mutable_state()->set_phase(TEST);
    Net<float> net(param);
    net.CopyTrainedLayersFrom(saved.weights);
    net.Forward();
  });
}

TEST(FailingAllocations, OfWeightsInHdf5) {
  const SavedNet saved;
  const std::unique_ptr<Net<float>> net = MakeNet<float>(DeployText());
  RefuseInTurn([&] { net->CopyTrainedLayersFrom(saved.hdf5); });
}

TEST(FailingAllocations, OfAForwardPassLeaveTheNetUsable) {
  const std::unique_ptr<Net<float>> net = MakeNet<float>(DeployText());
  net->Forward();
  const std::vector<double> wanted = Values(*net->blob_by_name("prob"));
  int batch = 2;
  RefuseInTurn(
      [&] {
        batch = 5 - batch;  // 2, 3, 2, ...
        net->input_blobs()[0]->Reshape({batch, 4, 8, 8});
        net->Reshape();
        net->Forward();
      },
      [&] {
        for (const int images : {3, 2, 2, 2}) {  // until the pool's memory is planned again
          net->input_blobs()[0]->Reshape({images, 4, 8, 8});
          std::fill_n(net->input_blobs()[0]->mutable_cpu_data(), images * 4 * 8 * 8, 0.f);
          net->Reshape();
          net->Forward();
        }
        EXPECT_EQ(Values(*net->blob_by_name("prob")), wanted);
      });
}

SolverParameter SmallSolver(const std::string& more = "") {
  SolverParameter param;
  ParseProtoText(
      "base_lr: 0.01 lr_policy: 'fixed' momentum: 0.9 max_iter: 1000000 "
      "snapshot_after_train: false display: 0 " +
          more,
      "solver", &param);
  *param.mutable_net_param() = ParseNet(TrainText());
  return param;
}

TEST(FailingAllocations, OfASolverThatIsMadeAndStepped) {
  const SolverParameter param = SmallSolver();
  RefuseInTurn([&] {
    const std::unique_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(param));
    solver->Step(1);
  });
}

TEST(FailingAllocations, OfAStepLeaveTheSolverUsable) {
  const std::unique_ptr<Solver<float>> solver(
      SolverRegistry<float>::CreateSolver(SmallSolver("clip_gradients: 10")));
  RefuseInTurn([&] { solver->Step(1); },
               [&] {
                 const int before = solver->iter();
                 solver->Step(1);
                 EXPECT_EQ(solver->iter(), before + 1);
                 EXPECT_TRUE(std::isfinite(solver->net()->blob_by_name("loss")->cpu_data()[0]));
               });
}

TEST(FailingAllocations, OfASnapshotLeaveWholeFiles) {
  const std::string prefix = NewFileName();
  SolverParameter param = SmallSolver();
  param.set_snapshot_prefix(prefix);
  const std::unique_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(param));
  solver->Step(1);
  RefuseInTurn([&] { solver->Snapshot(); },
               [&] {
                 solver->Restore((prefix + "_iter_1.solverstate").c_str());
                 EXPECT_EQ(solver->iter(), 1);
               });
}

TEST(FailingAllocations, OfADataLayerThatReadsAhead) {
  std::vector<Datum> records;
  for (int i = 0; i < 6; ++i) records.push_back(PlainDatum(i, i, 4));
  const std::string source = NewDatabase(records);
  const std::string text =
      "layer { name: 'data' type: 'Data' top: 'data' top: 'label' data_param { source: '" + source +
      "' backend: LMDB batch_size: 4 } }";
  RefuseInTurn([&] {
    const std::unique_ptr<Net<float>> net = MakeNet<float>(text, TRAIN);
    for (int i = 0; i < 4; ++i) net->Forward();
  });
}

/// Two batches.
class ShortCalibration : public EntropyCalibrator {
 public:
  int64_t GetBatch(Net<float>* net) override {
    if (batches_ == 2) return 0;
    ++batches_;
    Blob<float>& input = *net->input_blobs()[0];
    float* const values = input.mutable_cpu_data();
    for (int i = 0; i < input.count(); ++i) values[i] = static_cast<float>(i % 7 * batches_ - 5);
    return input.shape(0);
  }

 private:
  int batches_ = 0;
};

TEST(FailingAllocations, OfACalibrationLeaveTheNetUsable) {
  const std::unique_ptr<Net<float>> net = MakeNet<float>(DeployText());
  const auto calibrate = [&] {
    ShortCalibration batches;
    return Calibrate(net.get(), &batches).Text();
  };
  const std::string wanted = calibrate();
  RefuseInTurn([&] { calibrate(); }, [&] { EXPECT_EQ(calibrate(), wanted); });
}

}  // namespace
}  // namespace caffe

namespace caffe::inference {
namespace {

std::shared_ptr<const Engine> BuiltWith(const SavedNet& saved, const std::string& precision) {
  BuilderConfig config;
  config.timing_iterations = 0;
  config.precision = ParsePrecision(precision);
  if (precision == "int8") {
    const std::unique_ptr<Net<float>> net = MakeNet<float>(DeployText());
    net->CopyTrainedLayersFrom(saved.weights);
    net->Forward();
    const auto table = std::make_shared<CalibrationTable>();
    for (const std::string& blob : net->blob_names()) {
      BlobCalibration calibration;
      calibration.threshold = 2;
      table->Set(blob, calibration);
    }
    config.calibration = table;
  }
  return Builder(config).Build(NetworkDefinition::FromCaffe(saved.model, {saved.weights}));
}

class FailingAllocationsOfEngines : public ::testing::TestWithParam<const char*> {
 protected:
  const SavedNet saved_;
};

TEST_P(FailingAllocationsOfEngines, WhenTheyAreBuilt) {
  RefuseInTurn([&] { BuiltWith(saved_, GetParam()); }, NothingToCheck, 200, 211);
}

TEST_P(FailingAllocationsOfEngines, WhenTheyAreSavedAndLoaded) {
  const std::string plan = NewFileName();
  const std::shared_ptr<const Engine> engine = BuiltWith(saved_, GetParam());
  engine->Save(plan);
  RefuseInTurn([&] { engine->Save(plan); }, [&] { Engine::Load(plan); });
  RefuseInTurn([&] { Engine::Load(plan); });
}

TEST_P(FailingAllocationsOfEngines, WhenTheyRun) {
  const std::shared_ptr<const Engine> engine = BuiltWith(saved_, GetParam());
  const auto outputs = [](ExecutionContext* context) {
    const float* const output = context->Output("prob");
    return std::vector<float>(output, output + 2 * 3);
  };
  ExecutionContext kept(engine);
  kept.SetBatch(2);
  std::fill_n(kept.Input("data"), 2 * 4 * 8 * 8, 1.f);
  kept.Run();
  const std::vector<float> wanted = outputs(&kept);
  RefuseInTurn([&] {
    ExecutionContext context(engine);
    context.SetBatch(2);
    std::fill_n(context.Input("data"), 2 * 4 * 8 * 8, 1.f);
    context.Run();
  });
  int batch = 2;
  RefuseInTurn(
      [&] {
        batch = 3 - batch;
        kept.SetBatch(batch);
        kept.Run();
        kept.Enqueue().get();
      },
      [&] {
        kept.SetBatch(2);
        std::fill_n(kept.Input("data"), 2 * 4 * 8 * 8, 1.f);
        kept.Run();
        EXPECT_EQ(outputs(&kept), wanted);
        kept.Enqueue().get();
        EXPECT_EQ(outputs(&kept), wanted);
      });
}

INSTANTIATE_TEST_SUITE_P(Types, FailingAllocationsOfEngines,
                         ::testing::Values("fp32", "fp16", "bf16", "int8"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace caffe::inference
