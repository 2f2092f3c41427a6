#include "engine/commands/commands.h"

#include "engine/round/node.h"

namespace carillon {

void Commands::send(Call call) { node_.send(std::move(call)); }
void Commands::perform(Call call) { node_.perform(std::move(call)); }

}  // namespace carillon
