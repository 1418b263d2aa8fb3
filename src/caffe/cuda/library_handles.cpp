// Handles of cuBLAS and cuRAND for custom layers; this library itself needs neither.
#include <cublas_v2.h>
#include <curand.h>

#include <map>

#include "caffe/context.hpp"
#include "caffe/util/math_functions.hpp"
#include "dynamic_library.hpp"

namespace caffe {
namespace {

void CheckBlas(cublasStatus_t status, const char* what) {
  Require(status == CUBLAS_STATUS_SUCCESS, what, ": cuBLAS says ", static_cast<int>(status));
}

void CheckRandom(curandStatus_t status, const char* what) {
  Require(status == CURAND_STATUS_SUCCESS, what, ": cuRAND says ", static_cast<int>(status));
}

struct BlasHandle {
  BlasHandle() { CheckBlas(CAFFE_CALL(Cublas, cublasCreate_v2, &value), "starting cuBLAS"); }
  ~BlasHandle() { CAFFE_CALL(Cublas, cublasDestroy_v2, value); }
  BlasHandle(const BlasHandle&) = delete;
  BlasHandle& operator=(const BlasHandle&) = delete;
  cublasHandle_t value = nullptr;
};

struct RandomGenerator {
  RandomGenerator() : source(Caffe::rng_stream()) {
    CheckRandom(CAFFE_CALL(Curand, curandCreateGenerator, &value, CURAND_RNG_PSEUDO_DEFAULT),
                "starting cuRAND");
    CheckRandom(CAFFE_CALL(Curand, curandSetPseudoRandomGeneratorSeed, value, caffe_rng_rand()),
                "seeding cuRAND");
  }
  ~RandomGenerator() { CAFFE_CALL(Curand, curandDestroyGenerator, value); }
  RandomGenerator(const RandomGenerator&) = delete;
  RandomGenerator& operator=(const RandomGenerator&) = delete;
  curandGenerator_t value = nullptr;
  Caffe::RNG source;  // that its seed was drawn from
};

cudaStream_t NativeStream() {
  return static_cast<cudaStream_t>(Context::Current().stream().handle());
}

}  // namespace

cublasContext* Caffe::cublas_handle() {
  static thread_local std::map<int, BlasHandle> handles;
  const cudaStream_t stream = NativeStream();  // first, it chooses the device
  BlasHandle& handle = handles[Context::Current().settings().device];
  CheckBlas(CAFFE_CALL(Cublas, cublasSetStream_v2, handle.value, stream), "choosing a stream");
  return handle.value;
}

curandGenerator_st* Caffe::curand_generator() {
  static thread_local std::map<int, RandomGenerator> generators;
  const cudaStream_t stream = NativeStream();
  const int device = Context::Current().settings().device;
  const auto found = generators.find(device);
  if (found != generators.end() && found->second.source.generator() != rng_stream().generator()) {
    generators.erase(found);
  }
  RandomGenerator& generator = generators[device];
  CheckRandom(CAFFE_CALL(Curand, curandSetStream, generator.value, stream), "choosing a stream");
  return generator.value;
}

}  // namespace caffe
