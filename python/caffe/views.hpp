#ifndef CAFFE_PYTHON_VIEWS_HPP_
#define CAFFE_PYTHON_VIEWS_HPP_

#include <pybind11/pybind11.h>

#include <boost/weak_ptr.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "caffe/blob.hpp"
#include "text.hpp"

// numpy arrays on the memory of blobs.
//
// An array is a view of one slot of a tensor (caffe/tensor.hpp): its float32 slot for `data`, the
// slot of another type for `data_as`. It keeps the memory alive. C++ does not notice when
// Python writes into it, nor Python when C++ writes another slot, so the values are brought
// together where one language calls the other: a ViewGroup knows the arrays that are alive and,
// before C++ computes, declares their slots the newest (Push), and afterwards refreshes them
// (Pull).

namespace caffe::pycaffe {

class ViewGroup;
struct ViewState;

/// What a Python Blob stands for: a blob of either Dtype, which it owns together with others or, in
/// the lists that a Python layer is called with, only knows as long as its net lives.
class BlobRef : public std::enable_shared_from_this<BlobRef> {
 public:
  explicit BlobRef(std::shared_ptr<ViewGroup> group) : group_(std::move(group)) {}
  virtual ~BlobRef() = default;

  virtual bool valid() const = 0;
  virtual ElementType dtype() const = 0;
  virtual const std::vector<int>& shape() const = 0;
  virtual int count() const = 0;
  virtual int LegacyShape(int index) const = 0;
  virtual void Reshape(const std::vector<int>& shape) = 0;
  virtual Tensor& tensor(bool diff) const = 0;

  const std::shared_ptr<ViewGroup>& group() const { return group_; }
  /// A numpy array on the slot of `type`, brought up to date and declared the newest.
  py::object Array(bool diff, ElementType type);

 private:
  const std::shared_ptr<ViewGroup> group_;
};

template <typename Dtype>
class BlobRefOf : public BlobRef {
 public:
  BlobRefOf(boost::shared_ptr<Blob<Dtype>> blob, std::shared_ptr<ViewGroup> group)
      : BlobRef(std::move(group)), owner_(std::move(blob)), blob_(owner_.get()) {}
  /// Borrowed, until Invalidate.
  BlobRefOf(Blob<Dtype>* blob, std::shared_ptr<ViewGroup> group)
      : BlobRef(std::move(group)), blob_(blob) {}

  void Invalidate() { blob_ = nullptr; }
  /// Throws Error when the net that the blob belonged to is gone.
  Blob<Dtype>& blob() const {
    Require(blob_, "this blob belonged to a net that is no more");
    return *blob_;
  }
  const boost::shared_ptr<Blob<Dtype>>& owner() const { return owner_; }

  bool valid() const override { return blob_; }
  ElementType dtype() const override { return kElementType<Dtype>; }
  const std::vector<int>& shape() const override { return blob().shape(); }
  int count() const override { return blob().count(); }
  int LegacyShape(int index) const override { return blob().LegacyShape(index); }
  void Reshape(const std::vector<int>& shape) override { blob().Reshape(shape); }
  Tensor& tensor(bool diff) const override {
    return diff ? blob().diff_tensor() : blob().data_tensor();
  }

 private:
  boost::shared_ptr<Blob<Dtype>> owner_;
  Blob<Dtype>* blob_;
};

/// The arrays that are alive on the blobs of one net (or one Python layer). The GIL guards it.
class ViewGroup : public std::enable_shared_from_this<ViewGroup> {
 public:
  /// Python may have written into the arrays: what they hold is the truth, unless C++ has written
  /// a newer representation since. Of two arrays on one tensor, the one asked for last counts.
  void Push();
  /// C++ may have written: the arrays show it.
  void Pull();

  std::shared_ptr<ViewState> Find(const SyncedMemory* memory);
  void Add(const std::shared_ptr<ViewState>& state) { states_.push_back(state); }
  /// Keeps the arrays that the net's first layer reads from now on (Net.set_input_arrays).
  void KeepInputs(py::object arrays) { inputs_ = std::move(arrays); }
  /// Told by a dying state.
  void Release(const ViewState& state);

 private:
  struct Released {
    std::weak_ptr<BlobRef> blob;
    bool diff;
    boost::weak_ptr<SyncedMemory> memory;
    bool forget;  // whether the pointer was the only one
  };
  void ForgetReleased();

  std::vector<std::weak_ptr<ViewState>> states_;  // in the order in which they were asked for
  std::vector<Released> released_;
  py::object inputs_;
};

/// One slot with at least one array alive on it.
struct ViewState {
  std::shared_ptr<BlobRef> blob;
  std::weak_ptr<ViewGroup> group;
  bool diff = false;
  ElementType type = ElementType::FLOAT;
  boost::shared_ptr<SyncedMemory> memory;
  bool handed_out_before = false;

  ~ViewState();
  /// True if `memory` is still the tensor's: not after the blob grew or was shared.
  bool attached() const;
  Tensor& tensor() const { return blob->tensor(diff); }
};

/// What numpy takes the memory from.
struct ViewBuffer {
  std::shared_ptr<ViewState> state;
  void* data;
  size_t bytes;
};

/// The ElementType of what numpy.dtype() takes; throws TypeError for types that blobs do not have.
ElementType ElementTypeOf(const py::object& dtype);

/// The extents of a shape, given one by one or as one sequence. Throws TypeError for what is no
/// whole number and ValueError for one that is out of range.
std::vector<int> ExtentsOf(const py::args& args);
/// The same of one sequence; messages name what it was given for.
std::vector<int> ShapeOf(const py::handle& extents, const std::string& what);
/// Shapes by the names of blobs; messages say "`what`: an extent of 'data'".
std::map<std::string, std::vector<int>> ShapesOf(const std::map<std::string, py::object>& given,
                                                 const std::string& what);

/// A blob of zeros that no net knows.
std::shared_ptr<BlobRef> NewBlob(const std::vector<int>& shape);

/// A shape as Python has it.
py::tuple ShapeTuple(const std::vector<int>& shape);

void BindBlob(py::module_& module);

}  // namespace caffe::pycaffe

#endif  // CAFFE_PYTHON_VIEWS_HPP_
