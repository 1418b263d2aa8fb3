#ifndef CAFFE_KERNELS_PERMUTOHEDRAL_LATTICE_HPP_
#define CAFFE_KERNELS_PERMUTOHEDRAL_LATTICE_HPP_

#include <cstddef>
#include <vector>

namespace caffe::kernels {

/// An approximation of Gaussian filters between points in few dimensions, in time proportional to
/// the number of points (Adams, Baek and Davis, "Fast High-Dimensional Filtering Using the
/// Permutohedral Lattice", 2010): values are spread to the corners of the simplex around each
/// point, blurred along the lattice's axes, and collected again.
///
/// Only vertices near points exist, so that values in sparse regions are blurred a little less than
/// by a Gaussian.
class PermutohedralLattice {
 public:
  /// `features`: the position of point p, in units of the filter's standard deviation, at
  /// features[p * dimensions], ..., features[p * dimensions + dimensions - 1]. Throws Error for
  /// positions that are not finite or farther than 10^6 from the origin.
  PermutohedralLattice(int dimensions, size_t points, const double* features);

  /// y_p = sum over r of K(p, r) x_r for each of `channels` planes of `points` numbers, where K(p,
  /// r) is close to exp(-|f_p - f_r|^2 / 2) up to a factor that is the same for all p and r. With
  /// `transposed`, K(r, p): it is not quite symmetric. T: float, double. May be in place.
  template <typename T>
  void Filter(size_t channels, const T* x, T* y, bool transposed = false) const;

  size_t points() const { return points_; }
  size_t vertices() const { return vertices_; }

 private:
  int dimensions_;
  size_t points_, vertices_ = 0;
  /// The corners of point p's simplex and their weights, at [p * (dimensions + 1) + k].
  std::vector<int> corners_;
  std::vector<double> weights_;
  /// The neighbours of vertex v along an axis, at [(axis * vertices + v) * 2] and the next; for a
  /// missing one `vertices`, where values are 0.
  std::vector<int> neighbours_;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_PERMUTOHEDRAL_LATTICE_HPP_
