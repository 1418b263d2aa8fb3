#ifndef CAFFE_FUZZ_MIGRATION_HPP_
#define CAFFE_FUZZ_MIGRATION_HPP_

#include <string>

#include "caffe/io/precision_migration.hpp"
#include "caffe/util/io.hpp"
#include "fuzz.hpp"

namespace caffe::fuzz {

/// Migrates to both precisions and all forms of batch normalization; what is written is a net.
inline void Migrate(const std::string& prototxt, const std::string& weights) {
  for (const auto form : {BatchNormForm::KEEP, BatchNormForm::BVLC, BatchNormForm::NVCAFFE}) {
    for (const auto to : {ElementType::FLOAT16, ElementType::FLOAT}) {
      Try([&] {
        MigrationOptions options;
        options.to = to;
        options.batch_norm = form;
        const PrecisionMigration migration(prototxt, weights, options);
        AtomicFile file("new.caffemodel");
        const auto report = migration.WriteModel(&file);
        ConversionTable(report);
        ConversionWarnings(report, options);
        NetParameter written;
        if (!ReadProtoFromTextFile(NewFile("new.prototxt", migration.prototxt()), &written)) {
          std::abort();
        }
      });
    }
  }
}

}  // namespace caffe::fuzz

#endif  // CAFFE_FUZZ_MIGRATION_HPP_
