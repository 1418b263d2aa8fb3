#include "caffe/kernels/permutohedral_lattice.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "caffe/error.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe {
namespace {

using Numbers = std::vector<double>;
using kernels::PermutohedralLattice;

/// sum over r of w(p, r) x_r / sum over r of w(p, r), with true Gaussians w.
Numbers Exact(int dimensions, const Numbers& features, const Numbers& x) {
  const size_t points = x.size();
  Numbers y(points);
  for (size_t p = 0; p < points; ++p) {
    double sum = 0, weights = 0;
    for (size_t r = 0; r < points; ++r) {
      double distance = 0;
      for (int i = 0; i < dimensions; ++i) {
        const double d = features[p * dimensions + i] - features[r * dimensions + i];
        distance += d * d;
      }
      const double weight = std::exp(-distance / 2);
      sum += weight * x[r];
      weights += weight;
    }
    y[p] = sum / weights;
  }
  return y;
}

Numbers Filtered(const PermutohedralLattice& lattice, const Numbers& x, bool transposed = false) {
  Numbers y(x.size());
  lattice.Filter(x.size() / lattice.points(), x.data(), y.data(), transposed);
  return y;
}

Numbers Normalized(const PermutohedralLattice& lattice, const Numbers& x) {
  const Numbers sums = Filtered(lattice, Numbers(x.size(), 1));
  Numbers y = Filtered(lattice, x);
  for (size_t i = 0; i < y.size(); ++i) y[i] /= sums[i];
  return y;
}

struct Image {
  int height, width;
  Numbers x;         ///< what is filtered
  Numbers features;  ///< of each pixel
};

/// Pixels of two regions of different brightness, x being random numbers from 0 to 1.
Image MakeImage(int height, int width, double theta_alpha, double theta_beta, bool bilateral,
                std::mt19937* random) {
  std::uniform_real_distribution<double> uniform;
  Image image = {height, width, {}, {}};
  for (int h = 0; h < height; ++h) {
    for (int w = 0; w < width; ++w) {
      image.x.push_back(uniform(*random));
      image.features.push_back(w / theta_alpha);
      image.features.push_back(h / theta_alpha);
      const double region = w < width / 2 ? 20 : 200;
      for (int c = 0; bilateral && c < 3; ++c) {
        image.features.push_back((region + 20 * uniform(*random) + c) / theta_beta);
      }
    }
  }
  return image;
}

double RootMeanSquare(const Numbers& a, const Numbers& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum / a.size());
}

/// By how much the lattice's results differ from the exact ones, as a part of the variation about
/// the mean that the filter leaves, over many images: of one image's noise so little is left that
/// its part is anything from 0.1 to 0.35.
template <typename Make>
double RelativeError(int dimensions, Make make) {
  std::mt19937 random(TestSeed());
  double errors = 0, variations = 0;
  for (int i = 0; i < 40; ++i) {
    const Image image = make(&random);
    const PermutohedralLattice lattice(dimensions, image.x.size(), image.features.data());
    const Numbers exact = Exact(dimensions, image.features, image.x);
    const double mean = std::accumulate(exact.begin(), exact.end(), 0.) / exact.size();
    errors += std::pow(RootMeanSquare(Normalized(lattice, image.x), exact), 2);
    variations += std::pow(RootMeanSquare(exact, Numbers(exact.size(), mean)), 2);
  }
  return std::sqrt(errors / variations);
}

// 0.1 on average, with a deviation of 0.004 from one seed to another.
TEST(PermutohedralLattice, IsCloseToAGaussianInSpace) {
  for (const double theta : {2., 3., 5.}) {
    EXPECT_LT(
        RelativeError(
            2, [&](std::mt19937* random) { return MakeImage(40, 30, theta, 1, false, random); }),
        0.13)
        << theta;
  }
}

// 0.15 on average, with a deviation of less than 0.01.
TEST(PermutohedralLattice, IsCloseToAGaussianInSpaceAndColor) {
  EXPECT_LT(
      RelativeError(5, [](std::mt19937* random) { return MakeImage(30, 30, 8, 15, true, random); }),
      0.2);
}

// A step of x at the border of the regions stays a step.
TEST(PermutohedralLattice, DoesNotMixColors) {
  std::mt19937 random(TestSeed());
  Image image = MakeImage(20, 20, 10, 10, true, &random);
  for (size_t i = 0; i < image.x.size(); ++i) image.x[i] = i % 20 < 10 ? 1 : 3;
  const PermutohedralLattice lattice(5, image.x.size(), image.features.data());
  const Numbers y = Normalized(lattice, image.x);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], image.x[i], 1e-9) << i;
}

TEST(PermutohedralLattice, TheTransposedFilterIsTheTranspose) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::normal_distribution<double> gaussian;
  for (const int dimensions : {1, 2, 3, 5}) {
    constexpr int kPoints = 60;
    Numbers features(kPoints * dimensions), x(kPoints), y(kPoints);
    for (Numbers* numbers : {&features, &x, &y}) {
      for (double& number : *numbers) number = gaussian(random);
    }
    const PermutohedralLattice lattice(dimensions, kPoints, features.data());
    EXPECT_LE(lattice.vertices(), size_t(kPoints * (dimensions + 1)));
    const Numbers kx = Filtered(lattice, x), ky = Filtered(lattice, y, true);
    double left = 0, right = 0;
    for (int i = 0; i < kPoints; ++i) {
      left += kx[i] * y[i];
      right += x[i] * ky[i];
    }
    EXPECT_NEAR(left, right, 1e-12 * kPoints) << dimensions;
  }
}

// Each channel by itself, in float as in double, in place as not.
TEST(PermutohedralLattice, FiltersPlanesOfEitherType) {
  std::mt19937 random(TestSeed());
  const Image image = MakeImage(9, 7, 3, 20, true, &random);
  const PermutohedralLattice lattice(5, image.x.size(), image.features.data());
  Numbers two = image.x, y = Filtered(lattice, image.x);
  for (const double value : image.x) two.push_back(2 * value);
  for (const double value : Numbers(y)) y.push_back(2 * value);
  EXPECT_EQ(Filtered(lattice, two), y);
  std::vector<float> floats(two.begin(), two.end());
  lattice.Filter(2, floats.data(), floats.data());
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(floats[i], y[i], 1e-5 * y[i]) << i;
}

TEST(PermutohedralLattice, APointAloneKeepsItsValue) {
  const Numbers features = {0.3, -2, 100};
  const PermutohedralLattice lattice(3, 1, features.data());
  EXPECT_EQ(lattice.vertices(), 4u);
  EXPECT_NEAR(Normalized(lattice, {7})[0], 7, 1e-12);
}

TEST(PermutohedralLattice, RefusesPlacesThatAreNotFinite) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity(), 1e12}) {
    EXPECT_THROW(PermutohedralLattice(1, 1, &bad), Error) << bad;
  }
}

}  // namespace
}  // namespace caffe
