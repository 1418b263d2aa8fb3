#ifndef CAFFE_ERROR_CONTEXT_HPP_
#define CAFFE_ERROR_CONTEXT_HPP_

#include <new>
#include <stdexcept>
#include <string>

#include "caffe/error.hpp"

namespace caffe {

/// Returns f(). Memory that the system or a container refuses becomes an Error about `describe()`;
/// an Error stays as it is.
template <typename Describe, typename Function>
decltype(auto) WithMemoryErrors(Describe&& describe, Function&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    Fail(describe(), ": out of memory");
  } catch (const std::length_error&) {
    Fail(describe(), ": out of memory: more elements are wanted than a container can have");
  }
}

/// The same, and an Error says that it was about `describe()`, too.
template <typename Describe, typename Function>
decltype(auto) WithContext(Describe&& describe, Function&& f) {
  return WithMemoryErrors(describe, [&]() -> decltype(auto) {
    try {
      return f();
    } catch (Error& error) {
      error.AddContext(describe());
      throw;
    }
  });
}

/// "layer 'conv1' (Convolution)", of a LayerParameter or a node of a graph.
template <typename Named>
std::string DescribeLayer(const Named& layer) {
  return "layer '" + layer.name() + "' (" + layer.type() + ")";
}

}  // namespace caffe

#endif  // CAFFE_ERROR_CONTEXT_HPP_
