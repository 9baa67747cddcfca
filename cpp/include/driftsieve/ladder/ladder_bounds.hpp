#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/base/config.hpp"
#include "driftsieve/ladder/ladder_list.hpp"
#include "driftsieve/ladder/ladder_page.hpp"
#include "driftsieve/memory/coming.hpp"
#include "driftsieve/sparse/row_shapes.hpp"

namespace driftsieve {

// Upper bounds of the size of a SparseLadder: see SparseBounds.
class LadderBounds {
  public:
    LadderBounds(const Config& config, const LadderLayout& layout,
                 std::span<const LadderPage> pages, std::size_t n_columns)
        : config_(config), layout_(layout), pages_(pages), n_columns_(n_columns) {}

    // Upper bound of nbytes() without new rows, if all lists use their full capacity and all logged
    // values are summed up, with that many classes.
    std::size_t settled_bytes(std::size_t n_classes, bool is_wide) const {
        const LadderLayout layout = layout_with(n_classes, is_wide);
        std::size_t bytes = ledger_bytes() + pages_.size() * page_bytes();
        for (const LadderPage& page : pages_)
            bytes += 2 * page.slots.size() * sizeof(LadderPage::Slot) +
                     kMostRoom * page.n_records(layout_) * layout.bytes() +
                     page.log.size() * (2 * logged_bytes(is_wide) + bytes_of_sum(layout)) +
                     state_bytes(page, layout);
        return bytes;
    }

    // Upper bound of settled_bytes(), at most `before` now, with these rows, which are not read.
    std::size_t most_bytes_with(const Coming& coming, std::size_t before) const {
        const LadderLayout layout = layout_with(coming.classes, true);
        const std::size_t n_new = std::min(coming.values, coming.columns);
        return before + (pages_.empty() ? ledger_bytes() : 0) +
               (n_pages(coming.columns) - pages_.size()) * page_bytes() +
               2 * n_new * sizeof(LadderPage::Slot) +
               coming.values * (2 * logged_bytes(true) + bytes_of_sum(layout));
    }

    // Upper bound of nbytes() with these rows, whose values are counted.
    template <class Rows>
    std::size_t bytes_with(const Rows& rows, const Coming& coming) const {
        struct Growth {
            std::size_t n_slots = 0;
            std::size_t n_records = 0;
            std::size_t logged = 0;
            std::size_t more_states = 0;
            std::size_t state_bytes = 0;
        };
        const LadderLayout layout = layout_with(coming.classes, coming.may_shrink);
        std::vector<Growth> growth(n_pages(coming.columns));
        const std::size_t most_atoms = LadderPage::most_atoms(layout.rungs());
        const std::size_t block = LadderPage::block(config_);
        const auto page_of = [&](std::size_t column) {
            return column < n_columns_ ? &pages_[column / kColumns] : nullptr;
        };
        const auto may_be_logged = [&](std::size_t column, double value) {
            const LadderPage* page = page_of(column);
            const std::size_t place = column % kColumns;
            return page == nullptr || !page->seen(place) || page->slot(place).record == 0 ||
                   !LadderPage::is_same(value, page->slot(place).atom);
        };
        const auto grow = [&](std::size_t column, std::span<const double> given) {
            Growth& more = growth[column / kColumns];
            const LadderPage* page = page_of(column);
            const std::size_t place = column % kColumns;
            LadderPage::Slot slot{given[0], 0, 0, 0};
            if (page != nullptr && page->seen(place))
                slot = page->slot(place);
            else
                ++more.n_slots;
            std::size_t n_atoms = 0;
            for (const double value : given) n_atoms += LadderPage::is_same(value, slot.atom);
            const std::size_t n_others = given.size() - n_atoms;
            if (slot.record == 0) {
                // the atoms in the log may stay there or leave it
                more.logged += std::min(n_atoms, most_atoms);
                more.n_records += slot.n_atoms + n_atoms >= most_atoms;
            }
            const std::size_t waiting = slot.waiting + n_others;
            more.logged += std::min(n_others, waiting % block);
            if (waiting < block) return;
            const bool is_known = page != nullptr && page->state_of(place) != nullptr;
            more.more_states += is_known ? 0 : 1;
            more.state_bytes += class_bytes(layout) +
                                list_bytes(waiting / block * block, layout, coming.may_shrink);
        };
        for_each_column(rows, config_.absent_is_missing, may_be_logged, grow);
        const LadderPage none;
        std::size_t bytes = ledger_bytes() + growth.size() * sizeof(LadderPage);
        for (std::size_t p = 0; p < growth.size(); ++p) {
            const LadderPage& page = p < pages_.size() ? pages_[p] : none;
            const Growth& more = growth[p];
            const std::size_t n_slots = page.slots.size() + more.n_slots;
            const std::size_t logged = page.log.size() + more.logged;
            if (n_slots == 0) continue;
            bytes +=
                layout.rungs() * sizeof(std::int64_t) +
                capacity_for(n_slots) * sizeof(LadderPage::Slot) +
                SparsePage::room_for_records(page.n_records(layout_) + more.n_records) *
                    layout.bytes() +
                capacity_for(logged) * logged_bytes(coming.may_shrink || !page.weights.empty()) +
                capacity_for(page.summed.size() + more.more_states) * sizeof(LadderPage::Summed) +
                more.state_bytes;
            if (!page.summed.empty()) bytes += state_bytes(page, layout);
        }
        return bytes;
    }

