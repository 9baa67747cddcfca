#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "driftsieve/base/ledger.hpp"
#include "driftsieve/base/require.hpp"
#include "driftsieve/memory/coming.hpp"
#include "driftsieve/sparse/page_filler.hpp"
#include "driftsieve/sparse/sparse_bounds.hpp"
#include "driftsieve/sparse/sparse_page.hpp"
#include "driftsieve/sparse/sparse_reader.hpp"

namespace driftsieve {

// Features that are 0 in most rows. Zeros are not stored: the zero weight of a feature in a class
// is the weight of the class minus that of its other values, because fading is linear. So a feature
// that first occurs late has the right weight of zeros for all earlier rows.
//
// Columns are stored in pages: see SparsePage. The state depends on the rows only, never on how
// they are divided into batches or on the number of threads.
class SparseStore {
  public:
    SparseStore() = default;
    SparseStore(const Config& config, std::size_t n_features) : config_(config) {
        grow(n_features);
    }
    SparseStore(const Config& config, std::size_t n_features, const Ledger& ledger,
                const RecordLayout& layout, std::vector<SparsePage> pages)
        : SparseStore(config, n_features, ledger, layout) {
        pages_ = std::move(pages);
        for (const SparsePage& page : pages_) n_slots_ += page.n_slots(layout_);
    }

    std::size_t n_features() const { return n_columns_; }
    void grow(std::size_t n_features) {
        n_columns_ = n_features;
        pages_.resize((n_features + kColumns - 1) / kColumns);
    }
    bool seen(std::size_t column) const { return page_of(column).seen(column % kColumns); }
    // Whether rows fade or differ in weight.
    bool keeps_squares() const { return layout_.squares() != Squares::none; }

    // Adds canonical rows: see PageFiller.
    template <class Rows>
    void update(const Rows& rows, const RowInfo& info, const Fading& fading, unsigned n_threads) {
        const RowStamps stamps(info, rows.n_rows, fading, ledger_);
        if (stamps.size() == 0) return;
        if (!stamps.all_1()) keep_squares();
        const std::size_t n_classes = ledger_.totals.size();
        admit_classes(stamps.n_classes());
        PageFiller filler(config_, layout_, pages_, stamps, ledger_, n_classes, n_threads);
        filler.add(rows);
        n_slots_ += filler.n_admitted();
    }

    // Adds `other` (passed by value, because it is consumed), which has other rows. Its column j is
    // target[j] here.
    void merge(SparseStore other, std::span<const std::size_t> target,
               std::span<const std::uint32_t> class_map, std::size_t n_classes) {
        if (other.ledger_.empty()) return;
        if (other.keeps_squares()) keep_squares();
        if (keeps_squares()) other.keep_squares();
        ledger_.advance(other.ledger_.epoch);
        admit_classes(n_classes);
        ledger_.add(other.ledger_, class_map, n_classes,
                    Fading::rebase_factor(ledger_.epoch - other.ledger_.epoch));
        PageScratch scratch;
        for (std::size_t p = 0; p < other.pages_.size(); ++p) {
            SparsePage& theirs = other.pages_[p];
            theirs.rebase(ledger_.epoch, other.layout_, scratch.feature.ours);
            for (std::size_t place = 0; place < kColumns; ++place) {
                if (!theirs.seen(place)) continue;
                const std::byte* from = theirs.record(place, other.layout_);
                const std::size_t column = target[p * kColumns + place];
                add_record(column, other, from, class_map);
                for (std::uint32_t c = 0; c < other.ledger_.totals.size(); ++c)
                    if (const double weight = other.layout_.weight(from, c); weight != 0.0)
                        add_value(column, class_map[c], other.layout_.value(from), weight);
            }
            for (std::size_t i = 0; i < theirs.log.size(); ++i) {
                const LoggedValue& item = theirs.log[i];
                add_value(target[p * kColumns + item.place], class_map[item.cls], item.value,
                          theirs.weight(i));
            }
            for (const SparsePage::Summed& summed : theirs.summed) {
                const std::size_t column = target[p * kColumns + summed.place];
                page_of(column)
                    .make_state(column % kColumns)
                    .merge(summed.state, class_map, ledger_.totals, config_, scratch.feature);
            }
        }
        for (SparsePage& page : pages_) {
            // summaries were pruned for the weight of all rows: no logged value is new to them
            page.spent = page.log.size();
            page.sum_up_most(config_.exact_values(), {0, n_classes, ledger_.weight()}, config_,
                             scratch);
        }
    }

