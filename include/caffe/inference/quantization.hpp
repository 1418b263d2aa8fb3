#ifndef CAFFE_INFERENCE_QUANTIZATION_HPP_
#define CAFFE_INFERENCE_QUANTIZATION_HPP_

#include <optional>
#include <string>

#include "caffe/multiplier.hpp"

namespace caffe::inference {

/// How real numbers become 8-bit integers in an INT8 engine: r = S (q - Z), with a scale S and a
/// zero point Z.
enum class QuantizationScheme {
  SYMMETRIC,  ///< Z = 0. Blobs: int8 in [-127, 127], uint8 where never negative
  AFFINE,     ///< blobs: uint8 with a zero point. Weights: int8 in [-127, 127], a scale for each
              ///< output channel, Z = 0
  PAPER  ///< as published by Jacob et al. (arXiv:1712.05877): blobs and weights uint8, with one
         ///< scale and zero point for a tensor; no weight is 0
};

/// The arithmetic of an INT8 engine.
enum class Arithmetic {
  FLOAT,        ///< sums of products are integers, everything else floats
  INTEGER,      ///< integer-only; layers that have no integer form stay float and are reported
  INTEGER_ONLY  ///< such a layer is an Error
};

/// The numbers of integers that a net was trained for (quantized_training).
struct TrainedNumbers {
  QuantizationScheme scheme = QuantizationScheme::AFFINE;
  int weight_bits = 8, activation_bits = 8;
};

/// The quantization of an INT8 engine. Fields that are not set are those of the net's prototxt,
/// else the defaults.
struct Quantization {
  /// Default: the scheme that the net was trained for, else SYMMETRIC.
  std::optional<QuantizationScheme> scheme;
  /// Default: INTEGER for a net that was trained for it, else FLOAT.
  std::optional<Arithmetic> arithmetic;
  std::optional<kernels::Rounding> rounding;  ///< of INTEGER and INTEGER_ONLY; default: DOUBLE
  /// Weights of convolutions are such that processors with AVX2 or AVX-512 alone, without VNNI, can
  /// multiply bytes: two that are multiplied side by side (of channels 2k and 2k + 1; of inputs of
  /// up to 4 channels in one group, of columns 2k and 2k + 1 of the kernel) have a sum of at most
  /// 128 steps, by scales up to twice as large. An Error for GPUs, without INT8, for PAPER, and for
  /// nets that were trained for integers; the reference backend ignores it.
  bool reduce_range = false;

  /// Ignores that a net was trained for integers: it is calibrated.
  bool ignore_training = false;
  /// Set by the builder; not set: it was not trained for integers, or that is ignored.
  std::optional<TrainedNumbers> training;

  QuantizationScheme SchemeOrDefault() const {
    return scheme.value_or(training ? training->scheme : QuantizationScheme::SYMMETRIC);
  }
  Arithmetic ArithmeticOrDefault() const {
    return arithmetic.value_or(training ? Arithmetic::INTEGER : Arithmetic::FLOAT);
  }
  kernels::Rounding RoundingOrDefault() const {
    return rounding.value_or(kernels::Rounding::DOUBLE);
  }
};

/// "symmetric", "affine", "paper"; "float", "integer", "integer_only"; "double", "single".
const char* Name(QuantizationScheme scheme);
const char* Name(Arithmetic arithmetic);
const char* Name(kernels::Rounding rounding);
/// Parses a name. Throws Error that lists the names.
QuantizationScheme ParseQuantizationScheme(const std::string& name);
Arithmetic ParseArithmetic(const std::string& name);
kernels::Rounding ParseRounding(const std::string& name);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZATION_HPP_
