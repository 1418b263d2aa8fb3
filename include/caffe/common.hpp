#ifndef CAFFE_COMMON_HPP_
#define CAFFE_COMMON_HPP_

#include "caffe/cpp17.hpp"

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <boost/shared_ptr.hpp>
#include <climits>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "caffe/error.hpp"

// Macros that programs and layers written for Caffe use.
#define STRINGIFY(m) #m
#define AS_STRING(m) STRINGIFY(m)

#define DISABLE_COPY_AND_ASSIGN(classname) \
 private:                                  \
  classname(const classname&);             \
  classname& operator=(const classname&)

#define INSTANTIATE_CLASS(classname)   \
  char gInstantiationGuard##classname; \
  template class classname<float>;     \
  template class classname<double>

// For the file that has a layer's Forward_gpu and Backward_gpu.
#define INSTANTIATE_LAYER_GPU_FORWARD(classname)                                      \
  template void classname<float>::Forward_gpu(const ::caffe::vector<Blob<float>*>&,   \
                                              const ::caffe::vector<Blob<float>*>&);  \
  template void classname<double>::Forward_gpu(const ::caffe::vector<Blob<double>*>&, \
                                               const ::caffe::vector<Blob<double>*>&)

#define INSTANTIATE_LAYER_GPU_BACKWARD(classname)                                      \
  template void classname<float>::Backward_gpu(const ::caffe::vector<Blob<float>*>&,   \
                                               const ::caffe::vector<bool>&,           \
                                               const ::caffe::vector<Blob<float>*>&);  \
  template void classname<double>::Backward_gpu(const ::caffe::vector<Blob<double>*>&, \
                                                const ::caffe::vector<bool>&,          \
                                                const ::caffe::vector<Blob<double>*>&)

#define INSTANTIATE_LAYER_GPU_FUNCS(classname) \
  INSTANTIATE_LAYER_GPU_FORWARD(classname);    \
  INSTANTIATE_LAYER_GPU_BACKWARD(classname)

#define NOT_IMPLEMENTED LOG(FATAL) << "Not Implemented Yet"

#ifdef CPU_ONLY
// In a build without CUDA a layer's _gpu functions answer with an Error at the first use.
#define NO_GPU \
  ::caffe::Fail("this libcaffe was built without CUDA: use CPU mode, or build with USE_CUDA=ON")

#define STUB_GPU(classname)                                                                      \
  template <typename Dtype>                                                                      \
  void classname<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) { \
    NO_GPU;                                                                                      \
  }                                                                                              \
  template <typename Dtype>                                                                      \
  void classname<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>&, const vector<bool>&,          \
                                      const vector<Blob<Dtype>*>&) {                             \
    NO_GPU;                                                                                      \
  }

#define STUB_GPU_FORWARD(classname, funcname)                          \
  template <typename Dtype>                                            \
  void classname<Dtype>::funcname##_gpu(const vector<Blob<Dtype>*>&,   \
                                        const vector<Blob<Dtype>*>&) { \
    NO_GPU;                                                            \
  }

#define STUB_GPU_BACKWARD(classname, funcname)                                            \
  template <typename Dtype>                                                               \
  void classname<Dtype>::funcname##_gpu(const vector<Blob<Dtype>*>&, const vector<bool>&, \
                                        const vector<Blob<Dtype>*>&) {                    \
    NO_GPU;                                                                               \
  }
#endif

namespace cv {
class Mat;
}

// What custom kernels are written with; .cu files have it from here, as in Caffe.
#ifdef __CUDACC__
#include "caffe/util/device_alternate.hpp"
#endif

// cublasHandle_t and curandGenerator_t point to these.
struct cublasContext;
struct curandGenerator_st;

namespace caffe {

// Boost's, as in Caffe, so that programs which name either one keep compiling.
using boost::shared_ptr;

using std::fstream;
using std::ios;
using std::isinf;
using std::isnan;
using std::iterator;
using std::make_pair;
using std::map;
using std::ostringstream;
using std::pair;
using std::set;
using std::string;
using std::stringstream;
using std::vector;

/// Starts glog and gflags for a command line program: parses *pargc and *pargv, logs to stderr
/// unless told otherwise, installs the failure handler. Calling it twice is harmless.
void GlobalInit(int* pargc, char*** pargv);

class Context;
struct Limits;

/// Caffe's face on the calling thread's Context: mode, device, random numbers, ranks. A thread
/// starts with the mode and device of the thread that started it where that is known
/// (InternalThread), else with the process's latest setting.
class Caffe {
 public:
  ~Caffe();

  enum Brew { CPU, GPU };

  /// The calling thread's own.
  static Caffe& Get();

  /// A seeded Boost mt19937; the type behind generator() is caffe::rng_t (util/rng.hpp).
  class RNG {
   public:
    RNG();
    explicit RNG(unsigned int seed);
    RNG(const RNG&);
    RNG& operator=(const RNG&);
    ~RNG();
    void* generator();

   private:
    class Generator;
    shared_ptr<Generator> generator_;
  };

#ifndef CPU_ONLY
  /// A cublasHandle_t and a curandGenerator_t of the calling thread on its device and stream, for
  /// custom layers (this library's headers do without CUDA's). The generator is seeded again
  /// after set_random_seed. Throw Error where there is no GPU or the library cannot be loaded.
  static cublasContext* cublas_handle();
  static curandGenerator_st* curand_generator();
#endif

  /// The calling thread's generator, seeded from the operating system unless set_random_seed was
  /// called.
  static RNG& rng_stream();

  static Brew mode();
  /// Takes effect in the calling thread and in threads started later. GPU throws Error where no GPU
  /// can be used, unless the CPU is to compute in its place (caffe/gpu_fallback.hpp).
  static void set_mode(Brew mode);
  static void set_random_seed(const unsigned int seed);
  /// Throws Error when the device does not exist or, as set_mode(GPU) does, when there is none.
  static void SetDevice(const int device_id);
  static void DeviceQuery();
  static bool CheckDevice(const int device_id);
  /// The first usable device at or above start_id, -1 if there is none.
  static int FindDevice(const int start_id = 0);

  /// The threads that share a loop of the calling thread. Where neither set_threads nor
  /// OMP_NUM_THREADS has said: the processors that the process may use, at most the CPU quota of
  /// its cgroup (container), rounded up.
  static int threads();
  /// Takes effect in the calling thread and in threads started later. Nets and execution contexts
  /// are made after it: they may keep the number that held when they were made. Throws Error for
  /// less than 1.
  static void set_threads(int threads);

  /// What nets and files may ask for (caffe/limits.hpp), in all threads. Setting them throws Error
  /// for a number that is 0.
  static Limits limits();
  static void set_limits(const Limits& limits);

  static int solver_count();
  static void set_solver_count(int count);
  static int solver_rank();
  static void set_solver_rank(int rank);
  static bool multiprocess();
  static void set_multiprocess(bool multiprocess);
  static bool root_solver() { return solver_rank() == 0; }
  /// Caffe's before 1.0: false makes the calling thread's solvers those of rank 1, if they are of
  /// rank 0.
  static void set_root_solver(bool root) {
    if (root != root_solver()) set_solver_rank(root ? 0 : 1);
  }

 private:
  friend class Context;
  explicit Caffe(Context& context);
  Context& context_;

  DISABLE_COPY_AND_ASSIGN(Caffe);
};

}  // namespace caffe

#endif  // CAFFE_COMMON_HPP_
