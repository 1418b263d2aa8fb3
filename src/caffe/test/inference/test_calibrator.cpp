// From a net and its data to a calibration table, and what a table does to a net.
#include "caffe/inference/calibrator.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "caffe/inference/builder.hpp"
#include "caffe/inference/evaluation/error_measure.hpp"
#include "caffe/inference/network_definition.hpp"
#include "caffe/inference/quantize/calibration_data.hpp"
#include "caffe/inference/quantize/calibration_report.hpp"
#include "caffe/inference/quantize/simulated_int8.hpp"
#include "caffe/inference/quantize/thresholds.hpp"
#include "caffe/test/support/captured_log.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_data.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

constexpr char kInput[] =
    "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 2 dim: 1 dim: 1 "
    "dim: 2 } } } ";

/// Batches of two images with two values each, given as four numbers.
template <typename Base>
class GivenBatches : public Base {
 public:
  explicit GivenBatches(std::vector<std::vector<double>> batches) : batches_(std::move(batches)) {}
  int64_t GetBatch(Net<float>* net) override {
    if (next_ == batches_.size()) return 0;
    SetValues(net->input_blobs()[0], batches_[next_++]);
    return 2;
  }
  size_t next() const { return next_; }

 private:
  std::vector<std::vector<double>> batches_;
  size_t next_ = 0;
};

CalibrationOptions AnyNumberOfImages() {
  CalibrationOptions options;
  options.minimum_images = 1;
  return options;
}

CalibrationTable CalibrateOn(const std::string& layers, std::vector<std::vector<double>> batches,
                             const CalibrationOptions& options = AnyNumberOfImages()) {
  const auto net = MakeNet(kInput + layers);
  GivenBatches<MinMaxCalibrator> calibrator(std::move(batches));
  return Calibrate(net.get(), &calibrator, options);
}

std::string Scale(const std::string& name, const std::string& bottom, double scale) {
  return Join("layer { name: '", name, "' type: 'Scale' bottom: '", bottom, "' top: '", name,
              "' scale_param { filler { value: ", scale, " } } } ");
}

