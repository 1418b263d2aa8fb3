#ifndef CAFFE_REPEATABLE_HPP_
#define CAFFE_REPEATABLE_HPP_

namespace caffe {

class LayerParameter;

/// True if the layer's type is in the operation table and, in the TEST phase, a second pass over
/// the same bottoms gives the same tops and nothing else changes: it keeps no state, collects no
/// statistics and draws no random numbers. What a source makes next is not considered.
bool IsRepeatable(const LayerParameter& layer);

}  // namespace caffe

#endif  // CAFFE_REPEATABLE_HPP_
