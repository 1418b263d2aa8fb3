#ifndef CAFFE_UTIL_DB_SESSION_HPP_
#define CAFFE_UTIL_DB_SESSION_HPP_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "caffe/common.hpp"

namespace caffe::db {

/// An open database as a DB shares it with its cursors and transactions. DB::Close() ends it for
/// all of them: the lock on the files is free then, and what is left throws Error when it is used.
/// A DB that is destroyed without Close() leaves its cursors and transactions at work.
template <typename Handle>
class Session {
 public:
  Session(std::shared_ptr<Handle> handle, string source)
      : handle_(std::move(handle)), source_(std::move(source)) {}
  ~Session() { Close(); }

  const string& source() const { return source_; }
  /// Throws Error after Close().
  Handle* handle() const {
    Require(handle_ != nullptr, source_,
            ": the database was closed, and a cursor or a transaction of it is still used");
    return handle_.get();
  }

  /// `release` gives back what `owner` holds of the database. It is called once: by Release(owner)
  /// or by Close(), whichever comes first.
  void Attach(const void* owner, std::function<void()> release) {
    const std::lock_guard<std::mutex> lock(mutex_);
    releases_[owner] = std::move(release);
  }
  void Release(const void* owner) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = releases_.find(owner);
    if (found == releases_.end()) return;
    found->second();
    releases_.erase(found);
  }
  void Close() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& entry : releases_) entry.second();
    releases_.clear();
    handle_.reset();
  }

 private:
  std::shared_ptr<Handle> handle_;
  const string source_;
  std::mutex mutex_;
  std::map<const void*, std::function<void()>> releases_;

  DISABLE_COPY_AND_ASSIGN(Session);
};

/// The session of a DB, which Open() makes and Close() ends.
template <typename Handle>
class OwnSession {
 public:
  void Open(std::shared_ptr<Handle> handle, const string& source) {
    session_ = std::make_shared<Session<Handle>>(std::move(handle), source);
  }
  void Close() {
    if (session_) session_->Close();
    session_.reset();
  }
  /// For a new cursor or transaction. Throws Error if the database is not open.
  std::shared_ptr<Session<Handle>> Share() const {
    Require(session_ != nullptr, "the database is not open");
    return session_;
  }

 private:
  std::shared_ptr<Session<Handle>> session_;
};

}  // namespace caffe::db

#endif  // CAFFE_UTIL_DB_SESSION_HPP_
