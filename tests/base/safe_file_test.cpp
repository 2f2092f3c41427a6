#include "base/safe_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/results.h"
#include "support/scratch_folder.h"

namespace carillon {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::ScratchFolder;
using test::value_of;

TEST(SafeFile, ANewFileIsItsOwnersAloneAndNothingElseIsLeft) {
  const ScratchFolder folder;
  const fs::path path = folder.path() / "a.key";
  umask(0);
  EXPECT_TRUE(write_new_file(path, "secret\n"));
  umask(022);
  EXPECT_EQ(folder.read("a.key"), "secret\n");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(folder.files(), 1U);
  EXPECT_EQ(value_of(read_plain_file(path, 100)), "secret\n");
}

TEST(SafeFile, WhatIsThereIsNeverWrittenOver) {
  const ScratchFolder folder;
  const fs::path file = folder.write("file", "mine");
  fs::create_symlink(file, folder.path() / "link");
  fs::create_symlink(folder.path() / "nowhere", folder.path() / "dangling");
  fs::create_directory(folder.path() / "folder");
  for (const char* const name : {"file", "link", "dangling", "folder"}) {
    EXPECT_EQ(error_of(write_new_file(folder.path() / name, "theirs")).code, ErrorCode::conflict) << name;
  }
  EXPECT_EQ(folder.read("file"), "mine");
  EXPECT_FALSE(fs::exists(folder.path() / "nowhere"));
  EXPECT_EQ(folder.files(), 4U);
}

TEST(SafeFile, NoLinkIsFollowed) {
  const ScratchFolder folder;
  const fs::path file = folder.write("file", "mine");
  fs::create_symlink(file, folder.path() / "link");
  EXPECT_EQ(error_of(read_plain_file(folder.path() / "link", 100)).code, ErrorCode::unavailable);
  EXPECT_EQ(error_of(open_to_append(folder.path() / "link", 0640)).code, ErrorCode::invalid_configuration);
  fs::create_symlink(folder.path() / "nowhere", folder.path() / "dangling");
  EXPECT_FALSE(open_to_append(folder.path() / "dangling", 0640));
  EXPECT_FALSE(fs::exists(folder.path() / "nowhere"));
  EXPECT_EQ(error_of(read_plain_file(folder.path() / "none", 100)).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(read_plain_file(folder.path(), 100)).code, ErrorCode::unavailable);
  EXPECT_EQ(error_of(read_plain_file(file, 3)).code, ErrorCode::unavailable);
}

TEST(SafeFile, LinesAreAddedAtTheEnd) {
  const ScratchFolder folder;
  for (int i = 0; i < 2; ++i) {
    const int fd = value_of(open_to_append(folder.path() / "log", 0640));
    EXPECT_EQ(write(fd, "a\n", 2), 2);
    close(fd);
  }
  EXPECT_EQ(folder.read("log"), "a\na\n");
}

TEST(SafeFile, AFolderThatEveryoneMayWriteToIsRefused) {
  const ScratchFolder folder;
  const fs::path path = folder.path() / "file";
  for (const mode_t mode : {0700U, 0755U, 0775U, 01777U}) {
    ASSERT_EQ(chmod(folder.path().c_str(), mode), 0);
    EXPECT_TRUE(check_folder_of(path)) << mode;
  }
  for (const mode_t mode : {0777U, 0707U, 0702U}) {
    ASSERT_EQ(chmod(folder.path().c_str(), mode), 0);
    EXPECT_EQ(error_of(check_folder_of(path)).code, ErrorCode::invalid_configuration) << mode;
    EXPECT_EQ(error_of(open_to_append(path, 0640)).code, ErrorCode::invalid_configuration) << mode;
  }
  EXPECT_EQ(folder.files(), 0U);
  EXPECT_FALSE(check_folder_of(folder.path() / "none" / "file"));
}

TEST(SafeFile, AFileThatEveryoneMayWriteToIsRefused) {
  const ScratchFolder folder;
  const fs::path path = folder.write("file", "mine");
  for (const mode_t mode : {0600U, 0640U, 0664U, 0644U}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_TRUE(check_owner_of(path)) << mode;
    EXPECT_TRUE(read_plain_file(path, 100)) << mode;
  }
  for (const mode_t mode : {0666U, 0602U}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_EQ(error_of(check_owner_of(path)).code, ErrorCode::invalid_configuration) << mode;
    EXPECT_EQ(error_of(read_plain_file(path, 100)).code, ErrorCode::invalid_configuration) << mode;
    EXPECT_EQ(error_of(open_to_append(path, 0640)).code, ErrorCode::invalid_configuration) << mode;
  }
  EXPECT_TRUE(check_owner_of(folder.path() / "none"));
  EXPECT_TRUE(check_owner_of("/dev/null"));
}

TEST(SafeFile, AFileOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  constexpr uid_t kSomebody = 65534;
  const ScratchFolder folder;
  const fs::path path = folder.write("file", "theirs");
  fs::create_symlink(path, folder.path() / "link");
  for (const char* const name : {"file", "link"}) {
    ASSERT_EQ(lchown((folder.path() / name).c_str(), kSomebody, kSomebody), 0);
    EXPECT_EQ(error_of(check_owner_of(folder.path() / name)).code, ErrorCode::invalid_configuration) << name;
    EXPECT_EQ(error_of(open_to_append(folder.path() / name, 0640)).code, ErrorCode::invalid_configuration) << name;
  }
  EXPECT_EQ(error_of(read_plain_file(path, 100)).code, ErrorCode::invalid_configuration);
  EXPECT_EQ(folder.read("file"), "theirs");
}

}  // namespace
}  // namespace carillon
