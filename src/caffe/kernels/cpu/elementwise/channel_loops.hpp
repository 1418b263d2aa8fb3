#ifndef CAFFE_KERNELS_CPU_CHANNEL_LOOPS_HPP_
#define CAFFE_KERNELS_CPU_CHANNEL_LOOPS_HPP_

#include <stddef.h>
#include <stdint.h>

namespace caffe::kernels {

/// Serial loops over rows of n numbers each, one behind the other, with coefficients and sums for
/// each of the n places: pixels of n channels, or several pixels that make a row together. Indices
/// say how numbers are stored: STORED_FLOAT or STORED_HALF. y may be x or z.
struct ChannelLoops {
  /// y = a x + b.
  void (*affine[2])(size_t rows, size_t n, const float* a, const float* b, const void* x, void* y);
  /// y = a x + b and z = c x + d; z may be x, y not.
  void (*affine_twice[2])(size_t rows, size_t n, const float* a, const float* b, const float* c,
                          const float* d, const void* x, void* y, void* z);
  /// y = a x + b z + d; [of x and y][of z].
  void (*combine[2][2])(size_t rows, size_t n, const float* a, const void* x, const float* b,
                        const void* z, const float* d, void* y);
  /// sum += x, dot += x z; [of x][of z]. `scratch` has room for 2 n floats.
  void (*sums[2][2])(size_t rows, size_t n, const void* x, const void* z, float* scratch,
                     double* sum, double* dot);
  /// sum += x.
  void (*sum[2])(size_t rows, size_t n, const void* x, float* scratch, double* sum);
  /// Mean and sum of squared differences from it of `before` rows become those of all, row by row
  /// of places. `scratch` has room for 3 n floats.
  void (*moments[2])(size_t rows, size_t n, const void* x, size_t before, float* scratch,
                     double* mean, double* squares);

  /// y = x^-0.75 to 1e-6 of it, for x up to the largest float; infinity counts as that.
  void (*power)(size_t n, const float* x, float* y);

  /// Part of a window of pixels: `rows` by `columns`, n channels of each, `pitch` elements from one
  /// row to the next and `pixel` from one column to the next. The first one is position `first` of
  /// a window that has `width` positions in a row.
  struct Window {
    int rows, columns;
    size_t pitch, pixel, n;
    int first, width;
  };
  /// Such windows side by side: each begins `step` elements after the one before, its results
  /// `y_pixel` and its mask `mask_pixel` after.
  struct Windows : Window {
    int outputs;
    size_t step, y_pixel, mask_pixel;
  };
  /// y = the largest numbers, mask = the positions of the first of equal ones, -1 where there is
  /// none; [of x and y][bytes, or int32_t].
  void (*max_windows[2][2])(const Windows& windows, const void* x, void* y, void* mask);
  /// y = the sum divided by `size`.
  void (*average_window[2])(const Window& window, float size, const void* x, void* y);

  /// A row of `columns` input pixels of n channels, and the windows that it lies in: `rows` rows of
  /// them, whose gradients begin at `at`; the row's first position in each is `first`. The pixel of
  /// a column lies in the windows [begin[column], end[column]) of each row, where window w begins
  /// w * stride - pad columns after the image.
  struct CoveredRow {
    size_t n;
    int columns;
    const int *begin, *end;
    int stride, pad;
    int rows;
    const size_t* at;
    const int* first;
    const float *heights,
        *widths;  // windows' sizes for means: of each row, and of each of its windows
  };
  /// dx = the sum of the gradients whose mask says the pixel's position.
  void (*mask_gradient[2][2])(const CoveredRow& row, const void* dy, const void* mask, void* dx);
  /// dx = the sum of dy / (height * width).
  void (*average_gradient[2])(const CoveredRow& row, const void* dy, void* dx);
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_CHANNEL_LOOPS_HPP_
