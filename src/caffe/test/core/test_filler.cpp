#include "caffe/filler.hpp"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <boost/random.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "caffe/test/support/seeds.hpp"

namespace caffe {
namespace {

using Shape = std::vector<int>;

FillerParameter Parse(const std::string& prototxt) {
  FillerParameter param;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(prototxt, &param));
  return param;
}

template <typename Dtype>
std::vector<Dtype> Filled(const std::string& prototxt, const Shape& shape) {
  Blob<Dtype> blob(shape);
  FillBlob(Parse(prototxt), &blob);
  return {blob.cpu_data(), blob.cpu_data() + blob.count()};
}

std::string Refusal(const std::string& prototxt, const Shape& shape) {
  try {
    Filled<float>(prototxt, shape);
  } catch (const Error& error) {
    return error.what();
  }
  return "was not refused";
}

template <typename Dtype>
Dtype Mean(const std::vector<Dtype>& x) {
  return std::accumulate(x.begin(), x.end(), Dtype(0)) / x.size();
}

template <typename Dtype>
Dtype Deviation(const std::vector<Dtype>& x) {
  Dtype squares = 0;
  for (Dtype value : x) squares += (value - Mean(x)) * (value - Mean(x));
  return std::sqrt(squares / x.size());
}

/// What Boost draws from a generator of this seed, as Caffe asks for it.
template <typename Dtype>
std::vector<Dtype> UniformDraws(unsigned seed, size_t count, Dtype min, Dtype max) {
  boost::mt19937 generator(seed);
  boost::uniform_real<Dtype> distribution(min,
                                          std::nextafter(max, std::numeric_limits<Dtype>::max()));
  boost::variate_generator<boost::mt19937*, boost::uniform_real<Dtype>> draw(&generator,
                                                                             distribution);
  std::vector<Dtype> values(count);
  for (Dtype& value : values) value = draw();
  return values;
}

template <typename Dtype>
std::vector<Dtype> GaussianDraws(boost::mt19937* generator, size_t count, Dtype mean, Dtype std) {
  boost::normal_distribution<Dtype> distribution(mean, std);
  boost::variate_generator<boost::mt19937*, boost::normal_distribution<Dtype>> draw(generator,
                                                                                    distribution);
  std::vector<Dtype> values(count);
  for (Dtype& value : values) value = draw();
  return values;
}

template <typename Dtype>
class FillerTest : public ::testing::Test {};
using FillerTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FillerTest, FillerTypes);

TYPED_TEST(FillerTest, ConstantIsTheDefaultAndZeroIsItsValue) {
  EXPECT_EQ(Filled<TypeParam>("", {2}), (std::vector<TypeParam>{0, 0}));
  EXPECT_EQ(Filled<TypeParam>("type: 'constant' value: 2.5", {1, 2}),
            (std::vector<TypeParam>{2.5, 2.5}));
}

TYPED_TEST(FillerTest, UniformDrawsOneNumberAnElementInOrder) {
  EXPECT_EQ(Filled<TypeParam>("type: 'uniform' min: -1 max: 3", {2, 3}),
            UniformDraws<TypeParam>(TestSeed(), 6, -1, 3));
}

TYPED_TEST(FillerTest, GaussianDrawsInOrder) {
  boost::mt19937 generator(TestSeed());
  EXPECT_EQ(Filled<TypeParam>("type: 'gaussian' mean: 2 std: 0.5", {5}),
            GaussianDraws<TypeParam>(&generator, 5, 2, 0.5));
}

TYPED_TEST(FillerTest, GaussianWithoutWidthIsItsMean) {
  EXPECT_EQ(Filled<TypeParam>("type: 'gaussian' mean: 2 std: 0", {2}),
            (std::vector<TypeParam>{2, 2}));
}

TYPED_TEST(FillerTest, SparseGaussianDrawsItsMaskAfterItsValues) {
  const std::vector<TypeParam> actual =
      Filled<TypeParam>("type: 'gaussian' std: 1 sparse: 3", {6, 50});
  boost::mt19937 generator(TestSeed());
  std::vector<TypeParam> expected = GaussianDraws<TypeParam>(&generator, 300, 0, 1);
  boost::bernoulli_distribution<TypeParam> distribution(TypeParam(3) / 6);
  boost::variate_generator<boost::mt19937*, boost::bernoulli_distribution<TypeParam>> keep(
      &generator, distribution);
  size_t kept = 0;
  for (TypeParam& value : expected) {
    if (keep()) {
      ++kept;
    } else {
      value = 0;
    }
  }
  EXPECT_EQ(actual, expected);
  EXPECT_NEAR(kept, 150, 50);
}

TYPED_TEST(FillerTest, PositiveUnitballSumsToOneForEachOutput) {
  const std::vector<TypeParam> values = Filled<TypeParam>("type: 'positive_unitball'", {3, 4, 5});
  for (int output = 0; output < 3; ++output) {
    const auto begin = values.begin() + output * 20;
    EXPECT_NEAR(std::accumulate(begin, begin + 20, 0.), 1, 1e-6);
    for (auto value = begin; value != begin + 20; ++value) EXPECT_GE(*value, 0);
  }
}

