#ifndef CAFFE_TOOLS_CAFFE_EXEC_REPORT_HPP_
#define CAFFE_TOOLS_CAFFE_EXEC_REPORT_HPP_

#include <string>
#include <vector>

#include "caffe/inference/evaluation/latency.hpp"
#include "flags.hpp"

namespace caffe::exec {

/// A line of the report, with the time of day and its severity: V, I, W or E.
void Say(char severity, const std::string& text);
inline void Say(const std::string& text) { Say('I', text); }
/// The same for each line of a text.
void SayLines(char severity, const std::string& text);

/// What the command line comes to, in trtexec's blocks.
void PrintOptions(const Flags& flags);
/// The GPU, or the processor and its threads.
void PrintDevice(bool gpu);

/// Means of --avgRuns runs, then the summary. Throughput counts `items` for each run.
void PrintPerformance(const Flags& flags, const inference::LoadResult& result, int items, bool gpu);
/// A table of the layers' times.
void PrintProfile(const inference::LayerTimes& profile);
/// The shapes of inputs that each profile is built for.
void PrintProfiles(const inference::Engine& engine);
/// The layers, by name or, with `details`, with what computes them.
void PrintLayers(const inference::Engine& engine, bool details);

}  // namespace caffe::exec

#endif  // CAFFE_TOOLS_CAFFE_EXEC_REPORT_HPP_
