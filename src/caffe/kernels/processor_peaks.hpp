#ifndef CAFFE_KERNELS_PROCESSOR_PEAKS_HPP_
#define CAFFE_KERNELS_PROCESSOR_PEAKS_HPP_

#include <string>
#include <vector>

#include "caffe/element_type.hpp"

// What the processor can do at most, measured: loops of the instructions that kernels are made of,
// on registers alone, and an array that no cache holds. By all threads that OpenMP would use now,
// at the same time; the best of several runs, as other programs disturb them.
namespace caffe::kernels {

/// How fast a unit multiplies.
struct ProductPeak {
  ElementType type;   ///< of the factors: FLOAT, BFLOAT16 or INT8
  std::string unit;   ///< the instruction set: "avx512", "avx512_vnni", "amx", "avx512_bf16", ...
  bool tiles;         ///< the unit multiplies matrices in tiles
  double per_second;  ///< multiplications with an addition each; operations are twice as many
};

/// Peaks of all units of the instruction set in use, and of AVX512-BF16, which oneDNN uses, where
/// the processor has it: FLOAT, BFLOAT16, INT8. Takes 0.1 s for each, up to 0.4 s where other
/// programs are busy.
std::vector<ProductPeak> MeasureProductPeaks();

/// Products a second of layers that compute in `math`, FLOAT, FLOAT16, BFLOAT16 or INT8, by the
/// fastest of the units that do: tiles take several products for one of FLOAT or FLOAT16, vectors
/// multiply all but INT8 as floats. 0 without such a unit.
double FastestProducts(const std::vector<ProductPeak>& peaks, ElementType math);

/// Bytes a second that are read from memory; takes about half a second, and 256 MB to 1 GB of
/// memory.
double MeasureMemoryBandwidth();

/// Nanoseconds from a write of the first thread until another thread that reads the cache line
/// again and again has it: for the threads whose cores are nearest and farthest. Cores that share a
/// cache take some 20 to 50, those of other chiplets or sockets 100 and more: what one layer's
/// threads have written then reaches the next layer's as much later. 0 for one thread, and where
/// other programs have the cores. Takes milliseconds for each thread.
struct HandOver {
  double nearest = 0, farthest = 0;
};
HandOver MeasureHandOver();

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_PROCESSOR_PEAKS_HPP_
