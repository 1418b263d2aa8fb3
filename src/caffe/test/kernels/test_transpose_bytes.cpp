#include "caffe/kernels/transpose_bytes.hpp"

#include <random>
#include <vector>

#include "caffe/test/support/seeds.hpp"
#include "gtest/gtest.h"

namespace caffe {
namespace {

void Transpose(size_t rows, size_t columns, const uint8_t* x, size_t x_row, uint8_t* y,
               size_t y_row) {
  kernels::TransposeBytes(rows, columns, x, x_row, y, y_row);
}
void Transpose(size_t rows, size_t columns, const uint16_t* x, size_t x_row, uint16_t* y,
               size_t y_row) {
  kernels::TransposeHalves(rows, columns, x, x_row, y, y_row);
}
void Transpose(size_t rows, size_t columns, const uint32_t* x, size_t x_row, uint32_t* y,
               size_t y_row) {
  kernels::TransposeWords(rows, columns, x, x_row, y, y_row);
}

/// Elements with gaps of `gap` between the rows.
template <typename Bits>
struct Matrix {
  static constexpr Bits kUntouched = 0xa5;
  Matrix(size_t rows, size_t columns, size_t gap)
      : row(columns + gap), elements(rows * row, kUntouched) {}
  size_t row;
  std::vector<Bits> elements;
};

template <typename Bits>
class TransposedElements : public ::testing::Test {
 protected:
  void ExpectTransposed(size_t rows, size_t columns, size_t x_gap, size_t y_gap) {
    Matrix<Bits> x(rows, columns, x_gap), y(columns, rows, y_gap);
    for (Bits& element : x.elements) element = static_cast<Bits>(random_() >> 8);
    std::vector<Bits> expected = y.elements;
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < columns; ++c) expected[c * y.row + r] = x.elements[r * x.row + c];
    }
    Transpose(rows, columns, x.elements.data(), x.row, y.elements.data(), y.row);
    EXPECT_EQ(expected, y.elements) << rows << " x " << columns;
  }

 private:
  std::minstd_rand random_{TestSeed()};
};

using Sizes = ::testing::Types<uint8_t, uint16_t, uint32_t>;
TYPED_TEST_SUITE(TransposedElements, Sizes);

TYPED_TEST(TransposedElements, AreTurnedOverAndNothingElseIsWritten) {
  for (size_t rows = 0; rows <= 35; ++rows) {
    for (size_t columns = 0; columns <= 35; ++columns) {
      this->ExpectTransposed(rows, columns, rows % 3, columns % 5);
    }
  }
  for (const size_t length : {63, 64, 65, 130, 1000}) {
    this->ExpectTransposed(16, length, 0, 0);
    this->ExpectTransposed(length, 24, 1, 7);
  }
}

}  // namespace
}  // namespace caffe
