#ifndef CAFFE_TOOLS_CAFFE_EXEC_BUILDING_HPP_
#define CAFFE_TOOLS_CAFFE_EXEC_BUILDING_HPP_

#include <memory>

#include "caffe/inference/engine.hpp"
#include "flags.hpp"

namespace caffe::exec {

/// Loads the shared libraries of --plugins, whose layers register themselves. Throws Error.
void LoadPlugins(const Flags& flags);

/// Builds the engine of --deploy for the CPU or the calling thread's GPU, and says how long it
/// took. Throws Error.
std::shared_ptr<const inference::Engine> BuildEngine(const Flags& flags, bool gpu);

}  // namespace caffe::exec

#endif  // CAFFE_TOOLS_CAFFE_EXEC_BUILDING_HPP_
