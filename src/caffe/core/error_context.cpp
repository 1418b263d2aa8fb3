#include "error_context.hpp"

#include <typeinfo>

namespace caffe {
namespace {

/// Throws an Exception with this message if that is what was caught.
template <typename Exception>
void ThrowIfSame(const std::exception& caught, const std::string& message) {
  if (typeid(caught) == typeid(Exception)) throw Exception(message);
}

}  // namespace

void RethrowWithLayer(const std::exception& caught, const std::string& name,
                      const std::string& type) {
  Error error(caught.what());
  error.AddLayer(name, type);
  if (typeid(caught) == typeid(std::runtime_error)) throw error;
  const std::string message = error.what();
  ThrowIfSame<std::logic_error>(caught, message);
  ThrowIfSame<std::invalid_argument>(caught, message);
  ThrowIfSame<std::domain_error>(caught, message);
  ThrowIfSame<std::out_of_range>(caught, message);
  ThrowIfSame<std::range_error>(caught, message);
  ThrowIfSame<std::overflow_error>(caught, message);
  ThrowIfSame<std::underflow_error>(caught, message);
  throw;
}

}  // namespace caffe
