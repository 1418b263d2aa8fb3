// Caffe's caffe_gpu_ functions, on the tests' device and on a GPU if there is one, against the
// host's functions.
#ifndef CPU_ONLY
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/test/support/each_device.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/util/math_functions.hpp"

namespace caffe {
namespace {

constexpr int kCount = 1000;

template <typename Dtype>
std::unique_ptr<Blob<Dtype>> Random(unsigned seed, Dtype low, Dtype high, int count = kCount) {
  std::unique_ptr<Blob<Dtype>> blob(new Blob<Dtype>(std::vector<int>{count}));
  std::mt19937 random(TestSeed() + seed);
  std::uniform_real_distribution<Dtype> values(low, high);
  for (int i = 0; i < count; ++i) blob->mutable_cpu_data()[i] = values(random);
  return blob;
}

template <typename Dtype>
void ExpectEqual(const Blob<Dtype>& expected, const Blob<Dtype>& actual, double bound = 2e-6) {
  for (int i = 0; i < expected.count(); ++i) {
    const Dtype value = expected.cpu_data()[i];
    ASSERT_NEAR(value, actual.cpu_data()[i], bound * std::max(Dtype(1), std::abs(value))) << i;
  }
}

template <typename Dtype>
class GpuMath : public ::testing::Test {
 protected:
  using Unary = std::function<void(int, const Dtype*, Dtype*)>;
  using Binary = std::function<void(int, const Dtype*, const Dtype*, Dtype*)>;

