// Engines for ranges of input shapes: against Net in shapes within, and what is refused.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "caffe/inference/backends/cpu/cpu_target.hpp"
#include "caffe/inference/builder.hpp"
#include "caffe/inference/engine_batches.hpp"
#include "caffe/inference/shape_profiles.hpp"
#include "caffe/test/support/damaged_plans.hpp"
#include "caffe/test/support/lowered_nets.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/slow_tests.hpp"
#include "caffe/test/support/test_data.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/text/shape_text.hpp"

namespace caffe::inference {
namespace {

ShapeProfile Profile(const Shape& least, const Shape& best, const Shape& most) {
  return {{{"data", least}}, {{"data", best}}, {{"data", most}}};
}

/// A convolution of images, and a second one of twice the stride.
NetworkDefinition SmallNet() {
  return NetworkDefinition::FromCaffe(
      ParseNet("name: 'small' input: 'data' input_shape { dim: 1 dim: 3 dim: 16 dim: 16 } "
               "layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' "
               "  convolution_param { num_output: 8 kernel_size: 3 pad: 1 "
               "    weight_filler { type: 'xavier' } } } "
               "layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' } "
               "layer { name: 'out' type: 'Convolution' bottom: 'conv' top: 'out' "
               "  convolution_param { num_output: 4 kernel_size: 3 stride: 2 "
               "    weight_filler { type: 'xavier' } } }"),
      {});
}

std::shared_ptr<const Engine> Build(const NetworkDefinition& net,
                                    const std::vector<ShapeProfile>& profiles,
                                    Backend backend = Backend::CPU) {
  BuilderConfig config;
  config.backend = backend;
  config.timing_iterations = 0;
  config.profiles = profiles;
  return Builder(config).Build(net);
}

void FillBlobWithNoise(std::mt19937* random, Blob<float>* blob) {
  std::uniform_real_distribution<float> noise(-1, 1);
  for (int i = 0; i < blob->count(); ++i) blob->mutable_cpu_data()[i] = noise(*random);
}

/// Blobs that a detector's last layer reads instead of its output, whose order of boxes depends on
/// the last bit.
std::set<std::string> ComparedBlobs(const Net<float>& net) {
  std::set<std::string> names;
  for (size_t i = 0; i < net.layers().size(); ++i) {
    if (std::string(net.layers()[i]->type()) != "DetectionOutput") continue;
    const auto& bottoms = net.layers()[i]->layer_param().bottom();
    names.insert(bottoms.begin(), bottoms.end());
  }
  if (!names.empty()) return names;
  for (const int output : net.output_blob_indices()) names.insert(net.blob_names()[output]);
  return names;
}

/// Runs both in these shapes of the input "data" (or whatever it is called) on the same noise.
/// Where the net cannot be run neither can the engine. Priors are exact.
void ExpectAsNet(const Shape& shape, double bound, std::mt19937* random, Net<float>* net,
                 ExecutionContext* context) {
  SCOPED_TRACE("in " + ShapeText(shape));
  const std::string input = context->engine().inputs().at(0);
  std::string refused;
  try {
    net->input_blobs()[0]->Reshape(shape);
    net->Reshape();
  } catch (const Error& error) {
    refused = error.what();
  }
  const std::string error = ErrorOf([&] { context->SetInputShape(input, shape); });
  EXPECT_EQ(error.empty(), refused.empty()) << "engine: " << error << "\nnet: " << refused;
  if (!error.empty() || !refused.empty()) return;
  FillBlobWithNoise(random, net->input_blobs()[0]);
  const Blob<float>& data = *net->input_blobs()[0];
  std::copy_n(data.cpu_data(), data.count(), context->Input(input));
  net->Forward();
  NamedValues expected, actual;
  for (const std::string& name : ComparedBlobs(*net)) {
    const Blob<float>& blob = *net->blob_by_name(name);
    expected[name] = {blob.cpu_data(), blob.cpu_data() + blob.count()};
  }
  context->SetObserver([&](const std::string& blob, const Shape& s, const float* values) {
    if (expected.count(blob)) actual[blob] = {values, values + CountOf(s)};
  });
  context->Run();
  context->SetObserver(nullptr);
  for (const auto& [name, values] : expected) {
    const bool is_priors = name.find("prior") != std::string::npos;
    ExpectSame({{name, values}}, {{name, actual[name]}}, is_priors ? 1e-6 : bound);
  }
}

/// In the smallest, tuned and largest shapes of a profile and random ones between them.
void ExpectTheSameInRange(const ShapeProfile& profile, double bound, int shapes, unsigned seed,
                          Net<float>* net, ExecutionContext* context) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const Shape &least = profile.min.begin()->second, &best = profile.opt.begin()->second,
              &most = profile.max.begin()->second;
  for (const Shape& shape : {most, least, best}) ExpectAsNet(shape, bound, &random, net, context);
  for (; shapes > 0; --shapes) {
    Shape shape;
    for (size_t axis = 0; axis < least.size(); ++axis) {
      shape.push_back(least[axis] + static_cast<int>(random() % (most[axis] - least[axis] + 1)));
    }
    ExpectAsNet(shape, bound, &random, net, context);
  }
}

TEST(ShapeProfiles, NamesInputsAndFillsInWhatIsLeftOut) {
  ShapeProfile profile;
  profile.opt["data"] = {2, 3, 20, 20};
  const auto fixed = Build(SmallNet(), {profile})->profiles();
  ASSERT_EQ(fixed.size(), 1u);
  EXPECT_EQ(fixed[0].min.at("data"), (Shape{2, 3, 20, 20}));
  EXPECT_EQ(fixed[0].max.at("data"), (Shape{2, 3, 20, 20}));
  profile.min[""] = {1, 3, 8, 8};
  profile.max[""] = {4, 3, 32, 32};
  const auto engine = Build(SmallNet(), {profile});
  EXPECT_EQ(engine->max_batch(), 4);
  EXPECT_EQ(engine->profiles()[0].min.at("data"), (Shape{1, 3, 8, 8}));
  EXPECT_EQ(engine->profiles()[0].opt.at("data"), (Shape{2, 3, 20, 20}));
  EXPECT_EQ(engine->profiles()[0].max.at("data"), (Shape{4, 3, 32, 32}));
  EXPECT_TRUE(Build(SmallNet(), {})->profiles().empty());
}

TEST(ShapeProfiles, RefusesRangesThatAreNone) {
  struct Case {
    ShapeProfile profile;
    const char* error;
  };
  ShapeProfile other = Profile({1, 3, 8, 8}, {1, 3, 8, 8}, {1, 3, 8, 8}), least;
  other.opt["image"] = {1, 3, 8, 8};
  least.min["data"] = {1, 3, 8, 8};
  const Case cases[] = {
      {Profile({1, 3, 9, 8}, {1, 3, 8, 8}, {1, 3, 16, 16}),
       "profile 0: input 'data' has min 1x3x9x8"},
      {Profile({1, 3, 8, 8}, {1, 3, 8, 17}, {1, 3, 16, 16}), "opt 1x3x8x17 and max 1x3x16x16"},
      {Profile({1, 3, 8}, {1, 3, 8, 8}, {1, 3, 16, 16}), "has 4 axes (1x3x16x16), and 1x3x8 has 3"},
      {Profile({0, 3, 8, 8}, {1, 3, 8, 8}, {1, 3, 16, 16}), "an extent that is not positive"},
      {other, "opt: the net has no input 'image'; it has 'data'"},
      {least, "has a min shape only"},
      {Profile({1, 3, 2, 2}, {1, 3, 8, 8}, {1, 3, 16, 16}),
       "its min shapes (data 1x3x2x2) cannot be run: layer 'out' (Convolution)"},
      {Profile({1, 3, 8, 8}, {1, 3, 8, 8}, {1, 4, 8, 8}),
       "its max shapes (data 1x4x8x8) cannot be run: layer 'conv' (Convolution)"},
  };
  for (const Case& c : cases) {
    ExpectContains(ErrorOf([&] { Build(SmallNet(), {c.profile}); }), c.error);
  }
  BuilderConfig config;
  config.profiles = {Profile({1, 3, 8, 8}, {1, 3, 8, 8}, {1, 3, 8, 8})};
  config.max_batch = 2;
  ExpectContains(ErrorOf([&] { Builder(config).Build(SmallNet()); }),
                 "leave max_batch and max_input_shapes out");
}

TEST(ShapeProfiles, NamesLayersThatCannotChangeTheirSize) {
  const std::string head = "input: 'data' input_shape { dim: 1 dim: 2 dim: 6 dim: 6 } ";
  const auto error = [&](const std::string& layer) {
    const auto net = NetworkDefinition::FromCaffe(
        ParseNet(head + "layer { name: 'fixed' bottom: 'data' top: 'y' " + layer + " }"), {});
    return ErrorOf([&] { Build(net, {Profile({1, 2, 4, 4}, {1, 2, 6, 6}, {1, 2, 6, 6})}); });
  };
  const std::string expected = "its min shapes (data 1x2x4x4) cannot be run: layer 'fixed'";
  ExpectContains(error("type: 'InnerProduct' inner_product_param { num_output: 3 }"), expected);
  ExpectContains(error("type: 'Reshape' reshape_param { shape { dim: 1 dim: 72 } }"), expected);
  EXPECT_EQ(error("type: 'Reshape' reshape_param { shape { dim: 0 dim: -1 } }"), "");
}

TEST(ShapeProfiles, OfConvolutionsKeepTheAxisOfTheirChannels) {
  const auto net = NetworkDefinition::FromCaffe(
      ParseNet("input: 'data' input_shape { dim: 1 dim: 2 dim: 6 dim: 6 } "
               "layer { name: 'rows' type: 'Convolution' bottom: 'data' top: 'y' "
               "convolution_param { axis: 2 num_output: 3 kernel_size: 2 } }"),
      {});
  EXPECT_EQ(ErrorOf([&] { Build(net, {Profile({1, 1, 6, 4}, {1, 2, 6, 6}, {1, 3, 6, 6})}); }), "");
  ExpectContains(ErrorOf([&] {
                   Build(net, {Profile({1, 2, 5, 6}, {1, 2, 6, 6}, {1, 2, 6, 6})});
                 }),
                 "cannot be run: layer 'rows' (Convolution)");
}

// Else their detections would be decoded with the boxes of another image.
TEST(ShapeProfiles, ArePartOfAnEngineWhosePriorsAreConstants) {
  const auto net = NetworkDefinition::FromCaffe(
      ParseNet("input: 'data' input_shape { dim: 2 dim: 3 dim: 8 dim: 8 } "
               "layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' "
               "convolution_param { num_output: 4 kernel_size: 3 } } "
               "layer { name: 'prior' type: 'PriorBox' bottom: 'conv' bottom: 'data' top: 'prior' "
               "prior_box_param { min_size: 2 } } "
               "layer { name: 'pool' type: 'Pooling' bottom: 'conv' top: 'pool' "
               "pooling_param { kernel_size: 2 } }"),
      {});
  ExecutionContext context(Builder(BuilderConfig()).Build(net));
  context.SetBatch(1);
  ExpectContains(ErrorOf([&] {
                   context.SetInputShape("data", {2, 3, 7, 8});
                 }),
                 "but for profile 0: data 1x3x8x8 to 2x3x8x8");
}

TEST(ShapeProfiles, RefusesShapesOutsideOfTheRange) {
  const auto engine = Build(SmallNet(), {Profile({2, 3, 8, 8}, {2, 3, 8, 8}, {4, 3, 16, 24})});
  ExecutionContext context(engine);
  EXPECT_EQ(context.InputShape("data"), (Shape{4, 3, 16, 24}));
  const std::string expected = "but for profile 0: data 2x3x8x8 to 4x3x16x24";
  for (const Shape& shape :
       {Shape{2, 3, 7, 8}, Shape{2, 3, 17, 8}, Shape{5, 3, 8, 8}, Shape{2, 3, 8}}) {
    ExpectContains(ErrorOf([&] { context.SetInputShape("data", shape); }), expected);
    ExpectContains(ErrorOf([&] { context.SetInputShape("data", shape); }), ShapeText(shape));
    EXPECT_EQ(context.InputShape("data"), (Shape{4, 3, 16, 24})) << "as it was";
  }
  ExpectContains(ErrorOf([&] { context.SetBatch(1); }), expected);
  ExpectContains(ErrorOf([&] { context.SetBatch(5); }), "is built for 1 to 4");
  context.SetBatch(3);
  EXPECT_EQ(context.InputShape("data"), (Shape{3, 3, 16, 24}));
}

TEST(ShapeProfiles, TakesTheFirstProfileThatHasTheShape) {
  const auto engine = Build(SmallNet(), {Profile({1, 3, 8, 8}, {1, 3, 8, 8}, {1, 3, 16, 16}),
                                         Profile({1, 3, 8, 8}, {4, 3, 16, 16}, {4, 3, 16, 16}),
                                         Profile({1, 3, 30, 30}, {1, 3, 40, 40}, {1, 3, 40, 40})});
  EXPECT_EQ(engine->max_batch(), 4);
  ExecutionContext context(engine);
  EXPECT_EQ(context.profile(), 0);
  EXPECT_EQ(context.InputShape("data"), (Shape{1, 3, 16, 16}));
  context.SetBatch(2);
  EXPECT_EQ(context.profile(), 1);
  context.SetInputShape("data", {1, 3, 30, 40});
  EXPECT_EQ(context.profile(), 2);
  context.SetInputShape("data", {1, 3, 10, 10});
  EXPECT_EQ(context.profile(), 0);
  ExpectContains(ErrorOf([&] {
                   context.SetInputShape("data", {1, 3, 20, 20});
                 }),
                 "profile 0: data 1x3x8x8 to 1x3x16x16; profile 1: data 1x3x8x8 to 4x3x16x16; "
                 "profile 2: data 1x3x30x30 to 1x3x40x40");
  EXPECT_EQ(context.InputShape("data"), (Shape{1, 3, 10, 10}));
}

TEST(ShapeProfiles, KeepsToTheProfileThatWasSet) {
  const auto engine = Build(SmallNet(), {Profile({1, 3, 8, 8}, {1, 3, 8, 8}, {1, 3, 16, 16}),
                                         Profile({1, 3, 8, 8}, {4, 3, 16, 16}, {4, 3, 16, 16})});
  ExecutionContext context(engine);
  context.SetProfile(1);
  EXPECT_EQ(context.InputShape("data"), (Shape{4, 3, 16, 16}));
  context.SetBatch(1);
  EXPECT_EQ(context.profile(), 1) << "though the first would do";
  ExpectContains(ErrorOf([&] {
                   context.SetInputShape("data", {5, 3, 8, 8});
                 }),
                 "but for profile 1: data 1x3x8x8 to 4x3x16x16");
  context.SetProfile(0);
  ExpectContains(ErrorOf([&] { context.SetBatch(2); }), "but for profile 0");
  for (const int profile : {-1, 2}) {
    ExpectContains(ErrorOf([&] { context.SetProfile(profile); }), "numbered from 0 to 1");
  }
  ExecutionContext(Build(SmallNet(), {})).SetProfile(0);
}

TEST(ShapeProfiles, PlansMemoryForTheLargest) {
  const auto engine = Build(SmallNet(), {Profile({1, 3, 8, 8}, {1, 3, 12, 12}, {2, 3, 40, 40})});
  const std::unique_ptr<Runner> runner = MakeRunner(engine->graph());
  const int input = engine->graph()->inputs[0];
  const float* const place = runner->data(input);
  const size_t bytes = runner->activation_bytes();
  for (const Shape& shape : {Shape{1, 3, 8, 8}, Shape{2, 3, 40, 9}, Shape{2, 3, 40, 40}}) {
    runner->SetInputShapes({shape});
    runner->Run(nullptr);
    EXPECT_EQ(runner->data(input), place);
    EXPECT_EQ(runner->activation_bytes(), bytes);
  }
}

TEST(ShapeProfiles, TimesCandidatesInTheTunedShapes) {
  const auto cache = std::make_shared<TimingCache>();
  BuilderConfig config;
  config.timing_iterations = 1;
  config.timing_cache = cache;
  config.profiles = {Profile({1, 3, 8, 8}, {2, 3, 10, 10}, {2, 3, 12, 12})};
  Builder(config).Build(SmallNet());
  const std::string file = NewFileName();
  cache->Write(file);
  const std::string times = ReadFile(file);
  ExpectContains(times, "2 3 10 10");
  EXPECT_EQ(times.find("2 3 12 12"), std::string::npos);
  EXPECT_EQ(times.find("1 3 8 8"), std::string::npos);
}

TEST(ShapeProfiles, AreInThePlanWithCommonWeightsOnce) {
  const ShapeProfile small = Profile({1, 3, 8, 8}, {1, 3, 8, 8}, {1, 3, 12, 12});
  const ShapeProfile large = Profile({1, 3, 12, 12}, {1, 3, 16, 16}, {2, 3, 16, 16});
  const auto built = Build(SmallNet(), {small, large});
  EXPECT_LE(built->weight_bytes(), Build(SmallNet(), {small})->weight_bytes());
  const std::string file = NewFileName(), again = NewFileName();
  built->Save(file);
  const auto engine = Engine::Load(file);
  ASSERT_EQ(engine->num_graphs(), 2);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ToText(*engine->graph(i)), ToText(*built->graph(i)));
  EXPECT_EQ(engine->weight_bytes(), built->weight_bytes());
  EXPECT_EQ(engine->profiles()[1].opt.at("data"), (Shape{1, 3, 16, 16}));
  ExpectContains(engine->ToJson(), "\"profiles\"");
  engine->Save(again);
  EXPECT_EQ(ReadFile(again), ReadFile(file));
}

