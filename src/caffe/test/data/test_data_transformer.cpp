#include "caffe/data_transformer.hpp"

#include <gtest/gtest.h>

#ifdef USE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#endif

#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/rng.hpp"
#include "google/protobuf/text_format.h"

namespace caffe {
namespace {

TransformationParameter Parameter(const string& text) {
  TransformationParameter param;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &param));
  return param;
}

/// Value (c, h, w) is 100 c + 10 h + w.
Datum CountingDatum(int channels, int height, int width) {
  Datum datum;
  datum.set_channels(channels);
  datum.set_height(height);
  datum.set_width(width);
  for (int c = 0; c < channels; ++c) {
    for (int h = 0; h < height; ++h) {
      for (int w = 0; w < width; ++w) {
        datum.mutable_data()->push_back(static_cast<char>(100 * c + 10 * h + w));
      }
    }
  }
  return datum;
}

template <typename Dtype>
vector<Dtype> Values(const Blob<Dtype>& blob) {
  return vector<Dtype>(blob.cpu_data(), blob.cpu_data() + blob.count());
}

template <typename Dtype>
class DataTransformerTest : public ::testing::Test {
 protected:
  using Transformer = DataTransformer<Dtype>;

  vector<Dtype> Transform(const string& param, Phase phase, const Datum& datum) {
    Transformer transformer(Parameter(param), phase);
    transformer.InitRand();
    Blob<Dtype> blob(transformer.InferBlobShape(datum));
    transformer.Transform(datum, &blob);
    return Values(blob);
  }
  string TransformError(const string& param, const Datum& datum) {
    return ErrorOf([&] { Transform(param, TEST, datum); });
  }
};

using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DataTransformerTest, RealTypes);

TYPED_TEST(DataTransformerTest, CopiesByDefault) {
  EXPECT_EQ(this->Transform("", TRAIN, CountingDatum(2, 2, 3)),
            (vector<TypeParam>{0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112}));
}

TYPED_TEST(DataTransformerTest, TakesBytesAsUnsigned) {
  Datum datum = CountingDatum(1, 1, 2);
  datum.set_data("\xff\x80");
  EXPECT_EQ(this->Transform("", TRAIN, datum), (vector<TypeParam>{255, 128}));
}

TYPED_TEST(DataTransformerTest, TakesFloatData) {
  Datum datum = CountingDatum(1, 1, 2);
  datum.clear_data();
  datum.add_float_data(-1.5f);
  datum.add_float_data(2.25f);
  EXPECT_EQ(this->Transform("scale: 2", TRAIN, datum), (vector<TypeParam>{-3, 4.5}));
}

TYPED_TEST(DataTransformerTest, SubtractsOneMeanAndScales) {
  EXPECT_EQ(this->Transform("scale: 0.5 mean_value: 1", TEST, CountingDatum(2, 1, 2)),
            (vector<TypeParam>{-0.5, 0, 49.5, 50}));
}

TYPED_TEST(DataTransformerTest, SubtractsAMeanPerChannel) {
  EXPECT_EQ(this->Transform("mean_value: 1 mean_value: 100", TEST, CountingDatum(2, 1, 2)),
            (vector<TypeParam>{-1, 0, 0, 1}));
}

TYPED_TEST(DataTransformerTest, CropsTheMiddleInTestPhase) {
  EXPECT_EQ(this->Transform("crop_size: 2", TEST, CountingDatum(1, 5, 4)),
            (vector<TypeParam>{11, 12, 21, 22}));
}

TYPED_TEST(DataTransformerTest, SubtractsAMeanFile) {
  Blob<float> mean(1, 1, 3, 3);
  for (int i = 0; i < 9; ++i) mean.mutable_cpu_data()[i] = i;
  BlobProto proto;
  mean.ToProto(&proto);
  const string file = NewFileName();
  WriteProtoToBinaryFile(proto, file);
  const string param = "mean_file: '" + file + "'";
  EXPECT_EQ(this->Transform(param + " crop_size: 1 scale: 2", TEST, CountingDatum(1, 3, 3)),
            (vector<TypeParam>{2 * (11 - 4)}));
  const string error = this->TransformError(param, CountingDatum(1, 3, 4));
  ExpectContains(error, file);
  ExpectContains(error, "1 x 3 x 4");
  ExpectContains(this->TransformError(param + " mean_value: 1", CountingDatum(1, 3, 3)),
                 "mean_file or mean_value");
}

