#ifndef CAFFE_ALGORITHMS_SETTINGS_HPP_
#define CAFFE_ALGORITHMS_SETTINGS_HPP_

#include "caffe/engine.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/onednn/onednn.hpp"
#include "caffe/types.hpp"

namespace caffe::algorithms {

/// What a layer's algorithm depends on apart from its sizes.
struct Settings {
  LayerTypes types;
  Phase phase = TEST;
  Engine engine = Engine::DEFAULT;
  bool may_use_onednn = false;  ///< it is there, and the layer's Dtype is float

  bool is_reference() const { return engine == Engine::REFERENCE; }
  /// FLOAT16 for inference, by the library's kernels.
  bool is_native_half() const {
    return types.forward_type == ElementType::FLOAT16 && phase == TEST && engine == Engine::DEFAULT;
  }
  /// Convolutions may be Winograd's, within 1e-5 of a layer's largest output, which is what FLOAT
  /// promises: for inference, or forward and backward in training. FLOAT math of FLOAT16 numbers
  /// asks for direct sums.
  bool may_use_winograd() const {
    return phase == TEST && engine == Engine::DEFAULT &&
           AllowsWinograd(types.forward_type, types.forward_math);
  }
  bool may_train_by_winograd() const {
    return phase == TRAIN && engine == Engine::DEFAULT &&
           AllowsWinograd(types.forward_type, types.forward_math) &&
           AllowsWinograd(types.backward_type, types.backward_math);
  }
  /// FLOAT16 in AMX's tiles, in training, too.
  bool wants_tiles() const {
    return types.forward_type == ElementType::FLOAT16 && engine == Engine::DEFAULT &&
           types.backward_type != ElementType::DOUBLE && kernels::CpuInstructionSet().has_tiles();
  }
  /// Convolutions may compute what is behind them.
  bool fuses() const {
    return phase == TEST && IsFloatOrHalf(types.forward_type) &&
           (is_native_half() || (may_use_onednn && !is_reference()));
  }
  /// All is FLOAT, and the layer asks for oneDNN, or leaves the choice and oneDNN is `faster`.
  bool wants_onednn(bool faster) const {
    return may_use_onednn && types == LayerTypes::All(ElementType::FLOAT) &&
           (engine == Engine::ONEDNN || (engine == Engine::DEFAULT && faster));
  }
  /// oneDNN may convolve: FLOAT, or FLOAT16 that is converted on its way.
  bool may_convolve_by_onednn() const {
    return may_use_onednn && !is_reference() && IsFloatOrHalf(types.forward_type) &&
           (phase == TEST || IsFloatOrHalf(types.backward_type));
  }
  /// Products of BFLOAT16, where the processor has them: forward, and of both gradients.
  bool forward_in_bfloat16() const {
    return types.forward_math == ElementType::BFLOAT16 && may_multiply_bfloat16();
  }
  bool backward_in_bfloat16() const {
    return phase == TRAIN && types.backward_math == ElementType::BFLOAT16 &&
           may_multiply_bfloat16();
  }
  Settings WithoutBFloat16() const {
    Settings settings = *this;
    settings.types = types.WithoutBFloat16();
    return settings;
  }
  bool operator==(const Settings& other) const {
    return types == other.types && phase == other.phase && engine == other.engine &&
           may_use_onednn == other.may_use_onednn;
  }

 private:
  static bool IsFloatOrHalf(ElementType type) {
    return type == ElementType::FLOAT || type == ElementType::FLOAT16;
  }
  static bool AllowsWinograd(ElementType type, ElementType math) {
    return (type == ElementType::FLOAT && math != ElementType::DOUBLE) ||
           (type == ElementType::FLOAT16 && IsHalfWidth(math));
  }
  bool may_multiply_bfloat16() const {
    return may_convolve_by_onednn() && onednn::MultipliesBFloat16();
  }
};

}  // namespace caffe::algorithms

#endif  // CAFFE_ALGORITHMS_SETTINGS_HPP_
