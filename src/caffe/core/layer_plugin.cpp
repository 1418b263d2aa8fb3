#include "layer_plugin.hpp"

#include <dlfcn.h>

#include "at_scope_exit.hpp"
#include "caffe/error.hpp"

namespace caffe {
namespace {

// What registers itself does so before dlopen returns, where no exception may pass.
thread_local std::string* refusals = nullptr;

}  // namespace

bool layer_plugin::Refuse(const std::string& why) {
  if (!refusals) return false;
  if (refusals->empty()) *refusals = why;
  return true;
}

void LoadLayerPlugin(const std::string& file) {
  std::string refused;
  refusals = &refused;
  const AtScopeExit done([] { refusals = nullptr; });
  // A name without a slash would be looked for among the system's libraries alone.
  const std::string path = file.find('/') == std::string::npos ? "./" + file : file;
  if (!dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
    Error error(dlerror());  // which names it
    error.Note(Error::File{file});
    throw error;
  }
  Require(refused.empty(), Error::File{file}, ": ", refused);
}

}  // namespace caffe
