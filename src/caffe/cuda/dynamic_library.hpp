#ifndef CAFFE_CUDA_DYNAMIC_LIBRARY_HPP_
#define CAFFE_CUDA_DYNAMIC_LIBRARY_HPP_

#include <string>
#include <vector>

namespace caffe::cuda {

/// A shared library that is opened when it is first needed and stays open: programs that compute
/// on the CPU start without CUDA's libraries, which are large.
class DynamicLibrary {
 public:
  /// `files`: names to try in turn, found as the system's loader finds them (LD_LIBRARY_PATH and
  /// so on). `remedy` says what to install.
  DynamicLibrary(std::vector<std::string> files, std::string remedy);

  /// The address of `symbol`. Throws Error where the library or the symbol is missing.
  void* Find(const char* symbol);
  /// The same as a function of the type that the library's header declares.
  template <typename Function>
  Function* Find(const char* symbol, Function* /*declared*/) {
    return reinterpret_cast<Function*>(Find(symbol));
  }

 private:
  const std::vector<std::string> files_;
  const std::string remedy_;
  void* handle_ = nullptr;
};

/// CUDA's libraries, opened at the first use.
DynamicLibrary& Cublas();
DynamicLibrary& CublasLt();
DynamicLibrary& Curand();
DynamicLibrary& Cudnn();
DynamicLibrary& Nccl();

}  // namespace caffe::cuda

/// Calls `function` of a library above, as its header declares it. A macro since a function's name
/// is needed as text.
#define CAFFE_CALL(library, function, ...)                                                    \
  ([&] {                                                                                      \
    static auto* const loaded_function = ::caffe::cuda::library().Find(#function, &function); \
    return loaded_function(__VA_ARGS__);                                                      \
  }())

#endif  // CAFFE_CUDA_DYNAMIC_LIBRARY_HPP_