TYPED_TEST(DataTransformerTest, CropsToARectangle) {
  for (const char* param : {"crop_h: 1 crop_w: 2", "crop_height: 1 crop_width: 2"}) {
    EXPECT_EQ(this->Transform(param, TEST, CountingDatum(1, 5, 4)), (vector<TypeParam>{21, 22}));
  }
  ExpectContains(this->TransformError("crop_h: 1", CountingDatum(1, 5, 4)), "together");
  ExpectContains(this->TransformError("crop_h: 6 crop_w: 1", CountingDatum(1, 5, 4)),
                 "crop_size 6");
}

TYPED_TEST(DataTransformerTest, SwapsRedAndBlue) {
  EXPECT_EQ(this->Transform("bgr2rgb: true mean_value: 1 mean_value: 2 mean_value: 3", TEST,
                            CountingDatum(3, 1, 1)),
            (vector<TypeParam>{199, 98, -3}));
  ExpectContains(this->TransformError("bgr2rgb: true", CountingDatum(1, 1, 1)), "bgr2rgb");
}

// Caffe's order: mirror, then the rows' offset, then the columns'.
TYPED_TEST(DataTransformerTest, DrawsMirrorThenHeightThenWidth) {
  Caffe::set_random_seed(TestSeed());
  DataTransformer<TypeParam> transformer(Parameter("mirror: true crop_size: 2"), TRAIN);
  transformer.InitRand();
  Caffe::set_random_seed(TestSeed());
  rng_t draws(caffe_rng_rand());
  const Datum datum = CountingDatum(1, 7, 5);
  Blob<TypeParam> blob(transformer.InferBlobShape(datum));
  for (int i = 0; i < 20; ++i) {
    transformer.Transform(datum, &blob);
    const bool mirror = draws() % 2;
    const int h = draws() % 6, w = draws() % 4;
    const TypeParam left = 10 * h + w;
    const vector<TypeParam> plain = {left, left + 1, left + 10, left + 11};
    const vector<TypeParam> mirrored = {left + 1, left, left + 11, left + 10};
    ASSERT_EQ(Values(blob), mirror ? mirrored : plain);
  }
}

TYPED_TEST(DataTransformerTest, DrawsNothingWhereNothingIsRandom) {
  const unsigned int first = caffe_rng_rand();
  Caffe::set_random_seed(TestSeed());
  DataTransformer<TypeParam> transformer(Parameter("crop_size: 2"), TEST);
  transformer.InitRand();
  EXPECT_EQ(transformer.RandomState(), "");
  EXPECT_EQ(caffe_rng_rand(), first);
}

TYPED_TEST(DataTransformerTest, SplitsIntoDrawingAndTransforming) {
  const TransformationParameter param = Parameter("mirror: true crop_size: 3 scale: 0.1");
  const Datum datum = CountingDatum(3, 8, 9);
  DataTransformer<TypeParam> whole(param, TRAIN), halves(param, TRAIN);
  for (auto* transformer : {&whole, &halves}) {
    Caffe::set_random_seed(TestSeed());
    transformer->InitRand();
  }
  Blob<TypeParam> expected(whole.InferBlobShape(datum)), found(expected.shape());
  vector<ImageDraws> draws;
  for (int i = 0; i < 10; ++i) draws.push_back(halves.Draw());
  for (int i = 0; i < 10; ++i) {
    whole.Transform(datum, &expected);
    halves.TransformTo(datum, draws[i], found.shape(), found.mutable_cpu_data());
    ASSERT_EQ(Values(found), Values(expected));
  }
}

TYPED_TEST(DataTransformerTest, GoesOnFromAStoredState) {
  const Datum datum = CountingDatum(1, 9, 9);
  DataTransformer<TypeParam> transformer(Parameter("crop_size: 2"), TRAIN);
  transformer.InitRand();
  Blob<TypeParam> blob(transformer.InferBlobShape(datum));
  const string state = transformer.RandomState();
  const auto run = [&] {
    vector<TypeParam> corners;
    for (int i = 0; i < 20; ++i) {
      transformer.Transform(datum, &blob);
      corners.push_back(blob.cpu_data()[0]);
    }
    return corners;
  };
  const vector<TypeParam> first = run();
  transformer.SetRandomState(state);
  EXPECT_EQ(run(), first);
  ExpectContains(ErrorOf([&] { transformer.SetRandomState(""); }), "does not fit");
  ExpectContains(ErrorOf([&] { transformer.SetRandomState("abc"); }), "cannot be read");
}

