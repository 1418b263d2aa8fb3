#ifndef CAFFE_INFERENCE_NET_FINGERPRINT_HPP_
#define CAFFE_INFERENCE_NET_FINGERPRINT_HPP_

#include <cstdint>

#include "caffe/net.hpp"

namespace caffe {

/// Two hashes that tell whether a net is still the one that a table was made for.
struct NetFingerprint {
  /// The hash of the layers: names, types, connections and the fields that decide what they
  /// compute. Differences between the trained and the deployed net do not count: layers that make
  /// data, losses, Softmax, Accuracy, identities of the TEST phase, fillers, learning rates, types,
  /// engines, the batch size.
  uint64_t net = 0;
  /// The hash of the parameters of those layers, as floats.
  uint64_t weights = 0;

  bool operator==(const NetFingerprint& other) const {
    return net == other.net && weights == other.weights;
  }
};

/// The fingerprint of a net whose weights are loaded. Not cryptographic.
NetFingerprint FingerprintOf(const Net<float>& net);

}  // namespace caffe

#endif  // CAFFE_INFERENCE_NET_FINGERPRINT_HPP_
