#include "caffe/kernels/blas.hpp"

#include <cblas.h>

#include <memory>
#include <new>
#include <optional>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cpu/elementwise/chunks.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "caffe/kernels/instances.hpp"

// OpenBLAS's, where the CBLAS is OpenBLAS.
extern "C" {
__attribute__((weak)) int openblas_get_parallel(void);
__attribute__((weak)) void openblas_set_num_threads(int threads);
__attribute__((weak)) char* openblas_get_corename(void);
}

namespace caffe::kernels {
namespace {

constexpr int kOwnThreads = 1, kOpenMp = 2;  // of openblas_get_parallel; 0: none

/// OpenBLAS uses one thread within OpenMP's loops. It does not know of others.
class OneThreadInLoops {
 public:
  OneThreadInLoops() {
    if (LoopTeam::InPart()) one_.emplace(1);
  }

 private:
  std::optional<TeamSize> one_;
};

CBLAS_TRANSPOSE Transposition(bool transpose) { return transpose ? CblasTrans : CblasNoTrans; }

void CblasGemm(bool ta, bool tb, int m, int n, int k, float alpha, const float* a, int lda,
               const float* b, int ldb, float beta, float* c, int ldc) {
  const OneThreadInLoops one;
  cblas_sgemm(CblasRowMajor, Transposition(ta), Transposition(tb), m, n, k, alpha, a, lda, b, ldb,
              beta, c, ldc);
}
void CblasGemm(bool ta, bool tb, int m, int n, int k, double alpha, const double* a, int lda,
               const double* b, int ldb, double beta, double* c, int ldc) {
  const OneThreadInLoops one;
  cblas_dgemm(CblasRowMajor, Transposition(ta), Transposition(tb), m, n, k, alpha, a, lda, b, ldb,
              beta, c, ldc);
}
void CblasGemv(bool transpose, int m, int n, float alpha, const float* a, const float* x,
               float beta, float* y) {
  const OneThreadInLoops one;
  cblas_sgemv(CblasRowMajor, Transposition(transpose), m, n, alpha, a, n, x, 1, beta, y, 1);
}
void CblasGemv(bool transpose, int m, int n, double alpha, const double* a, const double* x,
               double beta, double* y) {
  const OneThreadInLoops one;
  cblas_dgemv(CblasRowMajor, Transposition(transpose), m, n, alpha, a, n, x, 1, beta, y, 1);
}

/// Products of fewer terms are computed by one thread, as OpenBLAS does.
constexpr double kSharedTerms = 1 << 18;
constexpr int kPieceExtent = 16;  // of rows and columns: a multiple of what kernels compute at once

/// Into how many pieces the rows and the columns of a product go: as many pieces as there are
/// threads, where each is large enough, and of these the ones for which the least is packed.
struct Grid {
  int rows = 1, columns = 1;
};
int PiecesOf(int extent) { return static_cast<int>(CeilDiv(extent, kPieceExtent)); }
Grid GridOf(int m, int n, int threads) {
  Grid best;
  double least = 0;
  const int most_rows = std::min(threads, PiecesOf(m));
  for (int rows = 1; rows <= most_rows; ++rows) {
    const int columns = std::min(threads / rows, PiecesOf(n));
    const double packed = double(columns) * m + double(rows) * n;
    const int count = rows * columns, best_count = best.rows * best.columns;
    if (rows > 1 && (count < best_count || (count == best_count && packed >= least))) continue;
    best = {rows, columns};
    least = packed;
  }
  return best;
}

/// Where piece `i` of `pieces` begins.
int PieceBegin(int extent, int pieces, int i) {
  const int64_t step = int64_t(PiecesOf(extent)) * i / pieces;
  return static_cast<int>(std::min<int64_t>(extent, step * kPieceExtent));
}

/// CblasGemm, in pieces of C that the team's threads compute each by itself. The threads of an
/// OpenBLAS on OpenMP would wait for one another within a product by giving up the core, which a
/// process that wants it then has for milliseconds.
template <typename F>
void TeamGemm(bool ta, bool tb, int m, int n, int k, F alpha, const F* a, int lda, const F* b,
              int ldb, F beta, F* c, int ldc) {
  static const bool shares = openblas_get_parallel && openblas_get_parallel() == kOpenMp;
  const bool large = double(m) * n * k > kSharedTerms;
  const int threads = static_cast<int>(ParallelParts(shares && large ? size_t(m) * n : 1, 1));
  const Grid grid = GridOf(m, n, threads);
  ParallelFor(size_t(grid.rows) * grid.columns, 1, [&](size_t begin, size_t end) {
    for (size_t piece = begin; piece < end; ++piece) {
      const int i = static_cast<int>(piece) / grid.columns;
      const int j = static_cast<int>(piece) % grid.columns;
      const int row = PieceBegin(m, grid.rows, i), column = PieceBegin(n, grid.columns, j);
      const int rows = PieceBegin(m, grid.rows, i + 1) - row;
      const int columns = PieceBegin(n, grid.columns, j + 1) - column;
      CblasGemm(ta, tb, rows, columns, k, alpha, a + (ta ? row : size_t(row) * lda), lda,
                b + (tb ? size_t(column) * ldb : column), ldb, beta, c + size_t(row) * ldc + column,
                ldc);
    }
  });
}

/// So that no vector lies across two lines of the cache.
constexpr std::align_val_t kLine{64};
struct DeleteLines {
  void operator()(void* lines) const { operator delete[](lines, kLine); }
};
template <typename T>
using ScratchPtr = std::unique_ptr<T[], DeleteLines>;

/// Scratch of one call; uninitialised.
template <typename T>
ScratchPtr<T> Scratch(size_t count) {
  return ScratchPtr<T>(new (kLine) T[count]);
}

/// A rows x columns piece of a stored matrix as C, contiguous where it is widened.
template <typename C, typename T>
class Panel {
 public:
  Panel(const T* matrix, int stride, int rows, int columns) {
    if constexpr (std::is_same<C, T>::value) {
      data_ = matrix;
      stride_ = stride;
    } else {
      widened_ = Scratch<C>(size_t(rows) * columns);
      ParallelFor(rows, std::max<size_t>(1, kLoopGrain / std::max(columns, 1)),
                  [&](size_t begin, size_t end) {
                    for (size_t row = begin; row < end; ++row) {
                      Convert(columns, matrix + row * stride, widened_.get() + row * columns);
                    }
                  });
      data_ = widened_.get();
      stride_ = columns;
    }
  }
  const C* data() const { return data_; }
  int stride() const { return stride_; }

