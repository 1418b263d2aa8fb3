#ifndef CAFFE_FP16_NET_AGREEMENT_HPP_
#define CAFFE_FP16_NET_AGREEMENT_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "caffe/net.hpp"

namespace caffe {

/// How far an output of one net is from that of another.
struct OutputAgreement {
  std::string blob;
  double largest = 0;     ///< magnitude in the reference net, over all batches
  double difference = 0;  ///< largest absolute one of finite values
  int other_shapes = 0;   ///< batches in which the nets' outputs had different shapes (detections)
  /// `difference` as a part of `largest`.
  double relative() const { return largest > 0 ? difference / largest : difference; }
};

/// Compares outputs of two nets, batch after batch.
class NetAgreement {
 public:
  /// Both must have outputs of the same names; Error otherwise.
  NetAgreement(Net<float>* reference, Net<float>* other);

  /// Runs both nets, whose inputs have been written, layer by layer.
  void Add();

  const std::vector<OutputAgreement>& outputs() const { return outputs_; }
  /// The largest relative() of all outputs; infinity if shapes differed.
  double relative() const;
  /// Values of `other`'s tops that were NaN or infinite, and the first layer that made one.
  int64_t not_finite() const { return not_finite_; }
  const std::string& first_not_finite() const { return first_not_finite_; }

 private:
  void CountNotFinite(int layer);

  Net<float>* reference_;
  Net<float>* other_;
  std::vector<OutputAgreement> outputs_;
  int64_t not_finite_ = 0;
  std::string first_not_finite_;
};

}  // namespace caffe

#endif  // CAFFE_FP16_NET_AGREEMENT_HPP_
