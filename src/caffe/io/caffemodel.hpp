#ifndef CAFFE_IO_CAFFEMODEL_HPP_
#define CAFFE_IO_CAFFEMODEL_HPP_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "caffe/element_type.hpp"
#include "caffe/io/atomic_file.hpp"
#include "caffe/io/mapped_file.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Elements that lie in an encoded BlobProto, little-endian, in one or more runs.
class Payload {
 public:
  /// `count` elements of which each begins `stride` bytes after the one before it.
  struct Run {
    const uint8_t* begin;
    size_t count;
    size_t stride;
  };

  Payload() = default;
  explicit Payload(ElementType type) : type_(type) {}

  ElementType type() const { return type_; }
  /// Number of elements.
  size_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  const std::vector<Run>& runs() const { return runs_; }

  /// Appends a run; one that continues the last makes it longer.
  void Append(const Run& run);

  /// Writes all elements to `destination`, converted to `type`. From and to FLOAT, DOUBLE, FLOAT16
  /// and BFLOAT16 everything converts, rounding to nearest even; the integer types only to
  /// themselves, else Error.
  void CopyTo(void* destination, ElementType type) const;

 private:
  ElementType type_ = ElementType::FLOAT;
  size_t count_ = 0;
  std::vector<Run> runs_;
};

/// A blob of a caffemodel: its shape, and where its elements lie in the mapped file. Valid as long
/// as the reader that gave it.
struct StoredBlob {
  std::string file;            ///< "" where it is of a message in memory
  std::string where;           ///< in the file: "layer 'conv1', blob 0", for messages
  std::vector<int64_t> shape;  ///< of old files num, channels, height, width; of C3D's five axes
  Payload data;                ///< double_data, data or raw_data: the first that is not empty
  Payload diff;                ///< likewise; usually empty

  /// Calls f; its errors say that they are about this blob.
  void WithPlace(const std::function<void()>& f) const;

  /// Product of the shape. Throws Error if an axis is negative or the product overflows.
  int64_t ShapeCount() const;

  /// In files of C3D the values of blobs stand where Caffe looks for their diff: if there is
  /// nothing but a diff, makes it the data and logs a warning that names the blob. ParseStoredBlob
  /// does so.
  void TakeDiffForMissingData();

  /// Throws Error unless there are as many elements as the shape has.
  void RequireComplete() const;

  /// Writes the ShapeCount() elements to `destination`, converted to `type`; see Payload::CopyTo.
  /// Throws Error, before anything is written, if RequireComplete does.
  void ReadInto(void* destination, ElementType type) const;
  /// Likewise for the diff; false, and nothing is written, if the file has none.
  bool ReadDiffInto(void* destination, ElementType type) const;
};

/// The blob in an encoded BlobProto (a mean file, say); `file` and `where` name it in messages, in
/// which byte offsets count from `base` (nullptr: from `data`). Elements stay where they are.
/// Throws Error.
StoredBlob ParseStoredBlob(const uint8_t* data, size_t size, const std::string& file,
                           const std::string& where, const uint8_t* base = nullptr);

/// A layer of a caffemodel.
struct StoredLayer {
  /// Without blobs. V0 and V1 layers come upgraded. A layer of a fork whose parameters do not parse
  /// has name and type only.
  LayerParameter param;
  std::vector<StoredBlob> blobs;
};

/// Reads a caffemodel of any age and size without a second copy of the weights: the file is mapped,
/// and ReadInto converts from there straight into the caller's memory. What is held is in
/// proportion to the number of layers and blobs, not to their sizes.
///
///     CaffemodelReader reader("lenet.caffemodel");
///     for (const StoredLayer& layer : reader.layers()) {
///       for (const StoredBlob& blob : layer.blobs) blob.ReadInto(memory, ElementType::FLOAT);
///     }
class CaffemodelReader {
 public:
  /// Throws Error with the file, the byte offset and the layer if the file is missing, empty,
  /// truncated, damaged or of another kind.
  explicit CaffemodelReader(const std::string& file);

  /// Everything but the layers.
  const NetParameter& net() const { return net_; }
  const std::vector<StoredLayer>& layers() const { return layers_; }
  /// True if a layer came in the V0 or V1 form.
  bool upgraded() const { return upgraded_; }

 private:
  void ReadNet();

  std::shared_ptr<const MappedFile> file_;
  NetParameter net_;
  std::vector<StoredLayer> layers_;
  bool upgraded_ = false;
};

/// A blob to be written. The memory is the caller's and is read during WriteLayer only.
struct BlobSource {
  std::vector<int64_t> shape;
  ElementType type = ElementType::FLOAT;
  const void* data = nullptr;
  const void* diff = nullptr;  ///< of the same type; nullptr: not written
};

/// Writes a caffemodel layer by layer. The old file is replaced when Finish has synced the new one.
class CaffemodelWriter {
 public:
  enum class Form {
    BVLC,  ///< `data` as float, DOUBLE as double_data: every Caffe reads it
    RAW    ///< NVCaffe's raw_data in the blob's own type (BFLOAT16, which it lacks, as FLOAT)
  };

  /// `net` gives everything but the layers, of which it must have none. Throws Error.
  CaffemodelWriter(const std::string& file, const NetParameter& net, Form form = Form::BVLC);

  /// `param` has no blobs. INT8 and UINT8 blobs have no place in the schema: Error. Programs on
  /// protobuf (all but this one) read layers of at most 2 GB.
  void WriteLayer(const LayerParameter& param, const std::vector<BlobSource>& blobs);

  /// Syncs the file and puts it in place. Nothing may be written afterwards.
  void Finish() { file_.Commit(); }

 private:
  AtomicFile file_;
  Form form_;
};

}  // namespace caffe

#endif  // CAFFE_IO_CAFFEMODEL_HPP_
