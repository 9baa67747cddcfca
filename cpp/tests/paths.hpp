#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "driftsieve/kernels.hpp"
#include "rows.hpp"

// Common parts of the tests of kernels.
namespace tests {

inline std::vector<const driftsieve::Kernels*> paths() {
    std::vector<const driftsieve::Kernels*> paths;
    for (const char* name : {"baseline", "avx2", "avx512"})
        if (const driftsieve::Kernels* found = driftsieve::kernels_named(name))
            paths.push_back(found);
    return paths;
}

inline std::vector<std::size_t> lengths() {
    std::vector<std::size_t> lengths(41);
    std::iota(lengths.begin(), lengths.end(), 0);
    lengths.insert(lengths.end(), {63, 64, 65, 255, 1000});
    return lengths;
}

// n items that begin `ahead` places after an allocation does, so that their alignment is arbitrary;
// the allocation ends with the last one, so that a sanitizer finds reads beyond it.
template <class T>
class Unaligned {
  public:
    Unaligned(std::size_t ahead, std::size_t n, T fill = T{})
        : ahead_(ahead), all_(ahead + n, fill) {}
    T* data() { return all_.data() + ahead_; }
    std::size_t size() const { return all_.size() - ahead_; }
    T& operator[](std::size_t i) { return data()[i]; }
    std::vector<T> copy() const {
        return {all_.begin() + static_cast<std::ptrdiff_t>(ahead_), all_.end()};
    }

  private:
    std::size_t ahead_;
    std::vector<T> all_;
};

// The same bits; all NaN are equal.
inline bool same(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (a != a && b != b);
}
inline bool same(const std::vector<double>& a, const std::vector<double>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](double x, double y) { return same(x, y); });
}

// All kinds of values, including extreme ones.
inline double any_value(Source& source, bool missing) {
    static const std::vector<double> hostile = {0.0,    -0.0, 5e-324, -5e-324, 2.2e-308, 1.7e308,
                                                -1e308, 1e15, 1.0,    -1.0,    1e8 + 0.5};
    if (missing && source.below(8) == 0) return std::numeric_limits<double>::quiet_NaN();
    if (source.below(4) == 0) return hostile[source.below(hostile.size())];
    const auto kind = static_cast<Kind>(source.below(static_cast<std::size_t>(Kind::end_of_kinds)));
    return source.value(kind, source.below(4));
}

// Calls check(kernels, name) for every path that this machine has.
template <class Check>
void on_every_path(const Check& check) {
    for (const driftsieve::Kernels* path : paths()) {
        CAPTURE(std::string(path->name));
        check(*path);
    }
}

}  // namespace tests