constexpr char kInnerProduct[] =
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { "
    "num_output: 2 weight_filler { type: 'constant' value: 0.5 } } } ";

// ------------------------------------------------------------------ what is counted

TEST(Calibrate, TakesEachBlobOverAllBatches) {
  const CalibrationTable table = CalibrateOn(Scale("a", "data", -2), {{1, 2, 3, 4}, {5, 6, 0, 1}});
  EXPECT_EQ(table.blobs(), (std::vector<std::string>{"data", "a"}));
  EXPECT_EQ(table.At("data").threshold, 6);
  EXPECT_TRUE(table.At("data").is_unsigned);
  EXPECT_EQ(table.At("data").method, "minmax");
  EXPECT_EQ(table.At("a").minimum, -12);
  EXPECT_EQ(table.At("a").maximum, 0);
  EXPECT_FALSE(table.At("a").is_unsigned);
  EXPECT_EQ(table.images(), 4);
}

TEST(Calibrate, OfABlobChangedInPlaceTakesTheLastValues) {
  const CalibrationTable table = CalibrateOn(
      Scale("a", "data", 10) + "layer { name: 'relu' type: 'ReLU' bottom: 'a' top: 'a' }",
      {{-7, 1, 2, 3}});
  EXPECT_EQ(table.At("a").threshold, 30);
  EXPECT_TRUE(table.At("a").is_unsigned);
  EXPECT_FALSE(table.At("data").is_unsigned);
}

// What the user of an engine gives, and what the layers behind read, have ranges of their own.
TEST(Calibrate, TakesAnInputInFrontOfAndBehindLayersThatPrepareItInPlace) {
  const std::string layers = Join(
      "layer { name: 'less' type: 'Power' bottom: 'data' top: 'data' power_param { shift: -100 } }",
      "layer { name: 'times' type: 'Scale' bottom: 'data' top: 'data' ",
      "scale_param { filler { value: 0.01 } } } ", kInnerProduct);
  const CalibrationTable table = CalibrateOn(layers, {{0, 100, 200, 250}});
  EXPECT_EQ(table.blobs(),
            (std::vector<std::string>{"data", "data_before_times", "data_after_times", "ip"}));
  EXPECT_EQ(table.At("data").threshold, 250);
  EXPECT_EQ(table.At("data_before_times").threshold, 150);
  EXPECT_EQ(table.At("data_after_times").threshold, 1.5);

  inference::BuilderConfig config;
  config.precision = inference::Precision::INT8;
  config.calibration = std::make_shared<CalibrationTable>(table);
  inference::ExecutionContext context(inference::Builder(config).Build(
      inference::NetworkDefinition::FromCaffe(ParseNet(kInput + layers), {})));
  const float data[] = {0, 100, 200, 250};
  std::copy_n(data, 4, context.Input("data"));
  context.Run();
  for (const int i : {0, 1}) {
    EXPECT_NEAR(context.Output("ip")[i], -0.5, 0.02);
    EXPECT_NEAR(context.Output("ip")[2 + i], 1.25, 0.02);
  }
}

TEST(Calibrate, SeesThroughTheNetsSplits) {
  const CalibrationTable table =
      CalibrateOn(Scale("a", "data", 1) + Scale("b", "a", 1) + Scale("c", "a", 1), {{1, 2, 3, 4}});
  EXPECT_EQ(table.blobs(), (std::vector<std::string>{"data", "a", "b", "c"}));
}

TEST(Calibrate, LeavesOutWhatStaysFloat) {
  // Labels and losses.
  const auto net = MakeNet(
      "layer { name: 'data' type: 'DummyData' top: 'data' top: 'label' dummy_data_param { shape { "
      "dim: 2 dim: 3 } shape { dim: 2 } data_filler { type: 'uniform' min: 0 max: 1 } data_filler "
      "{ value: 1 } } }" +
      std::string(kInnerProduct) +
      "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }"
      "layer { name: 'accuracy' type: 'Accuracy' bottom: 'ip' bottom: 'label' top: 'accuracy' }");
  MinMaxCalibrator calibrator(InputBatches::Own(3));
  EXPECT_EQ(calibrator.Batches(*net), 3);
  CalibrationOptions options = AnyNumberOfImages();
  options.leave_out = {"ip"};  // constant: all weights are the same
  const CalibrationTable table = Calibrate(net.get(), &calibrator, options);
  EXPECT_EQ(table.blobs(), std::vector<std::string>{"data"});
  EXPECT_EQ(table.images(), 6);
}

TEST(Calibrate, TakesWhatLayersWithAnInt8FormWriteOrRead) {
  // Softmax and Exp compute in float; the inner product reads what Exp wrote, by way of Flatten.
  const CalibrationTable table =
      CalibrateOn(Scale("scale", "data", 2) +
                      "layer { name: 'exp' type: 'Exp' bottom: 'scale' top: 'exp' }"
                      "layer { name: 'flat' type: 'Flatten' bottom: 'exp' top: 'flat' }"
                      "layer { name: 'ip' type: 'InnerProduct' bottom: 'flat' top: 'ip' "
                      "inner_product_param { num_output: 2 weight_filler { value: 1 } } }"
                      "layer { name: 'prob' type: 'Softmax' bottom: 'ip' top: 'prob' }"
                      "layer { name: 'moved' type: 'Flatten' bottom: 'prob' top: 'moved' }",
                  {{1, 2, 3, 4}});
  EXPECT_EQ(table.blobs(), (std::vector<std::string>{"data", "scale", "exp", "flat", "ip"}));
}

// These are computed in integers, or read what must have a range there.
TEST(Calibrate, TakesWhatEnginesOfIntegersComputeUpToTheOutputs) {
  constexpr char kImages[] =
      "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 2 dim: 1 "
      "dim: 2 } } }";
  const std::vector<std::string> both = {"data", "out"}, bottom = {"data"};
  for (const auto& [layer, blobs] : std::map<std::string, std::vector<std::string>>{
           {"type: 'ReLU6'", both},
           {"type: 'PReLU'", both},
           {"type: 'Clip' clip_param { min: 0 max: 3 }", both},
           {"type: 'Swish'", both},
           {"type: 'LRN'", both},
           {"type: 'Normalize'", both},
           {"type: 'Softmax'", bottom},
           {"type: 'Interp' interp_param { height: 2 width: 2 }", bottom}}) {
    const auto net =
        MakeNet(kImages + ("layer { name: 'out' bottom: 'data' top: 'out' " + layer) + " }");
    GivenBatches<MinMaxCalibrator> calibrator({{1, 2, 3, 4}});
    EXPECT_EQ(Calibrate(net.get(), &calibrator, AnyNumberOfImages()).blobs(), blobs) << layer;
  }
}

// An engine computes 'scale' under the name of the output.
TEST(Calibrate, TakesOutputsThatAreCopies) {
  for (const std::string type : {"Split", "Concat", "Slice"}) {
    const CalibrationTable table =
        CalibrateOn(Scale("scale", "data", 2) + "layer { name: 'copy' type: '" + type +
                        "' bottom: 'scale' top: 'copy' }",
                    {{1, 2, 3, 4}});
    EXPECT_EQ(table.blobs(), (std::vector<std::string>{"data", "scale", "copy"})) << type;
    EXPECT_EQ(table.Find("copy")->threshold, table.Find("scale")->threshold);
  }
}

// A function says in which range its bottom matters, but not to others that read this.
TEST(Calibrate, TakesWhatAFunctionReadsTogetherWithOthers) {
  const std::string function =
      "layer { name: 'tanh' type: 'TanH' bottom: 'data' top: 'tanh' }"
      "layer { name: 'ip' type: 'InnerProduct' bottom: 'tanh' top: 'ip' "
      "inner_product_param { num_output: 2 weight_filler { value: 1 } } }";
  EXPECT_EQ(CalibrateOn(function, {{1, 2, 3, 4}}).blobs(),
            (std::vector<std::string>{"tanh", "ip"}));
  EXPECT_EQ(CalibrateOn(function + "layer { name: 'flat' type: 'Flatten' bottom: 'data' "
                                   "top: 'flat' }",
                        {{1, 2, 3, 4}})
                .blobs(),
            (std::vector<std::string>{"data", "tanh", "ip"}));
}

// They share its scale in an engine, and would saturate with that of the others alone.
TEST(Calibrate, TakesAllBottomsOfAConcatThatLayersWithAnInt8FormWriteTo) {
  const CalibrationTable table = CalibrateOn(
      Scale("scale", "data", 2) +
          "layer { name: 'exp' type: 'Exp' bottom: 'data' top: 'exp' }"
          "layer { name: 'both' type: 'Concat' bottom: 'scale' bottom: 'exp' top: 'both' }",
      {{1, 2, 3, 4}});
  EXPECT_EQ(table.blobs(), (std::vector<std::string>{"data", "scale", "exp"}));
}

TEST(Calibrate, AddsTheScalesOfTheWeights) {
  const CalibrationTable table = CalibrateOn(kInnerProduct, {{1, 2, 3, 4}});
  EXPECT_EQ(table.weight_scales().at("ip"), (std::vector<float>{0.5f / 127, 0.5f / 127}));
  CalibrationOptions options = AnyNumberOfImages();
  options.weight_scales = false;
  EXPECT_TRUE(CalibrateOn(kInnerProduct, {{1, 2, 3, 4}}, options).weight_scales().empty());
}

TEST(Calibrate, TellsHowFarItIs) {
  CalibrationOptions options = AnyNumberOfImages();
  std::vector<std::pair<int64_t, int64_t>> seen;
  options.progress = [&](int64_t batches, int64_t images) { seen.emplace_back(batches, images); };
  CalibrateOn(Scale("a", "data", 2), {{1, 2, 3, 4}, {5, 6, 7, 8}}, options);
  EXPECT_EQ(seen, (std::vector<std::pair<int64_t, int64_t>>{{1, 2}, {2, 4}}));
}

TEST(Calibrators, ChooseByTheirNames) {
  Histogram histogram;
  std::vector<float> values(20000, 0);
  for (int i = 0; i < 20000; ++i) values[i] = std::sin(0.001f * float(i)) * float(i % 97);
  histogram.Add(values.data(), values.size());
  const auto choose = [&](const char* method) {
    const auto calibrator = MakeCalibrator(method, nullptr, 0, 99);
    EXPECT_EQ(calibrator->method(), method);
    return calibrator->ChooseThreshold(histogram);
  };
  EXPECT_EQ(choose("minmax"), MinMaxThreshold(histogram));
  EXPECT_EQ(choose("percentile"), PercentileThreshold(histogram, 99));
  EXPECT_EQ(choose("entropy"), EntropyThreshold(histogram, false));
  EXPECT_EQ(choose("mse"), MseThreshold(histogram, kInt8Steps));
  EXPECT_EQ(choose("auto"), MseThreshold(histogram, kInt8Steps));
  ExpectContains(ErrorOf([&] { choose("kl"); }),
                 "valid are auto, entropy, minmax, percentile and mse");
  for (const char* method : {"percentile", "auto"}) {
    ExpectContains(ErrorOf([&] { MakeCalibrator(method, nullptr, 0, 0); }), "a percentile");
  }
}

TEST(Calibrators, EndAfterTheGivenNumberOfBatches) {
  const auto net = MakeNet(
      "layer { name: 'd' type: 'DummyData' top: 'd' dummy_data_param { shape "
      "{ dim: 3 dim: 1 } data_filler { type: 'uniform' } } }" +
      Scale("a", "d", 2));
  EntropyCalibrator calibrator(InputBatches::Own(100), 7);
  EXPECT_EQ(calibrator.Batches(*net), 7);
  const CalibrationData data = CollectCalibrationData(net.get(), &calibrator, AnyNumberOfImages());
  EXPECT_EQ(data.statistics.batches(), 7);
  EXPECT_EQ(data.images, 21);
}

/// A user's own: thresholds of half the range, the cache in a string.
class HalfCalibrator : public GivenBatches<Calibrator> {
 public:
  using GivenBatches<Calibrator>::GivenBatches;
  double ChooseThreshold(const Histogram& histogram) const override {
    return histogram.largest() / 2;
  }
  std::string method() const override { return "half"; }
  std::string ReadCalibrationCache() override { return cache; }
  void WriteCalibrationCache(const std::string& text) override { cache = text; }

  std::string cache;
};

TEST(Calibrators, MayBeTheUsersOwn) {
  const auto net = MakeNet(kInput + Scale("a", "data", 2));
  HalfCalibrator calibrator({{1, 2, 3, 4}});
  const CalibrationTable table = Calibrate(net.get(), &calibrator, AnyNumberOfImages());
  EXPECT_EQ(table.At("data").threshold, 2);
  EXPECT_EQ(table.At("data").method, "half");
  EXPECT_EQ(calibrator.cache, table.Text());
}

// What docs/calibration.md shows.

/// Images that a program has in memory. The table is kept there too.
class MemoryCalibrator : public caffe::AutoCalibrator {
 public:
  explicit MemoryCalibrator(std::vector<std::vector<float>> images) : images_(std::move(images)) {}

  int64_t GetBatch(caffe::Net<float>* net) override {
    caffe::Blob<float>& input = *net->input_blobs()[0];
    const size_t batch = input.shape(0);
    if (next_ + batch > images_.size()) return 0;  // no more
    float* to = input.mutable_cpu_data();
    for (const size_t end = next_ + batch; next_ < end; ++next_) {
      to = std::copy(images_[next_].begin(), images_[next_].end(), to);
    }
    return batch;
  }
  std::string ReadCalibrationCache() override { return cache; }
  void WriteCalibrationCache(const std::string& text) override { cache = text; }

  std::string cache;

 private:
  std::vector<std::vector<float>> images_;
  size_t next_ = 0;
};

TEST(Calibrators, AreWrittenAsTheDocumentationShows) {
  inference::NetworkDefinition definition("code");
  definition.AddInput("data", {2, 2});
  definition.AddLayer(ParseNet("layer { name: 'a' type: 'Scale' bottom: 'data' top: 'a' "
                               "scale_param { filler { value: -2 } } }")
                          .layer(0));
  definition.MarkOutput("a");
  Net<float> net(inference::ToNetParameter(definition.graph()));
  MemoryCalibrator calibrator({{1, 2}, {0, 4}, {3, 1}, {2, 2}, {9, 9}});  // no batch for the last
  const CalibrationTable table = Calibrate(&net, &calibrator, AnyNumberOfImages());
  EXPECT_EQ(table.images(), 4);
  EXPECT_EQ(table.At("data").maximum, 4);
  EXPECT_EQ(table.At("a").minimum, -8);
  EXPECT_EQ(calibrator.cache, table.Text());
  MemoryCalibrator without_data({});
  without_data.cache = calibrator.cache;
  EXPECT_EQ(Calibrate(&net, &without_data, AnyNumberOfImages()).Text(), table.Text());

  const std::string source =
      ReadFile(SourceFolder() / "src/caffe/test/inference/test_calibrator.cpp");
  const std::string page = ReadFile(SourceFolder() / "docs/calibration.md");
  const std::string begin = "/// Images that a program has in memory.", end = "\n};\n";
  const size_t from = source.find(begin), to = source.find(end, from);
  ASSERT_LT(from, to);
  ExpectContains(page, source.substr(from, to - from + end.size()));
}

TEST(Calibrators, WithoutDataSaySo) {
  const auto net = MakeNet(kInput);
  EntropyCalibrator calibrator;
  ExpectContains(ErrorOf([&] { Calibrate(net.get(), &calibrator); }),
                 "give it batches or override");
}

// ------------------------------------------------------------------ the choice by outputs

/// `ip` adds the two values of an item in one output and takes their difference in the other.
constexpr char kSumAndDifference[] =
    "layer { name: 'scale' type: 'Scale' bottom: 'data' top: 'scale' scale_param { filler { value: "
    "1 } } } layer { name: 'ip' type: 'InnerProduct' bottom: 'scale' top: 'ip' "
    "inner_product_param { num_output: 2 weight_filler { value: 1 } } } ";

std::unique_ptr<Net<float>> SumAndDifference(int batch) {
  auto net = MakeNet(Join("layer { name: 'data' type: 'Input' top: 'data' input_param { shape { ",
                          "dim: ", batch, " dim: 1 dim: 1 dim: 2 } } } ", kSumAndDifference));
  net->layer_by_name("ip")->blobs()[0]->mutable_cpu_data()[3] = -1;
  return net;
}

/// Batches of normally distributed values, of which `outliers` of a thousand are far larger.
class DrawnBatches : public AutoCalibrator {
 public:
  DrawnBatches(int batches, int outliers) : left_(batches), outliers_(outliers) {}
  int64_t GetBatch(Net<float>* net) override {
    if (left_-- == 0) return 0;
    Blob<float>* input = net->input_blobs()[0];
    std::normal_distribution<float> values;
    for (int i = 0; i < input->count(); ++i) {
      const bool outlier = int(generator_() % 1000) < outliers_;
      input->mutable_cpu_data()[i] = values(generator_) * (outlier ? 300.f : 1.f);
    }
    return input->shape(0);
  }

 private:
  int left_;
  const int outliers_;
  std::mt19937 generator_{TestSeed()};
};

/// The error of the outputs of the INT8 engine with this table, on the same batches.
double ErrorWith(const CalibrationTable& table, const Net<float>& net, int batches, int outliers) {
  inference::BuilderConfig config;
  config.precision = inference::Precision::INT8;
  config.timing_iterations = 0;
  config.calibration = std::make_shared<const CalibrationTable>(table);
  inference::ExecutionContext context(
      inference::Builder(config).Build(inference::NetworkDefinition(inference::GraphOf(net))));
  const auto reference = SumAndDifference(net.input_blobs()[0]->shape(0));
  DrawnBatches input(batches, outliers);
  inference::ErrorMeasure error;
  while (input.GetBatch(reference.get()) > 0) {
    const Blob<float>& data = *reference->input_blobs()[0];
    std::copy_n(data.cpu_data(), data.count(), context.Input("data"));
    context.Run();
    error.Add(reference->Forward()[0]->cpu_data(), context.Output("ip"), 2 * data.shape(0));
  }
  return error.Relative();
}

class AutoCalibration : public ::testing::TestWithParam<int> {};

// All batches are in the sample, so that the errors are exactly those by which it chose.
TEST_P(AutoCalibration, TakesTheMethodWhoseOutputsAreClosestToFloat) {
  constexpr int kItems = 8, kBatches = 4;
  const auto net = SumAndDifference(kItems);
  DrawnBatches batches(kBatches, GetParam());
  const CalibrationTable table = Calibrate(net.get(), &batches, AnyNumberOfImages());
  const std::string chosen = table.At("scale").method;
  const double taken = ErrorWith(table, *net, kBatches, GetParam());
  ASSERT_EQ(table.comments().size(), 1u);
  const std::string& comment = table.comments()[0];
  ExpectContains(comment, "error of the outputs on 32 of 32 images: mse ");
  EXPECT_EQ(comment.substr(comment.rfind(':')), ": " + chosen);
  for (const char* method : {"mse", "percentile", "entropy", "minmax"}) {
    DrawnBatches again(kBatches, GetParam());
    const CalibrationData data = CollectCalibrationData(net.get(), &again, AnyNumberOfImages());
    const CalibrationTable other =
        MakeCalibrationTable(data, *MakeCalibrator(method, nullptr, 0, 99.99));
    EXPECT_EQ(other.At("data").method, method);
    EXPECT_TRUE(other.comments().empty());
    EXPECT_LE(taken, ErrorWith(other, *net, kBatches, GetParam())) << method << ", not " << chosen;
    ExpectContains(comment, std::string(method) + " ");
    if (method == chosen) {
      EXPECT_EQ(other.At("scale").threshold, table.At("scale").threshold);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Outliers, AutoCalibration, ::testing::Values(0, 20, 200));

TEST(AutoCalibrator, ComparesOnAFewImagesSpreadOverAll) {
  const auto compared_on = [](int batch, int batches) {
    const auto net = SumAndDifference(batch);
    DrawnBatches calibrator(batches, 0);
    return Calibrate(net.get(), &calibrator, AnyNumberOfImages()).comments().at(0);
  };
  // Every second one, every fourth one, ... until there are 64 at most.
  ExpectContains(compared_on(1, 60), "on 60 of 60 images");
  ExpectContains(compared_on(1, 200), "on 50 of 200 images");
  ExpectContains(compared_on(20, 10), "on 50 of 200 images");
  ExpectContains(compared_on(100, 2), "on 100 of 200 images");  // a batch is larger than 64
}

TEST(AutoCalibrator, TellsWhichCandidateItTries) {
  const auto net = SumAndDifference(2);
  DrawnBatches calibrator(2, 0);
  CalibrationOptions options = AnyNumberOfImages();
  std::vector<std::pair<int, int>> seen;
  options.candidate_progress = [&](int done, int of) { seen.emplace_back(done, of); };
  Calibrate(net.get(), &calibrator, options);
  EXPECT_EQ(seen, (std::vector<std::pair<int, int>>{{0, 4}, {1, 4}, {2, 4}, {3, 4}, {4, 4}}));
}

/// The batches of a layer that draws other ones in each pass.
TEST(AutoCalibrator, RunsLayersThatReadDataOnceABatch) {
  const std::string layers =
      "layer { name: 'd' type: 'DummyData' top: 'd' dummy_data_param { shape { dim: 3 dim: 4 } "
      "data_filler { type: 'uniform' min: -1 max: 2 } } }" +
      Scale("a", "d", 2);
  const auto range_of = [&](const char* method) {
    Caffe::set_random_seed(TestSeed());
    const auto net = MakeNet(layers);
    const auto calibrator = MakeCalibrator(method, InputBatches::Own(4), 0, 99.99);
    const CalibrationTable table = Calibrate(net.get(), calibrator.get(), AnyNumberOfImages());
    EXPECT_EQ(table.images(), 12);
    return std::make_pair(table.At("d").minimum, table.At("a").maximum);
  };
  EXPECT_EQ(range_of("auto"), range_of("minmax"));
}

TEST(AutoCalibrator, LeavesImagesOfAnotherSizeOutOfTheComparison) {
  class TwoSizes : public DrawnBatches {
   public:
    TwoSizes() : DrawnBatches(8, 0) {}
    int64_t GetBatch(Net<float>* net) override {
      net->input_blobs()[0]->Reshape({2, 1, 4 + 4 * (calls_ / 4), 4});
      ++calls_;
      net->Reshape();
      return DrawnBatches::GetBatch(net);
    }

   private:
    int calls_ = 0;
  };
  const auto net = MakeNet(
      kInput + std::string("layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' "
                           "convolution_param { num_output: 2 kernel_size: 1 weight_filler { type: "
                           "'xavier' } } }"));
  TwoSizes calibrator;
  const CalibrationTable table = Calibrate(net.get(), &calibrator, AnyNumberOfImages());
  ExpectContains(table.comments().at(0), "on 8 of 16 images");
}

TEST(AutoCalibrator, TakesMseWhereANetIsNoEngine) {
  const auto net = MakeNet(
      "layer { name: 'p' type: 'Parameter' top: 'p' parameter_param { shape { dim: 2 dim: 2 } } }" +
      Scale("a", "p", 2));
  SetValues(net->layer_by_name("p")->blobs()[0].get(), {1, 2, 3, 4});
  class Once : public AutoCalibrator {
   public:
    int64_t GetBatch(Net<float>*) override { return left_-- > 0 ? 1 : 0; }
    int left_ = 1;
  };
  Once calibrator;
  const CapturedLog log;
  const CalibrationTable table = Calibrate(net.get(), &calibrator, AnyNumberOfImages());
  EXPECT_EQ(table.At("a").method, "mse");
  ASSERT_EQ(table.comments().size(), 1u);
  ExpectContains(table.comments()[0], "mse, without a comparison of outputs: net '");
  EXPECT_TRUE(log.HasPrefix("Calibrators cannot be compared by the net's outputs: net "));
}

// ------------------------------------------------------------------ the cache

TEST(CalibrationCache, IsTakenInsteadOfRunningTheNet) {
  const auto net = MakeNet(kInput + std::string(kInnerProduct));
  HalfCalibrator calibrator({{1, 2, 3, 4}, {5, 6, 7, 8}});
  CalibrationOptions options = AnyNumberOfImages();
  options.leave_out = {};
  const CalibrationTable first = Calibrate(net.get(), &calibrator, options);
  HalfCalibrator again({{100, 200, 300, 400}});
  again.cache = calibrator.cache;
  EXPECT_EQ(Calibrate(net.get(), &again, options).Text(), first.Text());
  EXPECT_EQ(again.next(), 0u);
}

TEST(CalibrationCache, OfOtherWeightsIsNotTaken) {
  const auto net = MakeNet(kInput + std::string(kInnerProduct));
  HalfCalibrator calibrator({{1, 2, 3, 4}});
  Calibrate(net.get(), &calibrator, AnyNumberOfImages());
  net->layer_by_name("ip")->blobs()[0]->mutable_cpu_data()[0] = 0.25f;
  HalfCalibrator again({{2, 4, 6, 8}});
  again.cache = calibrator.cache;
  EXPECT_EQ(Calibrate(net.get(), &again, AnyNumberOfImages()).At("data").threshold, 4);
  EXPECT_NE(again.cache, calibrator.cache);
}

TEST(CalibrationCache, ThatLacksABlobIsRefusedWithItsName) {
  const auto net = MakeNet(kInput + Scale("a", "data", 2));
  HalfCalibrator calibrator({{1, 2, 3, 4}});
  CalibrationTable table = Calibrate(net.get(), &calibrator, AnyNumberOfImages());
  table.Remove("a");
  EXPECT_EQ(MissingBlobs(table, *net), std::vector<std::string>{"a"});
  calibrator.cache = table.Text();
  ExpectContains(ErrorOf([&] { Calibrate(net.get(), &calibrator, AnyNumberOfImages()); }),
                 "calibration cache: the table lacks blob 'a'");
  CalibrationOptions options = AnyNumberOfImages();
  options.leave_out = {"a"};
  EXPECT_EQ(Calibrate(net.get(), &calibrator, options).blobs(), std::vector<std::string>{"data"});
}

TEST(CalibrationCache, MayBeAFile) {
  const std::string file = NewFileName();
  const auto net = MakeNet(
      "layer { name: 'd' type: 'DummyData' top: 'd' dummy_data_param { shape "
      "{ dim: 3 dim: 1 } data_filler { type: 'uniform' } } }" +
      Scale("a", "d", 2));
  MinMaxCalibrator calibrator(InputBatches::Own(5), 0, file);
  const CalibrationTable table = Calibrate(net.get(), &calibrator, AnyNumberOfImages());
  EXPECT_EQ(ReadFile(file), table.Text());
  MinMaxCalibrator again(nullptr, 0, file);
  EXPECT_EQ(Calibrate(net.get(), &again, AnyNumberOfImages()).Text(), table.Text());
}

// ------------------------------------------------------------------ the fingerprint

NetFingerprint FingerprintOfText(const std::string& text) { return FingerprintOf(*MakeNet(text)); }

TEST(NetFingerprint, IsTheSameForTheTrainedAndTheDeployedNet) {
  const std::string body =
      "layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { "
      "num_output: 2 weight_filler { value: 0.5 } } }"
      "layer { name: 'relu' type: 'ReLU' bottom: 'ip' top: 'ip' }";
  const NetFingerprint deployed = FingerprintOfText(
      "layer { name: 'in' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 3 } } }" +
      body + "layer { name: 'prob' type: 'Softmax' bottom: 'ip' top: 'prob' }");
  const NetFingerprint trained = FingerprintOfText(
      "layer { name: 'd' type: 'DummyData' top: 'data' top: 'label' dummy_data_param { shape { "
      "dim: "
      "8 dim: 3 } shape { dim: 8 } } }"
      "layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' param { lr_mult: 2 } "
      "inner_product_param { num_output: 2 weight_filler { type: 'constant' value: 0.5 } } }"
      "layer { name: 'relu' type: 'ReLU' bottom: 'ip' top: 'ip' relu_param { engine: CAFFE } }"
      "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }"
      "layer { name: 'accuracy' type: 'Accuracy' bottom: 'ip' bottom: 'label' top: 'accuracy' }");
  EXPECT_TRUE(deployed == trained);
}

TEST(NetFingerprint, ChangesWithWhatIsComputed) {
  const std::string input =
      "layer { name: 'in' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 3 } } }";
  const auto net = [&](const std::string& value, const std::string& relu) {
    return FingerprintOfText(
        input +
        "layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { "
        "num_output: 2 weight_filler { value: " +
        value + " } } } layer { name: 'relu' bottom: 'ip' top: 'ip' " + relu + " }");
  };
  const NetFingerprint first = net("1", "type: 'ReLU'");
  EXPECT_EQ(net("2", "type: 'ReLU'").net, first.net);
  EXPECT_NE(net("2", "type: 'ReLU'").weights, first.weights);
  EXPECT_NE(net("1", "type: 'ReLU' relu_param { negative_slope: 0.1 }").net, first.net);
  EXPECT_NE(net("1", "type: 'Sigmoid'").net, first.net);
  EXPECT_EQ(net("1", "type: 'Sigmoid'").weights, first.weights);
}

// ------------------------------------------------------------------ bad input

TEST(Calibrate, NeedsAsManyImagesAsAreDemanded) {
  CalibrationOptions options;
  options.minimum_images = 3;
  const std::string error = ErrorOf([&] { CalibrateOn("", {{1, 2, 3, 4}}, options); });
  ExpectContains(error, "calibration needs 3 images or more, there are 2");
}

TEST(Calibrate, WarnsOfFewImagesWhereNoNumberIsDemanded) {
  const CapturedLog log;
  CalibrateOn(Scale("a", "data", 2), {{1, 2, 3, 4}}, CalibrationOptions());
  EXPECT_TRUE(log.HasPrefix("Calibrated on 2 images: thresholds are better with 100 or more"));
}

TEST(Calibrate, IsSilentAboutFewImagesWhereTheyWereDemanded) {
  const CapturedLog log;
  CalibrateOn(Scale("a", "data", 2), {{1, 2, 3, 4}});
  EXPECT_FALSE(log.HasPrefix("Calibrated on"));
}

TEST(Calibrate, NeedsSomethingToQuantize) {
  ExpectContains(ErrorOf([] {
                   CalibrateOn("", {{1, 2, 3, 4}});
                 }),
                 "computes nothing that can be quantized");
}

TEST(Calibrate, NamesABlobOfZerosAConstantOneAndAllOfThem) {
  const std::string error = ErrorOf([] {
    CalibrateOn(Scale("zero", "data", 0) +
                    "layer { name: 'one' type: 'Scale' bottom: 'zero' top: 'constant' "
                    "scale_param { bias_term: true bias_filler { value: 1 } } }",
                {{1, 2, 3, 4}});
  });
  ExpectContains(error, "blob 'zero' of layer 'zero' is zero on all images");
  ExpectContains(error, "-leave_out zero");
  ExpectContains(error, "blob 'constant' of layer 'one' is 1 everywhere");
}

TEST(Calibrate, NamesTheFirstBlobThatIsNotFinite) {
  const std::string error = ErrorOf([] {
    CalibrateOn(Scale("a", "data", 2) + Scale("b", "a", 1), {{1, 2, 3, 4}, {1, NAN, 2, 3}});
  });
  ExpectContains(error, "blob 'data' of layer 'data' has 1 NaN and 0 infinite of 8 values");
  EXPECT_EQ(error.find("'a'"), std::string::npos);
  ExpectContains(ErrorOf([] {
                   CalibrateOn(Scale("a", "data", 1e30) + Scale("b", "a", 1e30), {{1, -2, 3, 4}});
                 }),
                 "blob 'b' of layer 'b' has 0 NaN and 4 infinite of 4 values");
}

TEST(Calibrate, LeavesOutOnlyBlobsThatThereAre) {
  CalibrationOptions options = AnyNumberOfImages();
  options.leave_out = {"feature"};
  const std::string error = ErrorOf([&] {
    CalibrateOn(Scale("features", "data", 2), {{1, 2, 3, 4}}, options);
  });
  ExpectContains(error, "no blob 'feature'");
  ExpectContains(error, "'features'");
}

TEST(Calibrate, NamesTheLayerWhoseWeightsAreDamaged) {
  const auto net = MakeNet(kInput + std::string(kInnerProduct) +
                           "layer { name: 'relu' type: 'ReLU' bottom: 'ip' top: 'ip' }");
  net->layer_by_name("ip")->blobs()[1]->mutable_cpu_data()[0] = 1;
  GivenBatches<MinMaxCalibrator> calibrator({{1, 2, 3, 4}});
  const CalibrationData data = CollectCalibrationData(net.get(), &calibrator, AnyNumberOfImages());
  net->layer_by_name("ip")->blobs()[0]->mutable_cpu_data()[0] =
      std::numeric_limits<float>::infinity();
  ExpectContains(ErrorOf([&] { MakeCalibrationTable(data, calibrator); }),
                 "layer 'ip' (InnerProduct): there are NaN or infinities among the weights");
}

// ------------------------------------------------------------------ reports

TEST(CalibrationReport, IsATableThatLinesUp) {
  const auto net = MakeNet(kInput + Scale("a", "data", -2));
  HalfCalibrator calibrator({{0, 1, 1.5, 4}});
  const CalibrationData data = CollectCalibrationData(net.get(), &calibrator, AnyNumberOfImages());
  const CalibrationTable table = MakeCalibrationTable(data, calibrator);
  std::ostringstream out;
  PrintCalibration(table, &data.statistics, out);
  ExpectContains(out.str(),
                 "blob  layer  type  min  max  threshold  saturated  signal/noise\n"
                 "data  data   u8      0    4          2    25.00 %");
  ExpectContains(out.str(), "\na     a      s8     -8    0          4    25.00 %");
  std::ostringstream without;
  PrintCalibration(table, nullptr, without);
  ExpectContains(without.str(), "\na     s8            4   0.0315\n");
}

/// Two values are 300, the others lie around a half: INT8 makes 0 of them.
class WideValues : public GivenBatches<MinMaxCalibrator> {
 public:
  WideValues() : GivenBatches<MinMaxCalibrator>({}) {}
  int64_t GetBatch(Net<float>* net) override {
    if (done_) return 0;
    done_ = true;
    Blob<float>* input = net->input_blobs()[0];
    for (int i = 0; i < input->count(); ++i) {
      input->mutable_cpu_data()[i] = i % 100000 == 0 ? 300.f : 0.5f + 0.0005f * float(i % 100);
    }
    return input->shape(0);
  }

 private:
  bool done_ = false;
};

constexpr char kWideInput[] =
    "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 1 dim: 400 "
    "dim: 500 } } } ";

std::string ConvolutionOf(const std::string& name, const std::string& bottom) {
  return Join("layer { name: '", name, "' type: 'Convolution' bottom: '", bottom, "' top: '", name,
              "' convolution_param { num_output: 1 kernel_size: 1 bias_term: false weight_filler { "
              "value: 1 } } } ");
}

TEST(CalibrationReport, NamesNoisyBlobsWithWhatReadsThem) {
  // 'pool' and 'b' are read by no layer with weights: they stay float.
  const auto net =
      MakeNet(kWideInput + ConvolutionOf("a", "data") +
              "layer { name: 'relu' type: 'ReLU' bottom: 'a' top: 'a' }" + ConvolutionOf("b", "a") +
              "layer { name: 'pool' type: 'Pooling' bottom: 'b' top: 'pool' pooling_param { "
              "kernel_size: 2 } }");
  WideValues calibrator;
  const CalibrationData data = CollectCalibrationData(net.get(), &calibrator, AnyNumberOfImages());
  const CalibrationTable table = MakeCalibrationTable(data, calibrator);
  const std::vector<NoisyBlob> noisy = NoisyBlobs(table, data.statistics);
  ASSERT_EQ(noisy.size(), 2u);
  EXPECT_EQ(noisy[0].blob, "data");
  EXPECT_EQ(noisy[0].readers, std::vector<std::string>{"a"});
  EXPECT_EQ(noisy[1].blob, "a");
  EXPECT_EQ(noisy[1].layer, "relu");
  EXPECT_EQ(noisy[1].readers, std::vector<std::string>{"b"});
  const std::string text = NoiseReport(table, data.statistics);
  ExpectContains(text, "2 blobs are below 20 dB in INT8");
  ExpectContains(text, "\n  'a' of layer 'relu', read by 'b': ");
  ExpectContains(text, "-layer_precision a=fp32");
  ExpectContains(text, "-bisect");
  ASSERT_EQ(NoisyBlobs(table, data.statistics, {"a"}).size(), 1u);
  EXPECT_EQ(NoisyBlobs(table, data.statistics, {"a"})[0].blob, "a");
  EXPECT_EQ(NoiseReport(table, data.statistics, {"a", "b"}), "");
}

TEST(CalibrationReport, NamesTheFiveNoisiestBlobsAndCountsTheOthers) {
  std::string layers = kWideInput, bottom = "data";
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) {
    layers += ConvolutionOf(name, bottom);
    bottom = name;
  }
  const auto net = MakeNet(layers);
  WideValues calibrator;
  const CapturedLog log;
  const CalibrationTable table = Calibrate(net.get(), &calibrator, AnyNumberOfImages());
  EXPECT_TRUE(log.HasPrefix("7 blobs are below 20 dB in INT8, more than a tenth off:\n"))
      << "the last of the eight is read by nothing";
  const bool counts = std::any_of(log.lines().begin(), log.lines().end(), [](const auto& line) {
    return line.find("\n  and 2 more\n") != std::string::npos;
  });
  EXPECT_TRUE(counts);
}

TEST(CalibrationReport, IsSilentWhereNoBlobIsNoisy) {
  const auto net = MakeNet(kInput + ConvolutionOf("a", "data"));
  GivenBatches<MinMaxCalibrator> calibrator({{1, 2, 3, 4}});
  const CalibrationData data = CollectCalibrationData(net.get(), &calibrator, AnyNumberOfImages());
  EXPECT_EQ(NoiseReport(MakeCalibrationTable(data, calibrator), data.statistics), "");
}

TEST(CalibrationReport, TheImageShowsEachHistogramWithItsThreshold) {
  const auto net = MakeNet(kInput + Scale("a<b", "data", -2));
  HalfCalibrator calibrator({{0, 1, 1.5, 4}});
  const CalibrationData data = CollectCalibrationData(net.get(), &calibrator, AnyNumberOfImages());
  const std::string svg =
      HistogramsAsSvg(MakeCalibrationTable(data, calibrator), data.statistics, "net");
  ExpectContains(svg, "<svg xmlns");
  ExpectContains(svg, ">a&lt;b</text>");
  ExpectContains(svg, "u8, threshold 2 of 4, 25.00 % saturated");
  ExpectContains(svg, "stroke-dasharray");
  ExpectContains(svg, "values that saturate");
  ExpectContains(svg, ">count</text>");
  ExpectContains(svg, ">|x|</text>");
  ExpectContains(svg, "</svg>");
}

// ------------------------------------------------------------------ simulated INT8

TEST(SimulatedInt8, RoundsWeightsAndTheBlobsThatLeadToThem) {
  const auto net = MakeNet(
      kInput + std::string("layer { name: 'relu' type: 'ReLU' bottom: 'data' top: 'relu' }"
                           "layer { name: 'ip' type: 'InnerProduct' bottom: 'relu' top: 'ip' "
                           "inner_product_param { num_output: 1 bias_term: false } }"
                           "layer { name: 'half' type: 'Power' bottom: 'ip' top: 'half' "
                           "power_param { scale: 0.5 } }"));
  SetValues(net->layer_by_name("ip")->blobs()[0].get(), {127, 2.6});
  CalibrationTable table;
  table.Set("data", {127, false, 0, 0, ""});  // steps of 1
  table.Set("relu", {510, true, 0, 0, ""});   // steps of 2
  table.Set("ip", {1, false, 0, 0, ""});
  const SimulatedInt8 simulated(net.get(), table);
  EXPECT_EQ(simulated.blobs(), (std::vector<std::string>{"data", "relu"}));
  EXPECT_EQ(simulated.layers(), std::vector<std::string>{"ip"});
  EXPECT_TRUE(simulated.float_layers().empty());
  SetValues(net->input_blobs()[0], {3.4, 500, -5, 1.2});
  net->Forward();
  EXPECT_EQ(Values(*net->blob_by_name("data")), (std::vector<double>{3, 127, -5, 1}));
  // 3 and 127 are odd: 1.5 and 63.5 steps go to the even 2 and 64; 1 is half a step, 0.
  EXPECT_EQ(Values(*net->blob_by_name("relu")), (std::vector<double>{4, 128, 0, 0}));
  // Weights 127 and 3; the product stays as it is.
  EXPECT_EQ(Values(*net->blob_by_name("ip")), (std::vector<double>{4 * 127 + 128 * 3, 0}));
}

TEST(SimulatedInt8, ALayerWhoseBottomTheTableLacksStaysFloat) {
  const auto net = MakeNet(kInput + std::string(kInnerProduct));
  const SimulatedInt8 simulated(net.get(), CalibrationTable());
  EXPECT_TRUE(simulated.blobs().empty());
  EXPECT_TRUE(simulated.layers().empty());
  EXPECT_EQ(simulated.float_layers(), std::vector<std::string>{"ip"});
}

// Engines leave it out.
TEST(SimulatedInt8, APowerThatChangesNothingPassesIntegersOn) {
  const auto net = MakeNet(
      kInput + std::string("layer { name: 'same' type: 'Power' bottom: 'data' top: 'same' }"
                           "layer { name: 'ip' type: 'InnerProduct' bottom: 'same' top: 'ip' "
                           "inner_product_param { num_output: 1 } }"));
  CalibrationTable table;
  table.Set("data", {127, false, 0, 0, ""});
  table.Set("same", {127, false, 0, 0, ""});
  const SimulatedInt8 simulated(net.get(), table);
  EXPECT_EQ(simulated.blobs(), (std::vector<std::string>{"data", "same"}));
}

TEST(SimulatedInt8, InPlaceLayersSeeWhatIsNotYetRounded) {
  const auto net = MakeNet(
      kInput +
      std::string("layer { name: 'a' type: 'Power' bottom: 'data' top: 'a' }"
                  "layer { name: 'twice' type: 'Power' bottom: 'a' top: 'a' power_param { scale: "
                  "0.5 } }"
                  "layer { name: 'ip' type: 'InnerProduct' bottom: 'a' top: 'ip' "
                  "inner_product_param { num_output: 1 } }"));
  CalibrationTable table;
  table.Set("a", {127, false, 0, 0, ""});
  const SimulatedInt8 simulated(net.get(), table);
  SetValues(net->input_blobs()[0], {1.4, 2.6, 8.4, -300});
  net->Forward();
  EXPECT_EQ(Values(*net->blob_by_name("a")), (std::vector<double>{1, 1, 4, -127}));
}

}  // namespace
}  // namespace caffe
