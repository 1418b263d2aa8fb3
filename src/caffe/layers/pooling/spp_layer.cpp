#include "caffe/layers/spp_layer.hpp"

#include "caffe/context.hpp"
#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/cuda/resize.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/kernels/pooling.hpp"

namespace caffe {
namespace {

/// Extent, stride and padding of windows that cut an axis into `bins`. What the windows reach
/// beyond the image is padding, the larger half in front.
struct Windows {
  int kernel, pad;
};

Windows WindowsOf(int extent, int bins, int level) {
  Windows windows;
  windows.kernel = (extent + bins - 1) / bins;
  const int beyond = windows.kernel * bins - extent;
  windows.pad = (beyond + 1) / 2;
  Require(windows.pad < windows.kernel, Error::Field{"spp_param"}, ": level ", level,
          " of pyramid_height cuts ", "an image of extent ", extent, " into ", bins,
          " windows, some of which would be empty",
          Error::Remedy{"use fewer levels or larger images"});
  return windows;
}

std::vector<kernels::PoolingShape> LevelsOf(const SPPParameter& param, const Shape& bottom) {
  Require(bottom.size() == 4, "SPP takes a bottom of 4 axes (N, C, H, W), not ",
          ShapeString(bottom));
  Require(param.pyramid_height() >= 1 && param.pyramid_height() <= 15, Error::Field{"spp_param"},
          ": pyramid_height, the number of levels, must be 1 to 15, got ", param.pyramid_height());
  std::vector<kernels::PoolingShape> levels;
  for (int level = 0; level < static_cast<int>(param.pyramid_height()); ++level) {
    kernels::PoolingShape shape;
    shape.planes = size_t(bottom[0]) * bottom[1];
    shape.height = bottom[2];
    shape.width = bottom[3];
    shape.pooled_height = shape.pooled_width = 1 << level;
    const Windows rows = WindowsOf(bottom[2], 1 << level, level);
    const Windows columns = WindowsOf(bottom[3], 1 << level, level);
    shape.kernel_h = shape.stride_h = rows.kernel;
    shape.kernel_w = shape.stride_w = columns.kernel;
    shape.pad_h = rows.pad;
    shape.pad_w = columns.pad;
    levels.push_back(shape);
  }
  return levels;
}

std::vector<Shape> TopShapesOfSpp(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms.at(0);
  const auto levels = LevelsOf(layer.spp_param(), bottom);
  if (levels.size() == 1) return {{bottom[0], bottom[1], 1, 1}};
  int64_t outputs = 0;
  for (const auto& level : levels) outputs += bottom[1] * int64_t(level.output_plane());
  Require(outputs <= INT_MAX, "SPP: the levels have more than 2^31 - 1 outputs");
  return {{bottom[0], static_cast<int>(outputs)}};
}

const bool spp_registered = OperationTable::Add(Operation("SPP")
                                                    .Shapes(TopShapesOfSpp)
                                                    .BackwardReads(Operation::kBottomData)
                                                    .Native()
                                                    .Homogeneous());

/// Copies `num` pieces of `length` elements from each `from_stride` to each `to_stride`.
template <typename T>
void CopyPieces(size_t num, size_t length, const T* from, size_t from_stride, T* to,
                size_t to_stride) {
  for (size_t n = 0; n < num; ++n) std::copy_n(from + n * from_stride, length, to + n * to_stride);
}

}  // namespace

template <typename Dtype>
void SPPLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
  Require(this->layer_param_.spp_param().pool() != SPPParameter_PoolMethod_STOCHASTIC,
          Error::Field{"spp_param"}, ": pool STOCHASTIC is not available",
          Error::Remedy{"use MAX or AVE"});
}

template <typename Dtype>
void SPPLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(TopShapesOfSpp(this->layer_param_, {bottom[0]->shape()})[0]);
}

#ifndef CPU_ONLY
template <typename Dtype>
cuda::Pyramid SPPLayer<Dtype>::GpuPyramid(const Blob<Dtype>& bottom) const {
  const SPPParameter& param = this->layer_param_.spp_param();
  cuda::Pyramid pyramid;
  pyramid.num = bottom.shape(0);
  pyramid.channels = bottom.shape(1);
  pyramid.height = bottom.shape(2);
  pyramid.width = bottom.shape(3);
  pyramid.maximum = param.pool() == SPPParameter_PoolMethod_MAX;
  pyramid.outputs = pyramid.count = 0;
  for (const kernels::PoolingShape& level : LevelsOf(param, bottom.shape())) {
    pyramid.level[pyramid.count++] = {level.pooled_height, level.kernel_h, level.kernel_w,
                                      level.pad_h,         level.pad_w,    pyramid.outputs};
    pyramid.outputs += bottom.shape(1) * static_cast<int>(level.output_plane());
  }
  return pyramid;
}
#endif

template <typename Dtype>
void SPPLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  const SPPParameter& param = this->layer_param_.spp_param();
  const size_t num = bottom[0]->shape(0), outputs = top[0]->count(1);
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template cpu_data_as<T>();
    T* y = top[0]->template overwrite_cpu_data_as<T>();
    for (const kernels::PoolingShape& level : LevelsOf(param, bottom[0]->shape())) {
      const size_t length = bottom[0]->shape(1) * level.output_plane();
      Workspace::Buffer<T> pooled(Context::Current().workspace(), num * length);
      if (param.pool() == SPPParameter_PoolMethod_MAX) {
        kernels::MaxPoolingForward<T, int>(level, x, pooled.get(), nullptr);
      } else {
        kernels::AveragePoolingForward(level, x, pooled.get());
      }
      CopyPieces<T>(num, length, pooled.get(), length, y, outputs);
      y += length;
    }
  });
}

// Where the maxima lie is found again rather than kept.
template <typename Dtype>
void SPPLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                   const vector<bool>& propagate_down,
                                   const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const SPPParameter& param = this->layer_param_.spp_param();
  const size_t num = bottom[0]->shape(0), outputs = top[0]->count(1), count = bottom[0]->count();
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    using G = AccumulatorType<D>;
    Workspace& workspace = Context::Current().workspace();
    const D* dy = top[0]->template cpu_diff_as<D>();
    Workspace::Buffer<G> sum(workspace, count), part(workspace, count);
    kernels::Set<G>(count, 0, sum.get());
    for (const kernels::PoolingShape& level : LevelsOf(param, bottom[0]->shape())) {
      const size_t length = bottom[0]->shape(1) * level.output_plane();
      Workspace::Buffer<D> piece(workspace, num * length);
      Workspace::Buffer<G> above(workspace, num * length);
      CopyPieces<D>(num, length, dy, outputs, piece.get(), length);
      kernels::Affine(num * length, G(1), G(0), piece.get(), above.get());
      if (param.pool() == SPPParameter_PoolMethod_MAX) {
        Workspace::Buffer<T> pooled(workspace, num * length);
        Workspace::Buffer<int> index(workspace, num * length);
        kernels::MaxPoolingForward(level, bottom[0]->template cpu_data_as<T>(), pooled.get(),
                                   index.get());
        kernels::MaskPoolingBackward<G>(level, above.get(), index.get(), part.get());
      } else {
        kernels::AveragePoolingBackward<G>(level, above.get(), part.get());
      }
      kernels::Axpy(count, G(1), part.get(), sum.get());
      dy += length;
    }
    kernels::Affine(count, G(1), G(0), sum.get(), bottom[0]->template overwrite_cpu_diff_as<D>());
  });
}

INSTANTIATE_CLASS(SPPLayer);
REGISTER_LAYER_CLASS(SPP);

}  // namespace caffe
