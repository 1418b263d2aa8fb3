// Images of what engines' outputs say: where boxes lie, how colours are blended, which files are
// written.
#ifdef USE_OPENCV

#include "caffe/inference/evaluation/result_drawing.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "caffe/test/support/image_files.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

const cv::Vec3b kGrey(90, 100, 110), kWhite(255, 255, 255);

/// 200 pixels are the least that is not enlarged.
cv::Mat Grey(int height = 200, int width = 240) {
  return cv::Mat(height, width, CV_8UC3, cv::Scalar(kGrey[0], kGrey[1], kGrey[2]));
}

ImagePart All(const cv::Mat& image) { return {0, 0, double(image.cols), double(image.rows)}; }

cv::Mat Draw(const cv::Mat& image, const NamedTensor& output,
             const DrawingOptions& options = DrawingOptions(),
             const ClassNames& names = ClassNames()) {
  return DrawResults(image, {{"out", output}}, names, All(image), options);
}

NamedTensor Boxes(const std::vector<float>& values) {
  return {{1, 1, static_cast<int>(values.size() / 7), 7}, values};
}

cv::Vec3b At(const cv::Mat& image, int x, int y) { return image.at<cv::Vec3b>(y, x); }

cv::Vec3b HalfOf(const cv::Vec3b& a, const cv::Vec3b& b) {
  cv::Vec3b half;
  for (int c = 0; c < 3; ++c) half[c] = static_cast<uchar>((a[c] + b[c] + 1) / 2);
  return half;
}

bool IsUniform(const cv::Mat& image, const cv::Rect& part, const cv::Vec3b& color) {
  cv::Mat same;
  cv::inRange(image(part), color, color, same);
  return cv::countNonZero(same) == part.area();
}

DrawingOptions DrawnAs(ResultKind kind) {
  DrawingOptions options;
  options.kinds["out"] = kind;
  return options;
}

// What an output is.

