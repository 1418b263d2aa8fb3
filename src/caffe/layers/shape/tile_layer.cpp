#include "caffe/layers/tile_layer.hpp"

#include "caffe/context.hpp"
#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/layers/layer_shapes.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfTile(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  const TileParameter& param = layer.tile_param();
  Shape top = bottoms.at(0);
  const int axis = CheckedAxis("tile_param: axis", param.axis(), top);
  Require(param.has_tiles() && param.tiles() > 0, Error::Field{"tile_param"},
          ": tiles is how often to repeat, at least 1, got ", param.tiles());
  top[axis] = CheckedExtent("Tile", int64_t(top[axis]) * param.tiles());
  return {top};
}

const bool tile_registered = OperationTable::Add(Operation("Tile")
                                                     .Shapes(TopShapesOfTile)
                                                     .BackwardReads(Operation::kNothing)
                                                     .Native()
                                                     .Homogeneous()
                                                     .TypeAgnostic());

}  // namespace

template <typename Dtype>
void TileLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                               const vector<Blob<Dtype>*>& top) {
  const TileParameter& param = this->layer_param_.tile_param();
  top[0]->Reshape(TopShapesOfTile(this->layer_param_, {bottom[0]->shape()})[0]);
  const int axis = bottom[0]->CanonicalAxisIndex(param.axis());
  tiles_ = param.tiles();
  outer_dim_ = bottom[0]->count(0, axis);
  inner_dim_ = bottom[0]->count(axis);
}

template <typename Dtype>
void TileLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template cpu_data_as<T>();
    T* y = top[0]->template overwrite_cpu_data_as<T>();
    for (size_t i = 0; i < outer_dim_; ++i, x += inner_dim_) {
      for (size_t tile = 0; tile < tiles_; ++tile) y = std::copy_n(x, inner_dim_, y);
    }
  });
}

template <typename Dtype>
void TileLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    using G = AccumulatorType<D>;
    const D* dy = top[0]->template cpu_diff_as<D>();
    D* dx = bottom[0]->template overwrite_cpu_diff_as<D>();
    Workspace::Buffer<G> sum(Context::Current().workspace(), inner_dim_);
    for (size_t i = 0; i < outer_dim_; ++i, dx += inner_dim_) {
      kernels::Set<G>(inner_dim_, 0, sum.get());
      for (size_t tile = 0; tile < tiles_; ++tile, dy += inner_dim_) {
        kernels::Axpy(inner_dim_, G(1), dy, sum.get());
      }
      kernels::Affine(inner_dim_, G(1), G(0), sum.get(), dx);
    }
  });
}

INSTANTIATE_CLASS(TileLayer);
REGISTER_LAYER_CLASS(Tile);

}  // namespace caffe
