#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/summary.hpp"

namespace driftsieve {

// A summary at rest. Rows that weigh 1 and do not fade have whole weights: then an entry takes two
// words (value; weight and hidden in 32 bits each), otherwise three.
class PackedEntries {
  public:
    bool empty() const { return words_.empty(); }
    std::size_t size() const { return words_.size() / stride(); }
    std::size_t nbytes() const { return words_.capacity() * sizeof(std::uint64_t); }

    void load(Entries& out) const {
        out.resize(size());
        const std::uint64_t* word = words_.data();
        if (narrow_ != 0) {
            for (Entry& entry : out) {
                entry = {std::bit_cast<double>(word[0]), static_cast<double>(word[1] & kLow),
                         static_cast<double>(word[1] >> 32)};
                word += 2;
            }
        } else {
            for (Entry& entry : out) {
                entry = {std::bit_cast<double>(word[0]), std::bit_cast<double>(word[1]),
                         std::bit_cast<double>(word[2])};
                word += 3;
            }
        }
    }

    void store(std::span<const Entry> entries) {
        narrow_ = 1;
        for (const Entry& entry : entries)
            narrow_ &= static_cast<std::uint8_t>(is_whole(entry.weight) && is_whole(entry.hidden));
        const std::size_t size = entries.size() * stride();
        // a vector keeps its capacity: give it back where it would be more than a quarter too much
        if (words_.capacity() > size + size / 4 || words_.capacity() < size) {
            words_ = std::vector<std::uint64_t>();
            words_.reserve(size);
        }
        words_.resize(size);
        std::uint64_t* word = words_.data();
        for (const Entry& entry : entries) {
            *word++ = std::bit_cast<std::uint64_t>(entry.value);
            if (narrow_ != 0) {
                *word++ = static_cast<std::uint64_t>(entry.weight) |
                          static_cast<std::uint64_t>(entry.hidden) << 32;
            } else {
                *word++ = std::bit_cast<std::uint64_t>(entry.weight);
                *word++ = std::bit_cast<std::uint64_t>(entry.hidden);
            }
        }
    }

    template <class Archive>
    void archive(Archive& ar) {
        ar(narrow_, words_);
    }

    bool sound() const { return narrow_ <= 1 && words_.size() % stride() == 0; }

  private:
    static constexpr std::uint64_t kLow = 0xFFFFFFFF;

    std::uint8_t narrow_ = 1;
    std::vector<std::uint64_t> words_;

    std::size_t stride() const { return narrow_ != 0 ? 2 : 3; }
    static bool is_whole(double x) {
        return x <= 4294967295.0 && x == static_cast<double>(static_cast<std::uint64_t>(x));
    }
};

}  // namespace driftsieve