TYPED_TEST(DataTransformerTest, IsSeededByItsOwnField) {
  for (int i = 0; i < 2; ++i) {
    DataTransformer<TypeParam> transformer(Parameter("mirror: true random_seed: 9"), TRAIN);
    transformer.InitRand();
    rng_t generator(9);
    EXPECT_EQ(transformer.Draw().mirror, generator());
  }
}

TYPED_TEST(DataTransformerTest, TransformsSeveral) {
  DataTransformer<TypeParam> transformer(Parameter("crop_size: 1"), TEST);
  const vector<Datum> datums = {CountingDatum(1, 1, 1), CountingDatum(1, 3, 3)};
  Blob<TypeParam> blob(transformer.InferBlobShape(datums));
  EXPECT_EQ(blob.shape(), (vector<int>{2, 1, 1, 1}));
  transformer.Transform(datums, &blob);
  EXPECT_EQ(Values(blob), (vector<TypeParam>{0, 11}));
  Blob<TypeParam> one(1, 1, 1, 1);
  ExpectContains(ErrorOf([&] { transformer.Transform(datums, &one); }), "do not fit");
}

TYPED_TEST(DataTransformerTest, TransformsABlobAndLeavesItAsItIs) {
  DataTransformer<TypeParam> transformer(Parameter("crop_size: 1 mean_value: 1 scale: 2"), TEST);
  Blob<TypeParam> input(2, 1, 3, 3), output;
  for (int i = 0; i < 18; ++i) input.mutable_cpu_data()[i] = i;
  const vector<TypeParam> before = Values(input);
  transformer.Transform(&input, &output);
  EXPECT_EQ(output.shape(), (vector<int>{2, 1, 1, 1}));
  EXPECT_EQ(Values(output), (vector<TypeParam>{6, 24}));
  EXPECT_EQ(Values(input), before);
}

TYPED_TEST(DataTransformerTest, RefusesBadRecords) {
  ExpectContains(this->TransformError("crop_size: 4", CountingDatum(1, 3, 5)), "crop_size 4");
  ExpectContains(this->TransformError("mean_value: 1 mean_value: 2", CountingDatum(3, 2, 2)),
                 "mean_value is given 2 times for 3");
  Datum datum = CountingDatum(1, 2, 2);
  datum.mutable_data()->pop_back();
  ExpectContains(this->TransformError("", datum), "3 values");
  datum.set_height(0);
  ExpectContains(this->TransformError("", datum), "1 x 0 x 2");
  datum.set_height(-1);
  ExpectContains(this->TransformError("", datum), "1 x -1 x 2");
}

TYPED_TEST(DataTransformerTest, RefusesSizesWhoseProductOverflows) {
  Datum datum = CountingDatum(1, 1, 1);
  datum.set_channels(1 << 30);
  datum.set_height(1 << 30);
  datum.set_width(16);
  DataTransformer<TypeParam> transformer(Parameter(""), TEST);
  Blob<TypeParam> blob(1, 1, 1, 1);
  ExpectContains(ErrorOf([&] { transformer.Transform(datum, &blob); }), "1 values");
}

TYPED_TEST(DataTransformerTest, RefusesAnotherShapeThanTheBlobs) {
  DataTransformer<TypeParam> transformer(Parameter(""), TEST);
  Blob<TypeParam> blob(1, 1, 2, 2);
  const string error = ErrorOf([&] { transformer.Transform(CountingDatum(1, 2, 3), &blob); });
  ExpectContains(error, "1 x 2 x 3");
  ExpectContains(error, "1 1 2 2 (4)");
}

