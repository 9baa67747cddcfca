#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>

#include "driftsieve/version.hpp"

TEST_CASE("the version has three parts") {
    constexpr std::string_view version = driftsieve::version;
    CHECK(std::count(version.begin(), version.end(), '.') == 2);
}
