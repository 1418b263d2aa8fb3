#ifndef CAFFE_KERNELS_PACKED_DECONVOLUTION_HPP_
#define CAFFE_KERNELS_PACKED_DECONVOLUTION_HPP_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "caffe/kernels/packed_convolution.hpp"

namespace caffe::kernels {

/// Deconvolution, which is also the gradient of a convolution's input. Positions of y that are a
/// stride apart see the same positions of the kernel: each such *phase* is a convolution of x with
/// stride 1, by PackedConvolution, whose layouts, types and bounds of errors hold here, too. Phases
/// are computed in turn, by all threads, or where there are many of them each by one thread, so
/// that what it makes is still in the core's cache when it is moved to its places in y.
class PackedDeconvolution {
 public:
  /// `shape` is that of the convolution whose gradient it is: x has its outputs, y its channels.
  /// Null for shapes of which PackedConvolution does not compute a phase, and for strides with
  /// thousands of phases.
  static std::shared_ptr<const PackedDeconvolution> Make(const ConvolutionShape& shape,
                                                         ElementType math = ElementType::FLOAT);
  /// The same with channels last: PackedConvolution::MakeChannelsLast.
  static std::shared_ptr<const PackedDeconvolution> MakeChannelsLast(const ConvolutionShape& shape,
                                                                     ElementType math,
                                                                     TileShape tile_shape);

  int block() const { return phases_[0].kernel->block(); }  ///< channels of a block
  /// Elements of the packed weights: those of the shape, and zeros that pad blocks.
  size_t packed_size() const { return packed_size_; }
  /// packed = the weights (outputs, channels / group, kernel...) of the shape in the order that
  /// Forward reads, times scale[channel] if that is given; and back. V and W: float, float16 or
  /// bfloat16.
  template <typename V, typename W>
  void PackWeights(const V* weights, const float* scale, W* packed) const;
  template <typename W>
  void UnpackWeights(const W* packed, W* weights) const;
  /// packed = weights of 16 bits, by several threads. Throws Error without channels last.
  void PackStrided(const uint16_t* weights, uint16_t* packed) const;

  /// Bytes that Forward needs, aligned to 64, with the threads that OpenMP would use now, for a y
  /// of this type.
  size_t scratch_bytes(int num, ElementType y) const;
  /// y = post(deconv(x)). x, weights and y: float, float16 or bfloat16 each. Throws Error if `post`
  /// has a residual.
  void Forward(int num, const Numbers& x, const Numbers& weights, const PostOps& post,
               void* scratch, const Destination& y) const;

 private:
  using Kernel = std::shared_ptr<const PackedConvolution>;
  using MakeKernel = std::function<Kernel(const ConvolutionShape& shape)>;
  struct Phase {
    int first[2], count[2];         ///< of its rows and columns in y
    int taps[2];                    ///< positions of its kernel; 0: nothing reaches it
    int first_tap[2], tap_step[2];  ///< they are those from this one back, in steps
    Kernel kernel;
    size_t packed;  ///< where its weights begin among all packed ones
    bool is_empty() const { return count[0] == 0 || count[1] == 0; }
  };
  struct Buffers;

  static std::shared_ptr<const PackedDeconvolution> Make(const ConvolutionShape& shape,
                                                         bool channels_last,
                                                         const MakeKernel& make_kernel);
  /// False where a phase has no kernel.
  bool AddPhases(const MakeKernel& make_kernel);

  /// True if the only phase is y itself.
  bool IsDirect() const { return phases_.size() == 1; }
  /// True if all threads compute each phase together, with scratch memory of one part.
  bool SharesPhases() const;
  size_t PartBytes(int num, ElementType y) const;
  /// Elements that a phase makes, with the padding of its blocks.
  size_t Elements(const Phase& phase, int num) const;
  /// Calls f(index in the phase's own weights, index in the shape's) for each.
  template <typename Function>
  void ForEachWeight(const Phase& phase, Function&& f) const;
  void RunPhase(const Phase& phase, int num, const Numbers& x, const Numbers& weights,
                const PostOps& post, const Buffers& buffers, const Destination& y) const;
  void Place(const Phase& phase, int num, const char* made, const Destination& y) const;

  ConvolutionShape shape_;
  bool channels_last_ = false;
  int input_[2], output_[2], kernel_[2], stride_[2];  // rows and columns; of the shape
  std::vector<Phase> phases_;
  size_t packed_size_ = 0;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_PACKED_DECONVOLUTION_HPP_
