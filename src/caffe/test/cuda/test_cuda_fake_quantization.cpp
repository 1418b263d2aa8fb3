// Kernels of FakeQuantization for GPUs: run by the host on the tests' device, and by the GPU if
// there is one. The CPU's kernels are the definition.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "caffe/float16.hpp"
#include "caffe/kernels/cuda/fake_quantization.hpp"
#include "caffe/test/support/cuda_kernels_test.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe {
namespace {

using kernels::IntegerGrid;

class CudaFakeQuantization : public CudaKernelsTest {};
CAFFE_ON_EACH_DEVICE(CudaFakeQuantization);

/// Affine and symmetric grids, one that rounds means, and one of nothing but 0.
std::vector<IntegerGrid> Grids() {
  std::vector<IntegerGrid> grids = {
      kernels::AffineGrid(-0.7, 1.9, 0, 255), kernels::AffineGrid(0, 3, 0, 15),
      kernels::SymmetricGrid(1.5, 127, false), kernels::AffineGrid(-1, 1, 0, 255),
      kernels::AffineGrid(0, 0, 0, 255)};
  grids[3].rounds_means = true;
  grids[3].middle = 128;
  return grids;
}

/// Numbers on both sides of all grids' ends, ties between their steps, and special ones.
template <typename T>
std::vector<T> Numbers(size_t count, const IntegerGrid& grid) {
  std::mt19937 random(TestSeed());
  std::uniform_int_distribution<int> half_steps(-600, 600);
  std::vector<T> numbers;
  for (size_t i = 0; i < count; ++i) {
    const float exact = static_cast<float>(half_steps(random)) / 2;
    numbers.push_back(static_cast<T>(exact * (i % 2 && grid.scale > 0 ? grid.scale : 0.01f)));
  }
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float special : {infinity, -infinity, std::nanf("")}) {
    numbers.push_back(static_cast<T>(special));
  }
  return numbers;
}

template <typename T>
void ExpectEqualGradients(const std::vector<T>& expected, const std::vector<T>& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const double a = static_cast<double>(expected[i]), b = static_cast<double>(actual[i]);
    ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << a << " and " << b << " at " << i;
  }
}

template <typename T, typename D>
void CheckGradient(Stream& stream, const IntegerGrid& grid, const std::vector<T>& numbers) {
  std::vector<D> dy, expected(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) dy.push_back(static_cast<D>(float(i % 100) - 50));
  kernels::FakeQuantizeGradient(numbers.size(), grid, numbers.data(), dy.data(), expected.data());
  Array<T> x(numbers);
  Array<D> dy_array(dy), dx(expected);
  cuda::FakeQuantizeGradient(stream, static_cast<int>(numbers.size()), grid, x.read(),
                             dy_array.read(), dx.get());
  ExpectEqualGradients(expected, dx.values());
}

template <typename T>
void CheckType(Stream& stream) {
  for (const IntegerGrid& grid : Grids()) {
    const std::vector<T> numbers = Numbers<T>(5003, grid);
    std::vector<T> expected(numbers.size());
    kernels::FakeQuantize(numbers.size(), grid, numbers.data(), expected.data());
    Array<T> x(numbers), y(std::vector<T>(numbers.size(), T(7)));
    cuda::FakeQuantize(stream, static_cast<int>(numbers.size()), grid, x.read(), y.get());
    ExpectEqualGradients(expected, y.values());
    CheckGradient<T, float>(stream, grid, numbers);
    CheckGradient<T, double>(stream, grid, numbers);
    CheckGradient<T, float16>(stream, grid, numbers);
  }
}

TEST_P(CudaFakeQuantization, HasTheCpusBitsInEveryType) {
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << TestSeed());
  CheckType<float>(stream());
  CheckType<double>(stream());
  CheckType<float16>(stream());
}

template <typename T>
cuda::ValueRange RangeOf(Stream& stream, const std::vector<T>& numbers) {
  Array<T> x(numbers);
  Array<cuda::ValueRange> range(std::vector<cuda::ValueRange>(1));
  cuda::RangeWithZero(stream, static_cast<int>(numbers.size()), x.read(), range.get());
  return range.values()[0];
}

TEST_P(CudaFakeQuantization, RangesHaveZeroAndTellWhatIsNotFinite) {
  for (const size_t count : {1, 4096, 70001}) {
    std::vector<float> numbers(count, 1.f);
    cuda::ValueRange range = RangeOf(stream(), numbers);
    EXPECT_EQ(range.least, 0);
    EXPECT_EQ(range.most, 1);
    EXPECT_TRUE(range.finite);
    numbers[count / 2] = -3;
    range = RangeOf(stream(), numbers);
    EXPECT_EQ(range.least, -3);
    EXPECT_EQ(range.most, count > 1 ? 1 : 0);
    for (const float special : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
      numbers.back() = special;
      EXPECT_FALSE(RangeOf(stream(), numbers).finite);
    }
  }
  EXPECT_EQ(RangeOf(stream(), std::vector<double>{2, -0.5}).least, -0.5f);
  EXPECT_EQ(RangeOf(stream(), std::vector<float16>{float16(2.f)}).most, 2);
  EXPECT_FALSE(RangeOf(stream(), std::vector<double>{1e300}).finite) << "no float holds it";
}

}  // namespace
}  // namespace caffe
