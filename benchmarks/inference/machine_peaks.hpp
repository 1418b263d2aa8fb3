#ifndef CAFFE_BENCHMARKS_MACHINE_PEAKS_HPP_
#define CAFFE_BENCHMARKS_MACHINE_PEAKS_HPP_

namespace caffe {

/// Multiplications with additions of floats that all threads together do in a second, measured: the
/// best of several runs of a loop that does nothing else, in the widest registers that there are.
double PeakProducts();

/// Bytes that all threads together read from memory in a second, measured: the best of several sums
/// of an array that no cache holds.
double PeakBandwidth();

}  // namespace caffe

#endif  // CAFFE_BENCHMARKS_MACHINE_PEAKS_HPP_
