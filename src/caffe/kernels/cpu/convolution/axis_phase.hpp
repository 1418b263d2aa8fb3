#ifndef CAFFE_KERNELS_CPU_AXIS_PHASE_HPP_
#define CAFFE_KERNELS_CPU_AXIS_PHASE_HPP_

#include <numeric>

#include "convolution_bands.hpp"

namespace caffe::kernels {

/// One axis of a phase of a convolution's input: the positions that, counted with the padding,
/// leave the same remainder when divided by the stride. The same positions of the kernel ("taps")
/// reach all of them, so that their gradient, and likewise what a deconvolution makes there, is a
/// convolution of the outputs with stride 1 and these taps in reverse.
struct AxisPhase {
  AxisPhase(const BandAxis& axis, int remainder) {
    const int common = std::gcd(axis.stride, axis.dilation);
    tap_step = axis.stride / common;
    dilation = axis.dilation / common;
    first = ((remainder - axis.pad) % axis.stride + axis.stride) % axis.stride;
    count = first < axis.input ? (axis.input - first - 1) / axis.stride + 1 : 0;
    while (tap < axis.kernel && tap * axis.dilation % axis.stride != remainder) ++tap;
    if (tap == axis.kernel) return;
    taps = (axis.kernel - tap - 1) / tap_step + 1;
    // The output that the first position gets from the first tap; its window ends there.
    const int output = (first + axis.pad - tap * axis.dilation) / axis.stride;
    pad = (taps - 1) * dilation - output;
  }
  /// Position i of the convolution's kernel as one of the original's.
  int Tap(int i) const { return tap + (taps - 1 - i) * tap_step; }

  int first, count;           ///< of the positions, which are a stride apart
  int tap = 0, taps = 0;      ///< the first one, and how many; 0: nothing reaches the phase
  int tap_step;               ///< from one tap to the next
  int dilation = 1, pad = 0;  ///< of the convolution; a negative pad skips outputs
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_AXIS_PHASE_HPP_
