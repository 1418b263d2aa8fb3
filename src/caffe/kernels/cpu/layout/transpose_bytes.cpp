#include "caffe/kernels/transpose_bytes.hpp"

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace caffe::kernels {
namespace {

// A tile: wider vectors would gain little, since half of the work is loads and stores.
constexpr size_t kRows = 8, kColumns = 16;
// This many columns of all rows are transposed before the next ones: whole cache lines.
constexpr size_t kPanel = 64;

#if defined(__SSE2__)

/// The first `count` bytes, up to 8.
void StoreFirst(size_t count, uint64_t bytes, uint8_t* y) {
  if (count == sizeof(bytes)) {
    std::memcpy(y, &bytes, sizeof(bytes));
    return;
  }
  for (const size_t part : {4, 2, 1}) {
    if (!(count & part)) continue;
    std::memcpy(y, &bytes, part);
    y += part;
    bytes >>= 8 * part;
  }
}

/// The first `count` bytes, up to 16; the others are 0.
__m128i LoadFirst(size_t count, const uint8_t* x) {
  uint64_t halves[2] = {};
  size_t at = 0;
  for (const size_t part : {8, 4, 2, 1}) {
    if (!(count & part)) continue;
    uint64_t bytes = 0;
    std::memcpy(&bytes, x + at, part);
    halves[at / 8] |= bytes << (at % 8 * 8);
    at += part;
  }
  return _mm_set_epi64x(static_cast<int64_t>(halves[1]), static_cast<int64_t>(halves[0]));
}

/// Interleaving each row with the one half the rows further on turns the highest bit of the row
/// index into the lowest bit of the column index: after three times, vectors hold two columns each.
__attribute__((always_inline)) inline void TransposeRows(__m128i (&rows)[kRows]) {
#pragma GCC unroll 3
  for (int bit = 0; bit < 3; ++bit) {
    __m128i out[kRows];
#pragma GCC unroll 4
    for (size_t r = 0; r < kRows / 2; ++r) {
      out[2 * r] = _mm_unpacklo_epi8(rows[r], rows[r + kRows / 2]);
      out[2 * r + 1] = _mm_unpackhi_epi8(rows[r], rows[r + kRows / 2]);
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) rows[r] = out[r];
  }
}

void TransposeWholeTile(const uint8_t* x, size_t x_row, uint8_t* y, size_t y_row) {
  __m128i rows[kRows];
#pragma GCC unroll 8
  for (size_t r = 0; r < kRows; ++r) {
    rows[r] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + r * x_row));
  }
  TransposeRows(rows);
#pragma GCC unroll 8
  for (size_t r = 0; r < kRows; ++r) {
    uint8_t* column = y + 2 * r * y_row;
    _mm_storel_epi64(reinterpret_cast<__m128i*>(column), rows[r]);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(column + y_row),
                     _mm_unpackhi_epi64(rows[r], rows[r]));
  }
}

/// Up to kRows by kColumns bytes.
void TransposeTile(size_t rows, size_t columns, const uint8_t* x, size_t x_row, uint8_t* y,
                   size_t y_row) {
  if (rows == kRows && columns == kColumns) return TransposeWholeTile(x, x_row, y, y_row);
  __m128i tile[kRows] = {};
  for (size_t r = 0; r < rows; ++r) {
    const uint8_t* row = x + r * x_row;
    tile[r] = columns == kColumns ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(row))
                                  : LoadFirst(columns, row);
  }
  TransposeRows(tile);
  uint64_t turned[kColumns];
  std::memcpy(turned, tile, sizeof(turned));
  for (size_t c = 0; c < columns; ++c) StoreFirst(rows, turned[c], y + c * y_row);
}

/// As many rows as columns, each a vector.
template <typename Bits>
constexpr size_t kSquare = sizeof(__m128i) / sizeof(Bits);

template <typename Bits>
__attribute__((always_inline)) inline void TransposeWholeSquare(const Bits* x, size_t x_row,
                                                                Bits* y, size_t y_row) {
  constexpr size_t kSide = kSquare<Bits>;
  constexpr bool kHalves = sizeof(Bits) == 2;
  const auto interleaved = [](__m128i a, __m128i b, bool high) {
    if (high) return kHalves ? _mm_unpackhi_epi16(a, b) : _mm_unpackhi_epi32(a, b);
    return kHalves ? _mm_unpacklo_epi16(a, b) : _mm_unpacklo_epi32(a, b);
  };
  __m128i rows[kSide];
#pragma GCC unroll 8
  for (size_t r = 0; r < kSide; ++r) {
    rows[r] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + r * x_row));
  }
