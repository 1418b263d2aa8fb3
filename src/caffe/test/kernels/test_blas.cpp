// Matrix products and sums against plain loops in double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/cpu_features.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe::kernels {
namespace {

template <typename A, typename B, typename C>
struct Types {};

template <typename T>
class BlasTest : public ::testing::Test {
 public:
  const unsigned seed_ = TestSeed();
  std::mt19937 random_{seed_};
  ::testing::ScopedTrace trace_{__FILE__, __LINE__, "CAFFE_TEST_SEED=" + std::to_string(seed_)};

  int Extent(int most) { return std::uniform_int_distribution<int>(1, most)(random_); }
  bool Coin() { return random_() & 1; }
  template <typename E>
  std::vector<E> Draw(size_t count) {
    std::normal_distribution<float> normal;
    std::vector<E> values(count);
    for (E& value : values) value = E(normal(random_));
    return values;
  }
};
using AllTypes = ::testing::Types<Types<float, float, float>, Types<double, double, double>,
                                  Types<float, float, float16>, Types<float, float16, float>,
                                  Types<float, float16, float16>, Types<float16, float, float>,
                                  Types<float16, float, float16>, Types<float16, float16, float>,
                                  Types<float16, float16, float16>>;
// OpenBLAS takes processors that it does not know for ones of 2004; src/caffe/openmp_settings/
// names it a known one.
TEST(BlasProcessor, HasThisMachinesVectors) {
  const std::string name = BlasProcessor();
  const bool has_avx512 = Includes(FoundCpuFeatures(), CpuFeatures::AVX512);
  if (name.empty() || !has_avx512 || std::getenv("OPENBLAS_CORETYPE")) {
    GTEST_SKIP() << "not OpenBLAS, no AVX-512, or the user has chosen";
  }
  for (const char* old : {"Prescott", "Core2", "Nehalem", "Sandybridge", "Haswell", "Barcelona"}) {
    EXPECT_NE(name, old);
  }
}

TYPED_TEST_SUITE(BlasTest, AllTypes);

template <typename T>
double AsDouble(T value) {
  return static_cast<double>(static_cast<float>(value));
}
double AsDouble(double value) { return value; }

/// The bound of a result that is the sum of `terms` products with absolute sum `absolute`,
/// accumulated in float (or double) and rounded to C.
template <typename C>
double Bound(int terms, double absolute, double result) {
  using F = AccumulatorType<C>;
  return 4 * (terms + 4) * std::numeric_limits<F>::epsilon() * absolute +
         AsDouble(std::numeric_limits<C>::epsilon()) * std::fabs(result) +
         AsDouble(std::numeric_limits<C>::denorm_min());
}

template <typename A, typename B, typename C, typename Test>
void CheckGemm(Test* test, int m, int n, int k, Types<A, B, C>) {
  const bool transpose_a = test->Coin(), transpose_b = test->Coin();
  const AccumulatorType<C> alpha = 1.5, beta = test->Coin() ? 0 : -0.5;
  const int lda = (transpose_a ? m : k) + 2, ldb = (transpose_b ? k : n) + 1, ldc = n + 3;
  const std::vector<A> a = test->template Draw<A>(size_t(lda) * (transpose_a ? k : m) + 1);
  const std::vector<B> b = test->template Draw<B>(size_t(ldb) * (transpose_b ? n : k) + 1);
  std::vector<C> c = test->template Draw<C>(size_t(ldc) * m);
  const std::vector<C> before = c;
  Gemm(transpose_a, transpose_b, m, n, k, alpha, a.data(), lda, b.data(), ldb, beta, c.data(), ldc);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < ldc; ++j) {
      const size_t at = size_t(i) * ldc + j;
      if (j >= n) {
        ASSERT_EQ(AsDouble(c[at]), AsDouble(before[at])) << "behind row " << i;
        continue;
      }
      double sum = 0, absolute = 0;
      for (int l = 0; l < k; ++l) {
        const double term = AsDouble(a[transpose_a ? size_t(l) * lda + i : size_t(i) * lda + l]) *
                            AsDouble(b[transpose_b ? size_t(j) * ldb + l : size_t(l) * ldb + j]);
        sum += alpha * term;
        absolute += std::fabs(alpha * term);
      }
      sum += beta * AsDouble(before[at]);
      absolute += std::fabs(beta * AsDouble(before[at]));
      ASSERT_NEAR(AsDouble(c[at]), sum, Bound<C>(k, absolute, sum))
          << m << " x " << n << " x " << k << ", transposed " << transpose_a << transpose_b
          << ", beta " << beta << " at " << i << ", " << j;
    }
  }
}