// Any byte of a plan's description may be damaged.
TEST(ShapeProfiles, SurviveDamagedPlans) {
  const auto built = Build(SmallNet(), {Profile({1, 3, 8, 8}, {1, 3, 8, 8}, {1, 3, 12, 12}),
                                        Profile({1, 3, 8, 8}, {1, 3, 8, 8}, {1, 3, 16, 16})});
  const std::string file = NewFileName();
  built->Save(file);
  const std::string bytes = ReadFile(file);
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::string damaged = bytes;
    for (int changes = 1 + random() % 3; changes > 0; --changes) {
      damaged[24 + random() % (damaged.size() - 24)] = static_cast<char>(random());
    }
    ExpectErrorOrEngine(NewFile(Signed(damaged)), [](const std::shared_ptr<const Engine>& engine) {
      ExecutionContext context(engine);
      context.SetInputShape(engine->inputs().at(0), {1, 3, 8, 8});
      context.Run();
    });
  }
}

/// Heads of a detector on blobs of two sizes, with priors.
std::string DetectorText() {
  std::string text =
      "name: 'ssd' input: 'data' input_shape { dim: 1 dim: 3 dim: 32 dim: 32 } "
      "layer { name: 'map0' type: 'Convolution' bottom: 'data' top: 'map0' "
      "  convolution_param { num_output: 16 kernel_size: 3 pad: 1 stride: 2 "
      "    weight_filler { type: 'xavier' } } } "
      "layer { name: 'relu0' type: 'ReLU' bottom: 'map0' top: 'map0' } "
      "layer { name: 'map1' type: 'Convolution' bottom: 'map0' top: 'map1' "
      "  convolution_param { num_output: 16 kernel_size: 3 pad: 1 stride: 2 "
      "    weight_filler { type: 'xavier' } } } "
      "layer { name: 'relu1' type: 'ReLU' bottom: 'map1' top: 'map1' } ";
  const auto head = [&](const std::string& map, const std::string& kind, int outputs) {
    const std::string name = map + kind;
    text += "layer { name: '" + name + "' type: 'Convolution' bottom: '" + map + "' top: '" + name +
            "' convolution_param { kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } "
            "num_output: " +
            std::to_string(outputs) + " } } layer { name: '" + name +
            "_perm' type: 'Permute' bottom: '" + name + "' top: '" + name +
            "_perm' permute_param { order: 0 order: 2 order: 3 order: 1 } } layer { name: '" +
            name + "_flat' type: 'Flatten' bottom: '" + name + "_perm' top: '" + name + "_flat' } ";
  };
  for (const char* map : {"map0", "map1"}) {
    head(map, "_loc", 3 * 4);
    head(map, "_conf", 3 * 2);
    text += std::string("layer { name: '") + map + "_prior' type: 'PriorBox' bottom: '" + map +
            "' bottom: 'data' top: '" + map +
            "_prior' prior_box_param { min_size: 8 aspect_ratio: 2 flip: true variance: 0.1 } } ";
  }
  for (const char* kind : {"loc_flat", "conf_flat", "prior"}) {
    text += std::string("layer { name: '") + kind + "' type: 'Concat' bottom: 'map0_" + kind +
            "' bottom: 'map1_" + kind + "' top: '" + kind +
            "' concat_param { axis: " + (std::string(kind) == "prior" ? "2" : "1") + " } } ";
  }
  return text +
         "layer { name: 'reshape' type: 'Reshape' bottom: 'conf_flat' top: 'conf_reshape' "
         "  reshape_param { shape { dim: 0 dim: -1 dim: 2 } } } "
         "layer { name: 'softmax' type: 'Softmax' bottom: 'conf_reshape' top: 'conf_softmax' "
         "  softmax_param { axis: 2 } } "
         "layer { name: 'conf' type: 'Flatten' bottom: 'conf_softmax' top: 'conf' } "
         "layer { name: 'detections' type: 'DetectionOutput' bottom: 'loc_flat' bottom: 'conf' "
         "  bottom: 'prior' top: 'detections' detection_output_param { num_classes: 2 "
         "    nms_param { nms_threshold: 0.4 } confidence_threshold: 0.5 } }";
}

