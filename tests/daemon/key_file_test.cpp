#include "daemon/key_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/results.h"
#include "support/scratch_folder.h"

namespace carillon::daemon {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::ScratchFolder;
using testing::HasSubstr;

bool knows_none(std::string_view /*id*/) { return false; }
bool knows_ours(std::string_view id) { return id == "ours"; }

TEST(KeyFile, ItIsNamedAfterItsDatabase) {
  EXPECT_EQ(key_path("sqlite:carillon.db"), "carillon.key");
  EXPECT_EQ(key_path("sqlite:other.db"), "other.key");
  EXPECT_EQ(key_path("sqlite:/srv/data.d/jobs.sqlite3"), "/srv/data.d/jobs.key");
  EXPECT_EQ(key_path("sqlite:/srv/data.d/jobs"), "/srv/data.d/jobs.key");
  EXPECT_EQ(key_path("sqlite:/srv/jobs.key"), "/srv/jobs.key.key");
  EXPECT_EQ(key_path("memory:"), "carillon.key");
  EXPECT_EQ(key_path("postgres://db/jobs"), "carillon.key");
}

TEST(KeyFile, OneThatIsThereIsLeftAloneAndSaysWhoseItIs) {
  const ScratchFolder folder;
  const fs::path path = folder.write("a.key", "ours.secret\n");
  EXPECT_THAT(error_of(check_key_path(path, "sqlite:a.db", knows_none)).message, HasSubstr("no key of this database"));
  EXPECT_THAT(error_of(check_key_path(path, "sqlite:a.db", knows_ours)).message, HasSubstr("lost-key"));
  EXPECT_THAT(error_of(check_key_path(path, "sqlite:a.db", knows_none)).message, HasSubstr("another name"));
  EXPECT_THAT(error_of(check_key_path(path, "memory:", knows_none)).message, HasSubstr("another folder"));
  EXPECT_EQ(error_of(write_key_file(path, "new.secret")).code, ErrorCode::conflict);
  EXPECT_EQ(folder.read("a.key"), "ours.secret\n");
  fs::create_symlink(folder.path() / "nowhere", folder.path() / "b.key");
  EXPECT_EQ(error_of(check_key_path(folder.path() / "b.key", "sqlite:b.db", knows_ours)).code, ErrorCode::conflict);
  EXPECT_EQ(error_of(write_key_file(folder.path() / "b.key", "new.secret")).code, ErrorCode::conflict);
}

TEST(KeyFile, ANewOneIsWrittenWhereNobodyCanReplaceIt) {
  const ScratchFolder folder;
  const fs::path path = folder.path() / "a.key";
  EXPECT_TRUE(check_key_path(path, "sqlite:a.db", knows_none));
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  EXPECT_FALSE(check_key_path(path, "sqlite:a.db", knows_none));
  EXPECT_FALSE(write_key_file(path, "new.secret"));
  EXPECT_EQ(folder.files(), 0U);
  ASSERT_EQ(chmod(folder.path().c_str(), 0700), 0);
  EXPECT_TRUE(write_key_file(path, "new.secret"));
  EXPECT_EQ(folder.read("a.key"), "new.secret\n");
}

}  // namespace
}  // namespace carillon::daemon
