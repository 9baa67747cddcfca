#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "driftsieve/feature/feature_state.hpp"
#include "driftsieve/ladder/ladder_page.hpp"
#include "driftsieve/sparse/sparse_page.hpp"

namespace driftsieve {

// One description of every state, `archive(ar)`, serves both directions. Numbers are little-endian
// and unpadded; a vector is its length (u64) and its items. docs/byte_format.md has the layout.
static_assert(std::endian::native == std::endian::little, "states are stored little-endian");

// Types that are stored as in memory: no padding, no pointers.
template <class T>
concept Plain =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::same_as<T, ClassState> ||
    std::same_as<T, ClassTotal> || std::same_as<T, LoggedValue> || std::same_as<T, Moments> ||
    std::same_as<T, MissingWeight> || std::same_as<T, LadderValue>;
static_assert(sizeof(ClassState) == 48 && sizeof(ClassTotal) == 24 && sizeof(LoggedValue) == 16 &&
              sizeof(Moments) == 32 && sizeof(MissingWeight) == 16 && sizeof(LadderValue) == 24);

// Smallest size of a compound item. It bounds how many of them are allocated for the bytes left.
template <class T>
constexpr std::size_t fewest_bytes = 8;  // a length
template <>
inline constexpr std::size_t fewest_bytes<FeatureState> = 6 * 8 + 4;
template <>
inline constexpr std::size_t fewest_bytes<LadderFeature> = 6 * 8 + 4;
template <>
inline constexpr std::size_t fewest_bytes<SparsePage::Summed> = 8 + fewest_bytes<FeatureState>;

template <class Self>
class Archive {
  public:
    template <class... Fields>
    void operator()(Fields&... fields) {
        (field(fields), ...);
    }

  private:
    Self& self() { return static_cast<Self&>(*this); }

    template <Plain T>
    void field(T& value) {
        self().raw(&value, sizeof(T));
    }
    void field(Ledger& ledger) { (*this)(ledger.totals, ledger.epoch); }
    void field(SparsePage::Summed& column) { (*this)(column.place, column.state); }
    void field(FeatureState& state) {
        std::uint64_t counting = state.counting.size();
        (*this)(state.classes, state.summary, counting);
        require(counting <= 1);  // before more is allocated: this is by far the largest part
        state.counting.resize(counting);
        for (CountedCells& cells : state.counting) field(cells);
    }
    template <class T>
        requires requires(T& value, Self& ar) { value.archive(ar); }
    void field(T& value) {
        value.archive(self());
    }
    template <Plain T, class Allocator>
    void field(std::vector<T, Allocator>& items) {
        self().length(items, sizeof(T));
        self().raw(items.data(), items.size() * sizeof(T));
    }
    template <class T, class Allocator>
        requires(!Plain<T>)
    void field(std::vector<T, Allocator>& items) {
        self().length(items, fewest_bytes<T>);
        for (T& item : items) field(item);
    }
};

class Writer : public Archive<Writer> {
  public:
    std::vector<std::byte> bytes;

    void raw(const void* data, std::size_t size) {
        const auto* begin = static_cast<const std::byte*>(data);
        bytes.insert(bytes.end(), begin, begin + size);
    }
    template <class Items>
    void length(Items& items, std::size_t) {
        const std::uint64_t n = items.size();
        raw(&n, sizeof n);
    }
};

// Never reads past the end and never allocates for items the bytes cannot hold.
class Reader : public Archive<Reader> {
  public:
    explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

    void raw(void* data, std::size_t size) {
        if (size > rest_.size())
            throw std::invalid_argument("the bytes end in the middle of a bank");
        if (size > 0) std::memcpy(data, rest_.data(), size);
        rest_ = rest_.subspan(size);
    }
    template <class Items>
    void length(Items& items, std::size_t smallest_item) {
        std::uint64_t n = 0;
        raw(&n, sizeof n);
        if (n > rest_.size() / smallest_item)
            throw std::invalid_argument("the bytes end in the middle of a bank");
        items.resize(n);
    }
    bool at_end() const { return rest_.empty(); }
    void expect_end() const {
        if (!rest_.empty())
            throw std::invalid_argument("there are extra bytes after the end of the bank");
    }

  private:
    std::span<const std::byte> rest_;
};

}  // namespace driftsieve
