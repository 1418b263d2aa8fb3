#include "caffe/kernels/permutohedral_lattice.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "caffe/error.hpp"
#include "caffe/kernels/parallel.hpp"

namespace caffe::kernels {
namespace {

/// Numbers grid points, by their integer coordinates, in order of first use.
class VertexTable {
 public:
  explicit VertexTable(int coordinates) : coordinates_(coordinates), slots_(1024, kNone) {}

  /// The number of the vertex at `key`, which is created if necessary.
  int Insert(const int* key) {
    size_t slot = SlotOf(key);
    if (slots_[slot] != kNone) return slots_[slot];
    Require(size() < size_t(std::numeric_limits<int>::max()),
            "the filter's lattice has too many vertices");
    const int vertex = static_cast<int>(size());
    slots_[slot] = vertex;
    keys_.insert(keys_.end(), key, key + coordinates_);
    if (2 * size() > slots_.size()) Grow();
    return vertex;
  }
  /// -1 if there is none.
  int Find(const int* key) const { return slots_[SlotOf(key)]; }

  const int* key(size_t vertex) const { return keys_.data() + vertex * coordinates_; }
  size_t size() const { return keys_.size() / coordinates_; }

 private:
  static constexpr int kNone = -1;

  size_t SlotOf(const int* key) const {
    uint64_t hash = 0;
    for (int i = 0; i < coordinates_; ++i) {
      hash = (hash ^ static_cast<uint32_t>(key[i])) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;
    }
    const size_t mask = slots_.size() - 1;
    for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
      const int vertex = slots_[slot];
      if (vertex == kNone || std::equal(key, key + coordinates_, this->key(vertex))) return slot;
    }
  }

  void Grow() {
    slots_.assign(2 * slots_.size(), kNone);
    for (size_t vertex = 0; vertex < size(); ++vertex) {
      slots_[SlotOf(key(vertex))] = static_cast<int>(vertex);
    }
  }

  const int coordinates_;
  std::vector<int> keys_;
  std::vector<int> slots_;
};

/// The simplex of the lattice around one point. The lattice lies in the plane of the d + 1
/// coordinates whose sum is 0; those of a vertex all have the same remainder modulo d + 1.
class Simplex {
 public:
  explicit Simplex(int dimensions)
      : d_(dimensions),
        place_(d_ + 1),
        rest_(d_ + 1),
        origin_(d_ + 1),
        order_(d_ + 1),
        rank_(d_ + 1),
        key_(d_ + 1) {}

  void Enclose(const double* feature) {
    Elevate(feature);
    FindOrigin();
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(),
                     [this](int a, int b) { return rest_[a] > rest_[b]; });
    for (int r = 0; r <= d_; ++r) rank_[order_[r]] = r;
  }

  /// The coordinates of the corner with remainder k, 0 to d.
  const int* Corner(int k) {
    for (int i = 0; i <= d_; ++i) {
      key_[i] = origin_[i] + k - (rank_[i] > d_ - k ? d_ + 1 : 0);
    }
    return key_.data();
  }

  /// That corner's share of the point; the shares of all corners add up to 1.
  double Weight(int k) const {
    const auto rest = [this](int rank) { return rest_[order_[rank]]; };
    return k == 0 ? 1 - (rest(0) - rest(d_)) / (d_ + 1)
                  : (rest(d_ - k) - rest(d_ - k + 1)) / (d_ + 1);
  }

 private:
  // Maps into the plane, by the orthogonal vectors (1, ..., 1, -i, 0, ..., 0), scaled so that
  // spreading, blurring and collecting have a total variance of 1.
  void Elevate(const double* feature) {
    const double scale = (d_ + 1) * std::sqrt(2 / 3.);
    double sum = 0;
    for (int i = d_; i > 0; --i) {
      const double along = feature[i - 1] * scale / std::sqrt(double(i) * (i + 1));
      place_[i] = sum - i * along;
      sum += along;
    }
    place_[0] = sum;
  }

