#ifndef CAFFE_PYTHON_PYTHON_LAYER_HPP_
#define CAFFE_PYTHON_PYTHON_LAYER_HPP_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "handles.hpp"

namespace caffe::pycaffe {

/// A layer that an object of a Python class computes: a subclass of caffe.Layer with the methods
/// setup, reshape, forward(bottom, top) and backward(top, propagate_down, bottom).
///
/// The Python object owns this one, and the net owns the Python object. So the object may outlive
/// its net; the blobs that the net lent it then say that they are gone.
template <typename Dtype>
class PythonLayer : public Layer<Dtype> {
 public:
  explicit PythonLayer(const LayerParameter& param)
      : Layer<Dtype>(param), views_(std::make_shared<ViewGroup>()) {}
  const char* type() const override { return "Python"; }
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;

  const std::shared_ptr<ViewGroup>& views() const { return views_; }
  /// The Python object that this belongs to; borrowed.
  void set_self(py::handle self) { self_ = self; }
  py::handle self() const { return self_; }
  /// The net is gone, and its blobs with it.
  void ForgetBlobs();

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;

 private:
  struct LentBlob {
    std::shared_ptr<BlobRefOf<Dtype>> ref;
    py::object object;
  };
  void TakeParameters(const vector<shared_ptr<Blob<Dtype>>>& given);
  py::list Lend(const vector<Blob<Dtype>*>& blobs);
  bool Overrides(const char* method) const;
  template <typename... Arguments>
  void Call(const char* method, const Arguments&... arguments);

  const std::shared_ptr<ViewGroup> views_;
  py::handle self_;
  std::map<Blob<Dtype>*, LentBlob> lent_;
};

/// What an object of a subclass of caffe.Layer holds: a PythonLayer of the Dtype that its maker
/// wants.
std::shared_ptr<LayerHandle> MakePythonLayerHandle(const LayerParameter& param);

/// Says that the interpreter is a guest of a C++ program: exceptions of Python layers become
/// caffe::Error with the traceback as text.
void SetEmbedded();

}  // namespace caffe::pycaffe

#endif  // CAFFE_PYTHON_PYTHON_LAYER_HPP_
