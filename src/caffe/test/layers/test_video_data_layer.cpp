#include "caffe/layers/video_data_layer.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "caffe/test/support/image_files.hpp"
#include "caffe/test/support/source_layer.hpp"

namespace caffe {
namespace {

#ifdef USE_OPENCV

/// A folder with `count` frames; pixel (h, w) of frame i, from 1 on, is 10 i + 4 h + w.
string FrameFolder(const string& pattern, int count, int height = 2, int width = 3) {
  const string folder = NewFolder();
  for (int i = 1; i <= count; ++i) {
    cv::Mat frame(height, width, CV_8U);
    for (int h = 0; h < height; ++h) {
      for (int w = 0; w < width; ++w) {
        frame.at<uint8_t>(h, w) = static_cast<uint8_t>(10 * i + 4 * h + w);
      }
    }
    char name[64];
    std::snprintf(name, sizeof(name), pattern.c_str(), i);
    cv::imwrite(folder + "/" + name, frame);
  }
  return folder;
}

template <typename Dtype>
class VideoDataLayerTest : public ::testing::Test {};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(VideoDataLayerTest, RealTypes);

// ---------------------------------------------------------------------------------------------
// Snippets
// ---------------------------------------------------------------------------------------------

LayerParameter Snippets(const string& list, const string& video, const string& transform = "",
                        Phase phase = TEST) {
  return ParseSource(Join("name: 'data' type: 'VideoData' video_data_param { source: '", list,
                          "' batch_size: 1 ", video, " } transform_param { ", transform, " }"),
                     phase);
}

const string kGrey = "modality: RGB grayscale: true name_pattern: 'img_%04d.png' ";

/// The first pixels of all channels of all items of `batches` batches, and `more`.
template <typename Dtype>
vector<int> FirstPixels(Source<Dtype>* source, int batches) {
  vector<int> pixels;
  for (int b = 0; b < batches; ++b) {
    source->Forward();
    for (int n = 0; n < source->data().shape(0); ++n) {
      for (int c = 0; c < source->data().shape(1); ++c) {
        pixels.push_back(static_cast<int>(source->data().data_at(n, c, 0, 0)));
      }
    }
  }
  return pixels;
}

// 9 frames in two parts of 4: of each the middle three begin at its frame (4 - 3 + 1) / 2 = 1.
TYPED_TEST(VideoDataLayerTest, TestsInTheMiddleOfEachPart) {
  const string list = NewFile(FrameFolder("img_%04d.png", 9) + " 9 7\n");
  Source<TypeParam> source(Snippets(list, kGrey + "new_length: 3 num_segments: 2"));
  EXPECT_EQ(source.data().shape(), (vector<int>{1, 6, 2, 3}));
  EXPECT_EQ(FirstPixels(&source, 1), (vector<int>{20, 30, 40, 60, 70, 80}));
  EXPECT_EQ(source.Labels(2), (vector<int>{7, 7}));
}

TYPED_TEST(VideoDataLayerTest, TrainsAtRandomInEachPart) {
  const string list = NewFile(FrameFolder("img_%04d.png", 8) + " 8 0\n");
  Source<TypeParam> source(Snippets(list, kGrey + "new_length: 2 num_segments: 2", "", TRAIN));
  std::set<int> first, second;
  for (int i = 0; i < 60; ++i) {
    const vector<int> pixels = FirstPixels(&source, 1);
    EXPECT_EQ(pixels[1], pixels[0] + 10);
    EXPECT_EQ(pixels[3], pixels[2] + 10);
    first.insert(pixels[0]);
    second.insert(pixels[2]);
  }
  EXPECT_EQ(first, (std::set<int>{10, 20, 30}));
  EXPECT_EQ(second, (std::set<int>{50, 60, 70}));
}

TYPED_TEST(VideoDataLayerTest, AShortVideoRepeatsItsLastFrame) {
  const string list = NewFile(FrameFolder("img_%04d.png", 2) + " 2 0\n");
  Source<TypeParam> source(Snippets(list, kGrey + "new_length: 4"));
  EXPECT_EQ(FirstPixels(&source, 1), (vector<int>{10, 20, 20, 20}));
}

TYPED_TEST(VideoDataLayerTest, ReadsColorsAsChannels) {
  const string folder = NewFolder();
  cv::imwrite(folder + "/1.png", cv::Mat(1, 1, CV_8UC3, cv::Scalar(1, 2, 3)));
  cv::imwrite(folder + "/2.png", cv::Mat(1, 1, CV_8UC3, cv::Scalar(4, 5, 6)));
  Source<TypeParam> source(Snippets(NewFile(folder + " 2 0\n"),
                                    "modality: RGB new_length: 2 name_pattern: '%d.png'",
                                    "mean_value: 1 mean_value: 2 mean_value: 3"));
  EXPECT_EQ(FirstPixels(&source, 1), (vector<int>{0, 0, 0, 3, 3, 3}));
}

/// A folder with a flow of two frames: x is 10 and 20 at its left and 100 to the right, y 30
/// and 40.
string FlowFolder(const string& format) {
  const string folder = NewFolder();
  for (int i = 1; i <= 2; ++i) {
    cv::Mat x(1, 2, CV_8U, cv::Scalar(100)), y(1, 2, CV_8U, cv::Scalar(10 * i + 20));
    x.at<uint8_t>(0, 0) = static_cast<uint8_t>(10 * i);
    for (const char axis : {'x', 'y'}) {
      char name[64];
      std::snprintf(name, sizeof(name), format.c_str(), axis, i);
      cv::imwrite(folder + "/" + name, axis == 'x' ? x : y);
    }
  }
  return folder;
}

TYPED_TEST(VideoDataLayerTest, ReadsFlowsAsPairs) {
  const string list = NewFile(FlowFolder("flow_%c_%05d.png") + " 2 0\n");
  Source<TypeParam> source(
      Snippets(list, "new_length: 2 name_pattern: 'flow_%c_%05d.png'", "mean_value: 10"));
  EXPECT_EQ(FirstPixels(&source, 1), (vector<int>{0, 20, 10, 30}));
  // Lossy files of the default names: near enough.
  Source<TypeParam> named(Snippets(NewFile(FlowFolder("flow_%c_%04d.jpg") + " 2 0\n"), ""));
  EXPECT_NEAR(FirstPixels(&named, 1)[1], 40, 3);
}

TYPED_TEST(VideoDataLayerTest, AMirroredFlowPointsTheOtherWay) {
  const string list = NewFile(FlowFolder("%c%d.png") + " 2 0\n");
  for (const bool is_flow : {false, true}) {
    Source<TypeParam> source(
        Snippets(list, "name_pattern: '%c%d.png'", Join("mirror: true is_flow: ", is_flow), TRAIN));
    std::set<vector<int>> seen;
    for (int i = 0; i < 40; ++i) seen.insert(FirstPixels(&source, 1));
    // Two frames; as they are, or with the right pixel of x first.
    const int mirrored = is_flow ? 255 - 100 : 100;
    EXPECT_EQ(seen, (std::set<vector<int>>{{10, 30}, {20, 40}, {mirrored, 30}, {mirrored, 40}}));
  }
}

TYPED_TEST(VideoDataLayerTest, CutsAllFramesAlikeAtFixedPlaces) {
  const string list = NewFile(FrameFolder("img_%04d.png", 2, 6, 6) + " 2 0\n");
  const auto places = [&](const string& transform) {
    Source<TypeParam> source(
        Snippets(list, kGrey + "new_length: 2", "crop_size: 2 " + transform, TRAIN));
    std::set<int> seen;
    for (int i = 0; i < 200; ++i) {
      const vector<int> pixels = FirstPixels(&source, 1);
      EXPECT_EQ(pixels[1], pixels[0] + 10);
      seen.insert(pixels[0] - 10);
    }
    return seen;
  };
  // 4 h + w at h, w among 0, 2, 4; the middles of sides, and 1, 3.
  EXPECT_EQ(places("fix_crop: true"), (std::set<int>{0, 4, 16, 20, 10}));
  EXPECT_EQ(places("fix_crop: true more_fix_crop: true"),
            (std::set<int>{0, 4, 16, 20, 10, 2, 18, 8, 12, 5, 7, 13, 15}));
  EXPECT_EQ(places("").size(), 21u) << "4 h + w for h, w from 0 to 4";
}

TYPED_TEST(VideoDataLayerTest, CutsSeveralSizesAndResizesThem) {
  cv::Mat frame(8, 8, CV_8U);
  for (int h = 0; h < 8; ++h) {
    for (int w = 0; w < 8; ++w) frame.at<uint8_t>(h, w) = static_cast<uint8_t>(8 * h + w);
  }
  const string folder = NewFolder();
  cv::imwrite(folder + "/1.png", frame);
  const auto right_lower = [&](const string& transform) {
    Source<TypeParam> source(
        Snippets(NewFile(folder + " 1 0\n"), "modality: RGB grayscale: true name_pattern: '%d.png'",
                 "crop_size: 4 multi_scale: true fix_crop: true " + transform, TRAIN));
    std::set<std::pair<int, int>> steps;
    for (int i = 0; i < 100; ++i) {
      source.Forward();
      const Blob<TypeParam>& image = source.data();
      EXPECT_EQ(image.shape(), (vector<int>{1, 1, 4, 4}));
      steps.insert({int(image.data_at(0, 0, 2, 1) - image.data_at(0, 0, 1, 1)),
                    int(image.data_at(0, 0, 1, 2) - image.data_at(0, 0, 1, 1))});
    }
    return steps;
  };
  // A pixel of the result is one or two of the frame's, of which 8 are a row.
  EXPECT_EQ(right_lower("scale_ratios: 1 scale_ratios: 0.5 max_distort: 0"),
            (std::set<std::pair<int, int>>{{16, 2}, {8, 1}}));
  EXPECT_EQ(right_lower("scale_ratios: 1 scale_ratios: 0.5 max_distort: 1"),
            (std::set<std::pair<int, int>>{{16, 2}, {8, 1}, {16, 1}, {8, 2}}));
}

TYPED_TEST(VideoDataLayerTest, GoesOnWhereTheNetWas) {
  const string folder = FrameFolder("img_%04d.png", 9, 5, 5);
  const string list = NewFile(folder + " 9 1\n" + folder + " 5 2\n" + folder + " 7 3\n");
  for (const char* order : {"", "shuffle: true"}) {
    ExpectResumes<TypeParam>(
        Snippets(list, kGrey + "new_length: 2 " + order, "mirror: true crop_size: 3", TRAIN));
  }
}

TYPED_TEST(VideoDataLayerTest, RefusesBadSnippets) {
  const string list = NewFile(FrameFolder("img_%04d.png", 3) + " 3 0\n");
  const auto error = [&](const string& video, const string& transform = "") {
    return SetUpError<TypeParam>(Snippets(list, kGrey + video, transform));
  };
  const auto error_of_name = [&](const string& pattern) {
    return SetUpError<TypeParam>(
        Snippets(list, Join("modality: RGB name_pattern: '", pattern, "'")));
  };
  ExpectContains(error("new_length: 0"), "new_length 0 and num_segments 1 must be positive");
  ExpectContains(error("new_length: 257 num_segments: 2"), "512 channels at most");
  ExpectContains(error("new_height: 3"), "new_height 3 and new_width 0");
  ExpectContains(error("crop_size: 2"), "give them there");
  ExpectContains(error("", "multi_scale: true"), "multi_scale needs crop_size");
  ExpectContains(error("", "crop_size: 2 scale_ratios: 2"), "scale_ratios must be above 0");
  ExpectContains(error("", "crop_size: 3"), "crop_size 3 is larger than the frame of 2 x 3");
  ExpectContains(error("", "resize_param { height: 2 width: 2 }"), "resize_param");
  for (const char* pattern : {"img", "img_%s", "%d%d", "%", "%c%d"}) {
    ExpectContains(error_of_name(pattern), "name_pattern");
  }
  ExpectContains(error_of_name("%d.png"), "/2.png");
  for (const char* line : {"folder", "folder 3", "folder 0 1", "folder 3 x", "folder 3 1 2"}) {
    const string bad = NewFile(Join(line, "\n"));
    ExpectContains(SetUpError<TypeParam>(Snippets(bad, kGrey)), bad + ", line 1");
  }
}

// ---------------------------------------------------------------------------------------------
// Frames of one video
// ---------------------------------------------------------------------------------------------

LayerParameter Frames(const string& video, const string& transform = "", int batch_size = 2) {
  return ParseSource(Join("name: 'data' type: 'VideoData' data_param { batch_size: ", batch_size,
                          " } video_data_param { video_type: VIDEO ", video,
                          " } transform_param { ", transform, " }"),
                     TEST);
}

TYPED_TEST(VideoDataLayerTest, AVideoHasToBeThere) {
  ExpectContains(SetUpError<TypeParam>(Frames("")), "video_file is missing");
  ExpectContains(SetUpError<TypeParam>(Frames("video_file: 'x'", "", 0)), "batch_size");
  ExpectContains(SetUpError<TypeParam>(Frames("video_file: '/no/x.avi'")),
                 "/no/x.avi: the video cannot be opened: there is no such file");
}

#ifdef HAVE_VIDEO

// A pattern of image files is a video to OpenCV, and one without loss.
TYPED_TEST(VideoDataLayerTest, ReadsFramesInARowAgainAndAgain) {
  const string video = Join("video_file: '", FrameFolder("%02d.png", 5, 4, 4), "/%02d.png' ");
  Source<TypeParam> source(Frames(video));
  EXPECT_EQ(source.data().shape(), (vector<int>{2, 3, 4, 4}));
  vector<int> first;
  for (int i = 0; i < 4; ++i) {
    source.Forward();
    for (int n = 0; n < 2; ++n) first.push_back(int(source.data().data_at(n, 1, 0, 0)));
  }
  EXPECT_EQ(first, (vector<int>{10, 20, 30, 40, 50, 10, 20, 30}));
  EXPECT_EQ(source.Labels(1), (vector<int>{0, 0}));
}

TYPED_TEST(VideoDataLayerTest, SkipsFramesBeforeEach) {
  const string video = Join("video_file: '", FrameFolder("%02d.png", 5, 4, 4), "/%02d.png' ");
  Source<TypeParam> source(Frames(video + "skip_frames: 1", "", 1), 1);
  vector<int> first;
  for (int i = 0; i < 5; ++i) first.push_back(int(source.Values(1)[0]));
  EXPECT_EQ(first, (vector<int>{20, 40, 10, 30, 50}));
}

TYPED_TEST(VideoDataLayerTest, ResizesAndTransformsFrames) {
  const string video = Join("video_file: '", FrameFolder("%02d.png", 2, 8, 8), "/%02d.png' ");
  Source<TypeParam> source(Frames(
      video, "resize_param { height: 6 width: 4 interp_mode: NEAREST } mean_value: 10 scale: 2"));
  EXPECT_EQ(source.data().shape(), (vector<int>{2, 3, 6, 4}));
  source.Forward();
  EXPECT_EQ(source.data().data_at(1, 0, 0, 1), 2 * (20 + 2 - 10));
}

TYPED_TEST(VideoDataLayerTest, GoesOnAtTheFrameWhereTheNetWas) {
  const string video = Join("video_file: '", FrameFolder("%02d.png", 7, 6, 6), "/%02d.png' ");
  LayerParameter param = Frames(video + "skip_frames: 1", "mirror: true crop_size: 3");
  param.set_phase(TRAIN);
  ExpectResumes<TypeParam>(param);
}

TYPED_TEST(VideoDataLayerTest, RefusesWhatIsNoVideo) {
  const string file = NewFile("no video");
  ExpectContains(SetUpError<TypeParam>(Frames(Join("video_file: '", file, "'"))), file);
}

#endif  // HAVE_VIDEO

#endif  // USE_OPENCV

}  // namespace
}  // namespace caffe
