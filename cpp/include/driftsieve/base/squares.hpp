#pragma once

#include <cstddef>
#include <cstdint>

namespace driftsieve {

// The sums of squared weights that sparse features keep: none while every row has weight 1 and
// nothing fades, because the sum of squares is then the weight; otherwise one for all classes
// together, or one for each class.
enum class Squares : std::uint8_t { none, together, by_class };

// Number of sums, given the number of classes; and the index of the sum of a class.
constexpr std::size_t count_of(Squares squares, std::size_t n_classes) {
    return squares == Squares::none ? 0 : squares == Squares::together ? 1 : n_classes;
}
constexpr std::size_t place_in(Squares squares, std::size_t cls) {
    return squares == Squares::by_class ? cls : 0;
}

}  // namespace driftsieve