struct PrecisionCase {
  Precision precision;
  double bound;
};

void PrintTo(const PrecisionCase& c, std::ostream* out) { *out << Name(c.precision); }

class ShapesInPrecision : public ::testing::TestWithParam<PrecisionCase> {
 protected:
  /// With thresholds from the net's input of now.
  static BuilderConfig Config(Net<float>* net) {
    BuilderConfig config;
    config.precision = GetParam().precision;
    config.timing_iterations = 0;
    if (config.precision == Precision::INT8) {
      std::mt19937 random(TestSeed());
      FillBlobWithNoise(&random, net->input_blobs()[0]);
      net->Forward();
      config.calibration = std::make_shared<CalibrationTable>(TableOf(*net));
    }
    return config;
  }
  static std::shared_ptr<const Engine> Build(const NetworkDefinition& definition,
                                             const ShapeProfile& profile, Net<float>* net) {
    BuilderConfig config = Config(net);
    config.profiles = {profile};
    return Builder(config).Build(definition);
  }

  /// In each of the profile's shapes the engine makes what an engine for that shape alone makes: to
  /// one step of INT8 in a hundred, as concatenations are scaled elsewhere.
  static void ExpectWhatFixedEnginesMake(const NetworkDefinition& definition,
                                         const ShapeProfile& profile, Net<float>* net) {
    BuilderConfig config = Config(net);
    config.profiles = {profile};
    ExecutionContext in_range(Builder(config).Build(definition));
    config.profiles.clear();
    for (const auto& shapes : {profile.min, profile.opt, profile.max}) {
      const Shape& shape = shapes.at("");
      SCOPED_TRACE("in " + ShapeText(shape));
      config.max_input_shapes = {{"", shape}};
      ExecutionContext fixed(Builder(config).Build(definition));
      in_range.SetInputShape("", shape);
      NamedValues values[2];
      for (ExecutionContext* context : {&fixed, &in_range}) {
        std::mt19937 random(TestSeed());
        Blob<float> noise(shape);
        FillBlobWithNoise(&random, &noise);
        const std::string input = context->engine().inputs().at(0);
        std::copy_n(noise.cpu_data(), noise.count(), context->Input(input));
        context->Run();
        for (const std::string& name : context->engine().outputs()) {
          if (IsDetections(context->engine(), name)) continue;
          const float* output = context->Output(name);
          values[context == &in_range][name] = {output,
                                                output + CountOf(context->OutputShape(name))};
        }
      }
      ExpectSame(values[0], values[1], 1e-2);
    }
  }
};

