#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "caffe/error.hpp"
#include "caffe/io/proto_text.hpp"
#include "caffe/test/support/test_data.hpp"
#include "caffe/util/upgrade_proto.hpp"

// Nets and solvers as people wrote them.

namespace caffe {
namespace {

/// What cannot be read, and what the message has to say.
using Failures = std::map<std::string, std::string>;

const Failures kNetFailures = {
    // A list where every other Caffe has a single size; 3-D pooling of one fork.
    {"naibaf7__caffe_neural_models__net_net_train_malis.prototxt",
     ":111:16: Non-repeated field \"kernel_size\" is specified multiple times"},
    {"naibaf7__caffe_neural_models__pygt_fibsem_net_train_euclid.prototxt",
     ":189:16: Non-repeated field \"kernel_size\" is specified multiple times"},
    // Several resize policies, of which one is drawn; one fork.
    {"eric612__MobileNet-YOLO__mobilenetv3_voc_train_AE.prototxt",
     "Non-repeated field \"resize_param\" is specified multiple times"},
};

const Failures kSolverFailures = {
    // A template whose placeholder was not filled in.
    {"davheld__GOTURN__nets_solver.prototxt", "Expected integer, got: RANDOM_SEED"},
    // A list of devices; one fork.
    {"yjxiong__temporal-segment-networks__hmdb51_tsn_bn_inception_flow_solver.prototxt",
     "this field takes a single number"},
};

template <typename Read>
void CheckCorpus(const std::string& directory, const Failures& failures, size_t files, Read read) {
  const auto names = SharedFiles(directory, ".prototxt");
  EXPECT_GE(names.size(), files);
  for (const std::string& name : names) {
    const auto failure = failures.find(std::filesystem::path(name).filename().string());
    try {
      read(name);
      EXPECT_EQ(failure, failures.end()) << name << " was expected to fail";
    } catch (const Error& error) {
      const std::string message = error.what();
      if (failure == failures.end()) {
        ADD_FAILURE() << message;
      } else {
        EXPECT_NE(message.find(failure->second), std::string::npos) << message;
      }
    }
  }
}

TEST(ProtoCorpus, NetsParseAndUpgrade) {
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  CheckCorpus("prototxt_corpus", kNetFailures, 130, [](const std::string& name) {
    NetParameter net;
    ReadNetParamsFromTextFileOrDie(name, &net);
    EXPECT_FALSE(NetNeedsUpgrade(net) && !NetNeedsBatchNormUpgrade(net)) << name;
    EXPECT_GT(net.layer_size(), 0) << name;
    NetParameter again;
    ParseProtoText(net.DebugString(), name + " written again", &again);
    EXPECT_EQ(net.SerializeAsString(), again.SerializeAsString()) << name;
  });
}

TEST(ProtoCorpus, SolversParseAndUpgrade) {
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  CheckCorpus("solver_corpus", kSolverFailures, 40, [](const std::string& name) {
    SolverParameter solver;
    ReadSolverParamsFromTextFileOrDie(name, &solver);
    EXPECT_FALSE(solver.has_solver_type()) << name;
    EXPECT_FALSE(solver.snapshot_prefix().empty()) << name;
  });
}

TEST(ProtoCorpus, NetsOfTheModelsParse) {
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  for (const std::string& name : SharedFiles("models", ".prototxt")) {
    if (name.find("solver") != std::string::npos) continue;
    NetParameter net;
    EXPECT_NO_THROW(ReadNetParamsFromTextFileOrDie(name, &net)) << name;
  }
}

}  // namespace
}  // namespace caffe