TEST(ResultKind, FollowsShapeAndValues) {
  const auto kind = [](const Shape& shape, const std::vector<float>& values) {
    return ResultKindOf({shape, values});
  };
  EXPECT_EQ(kind({1, 1, 1, 7}, {0, 1, 1, 0, 0, 1, 1}), ResultKind::BOXES);
  EXPECT_EQ(kind({1, 1, 0, 7}, {}), ResultKind::BOXES) << "nothing was found";
  EXPECT_EQ(kind({3}, {1, 2, 3}), ResultKind::CLASSES);
  EXPECT_EQ(kind({3, 1, 1}, {1, 2, 3}), ResultKind::CLASSES);
  EXPECT_EQ(kind({2, 2}, {0, 1, 7, 254}), ResultKind::SEGMENTATION) << "labels";
  EXPECT_EQ(kind({1, 2, 2}, {0, 1, 0.5f, 1}), ResultKind::IMAGE) << "no labels";
  EXPECT_EQ(kind({1, 2, 2}, {0, 1, -1, 1}), ResultKind::IMAGE);
  EXPECT_EQ(kind({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), ResultKind::SEGMENTATION);
  EXPECT_EQ(kind({3, 1, 2}, {.5f, 0, .25f, 1, .25f, 0}), ResultKind::SEGMENTATION) << "shares";
  EXPECT_EQ(kind({3, 1, 2}, {.5f, 0, .25f, 1, .25f, .5f}), ResultKind::IMAGE);
  EXPECT_EQ(kind({1}, {1}), ResultKind::NOTHING);
  EXPECT_EQ(kind({2, 2, 2, 2}, std::vector<float>(16)), ResultKind::NOTHING);
}

TEST(ResultKind, HasNames) {
  EXPECT_EQ(ParseResultKind("boxes"), ResultKind::BOXES);
  ExpectContains(ErrorOf([] { ParseResultKind("box"); }), "classes, boxes, segmentation");
}

TEST(ColorOfClass, DiffersForClasses) {
  for (int a = 0; a < 21; ++a) {
    for (int b = 0; b < a; ++b) {
      EXPECT_GT(cv::norm(ColorOfClass(a), ColorOfClass(b)), 20) << a << ' ' << b;
    }
  }
}

// Boxes.

TEST(DrawResults, DrawsEdgesOfABoxInTheColourOfItsClass) {
  // Columns 60 to 119 and rows 100 to 149 of 240 x 200.
  const cv::Mat drawn = Draw(Grey(), Boxes({0, 3, 0.9f, 0.25f, 0.5f, 0.5f, 0.75f}));
  ASSERT_EQ(drawn.size(), cv::Size(240, 200));
  const cv::Vec3b color = ColorOfClass(3);
  for (const cv::Rect& edge : {cv::Rect(60, 100, 60, 2), cv::Rect(60, 148, 60, 2),
                               cv::Rect(60, 100, 2, 50), cv::Rect(118, 100, 2, 50)}) {
    EXPECT_TRUE(IsUniform(drawn, edge, color)) << edge;
  }
  EXPECT_TRUE(IsUniform(drawn, {62, 102, 56, 46}, kGrey)) << "inside";
  EXPECT_TRUE(IsUniform(drawn, {0, 150, 240, 50}, kGrey)) << "below";
  EXPECT_TRUE(IsUniform(drawn, {0, 0, 60, 200}, kGrey)) << "on the left";
  EXPECT_EQ(At(drawn, 61, 98), color) << "the label stands on its class's colour, above the box";
}

TEST(DrawResults, PutsBoxesIntoThePartThatTheNetSaw) {
  // The net saw columns 40 to 139 and rows 20 to 119.
  const cv::Mat drawn = DrawResults(Grey(), {{"out", Boxes({0, 1, 1, 0.5f, 0.5f, 1, 1})}},
                                    ClassNames(), {40, 20, 100, 100});
  const cv::Vec3b color = ColorOfClass(1);
  EXPECT_TRUE(IsUniform(drawn, {90, 70, 50, 2}, color));
  EXPECT_TRUE(IsUniform(drawn, {138, 70, 2, 50}, color));
  EXPECT_TRUE(IsUniform(drawn, {92, 72, 46, 46}, kGrey));
  EXPECT_TRUE(IsUniform(drawn, {140, 70, 100, 130}, kGrey));
}

TEST(DrawResults, CutsBoxesAtTheImage) {
  const cv::Mat drawn = Draw(Grey(), Boxes({0, 2, 1, 0.5f, 0.5f, 3, 3}));
  EXPECT_TRUE(IsUniform(drawn, {238, 100, 2, 100}, ColorOfClass(2)));
  EXPECT_TRUE(IsUniform(drawn, {120, 198, 120, 2}, ColorOfClass(2)));
}

TEST(DrawResults, PutsTheLabelIntoABoxAtTheUpperEdge) {
  const cv::Mat drawn = Draw(Grey(), Boxes({0, 2, 1, 0, 0, 1, 1}));
  EXPECT_EQ(At(drawn, 3, 3), ColorOfClass(2));
  EXPECT_TRUE(IsUniform(drawn, {2, 60, 236, 138}, kGrey));
}

TEST(DrawResults, LeavesOutWeakBoxesAndThoseOutsideOfTheImage) {
  const cv::Mat drawn = Draw(Grey(), Boxes({0, 2,  0.4f, 0,   0,    1,    1,     //
                                            0, 2,  1,    1.5, 1.5f, 1.7f, 1.7f,  //
                                            0, 2,  1,    NAN, 0,    1,    1,     //
                                            0, -1, -1,   -1,  -1,   -1,   -1}));
  EXPECT_TRUE(IsUniform(drawn, {0, 0, 240, 200}, kGrey));
  DrawingOptions weak;
  weak.least_score = 0.4f;
  EXPECT_EQ(At(Draw(Grey(), Boxes({0, 2, 0.4f, 0, 0, 1, 1}), weak), 0, 100), ColorOfClass(2));
}

TEST(DrawResults, DrawsTheBestBoxOnTop) {
  const cv::Mat drawn =
      Draw(Grey(), Boxes({0, 2, 0.9f, 0.25f, 0.5f, 0.5f, 0.75f, 0, 5, 0.8f, 0.25f, 0.5f, 1, 1}));
  EXPECT_EQ(At(drawn, 60, 120), ColorOfClass(2));
  EXPECT_EQ(At(drawn, 60, 190), ColorOfClass(5));
}

// Classes.

TEST(DrawResults, ListsTheBestClassesBelowTheImage) {
  DrawingOptions options;
  options.top = 2;
  const cv::Mat drawn = Draw(Grey(), {{3}, {0.25f, 0.5f, 0.25f}}, options);
  ASSERT_EQ(drawn.size(), cv::Size(400, 200 + 2 * 20 + 2 * 6)) << "two rows";
  EXPECT_TRUE(IsUniform(drawn, {0, 0, 240, 200}, kGrey)) << "the image itself";
  // A row's bar is 80 pixels long, from column 90 on; the second begins 20 pixels below.
  EXPECT_TRUE(IsUniform(drawn, {90, 211, 40, 10}, ColorOfClass(1))) << "0.5";
  EXPECT_NE(At(drawn, 131, 212), ColorOfClass(1));
  EXPECT_TRUE(IsUniform(drawn, {90, 231, 20, 10}, ColorOfClass(0))) << "0.25";
  EXPECT_NE(At(drawn, 111, 232), ColorOfClass(0));
}

TEST(DrawResults, ShowsScoresThatAreNoSharesFromSmallestToLargest) {
  const cv::Mat drawn = Draw(Grey(), {{3}, {-10, 30, 10}});
  EXPECT_TRUE(IsUniform(drawn, {90, 211, 80, 10}, ColorOfClass(1))) << "30";
  EXPECT_TRUE(IsUniform(drawn, {90, 231, 40, 10}, ColorOfClass(2))) << "10";
  EXPECT_NE(At(drawn, 90, 252), ColorOfClass(0)) << "-10";
}

TEST(DrawResults, EnlargesSmallImages) {
  cv::Mat small(20, 50, CV_8UC1, cv::Scalar(7));
  small.at<uchar>(1, 2) = 99;
  const cv::Mat drawn = Draw(small, {{2}, {1, 0}});
  EXPECT_GT(drawn.rows, 80);
  EXPECT_TRUE(IsUniform(drawn, {8, 4, 4, 4}, {99, 99, 99}));
  EXPECT_TRUE(IsUniform(drawn, {12, 0, 188, 80}, {7, 7, 7}));
}

TEST(DrawResults, WantsANameForEachClass) {
  const ClassNames names(std::vector<std::string>{"cat"});
  ExpectContains(ErrorOf([&] {
                   Draw(Grey(), {{3}, {1, 2, 3}}, DrawingOptions(), names);
                 }),
                 "it names 1 classes, output 'out' has 3");
}

// Segmentations.

TEST(DrawResults, BlendsColoursOfLabels) {
  const cv::Mat drawn = Draw(Grey(), {{2, 2}, {0, 4, 0, 4}});
  EXPECT_TRUE(IsUniform(drawn, {0, 0, 120, 200}, kGrey)) << "class 0 is the background";
  EXPECT_TRUE(IsUniform(drawn, {120, 0, 120, 200}, HalfOf(kGrey, ColorOfClass(4))));
  ASSERT_EQ(drawn.rows, 200 + 20 + 2 * 6) << "a row for class 4";
  EXPECT_TRUE(IsUniform(drawn, {90, 211, 40, 10}, ColorOfClass(4))) << "half of the image";
}

TEST(DrawResults, TakesTheClassWithTheLargestScore) {
  // Classes 0, 1 and 2 have the largest score in columns 0, 1 and 2; 1 wins equal scores of 1
  // and 2.
  const NamedTensor scores{{4, 1, 4},
                           {9, 0, 0, 0,  //
                            1, 8, 1, 5,  //
                            2, 3, 7, 5,  //
                            0, 0, 0, 0}};
  const cv::Mat drawn = Draw(Grey(), scores);
  const int labels[] = {0, 1, 2, 1};
  for (int i = 1; i < 4; ++i) {
    EXPECT_TRUE(IsUniform(drawn, {60 * i, 0, 60, 200}, HalfOf(kGrey, ColorOfClass(labels[i]))));
  }
}

TEST(DrawResults, FillsThePartThatTheNetSaw) {
  const cv::Mat drawn =
      DrawResults(Grey(), {{"out", {{2, 2}, {4, 4, 4, 4}}}}, ClassNames(), {40, 20, 100, 50});
  EXPECT_TRUE(IsUniform(drawn, {40, 20, 100, 50}, HalfOf(kGrey, ColorOfClass(4))));
  EXPECT_TRUE(IsUniform(drawn, {0, 0, 240, 20}, kGrey));
  EXPECT_TRUE(IsUniform(drawn, {140, 20, 100, 180}, kGrey));
}

TEST(DrawResults, ColoursAClassZeroThatIsNoBackground) {
  const NamedTensor road{{2, 2}, {0, 0, 0, 0}};
  const auto draw = [&](const char* name) {
    return At(Draw(Grey(), road, DrawingOptions(), ClassNames(std::vector<std::string>{name})), 9,
              9);
  };
  EXPECT_EQ(draw("road"), HalfOf(kGrey, ColorOfClass(0)));
  EXPECT_EQ(draw("background"), kGrey);
}

TEST(DrawResults, BlendsAsFarAsTheOpacitySays) {
  DrawingOptions options;
  options.opacity = 1;
  EXPECT_EQ(At(Draw(Grey(), {{2, 2}, {4, 4, 4, 4}}, options), 9, 9), ColorOfClass(4));
  options.opacity = 1.5;
  EXPECT_THROW(Draw(Grey(), {{2, 2}, {4, 4, 4, 4}}, options), Error);
}

// Images.

TEST(DrawResults, ShowsAnImageItself) {
  const NamedTensor image{{3, 1, 2}, {10, 300, 20, -1, 30, 40.4f}};
  const cv::Mat drawn = Draw(Grey(), image);
  ASSERT_EQ(drawn.size(), cv::Size(2, 1));
  EXPECT_EQ(At(drawn, 0, 0), cv::Vec3b(10, 20, 30));
  EXPECT_EQ(At(drawn, 1, 0), cv::Vec3b(255, 0, 40));
  DrawingOptions rgb;
  rgb.rgb = true;
  EXPECT_EQ(At(Draw(Grey(), image, rgb), 0, 0), cv::Vec3b(30, 20, 10));
}

TEST(DrawResults, TakesSmallValuesAsSharesOfWhite) {
  const cv::Mat drawn = Draw(Grey(), {{1, 2}, {0.2f, 1.1f}}, DrawnAs(ResultKind::IMAGE));
  EXPECT_EQ(At(drawn, 0, 0), cv::Vec3b(51, 51, 51));
  EXPECT_EQ(At(drawn, 1, 0), kWhite);
}

TEST(DrawResults, PutsAnImageNextToWhatIsDrawnOnTheFirst) {
  const cv::Mat drawn = DrawResults(
      Grey(),
      {{"boxes", Boxes({0, 1, 1, 0, 0.5f, 1, 1})}, {"image", {{1, 2, 2}, {200, 200, 200, 200.5f}}}},
      ClassNames(), All(Grey()));
  ASSERT_EQ(drawn.size(), cv::Size(240 + 8 + 2, 200));
  EXPECT_EQ(At(drawn, 0, 150), ColorOfClass(1));
  EXPECT_EQ(At(drawn, 248, 0), cv::Vec3b(200, 200, 200));
}

// What does not fit.

TEST(DrawResults, SaysWhatCannotBeDrawn) {
  const NamedTensor one{{1}, {1}};
  ExpectContains(ErrorOf([&] { Draw(Grey(), one); }), "output 'out' is 1 (1)");
  ExpectContains(ErrorOf([&] { Draw(Grey(), one, DrawnAs(ResultKind::BOXES)); }),
                 "output 'out' is 1 (1), not rows of 7 values");
  ExpectContains(ErrorOf([&] { Draw(Grey(), one, DrawnAs(ResultKind::SEGMENTATION)); }), "a map");
  ExpectContains(ErrorOf([&] { Draw(Grey(), {{3}, {1}}); }), "has 1 values");
  DrawingOptions other;
  other.kinds["other"] = ResultKind::IMAGE;
  ExpectContains(ErrorOf([&] { Draw(Grey(), one, other); }), "no output 'other'");
  EXPECT_THROW(Draw(cv::Mat(3, 3, CV_32FC3), one), Error);
}

// Where the net looks.

TEST(SeenPart, IsAllOfAnImageThatIsResized) {
  const ImagePart part = SeenPart(ImagePreprocessing(), 10, 20, 300, 500);
  EXPECT_EQ(part.left, 0);
  EXPECT_EQ(part.top, 0);
  EXPECT_EQ(part.width, 500);
  EXPECT_EQ(part.height, 300);
}

TEST(SeenPart, IsTheMiddleOfAnImageThatIsCut) {
  ImagePreprocessing preprocessing;
  preprocessing.resize_height = 256;
  preprocessing.resize_width = 256;
  // A pixel of 256 x 256 is 2 wide and 1 high; 227 are cut from pixel 14 on.
  const ImagePart part = SeenPart(preprocessing, 227, 227, 256, 512);
  EXPECT_EQ(part.left, 28);
  EXPECT_EQ(part.top, 14);
  EXPECT_EQ(part.width, 454);
  EXPECT_EQ(part.height, 227);
}

// Files.

TEST(ImageWriter, WritesIntoAFolderThatItMakes) {
  const std::string folder = NewFileName() + "/new/deep";
  ImageWriter writer(folder);
  EXPECT_EQ(writer.Write("somewhere/cat.jpg", Grey()), folder + "/cat.png");
  EXPECT_EQ(writer.Write("elsewhere/cat.png", Grey()), folder + "/cat_2.png");
  EXPECT_EQ(writer.Write("cat_2.png", Grey()), folder + "/cat_2_2.png") << "cat_2 is taken";
  EXPECT_EQ(writer.Write("dog.x.jpg", Grey()), folder + "/dog.x.png");
  const cv::Mat read = cv::imread(folder + "/cat.png");
  EXPECT_EQ(read.size(), cv::Size(240, 200));
  EXPECT_TRUE(IsUniform(read, {0, 0, 240, 200}, kGrey));
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files += entry.exists();
  EXPECT_EQ(files, 4) << "nothing is left over";
}

TEST(ImageWriter, WritesOneImageIntoAFile) {
  const std::string file = NewFileName() + ".png";
  ImageWriter writer(file);
  EXPECT_EQ(writer.Write("cat.jpg", Grey()), file);
  EXPECT_EQ(cv::imread(file).size(), cv::Size(240, 200));
  ExpectContains(ErrorOf([&] { writer.Write("dog.jpg", Grey()); }), "name a folder");
}

TEST(ImageWriter, NeverReplacesTheImagesThemselves) {
  const std::string image = NewImage(Grey());
  const std::string folder = std::filesystem::path(image).parent_path().string();
  ExpectContains(ErrorOf([&] { ImageWriter(folder).Write(image, Grey()); }), "lies in this folder");
  ExpectContains(ErrorOf([&] { ImageWriter(image).Write(image, Grey()); }), "the image itself");
}

TEST(ImageWriter, SaysWhatIsWrongWithThePlace) {
  const std::string file = NewFile("text");
  ExpectContains(ErrorOf([&] { ImageWriter writer(file); }), "neither a folder nor an image");
  ExpectContains(ErrorOf([&] { ImageWriter writer(file + "/folder"); }), file);
  ExpectContains(ErrorOf([] { ImageWriter writer("/no/such/folder/a.png"); }), "/no/such/folder");
  ExpectContains(ErrorOf([] { ImageWriter writer("/proc/folder"); }), "/proc/folder");
  ExpectContains(ErrorOf([] { ImageWriter writer(""); }), "no name");
}

}  // namespace
}  // namespace caffe::inference

#endif  // USE_OPENCV