TEST_P(ShapesInPrecision, DetectorsHaveThePriorsOfEachSize) {
  const unsigned seed = Seeds(1)[0];
  const auto definition = NetworkDefinition::FromCaffe(ParseNet(DetectorText()), {});
  Net<float> net(ToNetParameter(definition.graph()));
  const ShapeProfile profile = Profile({1, 3, 16, 16}, {2, 3, 40, 32}, {3, 3, 64, 64});
  ExecutionContext context(Build(definition, profile, &net));
  ExpectTheSameInRange(profile, GetParam().bound, 4, seed, &net, &context);
}

// Where no size changes priors are constants.
TEST(ShapeProfiles, FoldsWhatDoesNotDependOnTheRange) {
  const NetworkDefinition definition = NetworkDefinition::FromCaffe(ParseNet(DetectorText()), {});
  const auto has_priors = [&](const ShapeProfile& profile) {
    const auto engine = inference::Builder([&] {
                          BuilderConfig config;
                          config.timing_iterations = 0;
                          config.profiles = {profile};
                          return config;
                        }())
                            .Build(definition);
    return engine->graph()->FindNode("map0_prior") >= 0;
  };
  EXPECT_FALSE(has_priors(Profile({1, 3, 32, 32}, {1, 3, 32, 32}, {4, 3, 32, 32})));
  EXPECT_TRUE(has_priors(Profile({1, 3, 31, 32}, {1, 3, 32, 32}, {1, 3, 32, 32})))
      << "the blobs keep their sizes, the image does not";
}

