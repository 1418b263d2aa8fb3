#ifndef CAFFE_KERNELS_CUDA_INTEGERS_HPP_
#define CAFFE_KERNELS_CUDA_INTEGERS_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "caffe/device.hpp"
#include "caffe/kernels/cuda/resize.hpp"
#include "caffe/kernels/integer_elementwise.hpp"
#include "caffe/kernels/integer_normalization.hpp"
#include "caffe/kernels/integer_pooling.hpp"

// What integer-only engines compute on a GPU, on device memory: the same bits as the functions in
// kernels/integer_*.hpp, whose scalar definitions they call. One thread per output. Nothing is
// allocated, and the host does not wait. Throws Error for more than 2^31 - 1 outputs.
namespace caffe::cuda {

/// 8-bit integers of a blob, (images, channels, positions) in any order: element (n, c, s) is
/// n * image + c * channel + s * position.
struct Integers {
  void* data = nullptr;
  bool is_unsigned = true;  ///< uint8_t, else int8_t
  int32_t zero_point = 0;
  int images = 1, channels = 1, positions = 1;
  size_t image = 0, channel = 0, position = 1;

  CAFFE_HOST_DEVICE size_t PlaceOf(int n, int c, int s) const {
    return n * image + c * channel + s * position;
  }
  /// An element minus the zero point.
  CAFFE_HOST_DEVICE int32_t At(int n, int c, int s) const {
    return kernels::IntegerOperand{data, is_unsigned, zero_point}.At(PlaceOf(n, c, s));
  }
};

/// y = tables[c][x]; a table has 256 bytes, and there is one for all channels unless `by_channel`.
void LookUpIntegers(Stream& stream, const Integers& x, const uint8_t* tables, bool by_channel,
                    const Integers& y);

/// AddIntegers and MultiplyIntegers of kernels/integer_elementwise.hpp, of any number of x.
/// `scratch` has room for CombinationScratchBytes.
void AddIntegers(Stream& stream, const std::vector<Integers>& x,
                 const std::vector<kernels::Multiplier>& by, const kernels::IntegerResult& result,
                 void* scratch, const Integers& y);
void MultiplyIntegers(Stream& stream, const std::vector<Integers>& x,
                      const kernels::IntegerResult& result, void* scratch, const Integers& y);
/// MaximumOfIntegers; `tables` has 256 bytes for each x.
void MaximumOfIntegers(Stream& stream, const std::vector<Integers>& x, const uint8_t* tables,
                       const kernels::IntegerResult& result, void* scratch, const Integers& y);
size_t CombinationScratchBytes(size_t inputs, size_t elements);

/// ScaleIntegers and ScaleAndAddIntegers for `outer` groups of shape.rows rows, all with the same
/// factors; shape.width is 1.
void ScaleIntegers(Stream& stream, int outer, const kernels::BroadcastShape& shape,
                   const kernels::IntegerOperand& x, const kernels::IntegerOperand& a,
                   const kernels::IntegerResult& result, uint8_t* y);
void ScaleAndAddIntegers(Stream& stream, int outer, const kernels::BroadcastShape& shape,
                         const kernels::IntegerOperand& a, const kernels::IntegerOperand& x,
                         const kernels::IntegerOperand& b, const kernels::Multiplier by[2],
                         const kernels::IntegerResult& result, uint8_t* y);

/// MaxPoolIntegers and AveragePoolIntegers; shape.planes is not read.
void MaxPoolIntegers(Stream& stream, const kernels::PoolingShape& shape, kernels::ByteRange range,
                     const Integers& x, const Integers& y);
void AveragePoolIntegers(Stream& stream, const kernels::PoolingShape& shape,
                         kernels::ByteRange range, const Integers& x, const Integers& y);

/// SoftmaxIntegers; x.zero_point is not read.
void SoftmaxIntegers(Stream& stream, const kernels::SoftmaxExtents& extents, const int32_t* table,
                     int32_t steps, const kernels::IntegerResult& result,
                     const kernels::IntegerOperand& x, void* scratch, uint8_t* y);
size_t SoftmaxIntegersScratchBytes(const kernels::SoftmaxExtents& extents);

/// LrnIntegers.
void LrnIntegers(Stream& stream, const kernels::LrnShape& shape, const int32_t* table,
                 const kernels::IntegerResult& result, const Integers& x, const Integers& y);

/// NormalizeIntegers; `multipliers` has values and shifts of `count` channels, 1 or all.
void NormalizeIntegers(Stream& stream, bool across_spatial, const int32_t* table,
                       const int32_t* multipliers, int count, const kernels::IntegerResult& result,
                       const Integers& x, void* scratch, const Integers& y);
size_t NormalizeIntegersScratchBytes(bool across_spatial, const Integers& x);

/// StandardizeIntegers.
void StandardizeIntegers(Stream& stream, int rows, int length, const int32_t* table,
                         const kernels::IntegerResult& result, const kernels::IntegerOperand& x,
                         void* scratch, uint8_t* y);
size_t StandardizeIntegersScratchBytes(int rows);

/// ResizeIntegers; weights are those of kernels::ResizeWeights.
void ResizeIntegers(Stream& stream, const ResizeAxis<int32_t>& h, const ResizeAxis<int32_t>& w,
                    kernels::ByteRange range, const Integers& x, const Integers& y);

/// y[i] = x[from[i] - begin] where from[i] lies in [begin, end), for i < n. Bytes of either kind.
void GatherBytes(Stream& stream, int n, const int32_t* from, int begin, int end, const uint8_t* x,
                 uint8_t* y);
/// y[i] = value where from[i] < 0.
void FillBytes(Stream& stream, int n, const int32_t* from, uint8_t value, uint8_t* y);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_INTEGERS_HPP_
