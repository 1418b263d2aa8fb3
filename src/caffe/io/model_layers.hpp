#ifndef CAFFE_IO_MODEL_LAYERS_HPP_
#define CAFFE_IO_MODEL_LAYERS_HPP_

#include <memory>
#include <string>
#include <vector>

#include "caffe/io/atomic_file.hpp"
#include "caffe/io/caffemodel.hpp"
#include "caffe/io/conversion_report.hpp"

namespace caffe {

// A file of weights whose elements change and nothing else: what is not an element of a blob passes
// from file to file byte for byte, whatever version or fork wrote it. (CaffemodelReader upgrades
// layers, which is what a net needs.)

/// A blob of such a file.
struct ModelBlob {
  std::string rest;   ///< the encoded BlobProto without its elements: the shape, old or new
  StoredBlob stored;  ///< diffs are not carried over

  /// A blob of one axis with values of its own.
  static ModelBlob Of(const std::vector<float>& values, const std::string& where,
                      const std::string& file = "");

  std::shared_ptr<const std::vector<float>> values;  ///< what `stored` points into, if not a file
};

/// A layer of such a file.
struct ModelLayer {
  enum class Form { V0, V1, TODAY };
  Form form = Form::TODAY;
  std::string name;
  std::string type;   ///< empty in V0 and V1
  std::string outer;  ///< V0: the encoded connection around the layer
  std::string rest;   ///< the encoded layer without its blobs
  std::vector<ModelBlob> blobs;
};

/// What a layer says of itself where a file of weights does not (HDF5).
struct LayerIdentity {
  std::string name, type;
  std::vector<std::string> bottoms, tops;
  /// Per blob: the name under which it is shared, "" if it is not.
  std::vector<std::string> param_names;
};

/// The layers of a file of weights. Elements stay in the mapped file.
class ModelLayers {
 public:
  /// A caffemodel of any age. Throws Error as CaffemodelReader does.
  static ModelLayers FromCaffemodel(const std::string& file);
  /// An HDF5 file (data/LAYER/INDEX), which says nothing of a layer but its blobs. A blob that is
  /// missing because it is shared is taken from the first layer that has one of that name. Throws
  /// Error.
  static ModelLayers FromHdf5(const std::string& file, const std::vector<LayerIdentity>& layers);

  std::vector<ModelLayer> layers;

  /// How the blobs of a layer are to be stored.
  struct Storage {
    ElementType type = ElementType::FLOAT16;
    bool raw = true;  ///< raw_data; else `data`, which needs FLOAT
    bool clamp = false;
  };
  /// Writes everything, elements as `storage` wants them for each layer, and reports. Integers stay
  /// as they are where the form is raw. Throws Error for incomplete blobs.
  std::vector<LayerConversion> Write(const std::function<Storage(const ModelLayer&)>& storage,
                                     AtomicFile* file) const;

 private:
  std::shared_ptr<const MappedFile> file_;
  std::string head_;  // the encoded net without its layers
};

}  // namespace caffe

#endif  // CAFFE_IO_MODEL_LAYERS_HPP_
