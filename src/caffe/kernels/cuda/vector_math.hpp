#ifndef CAFFE_KERNELS_CUDA_VECTOR_MATH_HPP_
#define CAFFE_KERNELS_CUDA_VECTOR_MATH_HPP_

#include <cstddef>
#include <cstdint>

#include "caffe/device.hpp"

namespace caffe::cuda {

// Behind the caffe_gpu_ functions (util/math_functions.hpp): n elements of device memory; y may be
// one of the inputs. T: float or double.

enum class Unary { ABSOLUTE, EXPONENTIAL, LOGARITHM, SQUARE_ROOT, SIGN, SIGN_BIT };
template <typename T>
void Map(Stream& stream, Unary function, int n, const T* x, T* y);

enum class Binary { ADD, SUBTRACT, MULTIPLY, DIVIDE };
template <typename T>
void Map(Stream& stream, Binary function, int n, const T* a, const T* b, T* y);

/// y = x + value.
template <typename T>
void AddScalar(Stream& stream, int n, T value, const T* x, T* y);
/// y = x^exponent.
template <typename T>
void Power(Stream& stream, int n, const T* x, T exponent, T* y);
void FillBytes(Stream& stream, size_t n, unsigned char value, void* y);
/// y = value; also for int, unsigned and the like.
template <typename T>
void FillIntegers(Stream& stream, int n, T value, T* y);

// Random numbers by Philox (philox.hpp): the i-th depends only on the seed and i.

void RandomBits(Stream& stream, uint64_t seed, int n, uint32_t* y);
/// In (low, high].
template <typename T>
void RandomUniform(Stream& stream, uint64_t seed, int n, T low, T high, T* y);
template <typename T>
void RandomGaussian(Stream& stream, uint64_t seed, int n, T mean, T deviation, T* y);
/// 1 with the given probability, else 0.
void RandomBernoulli(Stream& stream, uint64_t seed, int n, double probability, int* y);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_VECTOR_MATH_HPP_
