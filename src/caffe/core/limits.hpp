#ifndef CAFFE_CORE_LIMITS_HPP_
#define CAFFE_CORE_LIMITS_HPP_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "caffe/error.hpp"
#include "caffe/limits.hpp"

// How the library asks for its Limits. Reading one is an atomic load: Blob::Reshape does so in
// every pass.

namespace caffe {

class LayerParameter;

namespace limits {

/// The numbers among Limits' fields, in the order of LimitFields().
enum Limit {
  kBlobBytes,
  kNetBytes,
  kLayers,
  kAxes,
  kNesting,
  kReadBytes,
  kRecordBytes,
  kImagePixels
};

Limits Current();
void Set(const Limits& limits);
uint64_t Of(Limit limit);
/// How deeply messages may lie within one another: kNesting, as far as the stack of a thread
/// allows.
int MessageDepth();
bool PythonLayersAllowed();
bool LayerFilesAllowed();

/// The product, or 2^64 - 1 if it is larger: beyond every limit.
uint64_t Product(std::initializer_list<uint64_t> factors);

/// " asks for 5 GiB, and the limit (net_bytes) is 4 GiB", and what raises the limit.
std::string Excess(Limit limit, uint64_t asked);
Error::Remedy RaisedBy(Limit limit);

/// Throws Error if `asked` is beyond the limit: the parts say what asks.
template <typename... Parts>
void Check(Limit limit, uint64_t asked, const Parts&... parts) {
  if (asked > Of(limit)) Fail(parts..., Excess(limit, asked), RaisedBy(limit));
}

/// Throws Error for an image of this size, or one that is to be made, with a side below 1 or too
/// many pixels.
void CheckImage(int64_t height, int64_t width, const std::string& what);

/// Throws Error if `file`, which is to be read line by line, is a device, which may never end, or
/// larger than Limits::read_bytes. What is wrong with it otherwise, opening it says.
void CheckTextFile(const std::string& file);

/// Throws Error if the layer runs Python or names files, and the limits forbid that.
void CheckAccess(const LayerParameter& layer);

/// While one is alive, blobs that the thread makes larger count towards net_bytes: `copies` times.
/// Within another one they count towards both.
class NetBytes {
 public:
  explicit NetBytes(int copies);
  ~NetBytes();
  NetBytes(const NetBytes&) = delete;
  NetBytes& operator=(const NetBytes&) = delete;

  /// More bytes of blobs in the calling thread. Throws Error beyond the limit.
  static void Add(uint64_t bytes);

 private:
  NetBytes* const outer_;
  const uint64_t copies_;
  uint64_t bytes_ = 0;
};

}  // namespace limits
}  // namespace caffe

#endif  // CAFFE_CORE_LIMITS_HPP_