    // The same rows, features [begin, begin + count) only.
    SparseStore cut(std::size_t begin, std::size_t count) const {
        SparseStore part(config_, count);
        part.ledger_ = ledger_;
        part.layout_ = layout_;
        Summary scratch;
        for (std::size_t p = begin / kColumns; p * kColumns < begin + count; ++p) {
            SparsePage page = pages_[p];
            page.rebase(ledger_.epoch, layout_, scratch);
            const auto column_of = [&](std::size_t place) {
                return p * kColumns + place - begin;  // beyond `count` if it is not in the part
            };
            for (std::size_t place = 0; place < kColumns; ++place) {
                if (!page.seen(place) || column_of(place) >= count) continue;
                part.take_record(column_of(place), page.record(place, layout_));
                if (const FeatureState* state = page.state_of(place))
                    part.page_of(column_of(place)).make_state(column_of(place) % kColumns) = *state;
            }
        }
        for (const bool are_spent : {true, false})
            for (std::size_t p = begin / kColumns; p * kColumns < begin + count; ++p)
                part.take_log(pages_[p], p * kColumns - begin, are_spent,
                              Fading::rebase_factor(ledger_.epoch - pages_[p].epoch));
        return part;
    }

    // All rows as if their clock had read `ticks` more.
    void shift_clock(double ticks, double latest, const Fading& fading) {
        if (ledger_.empty()) return;
        Summary scratch;
        for (SparsePage& page : pages_) page.rebase(ledger_.epoch, layout_, scratch);
        const double factor = ledger_.shift(ticks, latest, fading);
        for (SparsePage& page : pages_) {
            page.epoch = ledger_.epoch;
            page.scale(factor, layout_, scratch);
        }
    }

    Ledger ledger(std::size_t n_classes) const { return ledger_.with_classes(n_classes); }

    // Returns a reader of features, including zeros: reader(lo, hi, fill, visit), see SparseReader.
    // Several threads may use it.
    auto reader(const Ledger& now, std::size_t n_bins) const {
        return [this, &now, n_bins](std::size_t lo, std::size_t hi, const auto& fill,
                                    const auto& visit) {
            SparseReader(config_, layout_, pages_, now, n_bins).read(lo, hi, fill, visit);
        };
    }

    std::size_t nbytes() const {
        std::size_t bytes = pages_.size() * sizeof(SparsePage);
        for (const SparsePage& page : pages_) bytes += page.heap_bytes(layout_);
        return bytes;
    }
    SparseBounds bounds() const { return {config_, layout_, pages_, n_columns_, n_slots_}; }

    // Stores the pages that have a column with values.
    template <class Archive>
    void archive(Archive& ar) {
        ar(ledger_);
        Squares squares = layout_.squares();
        std::vector<std::uint8_t> slots;
        if constexpr (requires { ar.expect_end(); }) {
            ar(squares, slots);
            require(squares <= Squares::by_class);
            layout_ = RecordLayout(ledger_.totals.size(), squares);
            *this = SparseStore(config_, slots.size(), ledger_, layout_);
            for (std::size_t j = 0; j < slots.size(); ++j)
                page_of(j).slot_of[j % kColumns] = slots[j];
        } else {
            for (std::size_t j = 0; j < n_columns_; ++j)
                slots.push_back(page_of(j).slot_of[j % kColumns]);
            ar(squares, slots);
        }
        for (SparsePage& page : pages_) archive(ar, page);
    }

    // Validates a deserialized state.
    void check(std::size_t n_features, std::size_t n_classes, double now,
               const Fading& fading) const {
        require(n_columns_ == n_features);
        ledger_.check(n_classes, fading, now);
        for (const SparsePage& page : pages_) {
            if (page.records.empty()) continue;
            require(page.epoch <= ledger_.epoch && page.epoch > -(std::int64_t{1} << 54));
            require(page.weights.empty() || page.weights.size() == page.log.size());
            require(page.spent <= page.log.size());
            for (const std::uint32_t n : page.waiting) require(n < config_.long_run());
            std::array<bool, kColumns> known{};
            for (const SparsePage::Summed& column : page.summed) {
                require(column.place < kColumns && page.seen(column.place) && !known[column.place]);
                known[column.place] = true;
                column.state.check(ledger_.totals.size());
            }
            for (const LoggedValue& item : page.log) {
                require(page.seen(item.place));
                require(item.cls < ledger_.totals.size());
                config_.check_value(item.value);
            }
            for (const double weight : page.weights) require_weight(weight);
        }
    }

