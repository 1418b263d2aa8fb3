// What a plan knows of its images, and that images are prepared so.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>

#include "caffe/inference/builder.hpp"
#include "caffe/inference/engine_batches.hpp"
#include "caffe/inference/results.hpp"
#include "caffe/test/support/image_files.hpp"
#include "caffe/test/support/inference_test.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/input_batches.hpp"
#include "caffe/util/io.hpp"

namespace caffe::inference {
namespace {

/// x (2 x 3 x 2 x 2) and info (2 x 3) -> y, the sum of each item of x.
NetworkDefinition TwoInputs() {
  NetworkDefinition net("two");
  net.AddInput("x", {2, 3, 2, 2});
  net.AddInput("info", {2, 3});
  net.AddLayer(
      ParseLayer("name: 'sum' type: 'Reduction' bottom: 'x' top: 'y' "
                 "reduction_param { axis: 1 }"));
  net.AddLayer(
      ParseLayer("name: 'power' type: 'Power' bottom: 'info' top: 'z' "
                 "power_param { scale: 2 }"));
  net.MarkOutput("y");
  net.MarkOutput("z");
  return net;
}

BuilderConfig ConfigOf(const ImagePreprocessing& preprocessing) {
  BuilderConfig config;
  config.timing_iterations = 0;
  config.preprocessing = preprocessing;
  return config;
}

std::shared_ptr<const Engine> BuiltWith(const ImagePreprocessing& preprocessing) {
  return Builder(ConfigOf(preprocessing)).Build(TwoInputs());
}

std::shared_ptr<const Engine> SavedAndLoaded(const Engine& engine) {
  const std::string file = NewFileName();
  engine.Save(file);
  return Engine::Load(file);
}

/// Values for everything; a mean image of 3 x 4.
ImagePreprocessing Everything() {
  ImagePreprocessing all;
  all.input = "x";
  all.resize_height = 3;
  all.resize_width = 4;
  for (int i = 0; i < 3 * 3 * 4; ++i) all.mean.push_back(static_cast<float>(i));
  all.scale = 0.25f;
  all.rgb = true;
  all.constants["info"] = {2, 2, 1};
  return all;
}

void ExpectEqual(const ImagePreprocessing* actual, const ImagePreprocessing& expected) {
  ASSERT_NE(actual, nullptr);
  EXPECT_EQ(actual->input, expected.input);
  EXPECT_EQ(actual->mean, expected.mean);
  EXPECT_EQ(actual->scale, expected.scale);
  EXPECT_EQ(actual->rgb, expected.rgb);
  EXPECT_EQ(actual->resize_height, expected.resize_height);
  EXPECT_EQ(actual->resize_width, expected.resize_width);
  EXPECT_EQ(actual->constants, expected.constants);
  EXPECT_EQ(actual->engine_normalizes, expected.engine_normalizes);
}

std::string MeanFile(const std::vector<int>& shape, float value) {
  Blob<float> mean(shape);
  std::fill_n(mean.mutable_cpu_data(), mean.count(), value);
  BlobProto proto;
  mean.ToProto(&proto);
  const std::string file = NewFileName() + ".binaryproto";
  WriteProtoToBinaryFile(proto, file);
  return file;
}

// ------------------------------------------------------------------ in a plan

TEST(PlanPreprocessing, IsThatOfTheConfiguration) {
  BuilderConfig config = ConfigOf(Everything());
  config.class_names = {"background", "", "cat"};
  const auto loaded = SavedAndLoaded(*Builder(config).Build(TwoInputs()));
  ExpectEqual(loaded->preprocessing(), Everything());
  EXPECT_EQ(loaded->class_names(), config.class_names);
  EXPECT_EQ(ClassNames(*loaded).Of(2), "cat");
}

TEST(PlanPreprocessing, IsUnknownUnlessItIsSaid) {
  BuilderConfig config;
  config.timing_iterations = 0;
  const auto loaded = SavedAndLoaded(*Builder(config).Build(TwoInputs()));
  EXPECT_EQ(loaded->preprocessing(), nullptr);
  EXPECT_TRUE(loaded->class_names().empty());
  EXPECT_TRUE(ClassNames(*loaded).empty());
}

TEST(PlanPreprocessing, IsInEnginesOfEveryBackend) {
  BuilderConfig config = ConfigOf(Everything());
  config.backend = Backend::REFERENCE;
  ExpectEqual(Builder(config).Build(TwoInputs())->preprocessing(), Everything());
}

TEST(PlanPreprocessing, IsForTheOnlyInputThatTakesImages) {
  ImagePreprocessing unnamed;
  unnamed.scale = 2;
  EXPECT_EQ(BuiltWith(unnamed)->preprocessing()->input, "x");

  NetworkDefinition net("images");
  net.AddInput("a", {1, 1, 2, 2});
  net.AddInput("b", {1, 1, 2, 2});
  net.AddLayer(ParseLayer("name: 'sum' type: 'Eltwise' bottom: 'a' bottom: 'b' top: 'y'"));
  net.MarkOutput("y");
  ExpectContains(ErrorOf([&] { Builder(ConfigOf(unnamed)).Build(net); }),
                 "images can go to inputs 'a' and 'b': name one of them");
  unnamed.constants["a"] = {0};
  EXPECT_EQ(Builder(ConfigOf(unnamed)).Build(net)->preprocessing()->input, "b");
}

TEST(PlanPreprocessing, SaysThatTheEngineNormalizesWhereItDoes) {
  NetworkDefinition net = TwoInputs();
  net.NormalizeInput("x", {1, 2, 3}, 0.5f);
  BuilderConfig config;
  config.timing_iterations = 0;
  ImagePreprocessing expected;
  expected.input = "x";
  expected.mean = {1, 2, 3};
  expected.scale = 0.5f;
  expected.engine_normalizes = true;
  ExpectEqual(SavedAndLoaded(*Builder(config).Build(net))->preprocessing(), expected);

  expected.rgb = true;
  ExpectEqual(Builder(ConfigOf(expected)).Build(net)->preprocessing(), expected);
  expected.engine_normalizes = false;
  ExpectContains(ErrorOf([&] { Builder(ConfigOf(expected)).Build(net); }),
                 "mean and scale of input 'x' are part of the net");
  expected.engine_normalizes = true;
  ExpectContains(ErrorOf([&] { BuiltWith(expected); }),
                 "mean and scale of input 'x' are not part of the net");
}

TEST(PlanPreprocessing, HasToFitTheNet) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const struct {
    std::function<void(ImagePreprocessing*)> change;
    const char* message;
  } cases[] = {
      {[](auto* p) { p->input = "none"; }, "the net has no input 'none'"},
      {[](auto* p) { p->input = "y"; }, "the net has no input 'y'"},
      {[](auto* p) { p->input = "info", p->constants.clear(); },
       "input 'info' is 2 3 (6), no images"},
      {[](auto* p) { p->mean.resize(2); }, "the mean has 2 values, input 'x' has 3 channels"},
      {[](auto* p) { p->mean.pop_back(); }, "the mean has 35 values"},
      {[](auto* p) { p->resize_height = p->resize_width = 0; }, "the mean has 36 values"},
      {[](auto* p) { p->mean[7] = INFINITY; }, "mean and scale must be finite"},
      {[&](auto* p) { p->scale = nan; }, "mean and scale must be finite"},
      {[](auto* p) { p->scale = 0; }, "scale not 0"},
      {[](auto* p) { p->resize_height = 1; }, "resized to 1x4, less than input 'x', 2x2"},
      {[](auto* p) { p->resize_width = -4; }, "resized to 3x-4"},
      {[](auto* p) { p->resize_height = 1 << 20; }, "or more than 32768"},
      {[](auto* p) { p->constants["none"] = {1}; }, "the net has no input 'none'"},
      {[](auto* p) { p->constants["x"] = {1}; }, "input 'x' takes images, and values are given"},
      {[](auto* p) {
         p->constants["info"] = {1, 2, 3, 4};
       },
       "4 do not fill 2 3 (6)"},
      {[](auto* p) { p->constants["info"].clear(); }, "0 do not fill"},
      {[&](auto* p) { p->constants["info"][1] = nan; }, "or are not finite"},
  };
  for (const auto& wrong : cases) {
    SCOPED_TRACE(wrong.message);
    ImagePreprocessing preprocessing = Everything();
    wrong.change(&preprocessing);
    ExpectContains(ErrorOf([&] { BuiltWith(preprocessing); }), wrong.message);
    // The same out of a plan.
    Graph graph = *BuiltWith(Everything())->graph();
    graph.preprocessing = std::make_shared<const ImagePreprocessing>(preprocessing);
    const std::string file = NewFileName();
    WritePlan({{graph}, 0}, file);
    ExpectContains(ErrorOf([&] { Engine::Load(file); }), wrong.message);
  }
}

// Every byte of the description, which ends with what is known of images: an Error or an engine.
TEST(PlanPreprocessing, SurvivesWrongBytes) {
  BuilderConfig config = ConfigOf(Everything());
  config.class_names = {"one", "two"};
  const std::string file = NewFileName();
  Builder(config).Build(TwoInputs())->Save(file);
  const std::string bytes = ReadFile(file);
  uint64_t description = 0;
  std::memcpy(&description, &bytes[24], 8);
  const size_t begin = bytes.find(std::string("x\x24\0\0\0\0\0\0\0", 9));  // input, 36 means
  ASSERT_LT(begin, 64 + description);
  int refused = 0, loaded = 0;
  for (size_t at = begin - 16; at < 64 + description; ++at) {
    for (const int mask : {0x01, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at] ^= static_cast<char>(mask);
      const std::string damaged_file = NewFile(Signed(damaged));
      const std::string error = ErrorOf([&] {
        const auto engine = Engine::Load(damaged_file);
        if (engine->preprocessing()) engine->preprocessing()->Validate(*engine->graph());
      });
      ++(error.empty() ? loaded : refused);
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(loaded, 100);  // other means, other names
}

TEST(PlanPreprocessing, IsPrinted) {
  const auto engine = BuiltWith(Everything());
  EXPECT_EQ(ToText(*engine->preprocessing(), *engine->graph()),
            "x: resized to 3x4, cut in the middle to 2x2, RGB, (value - an image of 36 values) * "
            "0.25; info = 2,2,1");
  ImagePreprocessing normalizes;
  normalizes.input = "x";
  normalizes.mean = {104, 117.5, 123};
  normalizes.engine_normalizes = true;
  EXPECT_EQ(ToText(normalizes, *engine->graph()),
            "x: resized to 2x2, BGR, values from 0 to 255: the engine computes "
            "(value - (104,117.5,123)) * 1");
  for (const char* part : {"\"channel_order\": \"RGB\"", "\"scale\": 0.25", "\"input\": \"x\"",
                           "\"engine_normalizes\": false"}) {
    ExpectContains(engine->ToJson(), part);
  }
}

// ------------------------------------------------------------------ from a net's transform_param

TEST(PreprocessingOf, TakesMeanAndScale) {
  TransformationParameter transform;
  transform.add_mean_value(104);
  transform.add_mean_value(117);
  transform.set_scale(0.5f);
  transform.set_mirror(true);
  transform.set_crop_size(227);
  ImagePreprocessing expected;
  expected.mean = {104, 117};
  expected.scale = 0.5f;
  const ImagePreprocessing actual = ImagePreprocessing::Of(transform);
  ExpectEqual(&actual, expected);
}

TEST(PreprocessingOf, TakesTheMeanImageAndItsSize) {
  TransformationParameter transform;
  transform.set_mean_file(MeanFile({1, 3, 4, 5}, 7));
  transform.set_crop_size(2);
  const ImagePreprocessing preprocessing = ImagePreprocessing::Of(transform);
  EXPECT_EQ(preprocessing.mean, std::vector<float>(60, 7));
  EXPECT_EQ(preprocessing.resize_height, 4);
  EXPECT_EQ(preprocessing.resize_width, 5);
  transform.add_mean_value(1);
  ExpectContains(ErrorOf([&] { ImagePreprocessing::Of(transform); }), "mean_file or mean_value");
}

TEST(ReadMeanImage, RefusesOtherFilesAndSizes) {
  const auto error = [](const std::string& file, int height) {
    ImagePreprocessing preprocessing;
    preprocessing.resize_height = preprocessing.resize_width = height;
    return ErrorOf([&] { preprocessing.ReadMeanImage(file); });
  };
  const std::string images = MeanFile({2, 3, 4, 4}, 7), vector = MeanFile({3}, 7);
  ExpectContains(error(images, 0), images + ": no mean image but a blob of 2 3 4 4");
  ExpectContains(error(vector, 0), vector + ": no mean image but a blob of 3 (3)");
  ExpectContains(error(MeanFile({3, 4, 4}, 7), 5),
                 "the mean image is 4x4, images are resized to 5x5");
  ExpectContains(error("no_such_file", 0), "no_such_file");

  ImagePreprocessing grey;  // for an input with 3 channels
  grey.ReadMeanImage(MeanFile({1, 4, 4}, 7));
  ExpectContains(ErrorOf([&] { BuiltWith(grey); }),
                 "the mean has 16 values, input 'x' has 3 channels");
}

// ------------------------------------------------------------------ of images

#ifdef USE_OPENCV

std::vector<float> InputAfter(const ImagePreprocessing& preprocessing,
                              const std::vector<ImageSource>& images) {
  ExecutionContext context(BuiltWith(preprocessing));
  SetImages(images, &context);
  EXPECT_EQ(context.batch(), static_cast<int>(images.size()));
  const float* x = context.Input("x");
  return {x, x + CountOf(context.InputShape("x"))};
}

ImageSource SourceOf(const cv::Mat& image) {
  return {"values", image.data, image.rows, image.cols, image.channels()};
}

/// Channel c of the counting image of 2 x 2: (50 c, 50 c + 1, 50 c + 10, 50 c + 11).
const cv::Mat kImage = CountingImage(3, 2, 2);

TEST(SetImages, SubtractsMultipliesAndOrdersChannels) {
  ImagePreprocessing preprocessing;
  preprocessing.mean = {1, 2, 3};
  preprocessing.scale = 2;
  preprocessing.constants["info"] = {5, 6, 7};
  EXPECT_EQ(InputAfter(preprocessing, {SourceOf(kImage)}),
            (Floats{-2, 0, 18, 20, 96, 98, 116, 118, 194, 196, 214, 216}));
  preprocessing.rgb = true;
  EXPECT_EQ(InputAfter(preprocessing, {SourceOf(kImage)}),
            (Floats{198, 200, 218, 220, 96, 98, 116, 118, -6, -4, 14, 16}));
  preprocessing.mean = {10};
  preprocessing.rgb = false;
  EXPECT_EQ(InputAfter(preprocessing, {SourceOf(kImage)})[0], -20);
}

TEST(SetImages, LeavesMeanAndScaleToAnEngineThatNormalizes) {
  NetworkDefinition net = TwoInputs();
  net.NormalizeInput("x", {1, 2, 3}, 2);
  ImagePreprocessing preprocessing;
  preprocessing.mean = {1, 2, 3};
  preprocessing.scale = 2;
  preprocessing.engine_normalizes = true;
  preprocessing.constants["info"] = {1};
  ExecutionContext context(Builder(ConfigOf(preprocessing)).Build(net));
  SetImages({SourceOf(kImage)}, &context);
  EXPECT_EQ(context.Input("x")[4], 50);
  context.Run();
  EXPECT_EQ(*context.Output("y"), -2 + 0 + 18 + 20 + 96 + 98 + 116 + 118 + 194 + 196 + 214 + 216);
}

TEST(SetImages, SubtractsTheMiddleOfTheMeanImageFromTheMiddleOfTheImage) {
  ImagePreprocessing preprocessing;
  preprocessing.resize_height = 4;
  preprocessing.resize_width = 4;
  for (int i = 0; i < 48; ++i) preprocessing.mean.push_back(static_cast<float>(i));
  preprocessing.scale = 10;
  preprocessing.constants["info"] = {1};
  const cv::Mat grey(7, 9, CV_8UC3, cv::Scalar(100, 100, 100));
  EXPECT_EQ(InputAfter(preprocessing, {SourceOf(grey)}),
            (Floats{950, 940, 910, 900, 790, 780, 750, 740, 630, 620, 590, 580}));
}

TEST(SetImages, TakesFilesAndGreyImages) {
  ImagePreprocessing preprocessing;
  preprocessing.constants["info"] = {5, 6, 7};
  ExecutionContext context(BuiltWith(preprocessing));
  const cv::Mat grey(3, 3, CV_8UC1, cv::Scalar(9));
  SetImages({{NewImage(kImage)}, SourceOf(grey)}, &context);
  const float* x = context.Input("x");
  EXPECT_EQ(Floats(x, x + 24), (Floats{0, 1, 10, 11, 50, 51, 60, 61, 100, 101, 110, 111,
                                       9, 9, 9,  9,  9,  9,  9,  9,  9,   9,   9,   9}));
  const float* info = context.Input("info");
  EXPECT_EQ(Floats(info, info + 6), (Floats{5, 6, 7, 5, 6, 7}));
}

// The batch is that of the first input, which need not be the one of images.
TEST(SetImages, WritesNoMoreImagesThanTheInputTakes) {
  NetworkDefinition net("boxes first");
  net.AddInput("boxes", {4, 5});
  net.AddInput("x", {1, 3, 2, 2});
  for (const char* name : {"boxes", "x"}) {
    const std::string n = name;
    net.AddLayer(ParseLayer("name: '" + n + "' type: 'Power' bottom: '" + n + "' top: '" + n +
                            "_out' power_param { scale: 2 }"));
    net.MarkOutput(n + "_out");
  }
  ImagePreprocessing preprocessing;
  preprocessing.constants["boxes"] = {0, 0, 0, 1, 1};
  ExecutionContext context(Builder(ConfigOf(preprocessing)).Build(net));
  SetImages({SourceOf(kImage)}, &context);
  ExpectContains(ErrorOf([&] {
                   SetImages({SourceOf(kImage), SourceOf(kImage)}, &context);
                 }),
                 "input 'x' takes 1 images at a time, got 2");
}

// What `caffe` feeds its nets with.
TEST(SetImages, DoesWhatInputBatchesDo) {
  ImagePreprocessing preprocessing = Everything();
  const std::string file = NewImage(CountingImage(3, 6, 5));
  const auto engine = BuiltWith(preprocessing);
  const auto net = InputNetOf(*engine, 1);
  ASSERT_TRUE(InputBatches::FromImages({file}, preprocessing)->Feed(0, net.get()));
  const float* x = net->blob_by_name("x")->cpu_data();
  EXPECT_EQ(InputAfter(preprocessing, {{file}}), Floats(x, x + 12));
}

TEST(SetImages, SaysWhatIsWrong) {
  ImagePreprocessing preprocessing;
  const auto error = [&](const std::vector<ImageSource>& images) {
    ExecutionContext context(BuiltWith(preprocessing));
    return ErrorOf([&] { SetImages(images, &context); });
  };
  ExpectContains(error({SourceOf(kImage)}), "give values for 'info'");
  preprocessing.constants["info"] = {1};
  ExpectContains(error({}), "batch 0");
  ExpectContains(error({{"a"}, {"b"}, {"c"}}), "batch 3");
  const std::string file = NewFile("no image");
  ExpectContains(error({{file}}), file + ": cannot be read as an image");
  const uint8_t values[4] = {};
  ExpectContains(error({{"four.raw", values, 1, 1, 4}}), "four.raw: 1x1x4 is no image");
  BuilderConfig config;
  config.timing_iterations = 0;
  ExecutionContext context(Builder(config).Build(TwoInputs()));
  ExpectContains(ErrorOf([&] { SetImages({SourceOf(kImage)}, &context); }),
                 "engine 'two' does not know how images are prepared");
}

#endif  // USE_OPENCV

}  // namespace
}  // namespace caffe::inference