TYPED_TEST(BlasTest, GemmIsTheProductOfMatrices) {
  for (int i = 0; i < 20; ++i) {
    CheckGemm(this, this->Extent(40), this->Extent(40), this->Extent(40), TypeParam());
  }
}

TYPED_TEST(BlasTest, GemmGoesThroughWideMatricesInPieces) {
  CheckGemm(this, 70, 3, 20000, TypeParam());
  CheckGemm(this, 3, 70, 20000, TypeParam());
}

TYPED_TEST(BlasTest, GemmOfFewRowsOrTermsGoesThroughTheOtherMatrixOnce) {
  for (int i = 0; i < 8; ++i) {  // transposed or not
    CheckGemm(this, 1 + i * 4, 1100, 37, TypeParam());
    CheckGemm(this, 70, 1100, 1 + i * 4, TypeParam());
  }
}

TYPED_TEST(BlasTest, GemmOfLargeMatricesIsSharedByTheTeam) {
  for (const int threads : {1, 2, 3, 4, 7, 16}) {
    const TeamSize team(threads);
    CheckGemm(this, 33 + this->Extent(100), 33 + this->Extent(100), 256, TypeParam());
    CheckGemm(this, 17 + this->Extent(30), 600, 33 + this->Extent(30), TypeParam());
    CheckGemm(this, 600, 17 + this->Extent(30), 33 + this->Extent(30), TypeParam());
  }
}

TYPED_TEST(BlasTest, GemmWithoutTermsScalesTheResult) {
  for (int i = 0; i < 4; ++i) CheckGemm(this, 3, 5, 0, TypeParam());
}

template <typename A, typename X, typename Y, typename Test>
void CheckGemv(Test* test, int m, int n, Types<A, X, Y>) {
  const bool transpose = test->Coin();
  const AccumulatorType<Y> alpha = 1.5, beta = test->Coin() ? 0 : -0.5;
  const int inputs = transpose ? m : n, outputs = transpose ? n : m;
  const std::vector<A> a = test->template Draw<A>(size_t(m) * n + 1);
  const std::vector<X> x = test->template Draw<X>(inputs + 1);
  std::vector<Y> y = test->template Draw<Y>(outputs);
  const std::vector<Y> before = y;
  Gemv(transpose, m, n, alpha, a.data(), x.data(), beta, y.data());
  for (int i = 0; i < outputs; ++i) {
    double sum = beta * AsDouble(before[i]), absolute = std::fabs(sum);
    for (int l = 0; l < inputs; ++l) {
      const double term =
          alpha * AsDouble(x[l]) * AsDouble(a[transpose ? size_t(l) * n + i : size_t(i) * n + l]);
      sum += term;
      absolute += std::fabs(term);
    }
    ASSERT_NEAR(AsDouble(y[i]), sum, Bound<Y>(inputs, absolute, sum))
        << m << " x " << n << ", transposed " << transpose << ", beta " << beta << " at " << i;
  }
}

TYPED_TEST(BlasTest, GemvIsTheProductOfAMatrixAndAVector) {
  for (int i = 0; i < 20; ++i) CheckGemv(this, this->Extent(50), this->Extent(50), TypeParam());
  CheckGemv(this, 300, 5000, TypeParam());
  for (int i = 0; i < 4; ++i) {
    CheckGemv(this, 0, 4, TypeParam());
    CheckGemv(this, 4, 0, TypeParam());
  }
}

}  // namespace
}  // namespace caffe::kernels
