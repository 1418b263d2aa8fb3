#ifndef CAFFE_INFERENCE_OUTPUT_DIGEST_HPP_
#define CAFFE_INFERENCE_OUTPUT_DIGEST_HPP_

#include <map>
#include <string>

#include "caffe/inference/engine_batches.hpp"
#include "caffe/util/system/sha256.hpp"

namespace caffe::inference {

/// A SHA-256 of an engine's outputs as the 8-bit integers that they were made of, in the order in
/// which they are added, outputs of one run in that of their names: the same wherever an engine of
/// integers alone is built and run.
class OutputDigest {
 public:
  /// Throws Error for an output that floats compute.
  explicit OutputDigest(const Engine& engine);
  void Add(const Tensors& outputs);
  /// In 64 hexadecimal digits.
  std::string Text() const { return hash_.Digest(); }

 private:
  std::map<std::string, AffineParameters> affines_;
  Sha256 hash_;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_OUTPUT_DIGEST_HPP_
