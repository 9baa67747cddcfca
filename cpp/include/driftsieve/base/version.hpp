#pragma once

namespace driftsieve {

// The same as in pyproject.toml; a test compares them.
inline constexpr char version[] = "0.1.0";

}  // namespace driftsieve
