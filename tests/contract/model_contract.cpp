// Random sequences of calls: every answer and all that can be read, against the memory store and a second opinion.
#include <rapidcheck.h>

#include <sstream>

#include "contract/model_player.h"
#include "store/memory/memory_store.h"

namespace carillon::test {
namespace {

// Runs the property as often as the backend can bear.
template <typename Property>
void check_often(const BackendParam& backend, Property property) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = std::max(1, params.maxSuccess * backend.model_cases / 200);
  rc::detail::TestMetadata metadata;
  metadata.id = "StoreContract/model/" + backend.name;
  const auto result = rc::detail::checkTestable(property, metadata, params);
  if (result.template is<rc::detail::SuccessResult>()) return;
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  FAIL() << text.str();
}

std::vector<Step> any_steps() {
  constexpr int kStepsMax = 200;
  const auto number = rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, 10'000));
  return *rc::gen::scale(
      1.0, rc::gen::resize(kStepsMax, rc::gen::container<std::vector<Step>>(rc::gen::container<Step>(number))));
}

// A store on a folder of its own, which goes with it.
class FreshStore {
 public:
  FreshStore(const BackendParam& backend, const StoreClock& clock)
      : folder_(make_scratch_folder()), store_(backend.open(clock, folder_)) {
    RC_ASSERT(store_ != nullptr);
  }
  FreshStore(const FreshStore&) = delete;
  FreshStore& operator=(const FreshStore&) = delete;
  ~FreshStore() {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  Store& operator*() { return *store_; }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<Store> store_;
};

TEST_P(StoreContract, ARandomLifeIsTheOneThatTheRulesDescribe) {  // invariants 1-3, 5, 9-17, 20, 31, 34
  const bool is_the_model = GetParam().name == "memory";
  check_often(GetParam(), [&] {
    ManualStoreClock clock;
    FreshStore store(GetParam(), clock);
    const auto model = is_the_model ? nullptr : make_memory_store(clock);
    ModelPlayer player(clock, *store, model.get());
    player.play(any_steps());
    if (!player.problem().empty()) RC_FAIL(player.problem());
  });
}

}  // namespace
}  // namespace carillon::test
