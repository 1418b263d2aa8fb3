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

/// What an INT8 engine computes with between the integers.
enum class Arithmetic {
  FLOAT,        ///< sums of products are integers, all else floats
  INTEGER,      ///< integers alone; layers that integers cannot hold stay float, and are named
  INTEGER_ONLY  ///< such a layer is an Error
};

/// What a net was trained to be rounded to (quantized_training).
struct TrainedNumbers {
  QuantizationScheme scheme = QuantizationScheme::AFFINE;
  int weight_bits = 8, activation_bits = 8;
};

/// The numbers of an INT8 engine. What is not given is what the net's prototxt says, else the
/// default.
struct Quantization {
  /// Default: what the net was trained for, else SYMMETRIC.
  std::optional<QuantizationScheme> scheme;
  /// Default: INTEGER of a net that was trained for it, else FLOAT.
  std::optional<Arithmetic> arithmetic;
  std::optional<kernels::Rounding> rounding;  ///< of INTEGER and INTEGER_ONLY; default: DOUBLE

  /// A net that was trained for integers is built as though it had not been: calibrated.
  bool ignore_training = false;
  /// Nothing: it was not trained for them, or that is ignored. Set by the builder.
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
/// The one of that name. Throws Error that lists the names.
QuantizationScheme ParseQuantizationScheme(const std::string& name);
Arithmetic ParseArithmetic(const std::string& name);
kernels::Rounding ParseRounding(const std::string& name);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZATION_HPP_
