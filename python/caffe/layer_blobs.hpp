#ifndef CAFFE_PYTHON_LAYER_BLOBS_HPP_
#define CAFFE_PYTHON_LAYER_BLOBS_HPP_

#include <memory>
#include <vector>

#include "handles.hpp"

namespace caffe::pycaffe {

/// A blob that Python shares with others; of any Dtype.
template <typename Dtype>
std::shared_ptr<BlobRef> ShareBlob(const boost::shared_ptr<Blob<Dtype>>& blob,
                                   const std::shared_ptr<ViewGroup>& views) {
  return std::make_shared<BlobRefOf<Dtype>>(blob, views);
}

/// Python's BlobVec: a view of Layer::blobs(), or a list of blobs that belongs to no layer.
class LayerBlobs {
 public:
  LayerBlobs() = default;
  explicit LayerBlobs(std::shared_ptr<LayerHandle> layer) : layer_(std::move(layer)) {}

  size_t size() const {
    if (!layer_) return own_.size();
    return layer_->Visit([](auto& layer) { return layer.blobs().size(); });
  }
  std::shared_ptr<BlobRef> At(py::ssize_t index) const {
    const py::ssize_t count = size();
    const py::ssize_t position = index < 0 ? index + count : index;
    if (position < 0 || position >= count) {
      throw py::index_error(Join("blob ", index, " of a layer that has ", count));
    }
    if (!layer_) return own_[position];
    return layer_->Visit(
        [&](auto& layer) { return ShareBlob(layer.blobs()[position], layer_->views()); });
  }
  py::list List() const {
    py::list list;
    for (size_t i = 0; i < size(); ++i) list.append(At(i));
    return list;
  }
  py::object Slice(const py::slice& slice) const { return List().attr("__getitem__")(slice); }
  void Add(const py::args& extents) {
    const std::vector<int> shape = ExtentsOf(extents);
    if (!layer_) {
      own_.push_back(NewBlob(shape));
      return;
    }
    layer_->Visit([&](auto& layer) {
      using Dtype = DtypeOf<std::decay_t<decltype(layer)>>;
      layer.blobs().emplace_back(new Blob<Dtype>(shape));
    });
  }
  /// Shares the blob. Throws TypeError for a blob of another type than the layer's, or one that a
  /// layer was only lent.
  void Append(const std::shared_ptr<BlobRef>& blob) {
    if (!layer_) {
      own_.push_back(blob);
      return;
    }
    layer_->Visit([&](auto& layer) {
      using Dtype = DtypeOf<std::decay_t<decltype(layer)>>;
      const auto* typed = dynamic_cast<const BlobRefOf<Dtype>*>(blob.get());
      if (!typed || !typed->owner()) {
        throw py::type_error(
            "a layer shares blobs of its own type, and none that a Python layer was called with");
      }
      layer.blobs().push_back(typed->owner());
    });
  }

 private:
  std::shared_ptr<LayerHandle> layer_;
  std::vector<std::shared_ptr<BlobRef>> own_;  // without a layer
};

}  // namespace caffe::pycaffe

#endif  // CAFFE_PYTHON_LAYER_BLOBS_HPP_