TEST(ShapeProfiles, ReferenceBackendFollowsTheRange) {
  const unsigned seed = Seeds(1)[0];
  const auto definition = NetworkDefinition::FromCaffe(ParseNet(DetectorText()), {});
  Net<float> net(ToNetParameter(definition.graph()));
  const ShapeProfile profile = Profile({1, 3, 16, 16}, {1, 3, 32, 32}, {2, 3, 48, 40});
  ExecutionContext context(Build(definition, {profile}, Backend::REFERENCE));
  ExpectTheSameInRange(profile, 3e-5, 4, seed, &net, &context);
}

/// Random nets in random ranges of the sizes of their images, lowered in whatever way.
TEST(ShapeProfiles, RandomNetsComputeTheSameInEachShape) {
  int nets = 0;
  for (const unsigned seed : Seeds(15)) {
    RandomNet random(seed);
    SCOPED_TRACE("CAFFE_TEST_SEED=" + std::to_string(seed) + "\n" + random.text());
    const std::unique_ptr<Net<float>> net = random.Make(), twin = RandomNet(seed).Make();
    std::mt19937 numbers(seed);
    const Shape least = net->input_blobs()[0]->shape();
    Shape most = least;
    for (const int axis : {0, 2, 3}) most[axis] += static_cast<int>(numbers() % 9);
    Graph graph;
    try {
      graph = WithProfile(GraphOf(*twin), Profile(least, least, most));
    } catch (const Error&) {
      continue;  // it cannot change its size
    }
    ++nets;
    graph = Lowered(cpu::CpuTarget(), std::move(graph), {ElementType::FLOAT}, seed);
    SCOPED_TRACE(ToText(graph));
    ExecutionContext context(std::make_shared<const Engine>(std::move(graph)));
    ExpectTheSameInRange(Profile(least, least, most), 2e-5, 3, seed, net.get(), &context);
    if (::testing::Test::HasFailure()) return;
  }
  if (std::getenv("CAFFE_TEST_SEED")) return;
  EXPECT_GT(nets, 0);
}