  private:
    static constexpr std::size_t kColumns = SparsePage::kColumns;

    Config config_;
    Ledger ledger_;
    RecordLayout layout_;
    std::size_t n_columns_ = 0;
    std::size_t n_slots_ = 0;  // columns seen
    std::vector<SparsePage> pages_;

    SparseStore(const Config& config, std::size_t n_features, const Ledger& ledger,
                const RecordLayout& layout)
        : SparseStore(config, n_features) {
        ledger_ = ledger;
        layout_ = layout;
    }

    SparsePage& page_of(std::size_t column) { return pages_[column / kColumns]; }
    const SparsePage& page_of(std::size_t column) const { return pages_[column / kColumns]; }

    void lay_out(const RecordLayout& layout) {
        for (SparsePage& page : pages_)
            if (!page.records.empty()) page.lay_out(layout_, layout);
        layout_ = layout;
    }
    void admit_classes(std::size_t n_classes) {
        if (n_classes > ledger_.totals.size()) ledger_.totals.resize(n_classes);
        if (n_classes > layout_.room()) lay_out(RecordLayout(n_classes, layout_.squares()));
    }

    // Keeps squares from now on. All rows so far weigh 1 each and do not fade.
    void keep_squares() {
        if (keeps_squares()) return;
        lay_out(RecordLayout(layout_.room(), config_.squares()));
        Summary summary;
        for (SparsePage& page : pages_) {
            const auto add = [&](std::size_t place, std::size_t cls, double squared) {
                layout_.add_squared(page.record(place, layout_), place_in(layout_.squares(), cls),
                                    squared);
            };
            for (std::size_t i = 0; i < page.log.size(); ++i)
                if (!std::isnan(page.log[i].value))
                    add(page.log[i].place, page.log[i].cls, page.weight(i));
            for (const SparsePage::Summed& column : page.summed) {
                column.state.summary.load(ledger_.totals.size(), summary);
                for (std::size_t i = 0; i < summary.size(); ++i)
                    for (std::size_t c = 0; c < summary.n_classes; ++c)
                        add(column.place, c, summary.of(i)[c]);
                if (const CountedCells* counted = column.state.counted())
                    for (std::size_t c = 0; c < counted->n_classes(); ++c)
                        add(column.place, c, counted->sum(c, 0, counted->map().size() + 2));
            }
        }
    }

    // The page of a column, with a record for the column and weights at the present epoch.
    SparsePage& admit(std::size_t column, double value) {
        SparsePage& page = page_of(column);
        Summary scratch;
        page.rebase(ledger_.epoch, layout_, scratch);
        if (page.seen(column % kColumns)) return page;
        page.admit(column % kColumns, value, config_.absent_is_missing, layout_);
        ++n_slots_;
        return page;
    }

    // Adds a value of a column that has a record. Its row and its squared weight are counted
    // already.
    void add_value(std::size_t column, std::uint32_t cls, double value, double weight) {
        SparsePage& page = page_of(column);
        std::byte* record = page.record(column % kColumns, layout_);
        if (value == layout_.value(record))
            layout_.add(record, cls, weight, 0);
        else
            page.append(column % kColumns, cls, value, weight, SparsePage::kNoBlocks);
    }

    // Adds a record of another store at the same epoch, without its weights.
    void add_record(std::size_t column, const SparseStore& other, const std::byte* from,
                    std::span<const std::uint32_t> class_map) {
        const double atom = other.layout_.value(from);
        std::byte* record = admit(column, SparsePage::has_atom(atom) ? atom : std::nan(""))
                                .record(column % kColumns, layout_);
        const std::size_t n_classes = other.ledger_.totals.size();
        for (std::size_t k = 0; k < count_of(layout_.squares(), n_classes); ++k)
            layout_.add_squared(record, place_in(layout_.squares(), class_map[k]),
                                other.layout_.squared(from, k));
        for (std::uint32_t c = 0; c < n_classes; ++c)
            layout_.add(record, class_map[c], 0.0, other.layout_.rows(from, c));
    }

