#include "caffe/layers/image_data_layer.hpp"

#include <gtest/gtest.h>

#include <set>

#include "caffe/test/support/image_files.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/source_layer.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/rng.hpp"

namespace caffe {
namespace {

#ifdef USE_OPENCV

LayerParameter ImageDataParameter(const string& list, const string& data,
                                  const string& transform = "", Phase phase = TRAIN) {
  return ParseSource(Join("name: 'data' type: 'ImageData' image_data_param { source: '", list, "' ",
                          data, " } transform_param { ", transform, " }"),
                     phase);
}

/// Images of 4 x 5, the first pixel of number i being 10 i, labelled i.
string CountingList(int count) {
  string lines;
  for (int i = 0; i < count; ++i) {
    lines += Join(NewImage(CountingImage(3, 4, 5, 10 * i)), " ", i, "\n");
  }
  return NewFile(lines);
}

template <typename Dtype>
class ImageDataLayerTest : public ::testing::Test {};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ImageDataLayerTest, RealTypes);

TYPED_TEST(ImageDataLayerTest, ReadsTheImagesOfAListAgainAndAgain) {
  Source<TypeParam> source(ImageDataParameter(CountingList(5), "batch_size: 3", "scale: 0.5"));
  EXPECT_EQ(source.data().shape(), (vector<int>{3, 3, 4, 5}));
  EXPECT_EQ(source.label().shape(), (vector<int>{3}));
  EXPECT_EQ(source.Labels(4), (vector<int>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1}));
  source.Forward();  // 2, 3, 4
  EXPECT_EQ(source.data().data_at(0, 0, 0, 0), 10);
  EXPECT_EQ(source.data().data_at(1, 2, 3, 4), (30 + 100 + 30 + 4) / 2.);
  EXPECT_EQ(source.layer.EpochItems(), 5u);
}

TYPED_TEST(ImageDataLayerTest, ReadsGreyAndResized) {
  const string list = NewFile(NewImage(cv::Mat(6, 9, CV_8UC3, cv::Scalar(9, 9, 9))) + " 1");
  Source<TypeParam> grey(ImageDataParameter(list, "is_color: false"));
  EXPECT_EQ(grey.data().shape(), (vector<int>{1, 1, 6, 9}));
  Source<TypeParam> resized(ImageDataParameter(list, "new_height: 3 new_width: 2"));
  EXPECT_EQ(resized.data().shape(), (vector<int>{1, 3, 3, 2}));
  Source<TypeParam> shorter(ImageDataParameter(list, "short_side: 4 new_height: 3 new_width: 2"));
  EXPECT_EQ(shorter.data().shape(), (vector<int>{1, 3, 4, 6}));
  EXPECT_EQ(shorter.Values(1), vector<TypeParam>(72, 9));
  Source<TypeParam> larger(ImageDataParameter(list, "short_side: 12"));
  EXPECT_EQ(larger.data().shape(), (vector<int>{1, 3, 12, 18}));
}

TYPED_TEST(ImageDataLayerTest, TakesAnotherSizeFromBatchToBatch) {
  Source<TypeParam> source(ImageDataParameter(NewFile(NewImage(CountingImage(3, 2, 3)) + " 0\n" +
                                                      NewImage(CountingImage(3, 4, 2)) + " 1\n"),
                                              "batch_size: 1"));
  source.Forward();
  EXPECT_EQ(source.data().shape(), (vector<int>{1, 3, 2, 3}));
  source.Forward();
  EXPECT_EQ(source.data().shape(), (vector<int>{1, 3, 4, 2}));
}

TYPED_TEST(ImageDataLayerTest, ReadsListsAsPeopleWriteThem) {
  const string path = NewImage(CountingImage(3, 2, 2));
  const size_t slash = path.rfind('/');
  const string folder = path.substr(0, slash + 1), name = path.substr(slash + 1);
  const string spaced = "an image of 2.png";
  cv::imwrite(folder + spaced, CountingImage(3, 2, 2));
  Source<TypeParam> source(ImageDataParameter(NewFile("\xEF\xBB\xBF" + name + " 7\r\n\n" + spaced +
                                                      " 8  \n" + name + "\t -9\n" + name + "\n"),
                                              "batch_size: 4 root_folder: '" + folder + "'"));
  EXPECT_EQ(source.Labels(1), (vector<int>{7, 8, -9, 0}));
}

TYPED_TEST(ImageDataLayerTest, ShufflesWithCaffesDraws) {
  const string list = CountingList(7);
  Caffe::set_random_seed(TestSeed());
  vector<int> order = {0, 1, 2, 3, 4, 5, 6}, expected;
  Caffe::RNG generator(caffe_rng_rand());
  for (int pass = 0; pass < 3; ++pass) {
    shuffle(order.begin(), order.end(), static_cast<rng_t*>(generator.generator()));
    expected.insert(expected.end(), order.begin(), order.end());
  }
  Caffe::set_random_seed(TestSeed());
  Source<TypeParam> source(ImageDataParameter(list, "batch_size: 7 shuffle: true"));
  EXPECT_EQ(source.Labels(3), expected);
}

TYPED_TEST(ImageDataLayerTest, SkipsAtRandomAtTheStart) {
  const string list = CountingList(5);
  std::set<int> firsts;
  for (unsigned i = 0; i < 60; ++i) {
    Caffe::set_random_seed(TestSeed() + i);
    Source<TypeParam> source(ImageDataParameter(list, "rand_skip: 3"));
    firsts.insert(source.Labels(1)[0]);
  }
  EXPECT_EQ(firsts, (std::set<int>{0, 1, 2}));
}

