#ifndef CAFFE_TOOLS_CAFFE_EXEC_SHAPES_HPP_
#define CAFFE_TOOLS_CAFFE_EXEC_SHAPES_HPP_

#include <map>
#include <string>
#include <vector>

#include "caffe/inference/engine.hpp"
#include "flags.hpp"

namespace caffe::exec {

/// What --batch and --maxBatch, or --minShapes, --optShapes, --maxShapes and --shapes come to for a
/// net with these inputs: either the batch changes, or whole shapes do.
class ShapeFlags {
 public:
  /// Throws Error for shapes and a batch at once, for an input that the net lacks, for shapes of
  /// one input that are not a range, and for a batch larger than the largest.
  ShapeFlags(const Flags& flags, const std::vector<std::string>& inputs);

  /// True if shapes are given.
  bool is_explicit() const { return !largest_.empty() || !run_.empty(); }
  /// By input: the shapes that an engine is built for; those that are run. Others are the net's.
  const std::map<std::string, Shape>& largest() const { return largest_; }
  const std::map<std::string, Shape>& run() const { return run_; }
  /// The range that an engine is built for, where --minShapes is given.
  std::vector<inference::ShapeProfile> Profiles() const;
  /// What an engine is built for; 0: what the net has.
  int MaxBatch() const { return is_explicit() ? 0 : max_batch_; }
  /// What is run; 0 where the command line does not say.
  int batch() const { return batch_; }

  /// Gives a context the shapes or the batch that are run.
  void SetOn(inference::ExecutionContext* context) const;

 private:
  std::map<std::string, Shape> smallest_, usual_, largest_, run_;
  int batch_ = 0, max_batch_ = 1;
};

}  // namespace caffe::exec

#endif  // CAFFE_TOOLS_CAFFE_EXEC_SHAPES_HPP_