#pragma GCC unroll 3
  for (size_t bit = 1; bit < kSide; bit *= 2) {
    __m128i out[kSide];
#pragma GCC unroll 4
    for (size_t r = 0; r < kSide / 2; ++r) {
      out[2 * r] = interleaved(rows[r], rows[r + kSide / 2], false);
      out[2 * r + 1] = interleaved(rows[r], rows[r + kSide / 2], true);
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < kSide; ++r) rows[r] = out[r];
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < kSide; ++r) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + r * y_row), rows[r]);
  }
}

#else

void TransposeTile(size_t rows, size_t columns, const uint8_t* x, size_t x_row, uint8_t* y,
                   size_t y_row) {
  for (size_t c = 0; c < columns; ++c) {
    for (size_t r = 0; r < rows; ++r) y[c * y_row + r] = x[r * x_row + c];
  }
}

template <typename Bits>
constexpr size_t kSquare = 16 / sizeof(Bits);

template <typename Bits>
void TransposeWholeSquare(const Bits* x, size_t x_row, Bits* y, size_t y_row) {
  for (size_t c = 0; c < kSquare<Bits>; ++c) {
    for (size_t r = 0; r < kSquare<Bits>; ++r) y[c * y_row + r] = x[r * x_row + c];
  }
}

#endif

/// Calls f(first, how many) for parts of n numbers of `size` each; the last one overlaps the
/// previous one rather than being smaller.
template <typename Function>
void ForEachPart(size_t n, size_t size, Function&& f) {
  if (n < size) {
    if (n > 0) f(size_t{0}, n);
    return;
  }
  for (size_t i = 0; i < n; i += size) f(std::min(i, n - size), size);
}

/// Calls f(first column, columns) for panels of all columns.
template <typename Function>
void ForEachPanel(size_t columns, size_t panel, size_t tile, Function&& f) {
  for (size_t first = 0, width; first < columns; first += width) {
    width = columns - first < panel + tile ? columns - first : panel;
    f(first, width);
  }
}

template <typename Bits>
void TransposeSquares(size_t rows, size_t columns, const Bits* x, size_t x_row, Bits* y,
                      size_t y_row) {
  constexpr size_t kSide = kSquare<Bits>;
  ForEachPanel(columns, kPanel / sizeof(Bits), kSide, [&](size_t panel, size_t width) {
    ForEachPart(rows, kSide, [&](size_t row, size_t height) {
      ForEachPart(width, kSide, [&](size_t column, size_t some) {
        const size_t at = panel + column;
        const Bits* from = x + row * x_row + at;
        Bits* to = y + at * y_row + row;
        if (height == kSide && some == kSide) return TransposeWholeSquare(from, x_row, to, y_row);
        for (size_t c = 0; c < some; ++c) {
          for (size_t r = 0; r < height; ++r) to[c * y_row + r] = from[r * x_row + c];
        }
      });
    });
  });
}

}  // namespace

void TransposeBytes(size_t rows, size_t columns, const uint8_t* x, size_t x_row, uint8_t* y,
                    size_t y_row) {
  ForEachPanel(columns, kPanel, kColumns, [&](size_t panel, size_t width) {
    ForEachPart(rows, kRows, [&](size_t row, size_t height) {
      ForEachPart(width, kColumns, [&](size_t column, size_t some) {
        const size_t at = panel + column;
        TransposeTile(height, some, x + row * x_row + at, x_row, y + at * y_row + row, y_row);
      });
    });
  });
}

void TransposeHalves(size_t rows, size_t columns, const uint16_t* x, size_t x_row, uint16_t* y,
                     size_t y_row) {
  TransposeSquares(rows, columns, x, x_row, y, y_row);
}

void TransposeWords(size_t rows, size_t columns, const uint32_t* x, size_t x_row, uint32_t* y,
                    size_t y_row) {
  TransposeSquares(rows, columns, x, x_row, y, y_row);
}

}  // namespace caffe::kernels