TYPED_TEST(ImageDataLayerTest, DependsOnTheSeedAlone) {
  const string list = CountingList(5);
  vector<TypeParam> expected;
  for (const char* threads : {"threads: 1", "threads: 2", "threads: 5", "threads: 0"}) {
    Caffe::set_random_seed(TestSeed());
    Source<TypeParam> source(ImageDataParameter(list, Join("batch_size: 3 shuffle: true ", threads),
                                                "mirror: true crop_size: 3"));
    const vector<TypeParam> values = source.Values(6);
    if (expected.empty()) expected = values;
    EXPECT_EQ(values, expected) << threads;
  }
}

TYPED_TEST(ImageDataLayerTest, ResumesWhereTheNetWas) {
  const string list = CountingList(5);
  for (const char* order : {"", "shuffle: true", "rand_skip: 4"}) {
    SCOPED_TRACE(order);
    ExpectResumes<TypeParam>(
        ImageDataParameter(list, Join("batch_size: 3 ", order), "mirror: true crop_size: 3"));
  }
}

TYPED_TEST(ImageDataLayerTest, SettingUpAgainBeginsAgain) {
  const string list = CountingList(5);
  for (const char* order : {"", "shuffle: true", "rand_skip: 4"}) {
    SCOPED_TRACE(order);
    ExpectBeginsAgain<TypeParam>(
        ImageDataParameter(list, Join("batch_size: 3 ", order), "mirror: true crop_size: 3"));
  }
}

TYPED_TEST(ImageDataLayerTest, RefusesAStateThatIsNone) {
  Source<TypeParam> source(ImageDataParameter(CountingList(3), "batch_size: 1"));
  for (const char* state : {"", "1", "1:30:", "1:x0:", "1:10:1:11:1"}) {
    EXPECT_NE(ErrorOf([&] { source.layer.RestoreState(state); }), "") << state;
  }
  source.Forward();
}

TYPED_TEST(ImageDataLayerTest, RefusesBadParameters) {
  const string list = CountingList(2);
  const auto error = [&](const string& data, const string& transform = "") {
    return SetUpError<TypeParam>(ImageDataParameter(list, data, transform));
  };
  ExpectContains(error("batch_size: 0"), "batch_size");
  ExpectContains(error("batch_size: 4000000000"), "batch_size 4000000000 is too large");
  ExpectContains(error("label_type: PIXEL"),
                 "label_type PIXEL is not for ImageData, whose labels are numbers in the list: "
                 "choose the layer type ImageSegData");
  ExpectContains(error("new_height: 3"), "new_height 3 and new_width 0");
  ExpectContains(error("new_height: 3 new_width: 3000000000"), "too large");
  ExpectContains(error("rand_skip: 4000000000"), "rand_skip");
  ExpectContains(error("", "crop_size: 5"), "crop_size 5");
  ExpectContains(SetUpError<TypeParam>(ImageDataParameter("", "")), "source is missing");
  ExpectContains(SetUpError<TypeParam>(ImageDataParameter(list + "x", "")), list + "x");
  const string empty = NewFile("\n \r\n");
  ExpectContains(SetUpError<TypeParam>(ImageDataParameter(empty, "")),
                 empty + ": the list file names no");
  const string bad = NewFile("a.png 1\nb.png one\n");
  ExpectContains(SetUpError<TypeParam>(ImageDataParameter(bad, "")), bad + ", line 2: 'one'");
  ExpectContains(SetUpError<TypeParam>(ImageDataParameter(NewFile("b.png 99999999999"), "")),
                 "line 1");
}

TYPED_TEST(ImageDataLayerTest, NamesABadImage) {
  const string good = NewImage(CountingImage(3, 2, 2));
  const string other = NewImage(CountingImage(3, 2, 3));
  string bytes = ReadFile(good);
  const string damaged = NewFile(bytes.substr(0, bytes.size() / 4));
  for (const string& bad : {good + "x", damaged, other}) {
    Source<TypeParam> source(ImageDataParameter(
        NewFile(Join(good, " 0\n", good, " 1\n", good, " 2\n", bad, " 3\n")), "batch_size: 2"));
    source.Forward();
    const string error = ErrorOf([&] { source.Forward(); });
    ExpectContains(error, bad);
    EXPECT_EQ(ErrorOf([&] { source.Forward(); }), error);
  }
  const auto unread = [](const string& file) {
    return SetUpError<TypeParam>(ImageDataParameter(NewFile(file + " 0\n"), ""));
  };
  ExpectContains(unread(good + "x"), good + "x: cannot be read as an image: there is no such file");
  const string gif = NewFile("GIF89a\1\2\3");
  ExpectContains(unread(gif), gif +
                                  ": cannot be read as an image: it is damaged, or in no format "
                                  "that this OpenCV reads");
  // The first one of a source, and of a batch, gives the shape.
  const auto cropped = [](const string& list) {
    return ImageDataParameter(NewFile(list), "batch_size: 1", "crop_size: 3");
  };
  ExpectContains(SetUpError<TypeParam>(cropped(good + " 0\n")), good);
  const string large = NewImage(CountingImage(3, 4, 4));
  Source<TypeParam> source(cropped(Join(large, " 0\n", good, " 1\n")));
  source.Forward();
  ExpectContains(ErrorOf([&] { source.Forward(); }), good);
}

#else

TEST(ImageDataLayer, SaysThatItNeedsOpenCV) {
  ExpectContains(SetUpError<float>(ParseSource("type: 'ImageData'")), "USE_OPENCV");
}

#endif

}  // namespace
}  // namespace caffe
