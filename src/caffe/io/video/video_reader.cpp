#include "video_reader.hpp"

#include <dlfcn.h>

#include <filesystem>

#include "caffe/core/plugin_files.hpp"
#include "caffe/error.hpp"

namespace caffe {
namespace {

constexpr char kPlugin[] = "libcaffe_video.so";
constexpr char kVariable[] = "CAFFE_VIDEO_PLUGIN";

/// The plugin stays loaded.
VideoPluginOpen LoadPlugin() {
  std::string reason;
  for (const std::string& file : PluginFiles(kVariable, kPlugin)) {
    void* const plugin = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* const open = plugin ? dlsym(plugin, kVideoPluginOpen) : nullptr;
    if (open) return reinterpret_cast<VideoPluginOpen>(open);
    reason = plugin ? file + ": this is not a plugin for videos" : dlerror();
  }
  Fail("reading videos needs ", kPlugin,
       ", which is built where OpenCV's videoio is installed: ", reason,
       "\nInstall it (libopencv-videoio-dev) and build again, or name the library in the ",
       "environment variable ", kVariable);
}

std::unique_ptr<VideoReader> Open(const char* file, int device) {
  static const VideoPluginOpen open = LoadPlugin();
  return std::unique_ptr<VideoReader>(open(file, device));
}

/// What OpenCV takes besides paths: a pattern of image files, an address, a pipeline of GStreamer.
bool IsNoPath(const std::string& file) {
  return file.find_first_of("%!") != std::string::npos || file.find("://") != std::string::npos;
}

}  // namespace

std::unique_ptr<VideoReader> OpenVideo(const std::string& file) {
  std::error_code ignored;
  Require(IsNoPath(file) || std::filesystem::exists(file, ignored), Error::File{file},
          ": the video cannot be opened: there is no such file");
  std::unique_ptr<VideoReader> reader = Open(file.c_str(), 0);
  Require(reader != nullptr, Error::File{file},
          ": the video cannot be opened: it is missing, damaged, or of a form that ",
          "OpenCV was built without");
  return reader;
}

std::unique_ptr<VideoReader> OpenCamera(int device) {
  std::unique_ptr<VideoReader> reader = Open(nullptr, device);
  Require(reader != nullptr, "the camera number ", device, " cannot be opened");
  return reader;
}

}  // namespace caffe
