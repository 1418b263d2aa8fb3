#ifndef CAFFE_WEIGHT_SOURCE_HPP_
#define CAFFE_WEIGHT_SOURCE_HPP_

#include <array>
#include <string>
#include <vector>

#include "caffe/io/batch_norm_forms.hpp"
#include "caffe/io/caffemodel.hpp"

namespace caffe {

/// The layers of a message as a caffemodel's are given: name, type, bottoms and tops, and where
/// the blobs' elements lie. Valid as long as the message.
std::vector<StoredLayer> StoredLayersOf(const NetParameter& net);

/// "20 1 5 5 (500)".
std::string StoredShapeString(const StoredBlob& blob);

/// True if a stored blob fits a parameter of `shape`. Old files give every blob four axes, with
/// ones in front.
bool StoredShapeFits(const StoredBlob& blob, const std::vector<int>& shape);

/// All elements as float.
std::vector<float> StoredFloats(const StoredBlob& blob);

/// The batch normalization that `layer`, one of `source`, holds in any of its forms. `scale` is the
/// Scale layer whose blobs belong to it, nullptr if there is none. Throws Error for another number
/// of blobs.
BatchNormBlobs StoredBatchNorm(const StoredLayer& layer, const StoredLayer* scale);

/// The Scale layer that reads the top of `layer`, one of `source`; nullptr if there is none.
const StoredLayer* StoredScaleAfter(const std::vector<StoredLayer>& source,
                                    const StoredLayer& layer);

/// True if the layer has the five blobs of DIGITS's order.
bool IsStoredInDigitsOrder(const StoredLayer& layer);

}  // namespace caffe

#endif  // CAFFE_WEIGHT_SOURCE_HPP_