// Weights are packed once, and read in other orders in some sizes.
TEST(ShapeProfiles, StridedConvolutionsTakeEverySize) {
  for (const Precision precision : {Precision::FP32, Precision::BF16}) {
    SCOPED_TRACE(Name(precision));
    const NetworkDefinition definition = NetworkDefinition::FromCaffe(
        ParseNet("name: 'strided' input: 'data' input_shape { dim: 1 dim: 8 dim: 8 dim: 8 } "
                 "layer { name: 'first' type: 'Convolution' bottom: 'data' top: 'first' "
                 "  convolution_param { num_output: 8 kernel_size: 3 pad: 1 "
                 "    weight_filler { type: 'xavier' } } } "
                 "layer { name: 'strided' type: 'Convolution' bottom: 'first' top: 'strided' "
                 "  convolution_param { num_output: 8 kernel_size: 1 stride: 2 "
                 "    weight_filler { type: 'xavier' } bias_filler { value: 0.5 } } } "
                 "layer { name: 'relu' type: 'ReLU' bottom: 'strided' top: 'strided' }"),
        {});
    Net<float> net(ToNetParameter(definition.graph()));
    BuilderConfig config;
    config.timing_iterations = 0;
    config.precision = precision;
    config.profiles = {Profile({1, 8, 8, 8}, {2, 8, 12, 10}, {3, 8, 16, 16})};
    ExecutionContext context(Builder(config).Build(definition));
    std::mt19937 random(TestSeed());
    for (const Shape& shape : {Shape{1, 8, 8, 9}, Shape{2, 8, 13, 10}, Shape{3, 8, 15, 15},
                               Shape{3, 8, 16, 16}, Shape{1, 8, 9, 9}}) {
      ExpectAsNet(shape, precision == Precision::FP32 ? 2e-5 : 0.02, &random, &net, &context);
    }
  }
}