TYPED_TEST(DataTransformerTest, RefusesFieldsItDoesNotKnow) {
  const Datum datum = CountingDatum(1, 2, 2);
  for (const char* field :
       {"noise_param { }", "random_resize_param { }", "forward_packing: NHWC", "flow: true"}) {
    const string name(field, std::string(field).find_first_of(": "));
    ExpectContains(this->TransformError(field, datum), name);
  }
  ExpectContains(this->TransformError("force_color: true force_gray: true", datum), "exclude");
  ExpectContains(this->TransformError("crop_size: 1 img_rand_resize_lower: 3", datum),
                 "img_rand_resize_lower 3");
#ifdef USE_OPENCV
  ExpectContains(this->TransformError("vertical_stretch_upper: 2", datum), "needs crop_size");
#endif
}

#ifdef USE_OPENCV

cv::Mat CountingMat(int channels, int height, int width) {
  cv::Mat image(height, width, CV_8UC(channels));
  for (int h = 0; h < height; ++h) {
    for (int w = 0; w < width; ++w) {
      for (int c = 0; c < channels; ++c) {
        image.ptr<uint8_t>(h)[w * channels + c] = static_cast<uint8_t>(100 * c + 10 * h + w);
      }
    }
  }
  return image;
}

Datum EncodedDatum(const cv::Mat& image) {
  std::vector<uint8_t> bytes;
  cv::imencode(".png", image, bytes);
  Datum datum;
  datum.set_data(string(bytes.begin(), bytes.end()));
  datum.set_encoded(true);
  return datum;
}

TYPED_TEST(DataTransformerTest, TakesMatsLikeRecords) {
  for (int channels : {1, 2, 3, 4}) {
    const string text =
        Join("mirror: true crop_size: 3 mean_value: 2 scale: 0.25 random_seed: ", TestSeed());
    DataTransformer<TypeParam> a(Parameter(text), TRAIN), b(Parameter(text), TRAIN);
    a.InitRand();
    b.InitRand();
    const Datum datum = CountingDatum(channels, 6, 5);
    // A part of a larger image: its rows do not follow one another.
    const cv::Mat image = CountingMat(channels, 8, 9)(cv::Rect(0, 0, 5, 6));
    Blob<TypeParam> from_datum(a.InferBlobShape(datum)), from_mat(b.InferBlobShape(image));
    EXPECT_EQ(from_datum.shape(), from_mat.shape());
    for (int i = 0; i < 10; ++i) {
      a.Transform(datum, &from_datum);
      b.Transform(image, &from_mat);
      ASSERT_EQ(Values(from_datum), Values(from_mat));
    }
  }
}

TYPED_TEST(DataTransformerTest, CutsLabelsLikeTheirImage) {
  DataTransformer<TypeParam> transformer(
      Parameter("mirror: true crop_size: 3 mean_value: 9 scale: 2"), TRAIN);
  transformer.InitRand();
  const cv::Mat image = CountingMat(1, 6, 5);
  for (int i = 0; i < 10; ++i) {
    const ImageDraws draws = transformer.Draw();
    Blob<TypeParam> crop(1, 1, 3, 3), labels(1, 1, 3, 3);
    transformer.TransformTo(image, draws, crop.shape(), crop.mutable_cpu_data());
    transformer.TransformLabelsTo(image, draws, labels.shape(), labels.mutable_cpu_data());
    for (int k = 0; k < 9; ++k) {
      EXPECT_EQ(crop.cpu_data()[k], (labels.cpu_data()[k] - 9) * 2);
    }
  }
}

TYPED_TEST(DataTransformerTest, DecodesRecords) {
  const cv::Mat image = CountingMat(3, 2, 2);
  EXPECT_EQ(this->Transform("", TEST, EncodedDatum(image)),
            this->Transform("", TEST, CountingDatum(3, 2, 2)));
  EXPECT_EQ(this->Transform("force_gray: true", TEST, EncodedDatum(image)).size(), 4u);
  EXPECT_EQ(this->Transform("force_color: true", TEST, EncodedDatum(CountingMat(1, 2, 2))).size(),
            12u);
  Datum broken = EncodedDatum(image);
  broken.mutable_data()->resize(20);
  ExpectContains(this->TransformError("", broken), "20 bytes are not an image");
  broken.clear_data();
  ExpectContains(this->TransformError("", broken), "0 bytes");
}

