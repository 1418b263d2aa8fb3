#ifndef CAFFE_KERNELS_CPU_INSTRUCTION_SET_ROW_HPP_
#define CAFFE_KERNELS_CPU_INSTRUCTION_SET_ROW_HPP_

#include <string>

#include "amx_tiles.hpp"
#include "caffe/kernels/cpu/convolution/winograd_loops.hpp"
#include "caffe/kernels/cpu/gemm/packed_tiles.hpp"
#include "caffe/kernels/cpu/gemm/pair_tiles.hpp"
#include "caffe/kernels/cpu/int8/int8_tiles.hpp"
#include "caffe/kernels/cpu_features.hpp"
#include "vector_kernels.hpp"

namespace caffe::kernels {

/// A row of the registry: an instruction set and its kernels. Rows may share kernels.
struct InstructionSetRow {
  const char* name;
  CpuFeatures needed;
  bool by_name_only;
  // All but the last are null in a row with tiles, which uses those of the last supported set
  // without tiles.
  const VectorKernels* vector;
  const PackedTiles* packed;
  const Int8Tiles* int8;
  const WinogradKernels* winograd;
  /// For blocks of 8 channels, which vectors of 16 cannot read.
  const WinogradKernels* winograd_of_8;
  const PairTiles* pairs;  ///< or null
  const AmxTiles* tiles;   ///< or null
};

/// The registry, the plainest set first: the last one that is supported is used.
struct InstructionSetRows {
  const InstructionSetRow* first;
  const InstructionSetRow* last;
  const InstructionSetRow* begin() const { return first; }
  const InstructionSetRow* end() const { return last; }
};
InstructionSetRows RegisteredRows();

/// True if the kernels were compiled for one processor alone (CAFFE_CPU_KERNELS=NATIVE).
bool HasNativeKernelsOnly();

/// What to log where kernels that were compiled for one processor run on another one, which has
/// `found`: that of `rows` the plainest is left, and the remedy. Empty if a better one runs there.
std::string OtherProcessorWarning(const InstructionSetRows& rows, CpuFeatures found);

/// What to log where the operating system refuses features: which of `rows` is used instead of
/// which. Empty if these are the same.
std::string RefusedFeaturesWarning(const InstructionSetRows& rows,
                                   const DetectedCpuFeatures& detected);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_INSTRUCTION_SET_ROW_HPP_