  private:
    static constexpr std::size_t kColumns = LadderPage::kColumns;
    static constexpr std::size_t kMostRoom = 4;  // capacity for records, per record

    const Config& config_;
    const LadderLayout& layout_;
    std::span<const LadderPage> pages_;
    std::size_t n_columns_;

    static std::size_t n_pages(std::size_t n_columns) {
        return (n_columns + kColumns - 1) / kColumns;
    }
    std::size_t ledger_bytes() const { return layout_.rungs() * sizeof(Ledger); }
    std::size_t page_bytes() const {
        return sizeof(LadderPage) + layout_.rungs() * sizeof(std::int64_t);
    }
    static std::size_t logged_bytes(bool is_weighted) {
        return sizeof(LadderValue) + (is_weighted ? sizeof(double) : 0);
    }
    LadderLayout layout_with(std::size_t n_classes, bool is_weighted) const {
        const LadderLayout layout = layout_.with_room(n_classes);
        return is_weighted ? layout.with_weights() : layout;
    }

    std::size_t class_bytes(const LadderLayout& layout) const {
        return 2 * layout.room() * layout.rungs() * (sizeof(Moments) + sizeof(MissingWeight)) +
               layout.rungs() * layout.n_squares() * sizeof(double);
    }
    // Bytes of a value that is summed up, or of an atom that gets a record.
    std::size_t bytes_of_sum(const LadderLayout& layout) const {
        const std::size_t of_state = 2 * sizeof(LadderPage::Summed) + class_bytes(layout);
        return std::max(kMostRoom * layout.bytes() / LadderPage::most_atoms(layout.rungs()) + 1,
                        LadderList::most_bytes(1, layout.room(), layout.rungs()) +
                            of_state / config_.long_run());
    }
    // Mini-bins for so many more values of a list, in the worst known order of rows.
    std::size_t list_bytes(std::size_t n_values, const LadderLayout& layout,
                           bool may_shrink) const {
        const auto most =
            static_cast<std::size_t>((may_shrink ? 70.0 : 40.0) / config_.epsilon + 4.0);
        return LadderList::most_bytes(std::min(n_values, most), layout.room(), layout.rungs());
    }
    // Of the existing states.
    std::size_t state_bytes(const LadderPage& page, const LadderLayout& layout) const {
        std::size_t bytes = 2 * page.summed.size() * sizeof(LadderPage::Summed);
        for (const LadderPage::Summed& column : page.summed)
            bytes += std::max(
                column.state.nbytes() + column.squares.capacity() * sizeof(double),
                class_bytes(layout) + LadderList::most_bytes(column.state.list.size(),
                                                             layout.room(), layout.rungs()));
        return bytes;
    }
};

}  // namespace driftsieve
