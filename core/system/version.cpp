// Placeholder until the parts of core/system are listed.
namespace plimsoll::sys {}
