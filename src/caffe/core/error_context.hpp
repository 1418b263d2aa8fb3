#ifndef CAFFE_ERROR_CONTEXT_HPP_
#define CAFFE_ERROR_CONTEXT_HPP_

#include <new>
#include <stdexcept>
#include <string>

#include "caffe/error.hpp"

namespace caffe {

/// Returns f(). Memory that the system or a container refuses becomes an Error; an Error stays as
/// it is.
template <typename Function>
decltype(auto) WithMemoryErrors(Function&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    Fail("out of memory");
  } catch (const std::length_error&) {
    Fail("out of memory: more elements are wanted than a container can have");
  }
}

/// The same; that Error says that it is about `describe()`.
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

/// The same, and any Error says that it is about `describe()`, too.
template <typename Describe, typename Function>
decltype(auto) WithContext(Describe&& describe, Function&& f) {
  try {
    return WithMemoryErrors(f);
  } catch (Error& error) {
    error.AddContext(describe());
    throw;
  }
}

/// Within a catch block: throws what was caught again, with the layer in front of its message. A
/// std::runtime_error becomes an Error; the standard library's other errors stay of their type, and
/// those of classes that derive from them as they are: the program may catch them by it.
[[noreturn]] void RethrowWithLayer(const std::exception& caught, const std::string& name,
                                   const std::string& type);

/// As WithContext, with Error::AddLayer of `layer`, a LayerParameter or a node of a graph, and with
/// RethrowWithLayer of what layers throw that programs have written.
template <typename Named, typename Function>
decltype(auto) WithLayer(const Named& layer, Function&& f) {
  try {
    return WithMemoryErrors(f);
  } catch (Error& error) {
    error.AddLayer(layer.name(), layer.type());
    throw;
  } catch (const std::exception& caught) {
    RethrowWithLayer(caught, layer.name(), layer.type());
  }
}

/// The error is about `file`, at `place` in it (", line 3"). One that knows another file, as of a
/// mean image that this one names, goes on being about that one; its message has both.
inline void AddFile(const std::string& file, const std::string& place, Error* error) {
  if (error->file().empty()) {
    error->Note(Error::File{file});
  } else if (error->file() == file) {
    return;
  }
  error->AddContext(file + place);
}
inline void AddFile(const std::string& file, Error* error) { AddFile(file, "", error); }

/// Returns f(); its errors, those about memory, too, are about `file`.
template <typename Function>
decltype(auto) WithFile(const std::string& file, Function&& f) {
  try {
    return WithMemoryErrors(f);
  } catch (Error& error) {
    AddFile(file, &error);
    throw;
  }
}

/// "layer 'conv1' (Convolution)", of a LayerParameter or a node of a graph.
template <typename Named>
std::string DescribeLayer(const Named& layer) {
  return "layer '" + layer.name() + "' (" + layer.type() + ")";
}

}  // namespace caffe

#endif  // CAFFE_ERROR_CONTEXT_HPP_
