// One process a file: the lock on FILE.lock, which names its holder.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"

namespace carillon {

class FileLock {
 public:
  // `conflict` if another process, or another store of this one, has it; the message names the holder.
  static Result<std::unique_ptr<FileLock>> take(const std::string& path);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace carillon