  // The nearest vertex with remainder 0: all coordinates rounded, then those with the largest
  // rounding error adjusted until the sum is 0.
  void FindOrigin() {
    int sum = 0;
    for (int i = 0; i <= d_; ++i) {
      Require(std::fabs(place_[i]) < 1e8,
              "a point that is filtered has a place that is not finite, or too far away");
      origin_[i] = static_cast<int>(std::lround(place_[i] / (d_ + 1))) * (d_ + 1);
      sum += origin_[i];
    }
    for (int i = 0; i <= d_; ++i) rest_[i] = place_[i] - origin_[i];
    for (; sum != 0; sum += sum > 0 ? -(d_ + 1) : d_ + 1) {
      const int step = sum > 0 ? -(d_ + 1) : d_ + 1;
      const auto extreme = sum > 0 ? std::min_element(rest_.begin(), rest_.end())
                                   : std::max_element(rest_.begin(), rest_.end());
      origin_[extreme - rest_.begin()] += step;
      *extreme -= step;
    }
  }

  const int d_;
  std::vector<double> place_, rest_;  // rest: place - origin
  std::vector<int> origin_, order_, rank_, key_;
};

}  // namespace

PermutohedralLattice::PermutohedralLattice(int dimensions, size_t points, const double* features)
    : dimensions_(dimensions), points_(points) {
  const int corners = dimensions + 1;
  corners_.reserve(points * corners);
  weights_.reserve(points * corners);
  VertexTable table(dimensions);  // the last coordinate follows from the others
  Simplex simplex(dimensions);
  for (size_t p = 0; p < points; ++p) {
    simplex.Enclose(features + p * dimensions);
    for (int k = 0; k < corners; ++k) {
      corners_.push_back(table.Insert(simplex.Corner(k)));
      weights_.push_back(simplex.Weight(k));
    }
  }
  vertices_ = table.size();
  neighbours_.resize(2 * corners * vertices_);
  ParallelFor(vertices_, 1024, [&](size_t begin, size_t end) {
    std::vector<int> key(corners);
    for (size_t v = begin; v < end; ++v) {
      for (int axis = 0; axis < corners; ++axis) {
        for (const int side : {0, 1}) {
          const int sign = side == 0 ? 1 : -1;
          for (int i = 0; i < dimensions; ++i) {
            key[i] = table.key(v)[i] + sign * (i == axis ? -dimensions : 1);
          }
          const int found = table.Find(key.data());
          neighbours_[2 * (axis * vertices_ + v) + side] =
              found < 0 ? static_cast<int>(vertices_) : found;
        }
      }
    }
  });
}

template <typename T>
void PermutohedralLattice::Filter(size_t channels, const T* x, T* y, bool transposed) const {
  const int corners = dimensions_ + 1;
  ParallelFor(channels, 1, [&](size_t begin, size_t end) {
    std::vector<T> values(vertices_ + 1), blurred(vertices_ + 1, T(0));
    for (size_t c = begin; c < end; ++c) {
      std::fill(values.begin(), values.end(), T(0));
      for (size_t p = 0; p < points_; ++p) {
        for (int k = 0; k < corners; ++k) {
          values[corners_[p * corners + k]] += T(weights_[p * corners + k]) * x[c * points_ + p];
        }
      }
      for (int i = 0; i < corners; ++i) {
        const size_t axis = transposed ? corners - 1 - i : i;
        const int* neighbours = neighbours_.data() + 2 * axis * vertices_;
        for (size_t v = 0; v < vertices_; ++v) {
          const T around = values[neighbours[2 * v]] + values[neighbours[2 * v + 1]];
          blurred[v] = (values[v] + around / 2) / 2;
        }
        std::swap(values, blurred);
      }
      for (size_t p = 0; p < points_; ++p) {
        T sum = 0;
        for (int k = 0; k < corners; ++k) {
          sum += T(weights_[p * corners + k]) * values[corners_[p * corners + k]];
        }
        y[c * points_ + p] = sum;
      }
    }
  });
}

template void PermutohedralLattice::Filter(size_t, const float*, float*, bool) const;
template void PermutohedralLattice::Filter(size_t, const double*, double*, bool) const;

}  // namespace caffe::kernels
