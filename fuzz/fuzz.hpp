#ifndef CAFFE_FUZZ_FUZZ_HPP_
#define CAFFE_FUZZ_FUZZ_HPP_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>

#include "caffe/net.hpp"

// What fuzz targets share. A target is a file of targets/ with
//
//     extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
//
// docs/development.md says how they are built and run.

namespace caffe::fuzz {

/// Memory that tensors may take together, in bytes: more is an Error. Of any other memory
/// scripts/fuzz.sh says the limit.
constexpr size_t kMaxTensorBytes = size_t(64) << 20;

inline std::string TextOf(const uint8_t* data, size_t size) {
  return std::string(reinterpret_cast<const char*>(data), size);
}

/// Where the environment has FUZZ_ERRORS: a line on stderr.
void Tell(const char* message);

/// Calls f. What a tool turns into one line on stderr is a good answer to a bad input; that memory
/// ran out is none, as a size was not checked.
template <typename Function>
int Try(Function&& f) {
  try {
    f();
  } catch (const std::bad_alloc&) {
    std::abort();
  } catch (const std::exception& error) {
    Tell(error.what());
  }
  return 0;
}

/// The process's folder for files, its current directory: gone at exit.
const std::string& Folder();
/// The path of a file in Folder() with these contents.
std::string NewFile(const std::string& name, const std::string& contents);
inline std::string NewFile(const std::string& name, const uint8_t* data, size_t size) {
  return NewFile(name, TextOf(data, size));
}

/// A net with weights of most kinds, TRAIN and TEST, of 2 x 3 x 8 x 8 inputs; the same values each
/// time.
NetParameter SmallNet();
/// A solver on it, which writes no file.
SolverParameter SmallSolver();

/// Throws Error for a net with a layer that looks beyond files, or with so many layers that it may
/// take long.
void RequireSmall(const NetParameter& net);
/// Throws Error for blobs so large that layers may take long with them.
void RequireQuick(const Net<float>& net);

}  // namespace caffe::fuzz

#endif  // CAFFE_FUZZ_FUZZ_HPP_
