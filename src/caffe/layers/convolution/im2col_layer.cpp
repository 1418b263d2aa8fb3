#include "caffe/layers/im2col_layer.hpp"

#include "caffe/kernels/convolution.hpp"
#include "caffe/layers/base_conv_layer.hpp"
#include "caffe/layers/layer_shapes.hpp"

namespace caffe {
namespace {

kernels::ConvolutionShape ShapeOf(const ConvolutionParameter& param, const Shape& bottom) {
  const int axis = CheckedAxis("convolution_param: axis", param.axis(), bottom);
  const Shape input(bottom.begin() + axis + 1, bottom.end());
  Require(!input.empty(), "convolution_param: Im2col has windows of the axes behind axis ", axis,
          ", of which a bottom of shape ", ShapeString(bottom), " has none");
  const ConvolutionGeometry geometry =
      ReadConvolutionGeometry(param, static_cast<int>(input.size()));
  kernels::ConvolutionShape shape;
  shape.channels = bottom[axis];
  shape.input = input;
  shape.kernel = geometry.kernel;
  shape.stride = geometry.stride;
  shape.pad = geometry.pad;
  shape.dilation = geometry.dilation;
  for (size_t i = 0; i < input.size(); ++i) {
    const int64_t kernel = int64_t(shape.dilation[i]) * (shape.kernel[i] - 1) + 1;
    const int64_t room = int64_t(input[i]) + 2 * int64_t(shape.pad[i]);
    Require(kernel <= room, "convolution_param: the kernel covers ", kernel,
            " positions, the padded bottom has ", room);
    shape.output.push_back(CheckedExtent("Im2col", (room - kernel) / shape.stride[i] + 1));
  }
  return shape;
}

std::vector<Shape> TopShapesOfIm2col(const LayerParameter& layer,
                                     const std::vector<Shape>& bottoms) {
  const ConvolutionParameter& param = layer.convolution_param();
  const kernels::ConvolutionShape shape = ShapeOf(param, bottoms.at(0));
  const int axis = CheckedAxis("convolution_param: axis", param.axis(), bottoms[0]);
  Shape top(bottoms[0].begin(), bottoms[0].begin() + axis);
  double rows = shape.channels;
  for (const int extent : shape.kernel) rows *= extent;
  Require(rows <= INT_MAX, "Im2col: the kernel and the channels make more than 2^31 - 1 rows");
  top.push_back(static_cast<int>(rows));
  top.insert(top.end(), shape.output.begin(), shape.output.end());
  return {top};
}

const bool im2col_registered = OperationTable::Add(Operation("Im2col")
                                                       .Shapes(TopShapesOfIm2col)
                                                       .BackwardReads(Operation::kNothing)
                                                       .Native()
                                                       .Homogeneous());

}  // namespace

template <typename Dtype>
void Im2colLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  const ConvolutionParameter& param = this->layer_param_.convolution_param();
  shape_ = std::make_shared<const kernels::ConvolutionShape>(ShapeOf(param, bottom[0]->shape()));
  num_ = bottom[0]->count(0, bottom[0]->CanonicalAxisIndex(param.axis()));
  top[0]->Reshape(TopShapesOfIm2col(this->layer_param_, {bottom[0]->shape()})[0]);
}

template <typename Dtype>
void Im2colLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* image = bottom[0]->template cpu_data_as<T>();
    T* column = top[0]->template overwrite_cpu_data_as<T>();
    for (size_t n = 0; n < num_; ++n) {
      kernels::Im2col(*shape_, shape_->channels, image, column);
      image += shape_->input_size();
      column += shape_->column_rows() * shape_->output_spatial();
    }
  });
}

template <typename Dtype>
void Im2colLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    const D* column = top[0]->template cpu_diff_as<D>();
    D* image = bottom[0]->template overwrite_cpu_diff_as<D>();
    for (size_t n = 0; n < num_; ++n) {
      kernels::Col2im(*shape_, shape_->channels, column, image);
      image += shape_->input_size();
      column += shape_->column_rows() * shape_->output_spatial();
    }
  });
}

INSTANTIATE_CLASS(Im2colLayer);
REGISTER_LAYER_CLASS(Im2col);

}  // namespace caffe
