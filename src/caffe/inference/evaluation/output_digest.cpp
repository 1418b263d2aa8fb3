#include "caffe/inference/evaluation/output_digest.hpp"

#include <cmath>
#include <cstdint>

#include "caffe/error.hpp"

namespace caffe::inference {

OutputDigest::OutputDigest(const Engine& engine) {
  for (const std::string& output : engine.outputs()) {
    const auto affine = engine.OutputAffine(output);
    Require(affine.has_value(), "output '", output, "' has no digest, as floats compute it",
            Error::Remedy{"build the engine with -arithmetic integer_only"});
    affines_[output] = *affine;
  }
}

void OutputDigest::Add(const Tensors& outputs) {
  for (const auto& [name, tensor] : outputs) {
    const AffineParameters& affine = affines_.at(name);
    for (const float value : tensor.values) {
      const long integer = std::lround(value / affine.scale) + affine.zero_point;
      const uint8_t byte = static_cast<uint8_t>(integer);
      hash_.Add(&byte, 1);
    }
  }
}

}  // namespace caffe::inference
