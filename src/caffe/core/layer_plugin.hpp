#ifndef CAFFE_LAYER_PLUGIN_HPP_
#define CAFFE_LAYER_PLUGIN_HPP_

#include <string>

namespace caffe {

/// Loads a shared library whose layers register themselves, and keeps it loaded. A name without a
/// slash is one of the working folder. Throws Error naming the file where it cannot be loaded, and
/// where it registers a type that cannot be: there is one of that name already.
void LoadLayerPlugin(const std::string& file);

namespace layer_plugin {

/// While LoadLayerPlugin works, keeps what is wrong with a registration for it and returns true;
/// otherwise false.
bool Refuse(const std::string& why);

}  // namespace layer_plugin
}  // namespace caffe

#endif  // CAFFE_LAYER_PLUGIN_HPP_
