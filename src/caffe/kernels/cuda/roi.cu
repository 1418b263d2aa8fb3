#include "caffe/kernels/cuda/roi.hpp"

#include "caffe/kernels/instances.hpp"
#include "launch.hpp"

namespace caffe::cuda {
namespace {

/// A part of an axis.
struct Span {
  int begin, end;
  const float* weight;  ///< of `begin`

  __host__ __device__ Span(const RoiParts& axis, int region, int part) {
    const int number = region * axis.parts + part, first = axis.start[number];
    begin = axis.begin[number];
    end = begin + axis.start[number + 1] - first;
    weight = axis.weight + first;
  }
  __host__ __device__ bool Holds(int position) const { return position >= begin && position < end; }
};

/// The indices of a result (region, channel, row, column).
struct Bin {
  int region, channel, row, column;
  __host__ __device__ Bin(const RoiBins& bins, int channels, int i)
      : region(i / bins.columns.parts / bins.rows.parts / channels),
        channel(i / bins.columns.parts / bins.rows.parts % channels),
        row(i / bins.columns.parts % bins.rows.parts),
        column(i % bins.columns.parts) {}
};

__host__ __device__ inline int PlaneAt(const RoiBins& bins, int region, int channel) {
  return (bins.item[region] * bins.channels + channel) * bins.height * bins.width;
}

}  // namespace

template <typename T>
void RoiMaxForward(Stream& stream, const RoiBins& bins, const T* x, T* y, int* index) {
  const int count = bins.regions * bins.channels * bins.rows.parts * bins.columns.parts;
  ForEach(stream, count, [=] __host__ __device__(int i) {
    const Bin bin(bins, bins.channels, i);
    const Span rows(bins.rows, bin.region, bin.row);
    const Span columns(bins.columns, bin.region, bin.column);
    const T* plane = x + PlaneAt(bins, bin.region, bin.channel);
    int best = -1;
    Math<T> largest = 0;
    for (int h = rows.begin; h < rows.end; ++h) {
      for (int w = columns.begin; w < columns.end; ++w) {
        const Math<T> value = Load(plane + h * bins.width + w);
        if (best >= 0 && !(value > largest)) continue;
        best = h * bins.width + w;
        largest = value;
      }
    }
    Store(y + i, largest);
    if (index) index[i] = best;
  });
}

template <typename D>
void RoiMaxBackward(Stream& stream, const RoiBins& bins, const D* dy, const int* index, D* dx) {
  const int count = bins.items * bins.channels * bins.height * bins.width;
  ForEach(stream, count, [=] __host__ __device__(int i) {
    const int position = i % (bins.height * bins.width);
    const int h = position / bins.width, w = position % bins.width;
    const int plane = i / (bins.height * bins.width);
    const int item = plane / bins.channels, channel = plane % bins.channels;
    Math<D> sum = 0;
    for (int region = 0; region < bins.regions; ++region) {
      if (bins.item[region] != item) continue;
      for (int row = 0; row < bins.rows.parts; ++row) {
        if (!Span(bins.rows, region, row).Holds(h)) continue;
        const int first =
            ((region * bins.channels + channel) * bins.rows.parts + row) * bins.columns.parts;
        for (int column = 0; column < bins.columns.parts; ++column) {
          if (!Span(bins.columns, region, column).Holds(w)) continue;
          if (index[first + column] == position) sum += Load(dy + first + column);
        }
      }
    }
    Store(dx + i, sum);
  });
}

template <typename T>
void RoiSumForward(Stream& stream, const RoiBins& bins, bool position_sensitive, const T* x, T* y) {
  const int parts = bins.rows.parts * bins.columns.parts;
  const int channels = position_sensitive ? bins.channels / parts : bins.channels;
  ForEach(stream, bins.regions * channels * parts, [=] __host__ __device__(int i) {
    const Bin bin(bins, channels, i);
    const Span rows(bins.rows, bin.region, bin.row);
    const Span columns(bins.columns, bin.region, bin.column);
    const int channel = position_sensitive ? bin.channel * parts + i % parts : bin.channel;
    const T* plane = x + PlaneAt(bins, bin.region, channel);
    Math<T> sum = 0;
    for (int h = rows.begin; h < rows.end; ++h) {
      Math<T> of_row = 0;
      for (int w = columns.begin; w < columns.end; ++w) {
        of_row += columns.weight[w - columns.begin] * Load(plane + h * bins.width + w);
      }
      sum += rows.weight[h - rows.begin] * of_row;
    }
    Store(y + i, sum);
  });
}

template <typename D>
void RoiSumBackward(Stream& stream, const RoiBins& bins, bool position_sensitive, const D* dy,
                    D* dx) {
  const int parts = bins.rows.parts * bins.columns.parts;
  const int channels = position_sensitive ? bins.channels / parts : bins.channels;
  const int count = bins.items * bins.channels * bins.height * bins.width;
  ForEach(stream, count, [=] __host__ __device__(int i) {
    const int w = i % bins.width, h = i / bins.width % bins.height;
    const int plane = i / bins.width / bins.height;
    const int item = plane / bins.channels, channel = plane % bins.channels;
    // A position-sensitive channel is read by one bin of each region.
    const int only = position_sensitive ? channel % parts : -1;
    const int top = position_sensitive ? channel / parts : channel;
    Math<D> sum = 0;
    for (int region = 0; region < bins.regions; ++region) {
      if (bins.item[region] != item) continue;
      for (int row = 0; row < bins.rows.parts; ++row) {
        if (only >= 0 && row != only / bins.columns.parts) continue;
        const Span rows(bins.rows, region, row);
        if (!rows.Holds(h)) continue;
        const int first = ((region * channels + top) * bins.rows.parts + row) * bins.columns.parts;
        for (int column = 0; column < bins.columns.parts; ++column) {
          if (only >= 0 && column != only % bins.columns.parts) continue;
          const Span columns(bins.columns, region, column);
          if (!columns.Holds(w)) continue;
          sum += rows.weight[h - rows.begin] *
                 (columns.weight[w - columns.begin] * Load(dy + first + column));
        }
      }
    }
    Store(dx + i, sum);
  });
}

#define INSTANTIATE(T)                                                             \
  template void RoiMaxForward(Stream&, const RoiBins&, const T*, T*, int*);        \
  template void RoiMaxBackward(Stream&, const RoiBins&, const T*, const int*, T*); \
  template void RoiSumForward(Stream&, const RoiBins&, bool, const T*, T*);        \
  template void RoiSumBackward(Stream&, const RoiBins&, bool, const T*, T*);
CAFFE_FOR_EACH_FLOAT(INSTANTIATE)

}  // namespace caffe::cuda