TYPED_TEST(DataTransformerTest, RefusesMoreThanEightBits) {
  DataTransformer<TypeParam> transformer(Parameter(""), TEST);
  Blob<TypeParam> blob(1, 1, 2, 2);
  const cv::Mat image(2, 2, CV_16UC1, cv::Scalar(3));
  ExpectContains(ErrorOf([&] { transformer.Transform(image, &blob); }), "8 bits");
}

TYPED_TEST(DataTransformerTest, SaysHowRecordsWithOtherPixelsAreRead) {
  const cv::Mat deep(2, 2, CV_16UC1, cv::Scalar(0x3456)), transparent = CountingMat(4, 2, 2);
  const string error = this->TransformError("", EncodedDatum(deep));
  ExpectContains(error, "the encoded image has 16 bits per channel, not 8");
  ExpectContains(error, "give force_color: true or force_gray: true");
  EXPECT_EQ(this->Transform("force_gray: true", TEST, EncodedDatum(deep)),
            vector<TypeParam>(4, 0x34));
  const string means = "mean_value: 1 mean_value: 2 mean_value: 3 ";
  ExpectContains(this->TransformError(means, EncodedDatum(transparent)),
                 "mean_value is given 3 times and the encoded image has 4 channels: give "
                 "force_color: true");
  EXPECT_EQ(this->Transform(means + "force_color: true", TEST, EncodedDatum(transparent)).size(),
            12u);
}

// An image whose left half is 0 and right half 200 keeps its halves at any size.
TYPED_TEST(DataTransformerTest, ResizesAtRandom) {
  cv::Mat image(20, 40, CV_8UC1, cv::Scalar(0));
  image(cv::Rect(20, 0, 20, 20)) = 200;
  Datum datum = EncodedDatum(image);
  const string text =
      "img_rand_resize_lower: 8 img_rand_resize_upper: 16 crop_size: 8 "
      "vertical_stretch_lower: 0.9 vertical_stretch_upper: 1.1 interpolation_algo_down: INTER_AREA";
  for (Phase phase : {TRAIN, TEST}) {
    DataTransformer<TypeParam> transformer(Parameter(text), phase);
    transformer.InitRand();
    Blob<TypeParam> blob(transformer.InferBlobShape(datum));
    EXPECT_EQ(blob.shape(), (vector<int>{1, 1, 8, 8}));
    std::set<vector<TypeParam>> seen;
    for (int i = 0; i < 30; ++i) {
      transformer.Transform(datum, &blob);
      for (TypeParam value : Values(blob)) ASSERT_TRUE(value >= 0 && value <= 200);
      seen.insert(Values(blob));
    }
    if (phase == TRAIN) {
      EXPECT_GT(seen.size(), 3u);
    }
    if (phase == TEST) {
      EXPECT_LT(blob.cpu_data()[0], 100);
      EXPECT_GT(blob.cpu_data()[7], 100);
    }
  }
}

TYPED_TEST(DataTransformerTest, DoesNotEnlargeUnlessAllowed) {
  const cv::Mat image = CountingMat(1, 4, 4);
  const string text = "img_rand_resize_lower: 40 img_rand_resize_upper: 40 crop_size: 4";
  DataTransformer<TypeParam> kept(Parameter(text), TEST);
  DataTransformer<TypeParam> enlarged(
      Parameter(text + " allow_upscale: true interpolation_algo_up: INTER_NEAREST"), TEST);
  Blob<TypeParam> blob(1, 1, 4, 4);
  kept.InitRand();
  kept.Transform(image, &blob);
  EXPECT_EQ(Values(blob), this->Transform("", TEST, CountingDatum(1, 4, 4)));
  enlarged.InitRand();
  enlarged.Transform(image, &blob);
  EXPECT_EQ(Values(blob)[0], 11);
  EXPECT_EQ(Values(blob)[15], 22);
}

#else

TYPED_TEST(DataTransformerTest, SaysThatItCannotDecode) {
  Datum datum;
  datum.set_encoded(true);
  datum.set_data("x");
  DataTransformer<TypeParam> transformer(Parameter(""), TEST);
  Blob<TypeParam> blob(1, 1, 1, 1);
  ExpectContains(ErrorOf([&] { transformer.Transform(datum, &blob); }), "USE_OPENCV=ON");
}

#endif  // USE_OPENCV

}  // namespace
}  // namespace caffe
