// GEMM of device memory by cuBLASLt; on the tests' device by the CPU's kernel.
#include <cublasLt.h>

#include <map>
#include <mutex>
#include <tuple>

#include "caffe/core/unsupported.hpp"
#include "caffe/cuda/buffer.hpp"
#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/cuda/blas.hpp"
#include "check.hpp"
#include "dynamic_library.hpp"

namespace caffe::cuda {
namespace {

void CheckLt(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string message = Join(what, ": cuBLASLt says ", static_cast<int>(status));
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) throw Unsupported(message);
  throw Error(message);
}

template <typename T>
constexpr cudaDataType_t DataType() {
  return sizeof(T) == 8 ? CUDA_R_64F : sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_16F;
}

/// What decides which algorithm is best: types, transpositions, sizes, strides, count, device.
using ProblemKey = std::tuple<int, int, bool, bool, int, int, int, int, int, int, int, int>;

constexpr size_t kWorkspace = size_t(32) << 20;  // what NVIDIA recommends for Hopper

cublasLtHandle_t LtHandle(int device) {
  static std::mutex mutex;
  static std::map<int, cublasLtHandle_t> handles;
  std::lock_guard<std::mutex> lock(mutex);
  cublasLtHandle_t& handle = handles[device];
  if (!handle) CheckLt(CAFFE_CALL(CublasLt, cublasLtCreate, &handle), "starting cuBLASLt");
  return handle;
}

/// A matrix as cuBLASLt sees it, column-major: our rows are its columns.
class Layout {
 public:
  Layout(cudaDataType_t type, int rows, int columns, int row_stride, int count, int64_t stride) {
    CheckLt(
        CAFFE_CALL(CublasLt, cublasLtMatrixLayoutCreate, &layout_, type, columns, rows, row_stride),
        "describing a matrix");
    if (count > 1) {
      Set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count);
      Set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
    }
  }
  ~Layout() { CAFFE_CALL(CublasLt, cublasLtMatrixLayoutDestroy, layout_); }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  operator cublasLtMatrixLayout_t() const { return layout_; }

 private:
  template <typename Value>
  void Set(cublasLtMatrixLayoutAttribute_t attribute, Value value) {
    CheckLt(CAFFE_CALL(CublasLt, cublasLtMatrixLayoutSetAttribute, layout_, attribute, &value,
                       sizeof(value)),
            "describing a matrix");
  }
  cublasLtMatrixLayout_t layout_ = nullptr;
};

class Product {
 public:
  Product(cublasComputeType_t compute, cudaDataType_t scale, bool transpose_a, bool transpose_b) {
    CheckLt(CAFFE_CALL(CublasLt, cublasLtMatmulDescCreate, &description_, compute, scale),
            "describing a product");
    const cublasOperation_t a = transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t b = transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    CheckLt(CAFFE_CALL(CublasLt, cublasLtMatmulDescSetAttribute, description_,
                       CUBLASLT_MATMUL_DESC_TRANSA, &a, sizeof(a)),
            "describing a product");
    CheckLt(CAFFE_CALL(CublasLt, cublasLtMatmulDescSetAttribute, description_,
                       CUBLASLT_MATMUL_DESC_TRANSB, &b, sizeof(b)),
            "describing a product");
  }
  ~Product() { CAFFE_CALL(CublasLt, cublasLtMatmulDescDestroy, description_); }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  operator cublasLtMatmulDesc_t() const { return description_; }

 private:
  cublasLtMatmulDesc_t description_ = nullptr;
};

