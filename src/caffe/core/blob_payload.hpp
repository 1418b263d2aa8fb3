#ifndef CAFFE_UTIL_BLOB_PAYLOAD_HPP_
#define CAFFE_UTIL_BLOB_PAYLOAD_HPP_

#include <vector>

#include "caffe/proto/caffe.pb.h"
#include "caffe/type.hpp"

namespace caffe {

class Tensor;

/// What BlobProto messages hold, apart from any Blob.
namespace payload {

/// Throws Error for an extent that is negative or does not fit an int.
std::vector<int> Extents(const BlobShape& shape);
/// The shape of `proto`: its `shape`, or the old num, channels, height and width.
std::vector<int> Extents(const BlobProto& proto);
/// True if `proto` describes `shape`; the old form fits a shape of up to 4 axes with ones in front.
bool ShapeFits(const std::vector<int>& shape, const BlobProto& proto);

/// Reads the data (or diff) payload, whichever of double_data, data and raw_data comes first, into
/// the tensor in the type it was written in; no payload leaves the tensor alone. Throws Error when
/// its length is not the tensor's count.
void Read(const BlobProto& proto, bool diff, Tensor* tensor);
/// Writes `data` (`diff`), or `double_data` (`double_diff`) for DOUBLE storage.
void Write(Tensor* tensor, bool diff, BlobProto* proto);

}  // namespace payload
}  // namespace caffe

#endif  // CAFFE_UTIL_BLOB_PAYLOAD_HPP_
