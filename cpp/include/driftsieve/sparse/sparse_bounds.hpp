#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/memory/coming.hpp"
#include "driftsieve/sparse/row_shapes.hpp"
#include "driftsieve/sparse/sparse_page.hpp"

namespace driftsieve {

// Upper bounds of the size of a sparse store. The capacity of the lists of a page is a power of 2,
// less than twice their size; for records see SparsePage.
class SparseBounds {
  public:
    SparseBounds(const Config& config, const RecordLayout& layout,
                 std::span<const SparsePage> pages, std::size_t n_columns, std::size_t n_slots)
        : config_(config),
          layout_(layout),
          pages_(pages),
          n_columns_(n_columns),
          n_slots_(n_slots) {}

    // Upper bound of nbytes() without new rows, if all lists use their full capacity and all logged
    // values are summed up, for numbers of that width and that many classes.
    std::size_t settled_bytes(std::size_t n_classes, bool is_wide) const {
        const std::size_t record = layout_with(n_classes, is_wide).bytes();
        std::size_t bytes = pages_.size() * sizeof(SparsePage);
        for (const SparsePage& page : pages_)
            bytes += kMostRoom * page.n_slots(layout_) * record + 2 * page.log.size() * kLogged +
                     kWaiting + page.log.size() * bytes_of_sum(n_classes, is_wide) +
                     state_bytes(page, n_classes, is_wide);
        return bytes;
    }

    // Upper bound of settled_bytes(), at most `before` now, with these rows, which are not read.
    std::size_t most_bytes_with(const Coming& coming, std::size_t before) const {
        const std::size_t record = layout_with(coming.classes, coming.is_wide).bytes();
        const std::size_t n_new = std::min(coming.values, coming.columns - n_slots_);
        return before +
               (n_pages(coming.columns) - pages_.size()) * (sizeof(SparsePage) + kWaiting) +
               kMostRoom * n_new * record +
               coming.values * (2 * kLogged + bytes_of_sum(coming.classes, coming.is_wide));
    }

    // Upper bound of nbytes() with these rows. Values are counted as if no summary were ever
    // pruned.
    template <class Rows>
    std::size_t bytes_with(const Rows& rows, const Coming& coming) const {
        struct Growth {
            std::size_t n_new = 0;
            std::size_t n_others = 0;
        };
        std::vector<Growth> growth(n_pages(coming.columns));
        const auto is_new = [&](std::size_t column, double value) {
            const SparsePage* page = column < n_columns_ ? &pages_[column / kColumns] : nullptr;
            const std::size_t place = column % kColumns;
            if (page == nullptr || !page->seen(place)) return true;
            growth[column / kColumns].n_others +=
                value != layout_.value(page->record(place, layout_));
            return false;
        };
        const auto grow = [&](std::size_t column, std::span<const double> given) {
            Growth& more = growth[column / kColumns];
            ++more.n_new;
            for (const double value : given) more.n_others += value != given[0];
        };
        for_each_column(rows, config_.absent_is_missing, is_new, grow);
        const RecordLayout layout = layout_with(coming.classes, coming.is_wide);
        const SparsePage none;
        std::size_t bytes = growth.size() * sizeof(SparsePage);
        for (std::size_t p = 0; p < growth.size(); ++p) {
            const SparsePage& page = p < pages_.size() ? pages_[p] : none;
            const std::size_t n_slots = page.n_slots(layout_) + growth[p].n_new;
            const std::size_t logged = page.log.size() + growth[p].n_others;
            bytes += SparsePage::room_for_records(n_slots) * layout.bytes() +
                     capacity_for(logged) *
                         (coming.is_wide || !page.weights.empty() ? kLogged : sizeof(LoggedValue)) +
                     state_bytes(page, coming.classes, coming.is_wide);
            if (growth[p].n_others > 0 && page.waiting.empty()) bytes += kWaiting;
            bytes += page.waiting.size() * sizeof(std::uint32_t);
            if (logged >= config_.long_run())
                bytes += logged * bytes_of_sum(coming.classes, coming.is_wide);
        }
        return bytes;
    }

  private:
    static constexpr std::size_t kColumns = SparsePage::kColumns;
    static constexpr std::size_t kLogged = sizeof(LoggedValue) + sizeof(double);  // with its weight
    static constexpr std::size_t kWaiting = kColumns * sizeof(std::uint32_t);
    static constexpr std::size_t kMostRoom = 4;  // capacity for records, per record
    static constexpr std::size_t kState = 2 * sizeof(SparsePage::Summed);

    const Config& config_;
    const RecordLayout& layout_;
    std::span<const SparsePage> pages_;
    std::size_t n_columns_;
    std::size_t n_slots_;

    static std::size_t n_pages(std::size_t n_columns) {
        return (n_columns + kColumns - 1) / kColumns;
    }

    RecordLayout layout_with(std::size_t n_classes, bool is_wide) const {
        return RecordLayout(std::max(n_classes, layout_.room()),
                            is_wide ? config_.squares() : layout_.squares());
    }

    // Bytes of a value that is summed up, including its share of the state, which is made for many
    // values.
    std::size_t bytes_of_sum(std::size_t n_classes, bool is_wide) const {
        const std::size_t cells =
            keeps_cells(n_classes) ? CountedCells::most_bytes(config_.cells(), n_classes, is_wide)
                                   : 0;
        return PackedSummary::bytes_of_row(n_classes, is_wide) + 2 +
               (kState + FeatureState::most_class_bytes(n_classes) + cells) / config_.long_run();
    }

    // Of the existing states.
    std::size_t state_bytes(const SparsePage& page, std::size_t n_classes, bool is_wide) const {
        std::size_t bytes = page.summed.size() * kState;
        for (const SparsePage::Summed& column : page.summed) {
            bytes += column.state.nbytes() + FeatureState::most_class_bytes(n_classes) +
                     column.state.summary.most_growth(n_classes, is_wide);
            if (const CountedCells* counted = column.state.counted())  // may become mini-bins
                bytes +=
                    (counted->map().size() + 2) * PackedSummary::bytes_of_row(n_classes, is_wide);
        }
        return bytes;
    }
};

}  // namespace driftsieve