class Preference {
 public:
  /// `alignment`: bytes of which the addresses of all matrices are multiples.
  explicit Preference(uint32_t alignment) {
    CheckLt(CAFFE_CALL(CublasLt, cublasLtMatmulPreferenceCreate, &preference_),
            "choosing a product's algorithm");
    Set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace);
    for (const auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      Set(attribute, alignment);
    }
  }
  ~Preference() { CAFFE_CALL(CublasLt, cublasLtMatmulPreferenceDestroy, preference_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  operator cublasLtMatmulPreference_t() const { return preference_; }

 private:
  template <typename Value>
  void Set(cublasLtMatmulPreferenceAttributes_t attribute, Value value) {
    CheckLt(CAFFE_CALL(CublasLt, cublasLtMatmulPreferenceSetAttribute, preference_, attribute,
                       &value, sizeof(value)),
            "choosing a product's algorithm");
  }
  cublasLtMatmulPreference_t preference_ = nullptr;
};

/// The algorithm that cuBLASLt's heuristic puts first for a problem, asked for once.
template <typename Ask>
cublasLtMatmulAlgo_t Algorithm(const ProblemKey& key, const Ask& ask) {
  static std::mutex mutex;
  static std::map<ProblemKey, cublasLtMatmulAlgo_t> known;
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  return known[key] = ask();
}

/// True if every matrix starts where wide loads may read it.
template <typename T>
bool IsAligned(const Matrices<T>& matrices, int count) {
  return reinterpret_cast<uintptr_t>(matrices.data) % 16 == 0 &&
         (count == 1 || matrices.stride * sizeof(T) % 16 == 0);
}

}  // namespace

template <typename T, typename C>
void Gemm(Stream& stream, bool transpose_a, bool transpose_b, int m, int n, int k,
          AccumulatorType<C> alpha, Matrices<const T> a, Matrices<const T> b,
          AccumulatorType<C> beta, Matrices<C> c, int count) {
  if (m == 0 || n == 0 || count == 0) return;
  if (!stream.handle()) {
    stream.RunOnHost([=] {
      for (int i = 0; i < count; ++i) {
        kernels::Gemm(transpose_a, transpose_b, m, n, k, alpha, a.data + i * a.stride, a.row_stride,
                      b.data + i * b.stride, b.row_stride, beta, c.data + i * c.stride,
                      c.row_stride);
      }
    });
    return;
  }
  int device = 0;
  Check(cudaGetDevice(&device), "asking which GPU is in use");
  const cublasLtHandle_t handle = LtHandle(device);
  // Row-major C = A B is column-major C^T = B^T A^T: the operands change places. FLOAT stays FLOAT:
  // no TF32.
  const bool is_double = sizeof(C) == 8;
  const Product product(is_double ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                        is_double ? CUDA_R_64F : CUDA_R_32F, transpose_b, transpose_a);
  const Layout a_layout(DataType<T>(), transpose_a ? k : m, transpose_a ? m : k, a.row_stride,
                        count, a.stride);
  const Layout b_layout(DataType<T>(), transpose_b ? n : k, transpose_b ? k : n, b.row_stride,
                        count, b.stride);
  const Layout c_layout(DataType<C>(), m, n, c.row_stride, count, c.stride);
  const bool aligned = IsAligned(a, count) && IsAligned(b, count) && IsAligned(c, count);
  const ProblemKey key(sizeof(T) * 16 + sizeof(C), device * 2 + aligned, transpose_a, transpose_b,
                       m, n, k, a.row_stride, b.row_stride, c.row_stride, count, beta != 0);
  const cublasLtMatmulAlgo_t algorithm = Algorithm(key, [&] {
    const Preference preference(aligned ? 16 : sizeof(T));
    cublasLtMatmulHeuristicResult_t result;
    int found = 0;
    CheckLt(CAFFE_CALL(CublasLt, cublasLtMatmulAlgoGetHeuristic, handle, product, b_layout,
                       a_layout, c_layout, c_layout, preference, 1, &result, &found),
            "choosing a product's algorithm");
    Require(found > 0, "cuBLASLt has no algorithm for a product of ", m, " x ", k, " by ", k, " x ",
            n);
    return result.algo;
  });
  const Buffer<char> workspace(stream, kWorkspace);
  CheckLt(CAFFE_CALL(CublasLt, cublasLtMatmul, handle, product, &alpha, b.data, b_layout, a.data,
                     a_layout, &beta, c.data, c_layout, c.data, c_layout, &algorithm,
                     workspace.get(), kWorkspace, static_cast<cudaStream_t>(stream.handle())),
          "multiplying matrices");
}

#define INSTANTIATE(T, C)                                                                       \
  template void Gemm(Stream&, bool, bool, int, int, int, AccumulatorType<C>, Matrices<const T>, \
                     Matrices<const T>, AccumulatorType<C>, Matrices<C>, int);
INSTANTIATE(float, float)
INSTANTIATE(double, double)
INSTANTIATE(float16, float16)
INSTANTIATE(float16, float)
#undef INSTANTIATE

}  // namespace caffe::cuda