// Integers alone give the same bits, for a range of shapes as for one of them.
TEST(ShapeProfiles, OfIntegersAloneMakeTheBitsOfFixedEngines) {
  const NetworkDefinition definition = NetworkDefinition::FromCaffe(
      ParseNet("name: 'integers' input: 'data' input_shape { dim: 1 dim: 3 dim: 12 dim: 12 } "
               "layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' "
               "  convolution_param { num_output: 8 kernel_size: 3 pad: 1 "
               "    weight_filler { type: 'xavier' } } } "
               "layer { name: 'sigmoid' type: 'Sigmoid' bottom: 'conv' top: 'sigmoid' } "
               "layer { name: 'up' type: 'Deconvolution' bottom: 'sigmoid' top: 'up' "
               "  convolution_param { num_output: 4 kernel_size: 4 stride: 2 pad: 1 "
               "    weight_filler { type: 'xavier' } } } "
               "layer { name: 'pool' type: 'Pooling' bottom: 'up' top: 'pool' "
               "  pooling_param { pool: AVE kernel_size: 2 stride: 2 } } "
               "layer { name: 'concat' type: 'Concat' bottom: 'pool' bottom: 'conv' top: 'all' } "
               "layer { name: 'prob' type: 'Softmax' bottom: 'all' top: 'prob' } "
               "layer { name: 'mean' type: 'Pooling' bottom: 'all' top: 'mean' "
               "  pooling_param { pool: AVE global_pooling: true } } "
               "layer { name: 'ip' type: 'InnerProduct' bottom: 'mean' top: 'ip' "
               "  inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }"),
      {});
  Net<float> net(ToNetParameter(definition.graph()));
  std::mt19937 random(TestSeed());
  FillBlobWithNoise(&random, net.input_blobs()[0]);
  net.Forward();
  BuilderConfig config;
  config.timing_iterations = 0;
  config.precision = Precision::INT8;
  config.quantization.arithmetic = Arithmetic::INTEGER_ONLY;
  config.calibration = std::make_shared<CalibrationTable>(TableOf(net));
  BuilderConfig of_range = config;
  of_range.profiles = {Profile({1, 3, 8, 8}, {1, 3, 12, 12}, {3, 3, 16, 16})};
  ExecutionContext in_range(Builder(of_range).Build(definition));
  for (const Shape& shape : {Shape{1, 3, 8, 8}, Shape{2, 3, 9, 13}, Shape{3, 3, 16, 16}}) {
    SCOPED_TRACE("in " + ShapeText(shape));
    config.max_input_shapes = {{"", shape}};
    ExecutionContext fixed(Builder(config).Build(definition));
    in_range.SetInputShape("data", shape);
    Blob<float> noise(shape);
    FillBlobWithNoise(&random, &noise);
    for (ExecutionContext* context : {&fixed, &in_range}) {
      std::copy_n(noise.cpu_data(), noise.count(), context->Input("data"));
      context->Run();
    }
    for (const char* name : {"prob", "ip"}) {
      ASSERT_EQ(fixed.OutputShape(name), in_range.OutputShape(name));
      const size_t count = CountOf(fixed.OutputShape(name));
      EXPECT_TRUE(std::equal(fixed.Output(name), fixed.Output(name) + count, in_range.Output(name)))
          << name;
    }
  }
}