// Weights (outputs 100, inputs 20, kernel 5 x 2): 200 inputs per output, 1000 outputs per input.
const Shape kWeights = {100, 20, 5, 2};

TYPED_TEST(FillerTest, XavierIsUniformAndScaledByTheFan) {
  const struct {
    const char* variance_norm;
    double fan;
  } norms[] = {{"", 200},
               {"variance_norm: FAN_IN", 200},
               {"variance_norm: FAN_OUT", 1000},
               {"variance_norm: AVERAGE", 600}};
  for (const auto& norm : norms) {
    SCOPED_TRACE(norm.variance_norm);
    Caffe::set_random_seed(TestSeed());
    const TypeParam a = std::sqrt(TypeParam(3) / TypeParam(norm.fan));
    EXPECT_EQ(Filled<TypeParam>(Join("type: 'xavier' ", norm.variance_norm), kWeights),
              UniformDraws<TypeParam>(TestSeed(), 20000, -a, a));
  }
}

TYPED_TEST(FillerTest, MsraIsGaussianAndScaledByTheFan) {
  boost::mt19937 generator(TestSeed());
  const TypeParam std = std::sqrt(TypeParam(2) / 1000);
  const std::vector<TypeParam> values =
      Filled<TypeParam>("type: 'msra' variance_norm: FAN_OUT", kWeights);
  EXPECT_EQ(values, GaussianDraws<TypeParam>(&generator, 20000, 0, std));
  EXPECT_NEAR(Mean(values), 0, 0.002);
  EXPECT_NEAR(Deviation(values), std, 0.002);
}

TYPED_TEST(FillerTest, ABlobOfOneAxisHasItsCountForAFan) {
  // FAN_OUT of a bias: there is no input axis to divide by.
  EXPECT_EQ(Filled<TypeParam>("type: 'xavier' variance_norm: FAN_OUT", {3}),
            UniformDraws<TypeParam>(TestSeed(), 3, -1, 1));
}

TYPED_TEST(FillerTest, BilinearInterpolates) {
  const std::vector<TypeParam> row = {0.25, 0.75, 0.75, 0.25};
  const std::vector<TypeParam> values = Filled<TypeParam>("type: 'bilinear'", {2, 1, 4, 4});
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], row[i % 4] * row[i / 4 % 4], 1e-6) << i;
  }
}

TYPED_TEST(FillerTest, BilinearIsSymmetricForOddKernels) {
  const std::vector<TypeParam> row = {0.5, 1, 0.5};
  const std::vector<TypeParam> values = Filled<TypeParam>("type: 'bilinear'", {1, 1, 3, 3});
  for (int i = 0; i < 9; ++i) EXPECT_NEAR(values[i], row[i % 3] * row[i / 3], 1e-6) << i;
}

TYPED_TEST(FillerTest, StaticNamesAreTheSameFillers) {
  const struct {
    const char *name, *static_name, *fields;
  } fillers[] = {{"gaussian", "gaussianstatic", "std: 2"},
                 {"uniform", "uniformstatic", "max: 2"},
                 {"xavier", "xavierstatic", ""},
                 {"msra", "msrastatic", ""},
                 {"bilinear", "bilinearstatic", ""},
                 {"positive_unitball", "positive_unitballstatic", ""}};
  for (const auto& filler : fillers) {
    SCOPED_TRACE(filler.name);
    Caffe::set_random_seed(TestSeed());
    const auto expected =
        Filled<TypeParam>(Join("type: '", filler.name, "' ", filler.fields), {2, 3, 4, 4});
    Caffe::set_random_seed(TestSeed());
    EXPECT_EQ(
        Filled<TypeParam>(Join("type: '", filler.static_name, "' ", filler.fields), {2, 3, 4, 4}),
        expected);
  }
}

TEST(BadFiller, IsRefusedInPlainWords) {
  const struct {
    const char* prototxt;
    Shape shape;
    const char* wanted;
  } cases[] = {
      {"type: 'xaver'", {2, 2}, "unknown filler type 'xaver': valid are constant"},
      {"type: 'static'", {2, 2}, "unknown filler type 'static'"},
      {"type: 'constant' sparse: 1", {2, 2}, "sparse is for type 'gaussian' only"},
      {"type: 'xavier' sparse: 1", {2, 2}, "sparse is for type 'gaussian' only"},
      {"type: 'gaussian' sparse: 3", {2, 2}, "sparse is at most the number of outputs, 2, got 3"},
      {"type: 'gaussian' std: -1", {2, 2}, "needs a positive std, got -1"},
      {"type: 'uniform' min: 2 max: 1", {2, 2}, "needs min <= max, got 2 and 1"},
      {"type: 'bilinear'", {2, 2}, "'bilinear' is for blobs with 4 axes"},
      {"type: 'bilinear'", {1, 1, 2, 3}, "'bilinear' needs a square kernel"},
      {"type: 'xavier'", {0, 2}, "an empty blob"},
      {"type: 'positive_unitball'", {0, 2}, "an empty blob"},
  };
  for (const auto& c : cases) {
    const std::string refusal = Refusal(c.prototxt, c.shape);
    EXPECT_NE(refusal.find(c.wanted), std::string::npos) << c.prototxt << ": " << refusal;
  }
}

}  // namespace
}  // namespace caffe
