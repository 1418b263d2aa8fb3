#include "error_context.hpp"

#include <typeinfo>

namespace caffe {
namespace {

Error WithName(const std::exception& caught, const std::string& name, const std::string& type) {
  Error error(caught.what());
  error.AddLayer(name, type);
  return error;
}

/// One whose message names the layer. As of a class of its own it passes the layer that holds a net
/// of that layer as it is.
template <typename Exception>
class NamesLayer : public Exception {
  using Exception::Exception;
};

/// Throws an Exception with the layer in its message if that is what was caught. Of other classes
/// the message is not asked for: Python's runs Python.
template <typename Exception>
void ThrowIfSame(const std::exception& caught, const std::string& name, const std::string& type) {
  if (typeid(caught) == typeid(Exception)) {
    throw NamesLayer<Exception>(WithName(caught, name, type).what());
  }
}

}  // namespace

void RethrowWithLayer(const std::exception& caught, const std::string& name,
                      const std::string& type) {
  if (typeid(caught) == typeid(std::runtime_error)) throw WithName(caught, name, type);
  ThrowIfSame<std::logic_error>(caught, name, type);
  ThrowIfSame<std::invalid_argument>(caught, name, type);
  ThrowIfSame<std::domain_error>(caught, name, type);
  ThrowIfSame<std::out_of_range>(caught, name, type);
  ThrowIfSame<std::range_error>(caught, name, type);
  ThrowIfSame<std::overflow_error>(caught, name, type);
  ThrowIfSame<std::underflow_error>(caught, name, type);
  throw;
}

}  // namespace caffe