 private:
  const C* data_;
  int stride_;
  ScratchPtr<C> widened_;
};

/// The piece of op(matrix), of `rows` rows, with columns [column, column + columns); as stored.
template <typename C, typename T>
Panel<C, T> ColumnsOf(bool transpose, const T* matrix, int stride, int rows, int column,
                      int columns) {
  return transpose ? Panel<C, T>(matrix + size_t(column) * stride, stride, columns, rows)
                   : Panel<C, T>(matrix + column, stride, rows, columns);
}
template <typename C, typename T>
Panel<C, T> RowsOf(bool transpose, const T* matrix, int stride, int row, int rows, int columns) {
  return transpose ? Panel<C, T>(matrix + row, stride, columns, rows)
                   : Panel<C, T>(matrix + size_t(row) * stride, stride, rows, columns);
}

// Elements of widened scratch for one operand's piece.
constexpr int64_t kPanelElements = 1 << 20;

/// How many of `extent` rows (or columns) of `length` elements a piece takes.
int PieceOf(int extent, int length) {
  const int64_t fitting = std::max<int64_t>(64, kPanelElements / std::max(length, 1));
  return static_cast<int>(std::min<int64_t>(extent, fitting));
}

/// With up to this many rows of A, reading B (stored transposed) once costs less than packing it:
/// InnerProduct with a small batch.
constexpr int kFewRows = 16;

/// With up to this many rows, float16 weights are widened again for each two rows: that is faster
/// than memory.
constexpr int kMaxWidenedRows = 2;
constexpr size_t kLongChunk = 4 * kChunk;

/// Dot products of `length` elements of four rows of weights with m rows, in pairs, of x: sums[i /
/// 2][2 r + i % 2] is that of row r and row i of x.
template <typename F, typename B>
class DotTiles {
 public:
  explicit DotTiles(int m)
      : in_registers_(std::is_same<B, float16>::value && m <= kMaxWidenedRows), m_(m) {}
  size_t chunk() const { return in_registers_ ? kLongChunk : kChunk; }

