#include "caffe/layers/argmax_layer.hpp"

#include <functional>
#include <limits>

#include "caffe/kernels/parallel.hpp"
#include "caffe/layers/layer_shapes.hpp"

namespace caffe {
namespace {

/// The axis that is searched and the extents around it.
struct Search {
  size_t outer = 1, extent = 1, inner = 1;
};

Search SearchOf(const ArgMaxParameter& param, const Shape& bottom) {
  Search search;
  if (param.has_axis()) {
    const size_t axis = CheckedAxis("argmax_param: axis", param.axis(), bottom);
    search = {CountOf(bottom, 0, axis), static_cast<size_t>(bottom[axis]),
              CountOf(bottom, axis + 1, bottom.size())};
  } else {
    Require(!bottom.empty(), "ArgMax without axis takes a bottom of 1 axis or more");
    search = {static_cast<size_t>(bottom[0]), CountOf(bottom, 1, bottom.size()), 1};
  }
  Require(param.top_k() >= 1 && param.top_k() <= search.extent, Error::Field{"argmax_param"},
          ": top_k must be 1 to ", search.extent, ", the number of values that are searched, got ",
          param.top_k());
  return search;
}

std::vector<Shape> TopShapesOfArgmax(const LayerParameter& layer,
                                     const std::vector<Shape>& bottoms) {
  const ArgMaxParameter& param = layer.argmax_param();
  const Shape& bottom = bottoms.at(0);
  SearchOf(param, bottom);
  const int top_k = static_cast<int>(param.top_k());
  Shape top;
  if (param.has_axis()) {
    top = bottom;
    top[CheckedAxis("argmax_param: axis", param.axis(), bottom)] = top_k;
  } else {
    top.assign(std::max<size_t>(3, bottom.size()), 1);
    top[0] = bottom[0];
    top[1] = param.out_max_val() ? 2 : 1;
    top[2] = top_k;
  }
  return {top};
}

const bool argmax_registered = OperationTable::Add(Operation("ArgMax")
                                                       .Shapes(TopShapesOfArgmax)
                                                       .BackwardReads(Operation::kNothing)
                                                       .Native()
                                                       .FloatTops({0}));

/// What is not a number is smaller than all that are.
template <typename F>
F Rank(F value) {
  return value != value ? -std::numeric_limits<F>::infinity() : value;
}

}  // namespace

template <typename Dtype>
void ArgMaxLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
  out_max_val_ = this->layer_param_.argmax_param().out_max_val();
  top_k_ = this->layer_param_.argmax_param().top_k();
}

template <typename Dtype>
void ArgMaxLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(TopShapesOfArgmax(this->layer_param_, {bottom[0]->shape()})[0]);
}

template <typename Dtype>
void ArgMaxLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  const ArgMaxParameter& param = this->layer_param_.argmax_param();
  const Search search = SearchOf(param, bottom[0]->shape());
  const bool values_only = param.has_axis() && out_max_val_;
  const bool indices_first = !param.has_axis() && out_max_val_;
  Dtype* y = top[0]->template overwrite_cpu_data_as<Dtype>();
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    using F = AccumulatorType<T>;
    const T* x = bottom[0]->template cpu_data_as<T>();
    // Result number j of the column `inner` of `outer`.
    const auto put = [&](size_t outer, size_t inner, size_t j, F value, size_t index) {
      if (indices_first) {
        y[outer * 2 * top_k_ + j] = static_cast<Dtype>(index);
        y[outer * 2 * top_k_ + top_k_ + j] = static_cast<Dtype>(value);
      } else {
        y[(outer * top_k_ + j) * search.inner + inner] =
            values_only ? static_cast<Dtype>(value) : static_cast<Dtype>(index);
      }
    };
    const size_t grain = std::max<size_t>(1, (1 << 14) / search.extent);
    kernels::ParallelFor(search.outer * search.inner, grain, [&](size_t begin, size_t end) {
      std::vector<std::pair<F, size_t>> ranked(top_k_ > 1 ? search.extent : 0);
      for (size_t column = begin; column < end; ++column) {
        const size_t outer = column / search.inner, inner = column % search.inner;
        const T* first = x + outer * search.extent * search.inner + inner;
        if (top_k_ == 1) {
          size_t best = 0;
          F largest = Rank(static_cast<F>(first[0]));
          for (size_t i = 1; i < search.extent; ++i) {
            const F value = Rank(static_cast<F>(first[i * search.inner]));
            if (value < largest) continue;
            largest = value;
            best = i;
          }
          put(outer, inner, 0, static_cast<F>(first[best * search.inner]), best);
          continue;
        }
        for (size_t i = 0; i < search.extent; ++i) {
          ranked[i] = {Rank(static_cast<F>(first[i * search.inner])), i};
        }
        std::partial_sort(ranked.begin(), ranked.begin() + top_k_, ranked.end(),
                          std::greater<std::pair<F, size_t>>());
        for (size_t j = 0; j < top_k_; ++j) {
          const size_t i = ranked[j].second;
          put(outer, inner, j, static_cast<F>(first[i * search.inner]), i);
        }
      }
    });
  });
}

INSTANTIATE_CLASS(ArgMaxLayer);
REGISTER_LAYER_CLASS(ArgMax);

}  // namespace caffe