    // Copies a record of the same layout and epoch to a column without one.
    void take_record(std::size_t column, const std::byte* from) {
        std::copy_n(from, layout_.bytes(), admit(column, 1.0).record(column % kColumns, layout_));
    }

    // Appends the logged values of a page, spent or not. Its first column is column `offset` here.
    void take_log(const SparsePage& from, std::size_t offset, bool are_spent, double factor) {
        const std::size_t begin = are_spent ? 0 : from.spent;
        const std::size_t end = are_spent ? from.spent : from.log.size();
        for (std::size_t i = begin; i < end; ++i) {
            const LoggedValue& item = from.log[i];
            const std::size_t column = offset + item.place;
            if (column >= n_columns_) continue;
            SparsePage& page = page_of(column);
            page.append(column % kColumns, item.cls, item.value, from.weight(i) * factor,
                        SparsePage::kNoBlocks);
            if (are_spent) page.spent = page.log.size();
        }
    }

    // The parts of a page besides its slots. A record is stored as doubles: the atom, squares, and
    // the weight and the number of rows of each class.
    template <class Archive>
    void archive(Archive& ar, SparsePage& page) {
        const std::size_t n_slots = count_slots(page.slot_of);
        if (n_slots == 0) return;
        std::vector<double> numbers;
        if constexpr (requires { ar.expect_end(); }) {
            ar(page.epoch, numbers, page.log, page.weights, page.spent, page.summed);
            take_records(page, n_slots, numbers);
            if (!page.log.empty()) page.waiting.assign(kColumns, 0);
            for (const LoggedValue& item : page.log) {
                require(item.place < kColumns);
                ++page.waiting[item.place];
            }
        } else {
            const std::size_t n_classes = ledger_.totals.size();
            for (std::size_t at = 0; at < page.records.size(); at += layout_.units()) {
                const auto* record = reinterpret_cast<const std::byte*>(&page.records[at]);
                numbers.push_back(layout_.value(record));
                for (std::size_t k = 0; k < count_of(layout_.squares(), n_classes); ++k)
                    numbers.push_back(layout_.squared(record, k));
                for (std::size_t c = 0; c < n_classes; ++c) {
                    numbers.push_back(layout_.weight(record, c));
                    numbers.push_back(static_cast<double>(layout_.rows(record, c)));
                }
            }
            ar(page.epoch, numbers, page.log, page.weights, page.spent, page.summed);
        }
    }

    // Validates a deserialized state.
    void take_records(SparsePage& page, std::size_t n_slots, std::span<const double> numbers) {
        const std::size_t n_classes = ledger_.totals.size();
        const std::size_t n_squares = count_of(layout_.squares(), n_classes);
        const std::size_t stride = 1 + n_squares + 2 * n_classes;
        require(numbers.size() == n_slots * stride);
        check_slots(page.slot_of, n_slots);
        page.records.reserve(SparsePage::room_for_records(n_slots) * layout_.units());
        page.records.resize(n_slots * layout_.units());
        for (std::size_t slot = 0; slot < n_slots; ++slot) {
            const double* from = &numbers[slot * stride];
            auto* record = reinterpret_cast<std::byte*>(&page.records[slot * layout_.units()]);
            require(std::isfinite(from[0]) || from[0] == SparsePage::kNoAtom);
            require(from[0] != 0.0 || config_.absent_is_missing);
            layout_.set_value(record, from[0]);
            for (std::size_t k = 1; k < stride; ++k) require_weight(from[k]);
            for (std::size_t k = 0; k < n_squares; ++k) layout_.add_squared(record, k, from[1 + k]);
            for (std::size_t c = 0; c < n_classes; ++c) {
                const double* of_class = from + 1 + n_squares + 2 * c;
                layout_.add(record, c, of_class[0],
                            static_cast<std::uint64_t>(std::min(
                                of_class[1], static_cast<double>(RecordLayout::kMostRows))));
            }
        }
        n_slots_ += n_slots;
    }
};

}  // namespace driftsieve
