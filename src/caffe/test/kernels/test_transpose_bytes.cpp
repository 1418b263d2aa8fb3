#include "caffe/kernels/transpose_bytes.hpp"

#include <random>
#include <vector>

#include "caffe/test/support/seeds.hpp"
#include "gtest/gtest.h"

namespace caffe {
namespace {

constexpr uint8_t kUntouched = 0xa5;

/// Bytes with gaps of `gap` between the rows.
struct Matrix {
  Matrix(size_t rows, size_t columns, size_t gap)
      : row(columns + gap), bytes(rows * row, kUntouched) {}
  size_t row;
  std::vector<uint8_t> bytes;
};

void ExpectTransposed(size_t rows, size_t columns, size_t x_gap, size_t y_gap,
                      std::minstd_rand* random) {
  Matrix x(rows, columns, x_gap), y(columns, rows, y_gap);
  for (uint8_t& byte : x.bytes) byte = static_cast<uint8_t>((*random)() >> 8);
  std::vector<uint8_t> expected = y.bytes;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) expected[c * y.row + r] = x.bytes[r * x.row + c];
  }
  kernels::TransposeBytes(rows, columns, x.bytes.data(), x.row, y.bytes.data(), y.row);
  EXPECT_EQ(expected, y.bytes) << rows << " x " << columns;
}

TEST(TransposeBytes, TurnsRowsAndColumnsOverAndWritesNothingElse) {
  std::minstd_rand random(TestSeed());
  for (size_t rows = 0; rows <= 35; ++rows) {
    for (size_t columns = 0; columns <= 35; ++columns) {
      ExpectTransposed(rows, columns, rows % 3, columns % 5, &random);
    }
  }
  for (const size_t length : {63, 64, 65, 130, 1000}) {
    ExpectTransposed(16, length, 0, 0, &random);
    ExpectTransposed(length, 24, 1, 7, &random);
  }
}

}  // namespace
}  // namespace caffe
