#include "plugin_files.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace caffe {
namespace {

constexpr char kHere[] = "";  // an address within the library or program that this code is in

std::string OwnFolder() {
  Dl_info info = {};
  if (!dladdr(kHere, &info) || !info.dli_fname) return "";
  const std::string file = info.dli_fname;
  return file.substr(0, file.rfind('/') + 1);
}

}  // namespace

std::vector<std::string> PluginFiles(const char* variable, const char* name) {
  const char* named = std::getenv(variable);
  if (named && *named) return {named};
  return {OwnFolder() + name, name};
}

}  // namespace caffe
