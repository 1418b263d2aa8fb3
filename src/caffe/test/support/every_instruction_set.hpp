#ifndef CAFFE_TEST_EVERY_INSTRUCTION_SET_HPP_
#define CAFFE_TEST_EVERY_INSTRUCTION_SET_HPP_

#include <gtest/gtest.h>

#include "caffe/kernels/instruction_set.hpp"

namespace caffe::kernels {

/// Calls f with the kernels on floats of every instruction set in turn.
template <typename Function>
void OnEveryInstructionSet(Function&& f) {
  const InstructionSet chosen = CpuInstructionSet();
  for (const InstructionSet set : FloatInstructionSets()) {
    SetCpuInstructionSet(set);
    SCOPED_TRACE(Name(set));
    f();
  }
  SetCpuInstructionSet(chosen);
}

}  // namespace caffe::kernels

#endif  // CAFFE_TEST_EVERY_INSTRUCTION_SET_HPP_