struct ProfiledNet {
  const char* folder;
  Shape least, best, most;
};

/// Detectors with priors, and nets of convolutions alone. Maps of retinaface are joined from sizes
/// that have to be multiples of 32.
const ProfiledNet kTrainedNets[] = {
    {"hyperlpr_mininet_ssd_v1", {1, 3, 192, 192}, {1, 3, 256, 256}, {1, 3, 288, 320}},
    {"yufacedetectnet_v2", {1, 3, 128, 128}, {1, 3, 240, 320}, {1, 3, 240, 320}},
    {"ultralight_face_rfb320", {1, 3, 120, 160}, {1, 3, 240, 320}, {1, 3, 240, 320}},
    {"retinaface_mnet25_charrin", {1, 3, 128, 128}, {1, 3, 192, 192}, {1, 3, 256, 256}},
    {"hdibco_fcn_binarize", {1, 3, 32, 32}, {1, 3, 64, 64}, {2, 3, 96, 80}},
};

TEST_P(ShapesInPrecision, TrainedNetsComputeTheSame) {
  SLOW_TEST();
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  for (const ProfiledNet& trained : kTrainedNets) {
    SCOPED_TRACE(trained.folder);
    const std::string folder = SharedData(std::string("models/") + trained.folder + "/");
    Net<float> net(folder + "deploy.prototxt", TEST);
    net.CopyTrainedLayersFrom(folder + "weights.caffemodel");
    ShapeProfile profile;
    profile.min[""] = trained.least;
    profile.opt[""] = trained.best;
    profile.max[""] = trained.most;
    const auto definition =
        NetworkDefinition::FromCaffe(folder + "deploy.prototxt", {folder + "weights.caffemodel"});
    if (GetParam().precision == Precision::INT8) {
      ExpectWhatFixedEnginesMake(definition, profile, &net);
      continue;
    }
    ExecutionContext context(Build(definition, profile, &net));
    ExpectTheSameInRange(profile, GetParam().bound, 1, Seeds(1)[0], &net, &context);
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, ShapesInPrecision,
                         ::testing::Values(PrecisionCase{Precision::FP32, 1e-4},
                                           PrecisionCase{Precision::FP16, 8e-2},
                                           PrecisionCase{Precision::INT8, 0.5}),
                         [](const auto& info) { return std::string(Name(info.param.precision)); });

}  // namespace
}  // namespace caffe::inference
