#ifndef CAFFE_MULTIPLIER_HPP_
#define CAFFE_MULTIPLIER_HPP_

#include <cstdint>

// The numbers that engines of integers alone multiply by: B. Jacob et al., Quantization and
// Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference (arXiv:1712.05877),
// section 2.2.
namespace caffe {
namespace kernels {

/// How a product of 32 by 32 bits is rounded to 32 bits.
enum class Rounding : uint8_t {
  DOUBLE,  ///< the paper's: to the nearest after the multiplication, halves up; then to the nearest
           ///< after the shift to the right, halves away from zero
  SINGLE   ///< once, to the nearest, halves up, as LiteRT's newer kernels do
};

/// A real number as an integer: value * 2^(shift - 31), `value` in [2^30, 2^31), or 0 for 0.
/// `shift` is positive for numbers of 1 and more.
struct Multiplier {
  int32_t value = 0;
  int32_t shift = 0;
};

/// The multiplier nearest to `real`; 0 for what is below 2^-32. Throws Error for numbers that are
/// negative, not finite, or above 2^30.
Multiplier MultiplierOf(double real);

/// The number that a multiplier stands for.
double RealOf(Multiplier multiplier);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_MULTIPLIER_HPP_
