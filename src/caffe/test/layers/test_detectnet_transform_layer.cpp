#include "caffe/layers/detectnet_transform_layer.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe {
namespace {

#ifdef USE_OPENCV

/// The header and the objects, as (x, y, width, height, class).
Floats Objects(const std::vector<Floats>& objects, int room) {
  Floats values((room + 1) * 16, 0);
  values[0] = objects.size();
  values[1] = 16;
  for (size_t i = 0; i < objects.size(); ++i) {
    float* row = values.data() + (i + 1) * 16;
    std::copy(objects[i].begin(), objects[i].begin() + 4, row);
    row[5] = objects[i][4];
  }
  return values;
}

/// An image of 8 x 16, whose value (c, h, w) is 16 h + w, with the objects; grid of 4 pixels.
class DetectNetExample : public Example {
 public:
  DetectNetExample(const std::string& ground_truth, const std::string& rest,
                   const std::vector<Floats>& objects, const std::string& phase = "TEST")
      : Example("type: 'DetectNetTransformation' phase: " + phase +
                    " detectnet_groundtruth_param { stride: 4 image_size_x: 16 image_size_y: 8 " +
                    ground_truth + " } " + rest,
                2) {
    Floats image;
    for (int c = 0; c < 3; ++c) {
      for (int i = 0; i < 128; ++i) image.push_back(i);
    }
    Bottom({1, 3, 8, 16}, image);
    Bottom({1, 1, 4, 16}, Objects(objects, 3));
    SetUp();
  }
};

/// The value of one channel of the grid, 2 x 4 places.
Floats Channel(const Floats& grid, int channel) {
  return Floats(grid.begin() + 8 * channel, grid.begin() + 8 * (channel + 1));
}

TEST(DetectNetTransformationLayer, WritesTheGrid) {
  // The coverage of an object of 8 x 4 shrunk to 4 x 2 is (6, 1) to (10, 3): columns 1 and 2.
  DetectNetExample example("min_cvg_len: 1 gridbox_type: GRIDBOX_MIN", "", {{4, 0, 8, 4, 1}});
  EXPECT_EQ(example.TopShape(0), (std::vector<int>{1, 3, 8, 16}));
  EXPECT_EQ(example.TopShape(1), (std::vector<int>{1, 9, 2, 4}));
  const Floats grid = example.Forward(1);
  EXPECT_EQ(Channel(grid, 0), (Floats{0, 1, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(Channel(grid, 1), (Floats{0, 0, -4, 0, 0, 0, 0, 0}));
  EXPECT_EQ(Channel(grid, 2), (Floats{0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(Channel(grid, 3), (Floats{0, 8, 4, 0, 0, 0, 0, 0}));
  EXPECT_EQ(Channel(grid, 4), (Floats{0, 4, 4, 0, 0, 0, 0, 0}));
  EXPECT_EQ(Channel(grid, 5), (Floats{0, 1.f / 8, 1.f / 8, 0, 0, 0, 0, 0}));
  EXPECT_EQ(Channel(grid, 6), (Floats{0, 1.f / 4, 1.f / 4, 0, 0, 0, 0, 0}));
  EXPECT_EQ(Channel(grid, 7), (Floats{0, 2, 2, 0, 0, 0, 0, 0}));  // 16 / (4 x 2)
  EXPECT_EQ(Channel(grid, 8), (Floats{0, 1, 1, 0, 0, 0, 0, 0}));
}

TEST(DetectNetTransformationLayer, LimitsTheCoverage) {
  // At least 8 wide, but not larger than the object, 8 x 4: all of it.
  DetectNetExample least("min_cvg_len: 8 gridbox_type: GRIDBOX_MIN", "", {{4, 0, 8, 4, 1}});
  EXPECT_EQ(Channel(least.Forward(1), 0), (Floats{0, 1, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(Channel(least.Forward(1), 7), (Floats{0, 1, 1, 0, 0, 0, 0, 0}));  // not below 1
  DetectNetExample norm("min_cvg_len: 8 gridbox_type: GRIDBOX_MIN obj_norm: true", "",
                        {{4, 0, 8, 4, 1}});
  EXPECT_EQ(Channel(norm.Forward(1), 7), (Floats{0, .5, .5, 0, 0, 0, 0, 0}));
  // At most 2: (3, 3) to (5, 5) of an object (0, 0) to (8, 8) touches four places.
  DetectNetExample most("scale_cvg: 1 max_cvg_len: 2", "", {{0, 0, 8, 8, 1}});
  EXPECT_EQ(Channel(most.Forward(1), 0), (Floats{1, 1, 0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(Channel(most.Forward(1), 7), (Floats{4, 4, 0, 0, 4, 4, 0, 0}));
}

TEST(DetectNetTransformationLayer, KnowsClasses) {
  const std::string classes = "object_class { src: 7 dst: 1 } object_class { src: 2 dst: 0 } ";
  // Class 1 is not asked for; the last object wins where two overlap.
  DetectNetExample example(classes, "", {{0, 0, 4, 4, 7}, {12, 4, 4, 4, 1}, {0, 0, 4, 4, 2}});
  EXPECT_EQ(example.TopShape(1), (std::vector<int>{1, 10, 2, 4}));
  const Floats grid = example.Forward(1);
  EXPECT_EQ(Channel(grid, 0), (Floats{1, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(Channel(grid, 8), (Floats{1, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(Channel(grid, 9), Floats(8, 0));
}

TEST(DetectNetTransformationLayer, CutsBoxesAtTheImage) {
  const std::vector<Floats> objects = {{-4, 0, 8, 4, 1}, {100, 0, 8, 4, 1}};
  DetectNetExample cut("crop_bboxes: true scale_cvg: 1", "", objects);
  EXPECT_EQ(Channel(cut.Forward(1), 1), Floats(8, 0));
  EXPECT_EQ(Channel(cut.Forward(1), 5)[0], 1.f / 4);
  DetectNetExample whole("crop_bboxes: false scale_cvg: 1", "", objects);
  EXPECT_EQ(Channel(whole.Forward(1), 1)[0], -4);
  EXPECT_EQ(Channel(whole.Forward(1), 5)[0], 1.f / 8);
  EXPECT_EQ(Channel(whole.Forward(1), 0), (Floats{1, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(DetectNetTransformationLayer, TakesTheMeanOff) {
  DetectNetExample one("", "transform_param { mean_value: 127 }", {});
  const Floats values = one.Forward();
  for (int i = 0; i < 384; ++i) EXPECT_NEAR(values[i], i % 128 - 127, 1e-4);
  DetectNetExample three("", "transform_param { mean_value: 1 mean_value: 2 mean_value: 3 }", {});
  EXPECT_NEAR(three.Forward()[128], -2, 1e-4);
}

TEST(DetectNetTransformationLayer, ResizesInTestPhase) {
  Example example(
      "type: 'DetectNetTransformation' phase: TEST detectnet_groundtruth_param { stride: 4 "
      "image_size_x: 16 image_size_y: 8 scale_cvg: 1 }",
      2);
  example.Bottom({1, 3, 16, 32}, Floats(3 * 16 * 32, 50));
  example.Bottom({1, 1, 2, 16}, Objects({{8, 0, 8, 8, 1}}, 1)).SetUp();
  for (float value : example.Forward()) EXPECT_NEAR(value, 50, 1e-3);
  EXPECT_EQ(Channel(example.Forward(1), 0), (Floats{0, 1, 0, 0, 0, 0, 0, 0}));
}

/// Nothing random but what `fields` ask for.
std::string Augmentation(const std::string& fields) {
  std::string text = "detectnet_augmentation_param { " + fields;
  for (const char* field : {"crop_prob", "scale_prob", "flip_prob", "rotation_prob",
                            "hue_rotation_prob", "desaturation_prob"}) {
    if ((" " + fields).find(" " + std::string(field) + ":") == std::string::npos) {
      text += std::string(" ") + field + ": -1";
    }
  }
  return text + " }";
}

TEST(DetectNetTransformationLayer, MirrorsImagesAndObjects) {
  DetectNetExample example("scale_cvg: 1", Augmentation("flip_prob: 1"), {{1, 0, 4, 4, 1}},
                           "TRAIN");
  const Floats values = example.Forward();
  for (int i = 0; i < 128; ++i) EXPECT_NEAR(values[i], i - i % 16 + 15 - i % 16, 1e-4);
  const Floats grid = example.Forward(1);  // x = 16 - 1 - 4 - 1 = 10
  EXPECT_EQ(Channel(grid, 0), (Floats{0, 0, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(Channel(grid, 1), (Floats{0, 0, 2, -2, 0, 0, 0, 0}));
}

TEST(DetectNetTransformationLayer, ScalesAndCutsTheMiddle) {
  DetectNetExample example("scale_cvg: 1", Augmentation("scale_prob: 1 scale_min: 2 scale_max: 2"),
                           {{4, 2, 4, 2, 1}}, "TRAIN");
  // 16 x 32, of which (8, 4) to (24, 12) stays: the object is (8, 4) to (16, 8) before that.
  const Floats grid = example.Forward(1);
  EXPECT_EQ(Channel(grid, 0), (Floats{1, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(Channel(grid, 3), (Floats{8, 4, 0, 0, 0, 0, 0, 0}));
  EXPECT_NEAR(example.Forward()[0], 4 * .5 - .25 + 16 * (2 * .5 + .75), 8);
}

TEST(DetectNetTransformationLayer, ShiftsAtRandomAndFillsWithZeros) {
  DetectNetExample example("scale_cvg: 1", Augmentation("crop_prob: 1 shift_x: 8 shift_y: 4"),
                           {{4, 4, 4, 4, 1}}, "TRAIN");
  for (int run = 0; run < 20; ++run) {
    const Floats values = example.Forward();
    // Pixels keep their distance; what was outside is 0.
    int shift = 1000;
    for (int i = 0; i < 128; ++i) {
      if (values[i] < 0.5) continue;
      const int found = static_cast<int>(std::lround(values[i])) - i;
      if (shift == 1000) shift = found;
      EXPECT_EQ(found, shift);
    }
    EXPECT_LE(std::abs(shift), 2 * 16 + 4);
  }
}

TEST(DetectNetTransformationLayer, TurnsImagesAndObjects) {
  // Turning by so little changes hardly anything, but goes through all of it.
  DetectNetExample example("scale_cvg: 1",
                           Augmentation("rotation_prob: 1 max_rotate_degree: 0.001"),
                           {{4, 0, 4, 4, 1}}, "TRAIN");
  const Floats values = example.Forward();
  EXPECT_NEAR(values[3 * 16 + 7], 3 * 16 + 7, 17);
  const Floats grid = example.Forward(1);
  EXPECT_EQ(Channel(grid, 0)[1], 1);
  EXPECT_NEAR(Channel(grid, 5)[1], 0.25, 1e-6);
}

TEST(DetectNetTransformationLayer, LeavesGreyGreyWhenColorsChange) {
  DetectNetExample example(
      "", Augmentation("hue_rotation_prob: 1 hue_rotation: 90 desaturation_prob: 1"), {}, "TRAIN");
  const Floats values = example.Forward();
  for (int i = 0; i < 384; ++i) EXPECT_NEAR(values[i], i % 128, 1e-3);
}

TEST(DetectNetTransformationLayer, DrawsFromTheSeed) {
  const std::string all =
      "detectnet_augmentation_param { crop_prob: 1 shift_x: 4 flip_prob: 0.5 rotation_prob: 0.5 "
      "max_rotate_degree: 5 scale_prob: 0.5 hue_rotation_prob: 0.5 desaturation_prob: 0.5 }";
  const auto values = [&](unsigned seed) {
    Caffe::set_random_seed(seed);
    DetectNetExample example("", all, {{4, 0, 4, 4, 1}}, "TRAIN");
    example.Forward();
    return example.Forward();
  };
  const unsigned seed = TestSeed();
  const Floats expected = values(seed);
  EXPECT_EQ(values(seed), expected);
  bool differs = false;
  for (unsigned i = 1; i < 10; ++i) differs |= values(seed + i) != expected;
  EXPECT_TRUE(differs);
}

const char kGrid[] =
    "type: 'DetectNetTransformation' phase: TEST detectnet_groundtruth_param { stride: 4 "
    "image_size_x: 16 image_size_y: 8 } ";

TEST(DetectNetTransformationLayer, RefusesObjectsThatAreNone) {
  for (const Floats& header : {Floats{9, 16}, Floats{-1, 16}, Floats{1, 15}, Floats{NAN, 16}}) {
    Example example(kGrid, 2);
    Floats objects(64, 0);
    objects[0] = header[0];
    objects[1] = header[1];
    example.Bottom({1, 3, 8, 16}, Floats(384, 0)).Bottom({1, 1, 4, 16}, objects).SetUp();
    EXPECT_THROW(example.Forward(), Error);
  }
}

TEST(DetectNetTransformationLayer, RefusesBoxesThatAreNone) {
  DetectNetExample example("", "", {{0, 0, INFINITY, 4, 1}});
  EXPECT_THROW(example.Forward(), Error);
}

const std::vector<BadLayerCase> kDetectnetTransformBadCases = {
    BadLayerCase("Channels", kGrid)
        .Bottom({1, 1, 8, 16})
        .Bottom({1, 1, 2, 16})
        .Tops(2)
        .Says("shape \\(N, 3, height, width\\)"),
    BadLayerCase("Items", kGrid)
        .Bottom({2, 3, 8, 16})
        .Bottom({1, 1, 2, 16})
        .Tops(2)
        .Says("2 images and objects of shape 1"),
    BadLayerCase("Stride",
                 "type: 'DetectNetTransformation' detectnet_groundtruth_param { stride: 0 }")
        .Bottom({1, 3, 8, 16})
        .Bottom({1, 1, 2, 16})
        .Tops(2)
        .Says("stride must be positive"),
    BadLayerCase("ImageSize",
                 "type: 'DetectNetTransformation' detectnet_groundtruth_param { image_size_x: 2 }")
        .Bottom({1, 3, 8, 16})
        .Bottom({1, 1, 2, 16})
        .Tops(2)
        .Says("image_size_x 2"),
    BadLayerCase("Class",
                 std::string(kGrid) +
                     "detectnet_groundtruth_param { object_class { src: 1 dst: 4000000000 } }")
        .Bottom({1, 3, 8, 16})
        .Bottom({1, 1, 2, 16})
        .Tops(2)
        .Says("dst 4000000000"),
    BadLayerCase("Scale",
                 std::string(kGrid) + "detectnet_augmentation_param { scale_min: 2 scale_max: 1 }")
        .Bottom({1, 3, 8, 16})
        .Bottom({1, 1, 2, 16})
        .Tops(2)
        .Says("scale_min 2 and scale_max 1"),
    BadLayerCase("Means", std::string(kGrid) + "transform_param { mean_value: 1 mean_value: 2 }")
        .Bottom({1, 3, 8, 16})
        .Bottom({1, 1, 2, 16})
        .Tops(2)
        .Says("mean_value is given 2 times"),
    BadLayerCase("MeanFile", std::string(kGrid) + "transform_param { mean_file: '/no/mean' }")
        .Bottom({1, 3, 8, 16})
        .Bottom({1, 1, 2, 16})
        .Tops(2)
        .Says("/no/mean"),
};
INSTANTIATE_TEST_SUITE_P(DetectNetTransformation, BadLayerCases,
                         ::testing::ValuesIn(kDetectnetTransformBadCases), CaseName());

#endif

}  // namespace
}  // namespace caffe
