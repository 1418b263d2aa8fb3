#ifndef CAFFE_PYTHON_LAYER_BLOBS_HPP_
#define CAFFE_PYTHON_LAYER_BLOBS_HPP_

#include <memory>
#include <vector>

#include "handles.hpp"

namespace caffe {
namespace pycaffe {

/// A blob that Python shares with others; of any Dtype.
template <typename Dtype>
std::shared_ptr<BlobRef> ShareBlob(const boost::shared_ptr<Blob<Dtype>>& blob,
                                   const std::shared_ptr<ViewGroup>& views) {
  return std::make_shared<BlobRefOf<Dtype>>(blob, views);
}

/// Python's view of Layer::blobs().
class LayerBlobs {
 public:
  explicit LayerBlobs(std::shared_ptr<LayerHandle> layer) : layer_(std::move(layer)) {}

  size_t size() const {
    return layer_->Visit([](auto& layer) { return layer.blobs().size(); });
  }
  std::shared_ptr<BlobRef> At(py::ssize_t index) const {
    const py::ssize_t count = size();
    const py::ssize_t position = index < 0 ? index + count : index;
    if (position < 0 || position >= count) {
      throw py::index_error(Join("blob ", index, " of a layer that has ", count));
    }
    return layer_->Visit(
        [&](auto& layer) { return ShareBlob(layer.blobs()[position], layer_->views()); });
  }
  py::list List() const {
    py::list list;
    for (size_t i = 0; i < size(); ++i) list.append(At(i));
    return list;
  }
  py::object Slice(const py::slice& slice) const { return List().attr("__getitem__")(slice); }
  void Add(const py::args& extents) const {
    const std::vector<int> shape = ExtentsOf(extents);
    layer_->Visit([&](auto& layer) {
      using Dtype = DtypeOf<std::decay_t<decltype(layer)>>;
      layer.blobs().emplace_back(new Blob<Dtype>(shape));
    });
  }

 private:
  std::shared_ptr<LayerHandle> layer_;
};

}  // namespace pycaffe
}  // namespace caffe

#endif  // CAFFE_PYTHON_LAYER_BLOBS_HPP_
