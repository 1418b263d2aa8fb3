#include "caffe/kernels/pixels.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "caffe/kernels/instruction_set.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe {
namespace {

template <typename T>
class NormalizePixelsTest : public ::testing::Test {
 protected:
  NormalizePixelsTest() : before_(kernels::CpuInstructionSet()) {}
  ~NormalizePixelsTest() override { kernels::SetCpuInstructionSet(before_); }

 private:
  const kernels::InstructionSet before_;
};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(NormalizePixelsTest, RealTypes);

TYPED_TEST(NormalizePixelsTest, IsItsDefinitionOnEveryInstructionSet) {
  using T = TypeParam;
  std::mt19937 random(TestSeed());
  for (const kernels::InstructionSet set : kernels::FloatInstructionSets()) {
    kernels::SetCpuInstructionSet(set);
    for (size_t step : {1, 2, 3, 4}) {
      for (size_t n : {0, 1, 7, 31, 64, 227}) {
        std::vector<uint8_t> x(n == 0 ? 0 : (n - 1) * step + 1);  // nothing behind the last one
        for (uint8_t& value : x) value = static_cast<uint8_t>(random());
        std::vector<T> means(n), one(n, -1), each(n, -1);
        for (T& mean : means) mean = T(random() % 1000) / 8;
        kernels::NormalizePixels<T>(n, x.data(), step, nullptr, T(103.5), T(0.1), one.data());
        kernels::NormalizePixels<T>(n, x.data(), step, means.data(), T(0), T(0.1), each.data());
        for (size_t i = 0; i < n; ++i) {
          EXPECT_EQ(one[i], (T(x[i * step]) - T(103.5)) * T(0.1));
          EXPECT_EQ(each[i], (T(x[i * step]) - means[i]) * T(0.1));
        }
      }
    }
  }
}

}  // namespace
}  // namespace caffe
