#include <doctest/doctest.h>

#include <cstddef>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "driftsieve/row_walk.hpp"

using namespace driftsieve;

#ifdef __linux__
TEST_CASE("a walk to the end of all memory there is does no harm") {
    constexpr std::size_t page = 4096;
    char* const memory = static_cast<char*>(
        mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(memory != MAP_FAILED);
    REQUIRE(mprotect(memory + page, page, PROT_NONE) == 0);
    const auto* const first = reinterpret_cast<const double*>(memory);
    for (const std::size_t width : {1, 8, 64, 512}) {
        RowWalk walk;
        for (std::size_t i = 0; i < 512 / width; ++i)
            walk.step(MatrixView<double>{first + i * width, 0, 1, 1, width});
        walk.step(
            MatrixView<double>{first, static_cast<std::ptrdiff_t>(width), 1, 512 / width, width});
        walk.step(MatrixView<double>{first + 512, -1, -1, 1, width});
    }
    munmap(memory, 2 * page);
}
#endif