  static void Compare(const Unary& host, const Unary& device, Dtype low, Dtype high) {
    OnEachDevice([&] {
      const auto x = Random<Dtype>(1, low, high);
      Blob<Dtype> expected(x->shape()), actual(x->shape());
      host(kCount, x->cpu_data(), expected.mutable_cpu_data());
      device(kCount, x->gpu_data(), actual.mutable_gpu_data());
      ExpectEqual(expected, actual);
    });
  }
  static void Compare(const Binary& host, const Binary& device) {
    OnEachDevice([&] {
      const auto a = Random<Dtype>(1, -2, 2), b = Random<Dtype>(2, 1, 3);
      Blob<Dtype> expected(a->shape()), actual(a->shape());
      host(kCount, a->cpu_data(), b->cpu_data(), expected.mutable_cpu_data());
      device(kCount, a->gpu_data(), b->gpu_data(), actual.mutable_gpu_data());
      ExpectEqual(expected, actual);
    });
  }
};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GpuMath, RealTypes);

TYPED_TEST(GpuMath, OfOneVector) {
  using T = TypeParam;
  this->Compare(caffe_abs<T>, caffe_gpu_abs<T>, -2, 2);
  this->Compare(caffe_cpu_fabs<T>, caffe_gpu_fabs<T>, -2, 2);
  this->Compare(caffe_exp<T>, caffe_gpu_exp<T>, -2, 2);
  this->Compare(caffe_log<T>, caffe_gpu_log<T>, 0.5, 4);
  this->Compare(caffe_sqrt<T>, caffe_gpu_sqrt<T>, 0, 4);
  this->Compare(caffe_cpu_sign<T>, caffe_gpu_sign<T>, -2, 2);
  this->Compare(caffe_cpu_sgnbit<T>, caffe_gpu_sgnbit<T>, -2, 2);
}

TYPED_TEST(GpuMath, OfTwoVectors) {
  using T = TypeParam;
  this->Compare(caffe_add<T>, caffe_gpu_add<T>);
  this->Compare(caffe_sub<T>, caffe_gpu_sub<T>);
  this->Compare(caffe_mul<T>, caffe_gpu_mul<T>);
  this->Compare(caffe_div<T>, caffe_gpu_div<T>);
}

TYPED_TEST(GpuMath, OfAVectorAndNumbers) {
  using T = TypeParam;
  this->Compare([](int n, const T* x, T* y) { caffe_powx<T>(n, x, T(2.5), y); },
                [](int n, const T* x, T* y) { caffe_gpu_powx<T>(n, x, T(2.5), y); }, 0, 2);
  this->Compare([](int n, const T* x, T* y) { caffe_cpu_scale<T>(n, T(3), x, y); },
                [](int n, const T* x, T* y) { caffe_gpu_scale<T>(n, T(3), x, y); }, -1, 1);
  const auto host = [](int n, const T* x, T* y) {
    caffe_set<T>(n, T(2), y);
    caffe_axpy<T>(n, T(3), x, y);
    caffe_cpu_axpby<T>(n, T(4), x, T(5), y);
    caffe_scal<T>(n, T(-1), y);
    caffe_add_scalar<T>(n, T(7), y);
  };
  const auto device = [](int n, const T* x, T* y) {
    caffe_gpu_set<T>(n, T(2), y);
    caffe_gpu_axpy<T>(n, T(3), x, y);
    caffe_gpu_axpby<T>(n, T(4), x, T(5), y);
    caffe_gpu_scal<T>(n, T(-1), y);
    caffe_gpu_add_scalar<T>(n, T(7), y);
  };
  this->Compare(host, device, -1, 1);
}

TYPED_TEST(GpuMath, ProductsOfMatrices) {
  using T = TypeParam;
  constexpr int kM = 5, kN = 7, kK = 9;
  for (const CBLAS_TRANSPOSE a_form : {CblasNoTrans, CblasTrans}) {
    for (const CBLAS_TRANSPOSE b_form : {CblasNoTrans, CblasTrans}) {
      OnEachDevice([&] {
        const auto a = Random<T>(1, -1, 1, kM * kK), b = Random<T>(2, -1, 1, kK * kN);
        const auto expected = Random<T>(3, -1, 1, kM * kN), actual = Random<T>(3, -1, 1, kM * kN);
        caffe_cpu_gemm<T>(a_form, b_form, kM, kN, kK, T(2), a->cpu_data(), b->cpu_data(), T(0.5),
                          expected->mutable_cpu_data());
        caffe_gpu_gemm<T>(a_form, b_form, kM, kN, kK, T(2), a->gpu_data(), b->gpu_data(), T(0.5),
                          actual->mutable_gpu_data());
        ExpectEqual(*expected, *actual);
      });
    }
    OnEachDevice([&] {
      const auto a = Random<T>(1, -1, 1, kM * kN), x = Random<T>(2, -1, 1, kM + kN);
      const auto expected = Random<T>(3, -1, 1, kM + kN), actual = Random<T>(3, -1, 1, kM + kN);
      caffe_cpu_gemv<T>(a_form, kM, kN, T(2), a->cpu_data(), x->cpu_data(), T(0.5),
                        expected->mutable_cpu_data());
      caffe_gpu_gemv<T>(a_form, kM, kN, T(2), a->gpu_data(), x->gpu_data(), T(0.5),
                        actual->mutable_gpu_data());
      ExpectEqual(*expected, *actual);
    });
  }
}

TYPED_TEST(GpuMath, SumsComeToTheHost) {
  using T = TypeParam;
  OnEachDevice([&] {
    const auto a = Random<T>(1, -1, 1), b = Random<T>(2, -1, 1);
    T dot = 0, asum = 0;
    caffe_gpu_dot<T>(kCount, a->gpu_data(), b->gpu_data(), &dot);
    caffe_gpu_asum<T>(kCount, a->gpu_data(), &asum);
    EXPECT_NEAR(dot, caffe_cpu_dot<T>(kCount, a->cpu_data(), b->cpu_data()), 1e-4);
    EXPECT_NEAR(asum, caffe_cpu_asum<T>(kCount, a->cpu_data()), 1e-3);
  });
}

TYPED_TEST(GpuMath, CopiesBetweenAllMemories) {
  using T = TypeParam;
  OnEachDevice([&] {
    const auto x = Random<T>(1, -1, 1);
    Blob<T> y(x->shape()), z(x->shape());
    caffe_copy<T>(kCount, x->cpu_data(), y.mutable_gpu_data());
    caffe_gpu_memcpy(kCount * sizeof(T), y.gpu_data(), z.mutable_gpu_data());
    ExpectEqual(*x, z, 0);
    Blob<T> host(x->shape());
    caffe_copy<T>(kCount, z.gpu_data(), host.mutable_cpu_data());
    ExpectEqual(*x, host, 0);
    caffe_gpu_memset(kCount * sizeof(T), 0, z.mutable_gpu_data());
    EXPECT_EQ(z.asum_data(), 0);
  });
}

/// Mean and variance, and the same numbers for the same seed and others for the next draw.
template <typename T, typename Draw>
void ExpectMoments(const Draw& draw, double mean, double variance) {
  OnEachDevice([&] {
    constexpr int kNumbers = 20000;
    Blob<T> x(std::vector<int>{kNumbers}), again(x.shape()), next(x.shape());
    Caffe::set_random_seed(TestSeed());
    draw(kNumbers, x.mutable_gpu_data());
    draw(kNumbers, next.mutable_gpu_data());
    Caffe::set_random_seed(TestSeed());
    draw(kNumbers, again.mutable_gpu_data());
    double sum = 0, squares = 0;
    int same = 0;
    for (int i = 0; i < kNumbers; ++i) {
      const double value = x.cpu_data()[i];
      ASSERT_EQ(x.cpu_data()[i], again.cpu_data()[i]);
      same += x.cpu_data()[i] == next.cpu_data()[i];
      sum += value;
      squares += value * value;
    }
    EXPECT_LT(same, kNumbers);
    const double actual = sum / kNumbers;
    // Five standard deviations of the mean.
    EXPECT_NEAR(actual, mean, 5 * std::sqrt(variance / kNumbers));
    EXPECT_NEAR(squares / kNumbers - actual * actual, variance, 0.05 * variance);
  });
}

TYPED_TEST(GpuMath, RandomNumbersHaveTheirMoments) {
  using T = TypeParam;
  ExpectMoments<T>([](int n, T* y) { caffe_gpu_rng_uniform<T>(n, T(-1), T(3), y); }, 1, 16. / 12);
  ExpectMoments<T>([](int n, T* y) { caffe_gpu_rng_gaussian<T>(n, T(2), T(3), y); }, 2, 9);
  ExpectMoments<int>([](int n, int* y) { caffe_gpu_rng_bernoulli<T>(n, T(0.3), y); }, 0.3, 0.21);
}

TEST(GpuRandom, WordsUseAllBits) {
  OnEachDevice([] {
    Blob<unsigned int> words(std::vector<int>{1000});
    caffe_gpu_rng_uniform(1000, words.mutable_gpu_data());
    unsigned int any = 0, all = ~0u;
    for (int i = 0; i < 1000; ++i) {
      any |= words.cpu_data()[i];
      all &= words.cpu_data()[i];
    }
    EXPECT_EQ(any, ~0u);
    EXPECT_EQ(all, 0u);
  });
}

}  // namespace
}  // namespace caffe
#endif
