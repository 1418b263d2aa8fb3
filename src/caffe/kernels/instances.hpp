#ifndef CAFFE_KERNELS_INSTANCES_HPP_
#define CAFFE_KERNELS_INSTANCES_HPP_

// The types that kernels are instantiated for, for lists of explicit instantiations at the ends of
// their files. M(types...) is a macro whose text ends in a semicolon.

/// M(type) for each type of values that nets train in.
#define CAFFE_FOR_EACH_FLOAT(M) M(float) M(double) M(float16)

/// M(T, D) for each pair of those that kernels may mix, as values and their gradients: double is
/// paired with itself alone.
#define CAFFE_FOR_EACH_PAIR(M) \
  M(double, double) M(float, float) M(float, float16) M(float16, float) M(float16, float16)

#endif  // CAFFE_KERNELS_INSTANCES_HPP_