  void Add(size_t length, const B* const (&rows)[4], const F* x, size_t stride, double (*sums)[8]) {
    const F* wide[4];
    for (int r = 0; r < 4 && !in_registers_; ++r) wide[r] = widened_[r].Load(rows[r], length);
    for (int i = 0; i < m_; i += 2) {
      const F* pair[2] = {x + i * stride, x + std::min(i + 1, m_ - 1) * stride};
      if constexpr (std::is_same<B, float16>::value && std::is_same<F, float>::value) {
        if (in_registers_) {
          const uint16_t* halves[4];
          for (int r = 0; r < 4; ++r) halves[r] = reinterpret_cast<const uint16_t*>(rows[r]);
          ChosenKernels().half_dot_tile(length, halves, pair, sums[i / 2]);
          continue;
        }
      }
      Loops<F>().dot_tile(length, wide, pair, sums[i / 2]);
    }
  }

 private:
  const bool in_registers_;
  const int m_;
  InputChunk<F, B> widened_[4];
};

template <typename A, typename B, typename C>
void FewRowsGemm(int m, int n, int k, AccumulatorType<C> alpha, const A* a, int lda, const B* b,
                 int ldb, AccumulatorType<C> beta, C* c, int ldc) {
  using F = AccumulatorType<C>;
  constexpr int kTile = 4;
  const Panel<F, A> left(a, lda, m, k);
  const size_t tiles = CeilDiv(n, kTile);
  const size_t grain = std::max<size_t>(1, kLoopGrain / (size_t(kTile) * m * k + 1));
  ParallelFor(tiles, grain, [&](size_t begin, size_t end) {
    DotTiles<F, B> dots(m);
    for (size_t tile = begin; tile < end; ++tile) {
      const int first = static_cast<int>(tile * kTile);
      double sums[kFewRows / 2][2 * kTile] = {};
      for (size_t start = 0; start < size_t(k); start += dots.chunk()) {
        const B* rows[kTile];
        for (int r = 0; r < kTile; ++r) {
          rows[r] = b + size_t(std::min(first + r, n - 1)) * ldb + start;
        }
        dots.Add(std::min(dots.chunk(), k - start), rows, left.data() + start, left.stride(), sums);
      }
      for (int i = 0; i < m; ++i) {
        for (int r = 0; r < kTile && first + r < n; ++r) {
          C& target = c[size_t(i) * ldc + first + r];
          const F sum = alpha * static_cast<F>(sums[i / 2][2 * r + i % 2]);
          target = static_cast<C>(beta == F(0) ? sum : sum + beta * static_cast<F>(target));
        }
      }
    }
  });
}

/// With up to this many rows of C, or terms of its sums, the other matrix is widened once, a few
/// rows at a time or all of it: the gradients of an InnerProduct with a small batch.
constexpr int kFewTerms = 32;
/// Rows of C that ArithmeticLoops::add_products computes together.
constexpr int kRowsTogether = 4;

/// Weights of add_products: alpha times a[i][t] for `terms` columns from t on of rows [i, i + 4),
/// with zeros for rows that A lacks. `row`: from one row, `column` from one column to the next.
struct ProductWeights {
  ProductWeights(int rows, int i, float alpha, const float* a, size_t row, size_t column,
                 int terms) {
    for (int t = 0; t < terms; ++t) {
      for (int r = 0; r < kRowsTogether; ++r) {
        values[t * kRowsTogether + r] = i + r < rows ? alpha * a[(i + r) * row + t * column] : 0.f;
      }
    }
  }
  float values[kFewTerms * kRowsTogether];
};

/// C = alpha A B + beta C with few rows of A and C; B is stored as (k, n) and goes through memory
/// once.
template <typename A, typename B, typename C>
void FewRowsTimes(int m, int n, int k, float alpha, const A* a, int lda, const B* b, int ldb,
                  float beta, C* c, int ldc) {
  constexpr int kRows = 16;  // of B at a time
  constexpr size_t kColumns = 512;
  const Panel<float, A> left(a, lda, m, k);
  const int rows = static_cast<int>(RoundUp(m, kRowsTogether));
  const auto& loops = Loops<float>();
  ParallelFor(CeilDiv(n, kColumns), 1, [&](size_t begin, size_t end) {
    const auto sums = Scratch<float>(rows * kColumns), terms = Scratch<float>(kColumns);
    const auto wide = Scratch<float>(kRows * kColumns);
    const float* terms_of[kRows];
    for (int r = 0; r < kRows; ++r) terms_of[r] = wide.get() + r * kColumns;
    for (size_t chunk = begin; chunk < end; ++chunk) {
      const size_t first = chunk * kColumns, length = std::min(kColumns, n - first);
      std::fill_n(sums.get(), rows * kColumns, 0.f);
      for (int t = 0; t < k; t += kRows) {
        const int count = std::min(kRows, k - t);
        for (int r = 0; r < count; ++r) {
          Convert(length, b + size_t(t + r) * ldb + first, wide.get() + r * kColumns);
        }
        for (int i = 0; i < rows; i += kRowsTogether) {
          const ProductWeights weights(m, i, alpha, left.data() + t, left.stride(), 1, count);
          float* targets[kRowsTogether];
          for (int r = 0; r < kRowsTogether; ++r) targets[r] = sums.get() + (i + r) * kColumns;
          loops.add_products(length, count, weights.values, terms_of, targets);
        }
      }
      for (int i = 0; i < m; ++i) {
        C* const target = c + size_t(i) * ldc + first;
        float* const sum = sums.get() + i * kColumns;
        if (beta != 0.f) {
          Convert(length, target, terms.get());
          loops.axpby(length, beta, terms.get(), 1.f, sum);
        }
        Convert(length, sum, target);
      }
    }
  });
}

/// C = alpha A^T B + beta C where few terms are summed: A is stored as (k, m), B as (k, n). C goes
/// through memory once.
template <typename A, typename B>
void FewTermsGemm(int m, int n, int k, float alpha, const A* a, int lda, const B* b, int ldb,
                  float beta, float* c, int ldc) {
  constexpr size_t kCachedNumbers = 1 << 16;  // of B
  const Panel<float, A> left(a, lda, k, m);
  const Panel<float, B> right(b, ldb, k, n);
  const auto& loops = Loops<float>();
  const size_t columns = kCachedNumbers / k;
  const size_t grain = std::max<size_t>(1, kLoopGrain / (size_t(n) * k * kRowsTogether));
  ParallelFor(CeilDiv(m, kRowsTogether), grain, [&](size_t begin, size_t end) {
    const auto unwanted = Scratch<float>(std::min<size_t>(n, columns));
    std::fill_n(unwanted.get(), std::min<size_t>(n, columns), 0.f);
    const float* terms[kFewTerms];
    for (size_t first = 0; first < size_t(n); first += columns) {
      const size_t length = std::min(columns, n - first);
      for (int t = 0; t < k; ++t) terms[t] = right.data() + size_t(t) * right.stride() + first;
      for (size_t group = begin; group < end; ++group) {
        const int i = static_cast<int>(group) * kRowsTogether;
        const ProductWeights weights(m, i, alpha, left.data(), 1, left.stride(), k);
        float* targets[kRowsTogether];
        for (int r = 0; r < kRowsTogether; ++r) {
          targets[r] = i + r < m ? c + size_t(i + r) * ldc + first : unwanted.get();
          if (i + r >= m || beta == 1.f) continue;
          if (beta == 0.f) {
            std::fill_n(targets[r], length, 0.f);
          } else {
            loops.affine(length, beta, 0.f, targets[r], targets[r]);
          }
        }
        loops.add_products(length, k, weights.values, terms, targets);
      }
    }
  });
}

}  // namespace

void SetBlasThreads(int threads) {
  if (openblas_get_parallel && openblas_set_num_threads && openblas_get_parallel() == kOwnThreads) {
    openblas_set_num_threads(threads);
  }
}

std::string BlasProcessor() { return openblas_get_corename ? openblas_get_corename() : ""; }

// If anything must be widened or narrowed, the result is computed in pieces of bounded size, so
// that scratch memory does not grow with the matrices.
template <typename A, typename B, typename C>
void Gemm(bool transpose_a, bool transpose_b, int m, int n, int k, AccumulatorType<C> alpha,
          const A* a, int lda, const B* b, int ldb, AccumulatorType<C> beta, C* c, int ldc) {
  using F = AccumulatorType<C>;
  if (m == 0 || n == 0) return;
  if (k == 0) {  // CBLAS requires strides that an empty operand does not have
    for (int i = 0; i < m; ++i) {
      C* row = c + size_t(i) * ldc;
      for (int j = 0; j < n; ++j) row[j] = beta == F(0) ? C(0.f) : C(beta * F(row[j]));
    }
    return;
  }
  if (!transpose_a && transpose_b && m <= kFewRows && size_t(n) * k >= kLoopGrain) {
    return FewRowsGemm(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  }
  constexpr bool kNarrow = !std::is_same<C, F>::value;
  constexpr bool kWidens = !std::is_same<A, F>::value || !std::is_same<B, F>::value || kNarrow;
  if constexpr (kWidens && std::is_same<F, float>::value) {
    if (!transpose_a && !transpose_b && m <= kFewTerms && size_t(n) * k >= kLoopGrain) {
      return FewRowsTimes(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    }
    if constexpr (!kNarrow) {
      if (transpose_a && !transpose_b && k <= kFewTerms && size_t(m) * n >= kLoopGrain) {
        return FewTermsGemm(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
      }
    }
  }
  if constexpr (std::is_same<A, F>::value && std::is_same<B, F>::value && !kNarrow) {
    TeamGemm(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  } else {
    const int row_band = PieceOf(m, k);
    const int column_band = PieceOf(n, std::max(k, row_band));
    ScratchPtr<F> narrow;
    if (kNarrow) narrow = Scratch<F>(size_t(row_band) * column_band);
    for (int row = 0; row < m; row += row_band) {
      const int rows = std::min(row_band, m - row);
      const Panel<F, A> left = RowsOf<F>(transpose_a, a, lda, row, rows, k);
      for (int column = 0; column < n; column += column_band) {
        const int columns = std::min(column_band, n - column);
        const Panel<F, B> right = ColumnsOf<F>(transpose_b, b, ldb, k, column, columns);
        C* target = c + size_t(row) * ldc + column;
        F* result;
        int stride;
        if constexpr (kNarrow) {
          result = narrow.get();
          stride = columns;
          for (int i = 0; i < rows && beta != F(0); ++i) {
            Convert(columns, target + size_t(i) * ldc, result + size_t(i) * columns);
          }
        } else {
          result = target;
          stride = ldc;
        }
        TeamGemm(transpose_a, transpose_b, rows, columns, k, alpha, left.data(), left.stride(),
                 right.data(), right.stride(), beta, result, stride);
        for (int i = 0; i < rows && kNarrow; ++i) {
          if constexpr (kNarrow) {
            Convert(columns, result + size_t(i) * columns, target + size_t(i) * ldc);
          }
        }
      }
    }
  }
}

template <typename A, typename X, typename Y>
void Gemv(bool transpose, int m, int n, AccumulatorType<Y> alpha, const A* a, const X* x,
          AccumulatorType<Y> beta, Y* y) {
  using F = AccumulatorType<Y>;
  const int inputs = transpose ? m : n;
  const int outputs = transpose ? n : m;
  if (outputs == 0) return;
  if constexpr (std::is_same<A, F>::value && std::is_same<X, F>::value &&
                std::is_same<Y, F>::value) {
    if (beta == F(0) || inputs == 0) {
      for (int i = 0; i < outputs; ++i) y[i] = beta == F(0) ? F(0) : beta * y[i];
    }
    if (inputs > 0) CblasGemv(transpose, m, n, alpha, a, x, beta, y);
  } else if (!transpose && inputs > 0) {
    FewRowsGemm(1, m, n, alpha, x, n, a, n, beta, y, m);
  } else {
    const Panel<F, X> vector(x, inputs, 1, inputs);
    const ScratchPtr<F> result = Scratch<F>(outputs);
    if (beta == F(0)) {
      std::fill_n(result.get(), outputs, F(0));
    } else {
      Convert(outputs, y, result.get());
      for (int i = 0; i < outputs; ++i) result[i] *= beta;
    }
    const int band = static_cast<int>(std::max<int64_t>(1, kPanelElements / std::max(n, 1)));
    for (int row = 0; row < m && inputs > 0; row += band) {
      const int rows = std::min(band, m - row);
      const Panel<F, A> matrix(a + size_t(row) * n, n, rows, n);
      const F* in = vector.data() + (transpose ? row : 0);
      F* out = result.get() + (transpose ? 0 : row);
      CblasGemv(transpose, rows, n, alpha, matrix.data(), in, F(1), out);
    }
    Convert(outputs, result.get(), y);
  }
}

namespace {

/// The sum of `term` over the chunks: one partial sum per part, added in order.
template <typename Term>
double SumOverChunks(size_t n, Term&& term) {
  std::vector<double> partial(std::max<size_t>(1, ParallelParts(n, kLoopGrain)), 0.);
  ParallelParts(n, kLoopGrain, [&](size_t part, size_t begin, size_t end) {
    double sum = 0;
    for (size_t offset = begin; offset < end; offset += kChunk) {
      sum += term(offset, std::min(kChunk, end - offset));
    }
    partial[part] = sum;
  });
  double total = 0;
  for (double sum : partial) total += sum;
  return total;
}

template <typename T>
double Reduce(size_t n, const T* x, double (*reduce)(size_t, const LoopType<T>*)) {
  return SumOverChunks(n, [&](size_t offset, size_t length) {
    InputChunk<LoopType<T>, T> in;
    return reduce(length, in.Load(x + offset, length));
  });
}

}  // namespace

template <typename T>
double Sum(size_t n, const T* x) {
  return Reduce(n, x, Loops<LoopType<T>>().sum);
}
template <typename T>
double Asum(size_t n, const T* x) {
  return Reduce(n, x, Loops<LoopType<T>>().absolute_sum);
}
template <typename T>
double Sumsq(size_t n, const T* x) {
  return Reduce(n, x, Loops<LoopType<T>>().square_sum);
}
template <typename T>
double Dot(size_t n, const T* x, const T* z) {
  const auto dot = Loops<LoopType<T>>().dot;
  return SumOverChunks(n, [&](size_t offset, size_t length) {
    InputChunk<LoopType<T>, T> left, right;
    return dot(length, left.Load(x + offset, length), right.Load(z + offset, length));
  });
}

template <typename X, typename Y>
void Axpby(size_t n, AccumulatorType<Y> a, const X* x, AccumulatorType<Y> b, Y* y) {
  using F = LoopType<X, Y>;
  const auto axpby = Loops<F>().axpby;
  ForEachChunk(n, [&](size_t offset, size_t length) {
    InputChunk<F, X> in;
    OutputChunk<F, Y> out;
    F* target = b == AccumulatorType<Y>(0) ? out.Begin(y + offset) : out.Load(y + offset, length);
    axpby(length, a, in.Load(x + offset, length), b, target);
    out.Store(y + offset, length);
  });
}

template <typename X, typename Y>
void Axpy(size_t n, AccumulatorType<Y> a, const X* x, Y* y) {
  Axpby(n, a, x, AccumulatorType<Y>(1), y);
}

template <typename T>
void Scal(size_t n, AccumulatorType<T> a, T* x) {
  Axpby(n, a, x, AccumulatorType<T>(0), x);
}

#define CAFFE_GEMM(A, B, C)                                                                       \
  template void Gemm(bool, bool, int, int, int, AccumulatorType<C>, const A*, int, const B*, int, \
                     AccumulatorType<C>, C*, int);                                                \
  template void Gemv(bool, int, int, AccumulatorType<C>, const A*, const B*, AccumulatorType<C>, C*)
CAFFE_GEMM(double, double, double);
CAFFE_GEMM(float, float, float);
CAFFE_GEMM(float, float, float16);
CAFFE_GEMM(float, float16, float);
CAFFE_GEMM(float, float16, float16);
CAFFE_GEMM(float16, float, float);
CAFFE_GEMM(float16, float, float16);
CAFFE_GEMM(float16, float16, float);
CAFFE_GEMM(float16, float16, float16);
#undef CAFFE_GEMM

#define CAFFE_SUMS(T)                              \
  template double Sum(size_t, const T*);           \
  template double Asum(size_t, const T*);          \
  template double Sumsq(size_t, const T*);         \
  template double Dot(size_t, const T*, const T*); \
  template void Scal(size_t, AccumulatorType<T>, T*);
CAFFE_FOR_EACH_FLOAT(CAFFE_SUMS)
#undef CAFFE_SUMS

#define CAFFE_AXPBY(X, Y)                                       \
  template void Axpy(size_t, AccumulatorType<Y>, const X*, Y*); \
  template void Axpby(size_t, AccumulatorType<Y>, const X*, AccumulatorType<Y>, Y*);
CAFFE_FOR_EACH_PAIR(CAFFE_AXPBY)
#undef CAFFE_AXPBY

}  // namespace caffe::kernels
