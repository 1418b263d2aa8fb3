#ifndef CAFFE_TEST_BLOCKED_CONVOLUTIONS_HPP_
#define CAFFE_TEST_BLOCKED_CONVOLUTIONS_HPP_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "caffe/element_type.hpp"
#include "caffe/kernels/activation.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/cpu/simd/instruction_set_row.hpp"
#include "caffe/kernels/instruction_set.hpp"

// What tests of kernels on channels in blocks, or channels last, share.
namespace caffe::kernels {

/// What this machine runs, and AMX in software.
inline std::vector<InstructionSet> TestedInstructionSets() {
  std::vector<InstructionSet> sets = SupportedInstructionSets();
  sets.push_back(InstructionSet::Named("emulated_amx"));
  return sets;
}

/// Those of them whose tiles are AMX's, the processor's or emulated.
inline std::vector<InstructionSet> SetsWithTiles() {
  std::vector<InstructionSet> sets;
  for (const InstructionSet& set : TestedInstructionSets()) {
    if (set.row().tiles) sets.push_back(set);
  }
  return sets;
}

/// Those with products of bfloat16 pairs.
inline std::vector<InstructionSet> SetsWithPairs() {
  std::vector<InstructionSet> sets;
  for (const InstructionSet& set : TestedInstructionSets()) {
    if (set.row().pairs) sets.push_back(set);
  }
  return sets;
}

/// Tests that run on all of them: INSTANTIATE_ON_EVERY_SET(Fixture).
class OnInstructionSet : public ::testing::TestWithParam<InstructionSet> {
 protected:
  OnInstructionSet() { SetCpuInstructionSet(GetParam()); }
  ~OnInstructionSet() override { SetCpuInstructionSet(before_); }

 private:
  const InstructionSet before_ = CpuInstructionSet();
};
#define INSTANTIATE_ON_EVERY_SET(Fixture)                                               \
  INSTANTIATE_TEST_SUITE_P(Sets, Fixture, ::testing::ValuesIn(TestedInstructionSets()), \
                           [](const auto& info) { return std::string(Name(info.param)); })

/// Along one spatial axis.
struct Extents {
  int input, kernel, stride = 1, pad = 0, dilation = 1;
};

inline ConvolutionShape Shape(int channels, int outputs, int group,
                              const std::vector<Extents>& axes) {
  ConvolutionShape s;
  s.channels = channels;
  s.outputs = outputs;
  s.group = group;
  for (const Extents& axis : axes) {
    s.input.push_back(axis.input);
    s.kernel.push_back(axis.kernel);
    s.stride.push_back(axis.stride);
    s.pad.push_back(axis.pad);
    s.dilation.push_back(axis.dilation);
    const int window = axis.dilation * (axis.kernel - 1) + 1;
    s.output.push_back((axis.input + 2 * axis.pad - window) / axis.stride + 1);
  }
  return s;
}

inline ConvolutionShape Square(int channels, int outputs, int group, const Extents& extents) {
  return Shape(channels, outputs, group, {extents, extents});
}

/// f(x) of NONE, RELU or CLIP, in double.
inline double ActivatedValue(const Activation& f, double x) {
  if (f.kind == Activation::RELU) return x > 0 ? x : f.a * x;
  if (f.kind == Activation::CLIP) return std::min<double>(std::max<double>(x, f.a), f.b);
  return x;
}

/// What rounding a number to T changes it by at most, relative to it; 0 for float.
template <typename T>
double RoundingOf() {
  return std::is_same<T, float16>::value    ? std::ldexp(1, -11)
         : std::is_same<T, bfloat16>::value ? std::ldexp(1, -8)
                                            : 0;
}

/// (num, channels, spatial) to (num, channels / block, spatial, block).
template <typename T>
std::vector<T> ToBlocks(const std::vector<T>& plain, size_t num, size_t channels, size_t spatial,
                        size_t block) {
  const size_t blocks = CeilDiv(channels, block);
  std::vector<T> result(num * blocks * spatial * block, static_cast<T>(0.f));
  for (size_t n = 0; n < num; ++n) {
    for (size_t c = 0; c < channels; ++c) {
      for (size_t i = 0; i < spatial; ++i) {
        result[((n * blocks + c / block) * spatial + i) * block + c % block] =
            plain[(n * channels + c) * spatial + i];
      }
    }
  }
  return result;
}

/// (num, channels, spatial) to (num, spatial, pixel), the channels of each pixel padded with zeros
/// to whole blocks, and what lies behind them up to the next pixel filled with `between`.
template <typename T>
std::vector<T> ToChannelsLast(const std::vector<T>& plain, size_t num, size_t channels,
                              size_t spatial, size_t block, size_t gap, T between) {
  const size_t padded = RoundUp(channels, block), pixel = padded + gap;
  std::vector<T> result(num * spatial * pixel, between);
  for (size_t n = 0; n < num; ++n) {
    for (size_t i = 0; i < spatial; ++i) {
      for (size_t c = 0; c < padded; ++c) {
        result[(n * spatial + i) * pixel + c] =
            c < channels ? plain[(n * channels + c) * spatial + i] : static_cast<T>(0.f);
      }
    }
  }
  return result;
}

/// `num` images, each followed by `gap` elements with the value `between`.
template <typename T>
std::vector<T> WithGaps(const std::vector<T>& images, size_t num, size_t gap, T between) {
  std::vector<T> result;
  const size_t image = num ? images.size() / num : 0;
  for (size_t n = 0; n < num; ++n) {
    result.insert(result.end(), images.begin() + n * image, images.begin() + (n + 1) * image);
    result.insert(result.end(), gap, between);
  }
  return result;
}

}  // namespace caffe::kernels

#endif  // CAFFE_TEST_BLOCKED_CONVOLUTIONS_HPP_
