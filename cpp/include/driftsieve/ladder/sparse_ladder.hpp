#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "driftsieve/base/ledger.hpp"
#include "driftsieve/base/parallel.hpp"
#include "driftsieve/base/require.hpp"
#include "driftsieve/ladder/ladder_bounds.hpp"
#include "driftsieve/ladder/ladder_filler.hpp"
#include "driftsieve/ladder/ladder_ledgers.hpp"
#include "driftsieve/ladder/ladder_page.hpp"
#include "driftsieve/ladder/ladder_store.hpp"
#include "driftsieve/memory/coming.hpp"
#include "driftsieve/sparse/column_shares.hpp"
#include "driftsieve/sparse/row_shapes.hpp"
#include "driftsieve/sparse/sparse_reader.hpp"
#include "driftsieve/sparse/sparse_store.hpp"

namespace driftsieve {

// Sparse rows of up to kFewClasses classes, with quantiles, at 2 to kMostRungs half-lives; the
// counterpart of SparseStore. It has the methods of SparseStore, but its own fadings. Readers load
// its pages at one half-life at a time: see LadderPage::load_alone().
class SparseLadder {
  public:
    SparseLadder() = default;
    SparseLadder(const Config& config, std::span<const double> half_lives, std::size_t n_features)
        : config_(config), ledgers_(half_lives.size()) {
        for (const double half_life : half_lives) fadings_.emplace_back(half_life);
        layout_ = LadderLayout(fadings_, config.squares());
        grow(n_features);
    }
    static bool serves(const Config& config, std::size_t rungs, std::size_t n_classes) {
        return config.quantiles && LadderStore::serves(rungs, n_classes);
    }

    std::size_t rungs() const { return fadings_.size(); }
    std::vector<double> half_lives() const {
        std::vector<double> all;
        for (const Fading& fading : fadings_) all.push_back(fading.half_life());
        return all;
    }
    std::size_t n_features() const { return n_columns_; }
    void grow(std::size_t n_features) {
        n_columns_ = n_features;
        pages_.resize((n_features + kColumns - 1) / kColumns);
    }
    bool seen(std::size_t column) const { return page_of(column).seen(column % kColumns); }
    // Whether rows fade or differ in weight.
    bool keeps_squares(std::size_t rung) const { return is_weighted_ || fadings_[rung].fades(); }

    // Adds canonical rows.
    template <class Rows>
    void update(const Rows& rows, const RowInfo& info, const Fading&, unsigned n_threads) {
        if (rows.n_rows == 0) return;
        // from the first row whose weight is not 1, squares are stored separately
        std::size_t begin = 0;
        if (!is_weighted_) {
            const auto first = std::find_if(info.weights.begin(), info.weights.end(),
                                            [](double weight) { return weight != 1.0; });
            begin = first == info.weights.end()
                        ? rows.n_rows
                        : static_cast<std::size_t>(first - info.weights.begin());
            if (begin > 0) add_rows(rows, info, 0, begin, n_threads);
        }
        if (begin == rows.n_rows) return;
        keep_squares();
        add_rows(rows, info, begin, rows.n_rows, n_threads);
    }

    // Adds `other` (passed by value, because it is consumed), which has other rows. Its column j is
    // target[j] here.
    void merge(SparseLadder other, std::span<const std::size_t> target,
               std::span<const std::uint32_t> class_map, std::size_t n_classes) {
        if (other.ledgers_[0].empty()) return;
        if (other.is_weighted_) keep_squares();
        if (is_weighted_) other.keep_squares();
        std::vector<Ledger> theirs = other.ledgers_;
        for (std::size_t r = 0; r < rungs(); ++r) {
            ledgers_[r].advance(other.ledgers_[r].epoch);
            theirs[r].advance(ledgers_[r].epoch);
        }
        admit_classes(n_classes);
        std::vector<double> weight;
        for (std::size_t r = 0; r < rungs(); ++r) {
            ledgers_[r].add(theirs[r], class_map, n_classes, 1.0);
            weight.push_back(ledgers_[r].weight());
        }
        LadderScratch scratch(config_, fadings_, 1);
        for (std::size_t p = 0; p < other.pages_.size(); ++p) {
            LadderPage& page = other.pages_[p];
            page.rebase(theirs, version(), other.layout_);
            for (std::size_t place = 0; place < kColumns; ++place)
                if (page.seen(place))
                    add_column(target[p * kColumns + place], page, place, other.layout_, class_map,
                               scratch);
            for (std::size_t i = 0; i < page.log.size(); ++i) {
                LadderValue item = page.log[i];
                item.cls = class_map[item.cls];
                log_value(target[p * kColumns + item.place], item, page.weight(i));
            }
        }
        // lists were pruned for the weight of all rows: no logged value is new to them
        for (LadderPage& page : pages_)
            page.sum_up_most(config_.exact_values(), {0, n_classes, weight}, layout_, config_,
                             scratch);
    }

    // The same rows, features [begin, begin + count) only.
    SparseLadder cut(std::size_t begin, std::size_t count) const {
        SparseLadder part = empty_like(count);
        for (std::size_t p = begin / kColumns; p * kColumns < begin + count; ++p) {
            LadderPage page = pages_[p];
            page.rebase(ledgers_, version(), layout_);
            const auto column_of = [&](std::size_t place) {
                return p * kColumns + place - begin;  // beyond `count` if it is not in the part
            };
            for (std::size_t place = 0; place < kColumns; ++place) {
                const std::size_t column = column_of(place);
                if (!page.seen(place) || column >= count) continue;
                const LadderPage::Slot& from = page.slot(place);
                LadderPage& into = part.admit(column, from.atom);
                LadderPage::Slot& slot = into.slot(column % kColumns);
                slot.atom = from.atom;
                if (from.record != 0)
                    std::copy_n(page.record(from, layout_), layout_.stride(),
                                into.make_record(slot, layout_));
                if (const LadderPage::Summed* state = page.state_of(place)) {
                    LadderPage::Summed& copy = into.make_state(column % kColumns, layout_);
                    copy.state = state->state;
                    copy.squares = state->squares;
                }
            }
            for (std::size_t i = 0; i < page.log.size(); ++i) {
                const LadderValue& item = page.log[i];
                if (column_of(item.place) < count)
                    part.log_value(column_of(item.place), item, page.weight(i));
            }
        }
        return part;
    }

    // All rows as if their clock had read `ticks` more.
    void shift_clock(double ticks, double latest, const Fading&) {
        if (ledgers_[0].empty()) return;
        for (LadderPage& page : pages_) page.rebase(ledgers_, version(), layout_);
        std::vector<double> factors;
        for (std::size_t r = 0; r < rungs(); ++r)
            factors.push_back(ledgers_[r].shift(ticks, latest, fadings_[r]));
        for (LadderPage& page : pages_) {
            page.scale(factors, layout_);
            for (LadderValue& item : page.log) item.time += ticks;
            page.version = version();
            for (std::size_t r = 0; r < rungs(); ++r) page.epochs[r] = ledgers_[r].epoch;
        }
    }

    Ledger ledger(std::size_t rung, std::size_t n_classes) const {
        return ledgers_[rung].with_classes(n_classes);
    }

    // Reads features at some half-lives. One for each thread.
    class Reader {
      public:
        // `now`: see ledger(), for each of these half-lives.
        Reader(const SparseLadder& store, std::span<const std::size_t> rungs,
               std::span<const Ledger> now, std::size_t n_bins)
            : store_(store),
              rungs_(rungs),
              fadings_(store.some(rungs)),
              rows_(fadings_, store.n_rows(), RowWeights::kMany) {
            for (const Ledger& ledger : now) epochs_.push_back(ledger.epoch);
            for (const std::size_t rung : rungs) layouts_.push_back(store.layout_at(rung));
            for (std::size_t k = 0; k < rungs.size(); ++k)
                readers_.emplace_back(store.config_, layouts_[k], std::span(&page_, 1), now[k],
                                      n_bins, kRounding);
        }
        Reader(const Reader&) = delete;
        Reader& operator=(const Reader&) = delete;

        // Features [lo, hi): visit(k, j, column) for each that occurred, at half-life rungs[k]. If
        // some of a page did not, fill(k, begin, end, column) is called before, for all features of
        // the page.
        template <class Fill, class Visit>
        void read(std::size_t lo, std::size_t hi, const Fill& fill, const Visit& visit) {
            for (std::size_t begin = lo, end; begin < hi; begin = end) {
                const std::size_t p = begin / kColumns;
                const std::size_t first = p * kColumns;
                end = std::min(hi, first + kColumns);
                load(p, kAll, [&](std::size_t k) {
                    readers_[k].read(
                        begin - first, end - first,
                        [&](const Column& column) { fill(k, begin, end, column); },
                        [&](std::size_t j, const Column& column) { visit(k, first + j, column); });
                });
            }
        }
        // visit(k, i, column) for features[i].
        template <class Visit>
        void read_chosen(std::span<const std::size_t> features, const Visit& visit) {
            for (std::size_t i = 0, end; i < features.size(); i = end) {
                const std::size_t p = features[i] / kColumns;
                std::uint64_t places = 0;
                for (end = i; end < features.size() && features[end] / kColumns == p; ++end)
                    places |= std::uint64_t{1} << features[end] % kColumns;
                load(p, places, [&](std::size_t k) {
                    for (std::size_t f = i; f < end; ++f) {
                        const std::size_t place = features[f] % kColumns;
                        const auto take = [&](const Column& column) { visit(k, f, column); };
                        readers_[k].read(place, place + 1, take,
                                         [&](std::size_t, const Column& column) { take(column); });
                    }
                });
            }
        }

      private:
        const SparseLadder& store_;
        std::span<const std::size_t> rungs_;
        std::vector<Fading> fadings_;
        RowWeights rows_;
        std::vector<std::int64_t> epochs_;
        std::vector<RecordLayout> layouts_;
        Room<double> lines_;
        SparsePage page_;  // the page being read, at one half-life
        std::vector<SparseReader> readers_;

        // Calls use(k) for one half-life after another, with these columns of a page loaded.
        template <class Use>
        void load(std::size_t p, std::uint64_t places, const Use& use) {
            const LadderPage& from = store_.pages_[p];
            from.weigh_log(places, rows_, epochs_, lines_);
            for (std::size_t k = 0; k < rungs_.size(); ++k) {
                from.load_alone(rungs_[k], lines_.data() + k, rungs_.size(), epochs_[k], places,
                                store_.layout_, layouts_[k], page_);
                use(k);
            }
        }
    };

    // The same rows at one half-life, as a store of its own.
    SparseStore alone(std::size_t rung) const {
        const RecordLayout layout = layout_at(rung);
        std::vector<SparsePage> pages(pages_.size());
        PageScratch scratch;
        const Ledger& ledger = ledgers_[rung];
        RowWeights rows({&fadings_[rung], 1}, n_rows(), RowWeights::kMany);
        Room<double> weights;
        for (std::size_t p = 0; p < pages_.size(); ++p) {
            pages_[p].weigh_log(kAll, rows, {&ledger.epoch, 1}, weights);
            pages_[p].load_alone(rung, weights.data(), 1, ledger.epoch, kAll, layout_, layout,
                                 pages[p]);
            pages[p].sum_up_most(config_.long_run(), {0, ledger.totals.size(), ledger.weight()},
                                 config_, scratch);
        }
        return {config_, n_columns_, ledger, layout, std::move(pages)};
    }

    std::size_t nbytes() const {
        std::size_t bytes =
            pages_.size() * sizeof(LadderPage) + ledgers_.capacity() * sizeof(Ledger);
        for (const LadderPage& page : pages_) bytes += page.heap_bytes(layout_);
        return bytes;
    }
    LadderBounds bounds() const { return {config_, layout_, pages_, n_columns_}; }

    // Stores the pages that have a column with values.
    template <class Archive>
    void archive(Archive& ar) {
        std::vector<double> all = half_lives();
        std::uint8_t is_weighted = is_weighted_;
        std::vector<std::uint8_t> slots;
        for (std::size_t j = 0; j < n_columns_; ++j)
            slots.push_back(page_of(j).slot_of[j % kColumns]);
        ar(all, ledgers_, is_weighted, slots);
        if constexpr (requires { ar.expect_end(); }) {
            require(LadderStore::serves(all.size(), 0) && ledgers_.size() == all.size());
            require(is_weighted <= 1 && ledgers_[0].totals.size() <= kFewClasses);
            std::vector<Ledger> ledgers = std::move(ledgers_);
            *this = SparseLadder(config_, all, slots.size());
            ledgers_ = std::move(ledgers);
            is_weighted_ = is_weighted != 0;
            layout_ = layout_.with_room(ledgers_[0].totals.size());
            if (is_weighted_) layout_ = layout_.with_weights();
            for (std::size_t j = 0; j < slots.size(); ++j)
                page_of(j).slot_of[j % kColumns] = slots[j];
        }
        for (LadderPage& page : pages_) archive(ar, page);
    }

    // Validates a deserialized state.
    void check(std::size_t n_features, std::size_t n_classes, double now, const Fading&) const {
        require(serves(config_, rungs(), n_classes) && n_columns_ == n_features);
        check_ledgers(ledgers_, fadings_, n_classes, now);
        for (const LadderPage& page : pages_) check(page);
    }

  private:
    static constexpr std::size_t kColumns = LadderPage::kColumns;
    static constexpr std::uint64_t kAll = ~std::uint64_t{0};
    // Largest relative difference between the weights of logged values, which are recomputed from
    // the clock, and those in the ledger.
    static constexpr double kRounding = 1e-12;

    Config config_;
    std::vector<Fading> fadings_;
    std::vector<Ledger> ledgers_;
    LadderLayout layout_;
    bool is_weighted_ = false;  // whether a row had a weight other than 1
    std::size_t n_columns_ = 0;
    std::vector<LadderPage> pages_;

    SparseLadder empty_like(std::size_t n_features) const {
        SparseLadder store;
        store.config_ = config_;
        store.fadings_ = fadings_;
        store.ledgers_ = ledgers_;
        store.layout_ = layout_;
        store.is_weighted_ = is_weighted_;
        store.grow(n_features);
        return store;
    }

    LadderPage& page_of(std::size_t column) { return pages_[column / kColumns]; }
    const LadderPage& page_of(std::size_t column) const { return pages_[column / kColumns]; }

    // Version of pages at the epochs of the ledgers.
    std::int64_t version() const {
        if (ledgers_[0].empty()) return LadderPage::kNever;
        std::int64_t sum = 0;
        for (const Ledger& ledger : ledgers_) sum += ledger.epoch;
        return sum;
    }

    std::size_t n_rows() const {
        std::size_t n = 0;
        for (const ClassTotal& total : ledgers_[0].totals) n += total.rows;
        return n;
    }
    std::vector<Fading> some(std::span<const std::size_t> rungs) const {
        std::vector<Fading> fadings;
        for (const std::size_t rung : rungs) fadings.push_back(fadings_[rung]);
        return fadings;
    }

    RecordLayout layout_at(std::size_t rung) const {
        return RecordLayout(layout_.room(),
                            keeps_squares(rung) ? layout_.squares() : Squares::none);
    }

    void admit_classes(std::size_t n_classes) {
        if (n_classes > ledgers_[0].totals.size())
            for (Ledger& ledger : ledgers_) ledger.totals.resize(n_classes);
        if (n_classes > layout_.room()) lay_out(layout_.with_room(n_classes));
    }
    void keep_squares() {
        if (!is_weighted_) lay_out(layout_.with_weights());
        is_weighted_ = true;
    }
    void lay_out(const LadderLayout& layout) {
        for (LadderPage& page : pages_) page.lay_out(layout_, layout);
        layout_ = layout;
    }

    // Adds rows [begin, end).
    template <class Rows>
    void add_rows(const Rows& rows, const RowInfo& info, std::size_t begin, std::size_t end,
                  unsigned n_threads) {
        const std::span<const std::uint32_t> classes = info.classes.subspan(begin, end - begin);
        const std::size_t before = ledgers_[0].totals.size();
        admit_classes(*std::max_element(classes.begin(), classes.end()) + 1);
        const ColumnShares shares = column_shares(rows, n_columns_, kColumns, n_threads);
        std::vector<Ledger> after;
        parallel_chunks(shares.size(), 1, n_threads, [&](std::size_t k, std::size_t) {
            LadderFiller filler(config_, layout_, pages_, fadings_, ledgers_, before, end - begin);
            for_each_sparse_row(
                rows, config_.absent_is_missing, [&](std::size_t i, const auto& row) {
                    if (i >= begin && i < end)
                        filler.add_row(info, i, part_of(row, shares.cuts[k], shares.cuts[k + 1]));
                });
            filler.sum_up();
            if (k == 0) after = std::move(filler.ledgers());
        });
        ledgers_ = std::move(after);
    }

    // The page of a column, with the column admitted and weights at the present epochs.
    LadderPage& admit(std::size_t column, double value) {
        LadderPage& page = page_of(column);
        page.rebase(ledgers_, version(), layout_);
        if (!page.seen(column % kColumns))
            page.admit(column % kColumns, SparsePage::has_atom(value) ? value : std::nan(""), true);
        return page;
    }

    // Logs a value of a column that has been admitted.
    void log_value(std::size_t column, LadderValue value, double weight) {
        value.place = static_cast<std::uint32_t>(column % kColumns);
        LadderPage& page = page_of(column);
        page.append(page.slot(value.place), value, weight, SparsePage::kNoBlocks);
    }

    // Adds a column of a page of another store at the same epochs, without its logged values.
    void add_column(std::size_t column, LadderPage& from, std::size_t place,
                    const LadderLayout& layout, std::span<const std::uint32_t> class_map,
                    LadderScratch& scratch) {
        const LadderPage::Slot& theirs = from.slot(place);
        LadderPage& page = admit(column, theirs.atom);
        const auto place_of = [&](std::uint32_t cls) {
            return rungs() * place_in(layout_.squares(), cls);
        };
        const std::size_t n_theirs = std::min(class_map.size(), layout.room());
        if (LadderPage::Summed* summed = from.state_of(place)) {
            LadderPage::Summed& ours = page.make_state(column % kColumns, layout_);
            ours.state.merge(std::move(summed->state), class_map, ledgers_[0].totals.size(),
                             scratch.absorber);
            for (std::size_t k = 0; k < std::min(layout.n_squares(), n_theirs); ++k)
                for (std::size_t r = 0; r < rungs(); ++r)
                    ours.squares[place_of(class_map[k]) + r] += summed->squares[k * rungs() + r];
        }
        if (theirs.record == 0) return;
        const double* record = from.record(theirs, layout);
        LadderPage::Slot& slot = page.slot(column % kColumns);
        if (LadderPage::is_same(slot.atom, theirs.atom)) {
            double* ours = page.make_record(slot, layout_);
            const std::size_t n_own = layout_.own().size();
            for (std::size_t k = 0; k < std::min(layout.n_squares(), n_theirs); ++k)
                for (std::size_t o = 0; o < n_own; ++o)
                    ours[layout_.squared_at(class_map[k]) + o] += record[layout.square_at(k) + o];
            for (std::size_t c = 0; c < n_theirs; ++c)
                for (std::size_t r = 0; r < rungs(); ++r)
                    ours[layout_.weight_at(class_map[c]) + r] += record[layout.weight_at(c) + r];
            return;
        }
        // the atom of the other store, if it is not the atom here, is a value like others
        LadderPage::Summed& ours = page.make_state(column % kColumns, layout_);
        LadderFeature state;
        const std::vector<double> nothing(rungs());
        std::vector<double> weights;
        for (std::size_t c = 0; c < n_theirs; ++c) {
            const double* of_class = record + layout.weight_at(c);
            weights.insert(weights.end(), of_class, of_class + rungs());
            for (std::size_t r = 0; config_.moments && r < rungs(); ++r)
                if (of_class[r] != 0.0)
                    state.moments_of(c, rungs())[r] = {of_class[r], theirs.atom, 0.0, 0.0};
        }
        state.list.store({&theirs.atom, 1}, nothing.data(), weights.data(), n_theirs, rungs());
        ours.state.merge(std::move(state), class_map, ledgers_[0].totals.size(), scratch.absorber);
        for (std::size_t k = 0; k < std::min(layout.n_squares(), n_theirs); ++k)
            for (std::size_t r = 0; r < rungs(); ++r)
                ours.squares[place_of(class_map[k]) + r] +=
                    layout.squared(record, page.epochs, k, r);
    }

    // The parts of a page besides its slots.
    template <class Archive>
    void archive(Archive& ar, LadderPage& page) {
        const std::size_t n_slots = count_slots(page.slot_of);
        if (n_slots == 0) return;
        std::vector<double> atoms;
        std::vector<std::uint8_t> records;
        std::vector<double> sums;
        std::uint8_t n_records = 0;
        // records by slot, because the order in which they were made may depend on batches
        for (const LadderPage::Slot& slot : page.slots) {
            atoms.push_back(slot.atom);
            records.push_back(slot.record == 0 ? 0 : ++n_records);
            if (slot.record == 0) continue;
            const double* record = page.record(slot, layout_);
            sums.insert(sums.end(), record, record + layout_.stride());
        }
        std::uint64_t n_summed = page.summed.size();
        ar(page.epochs, atoms, records, sums, page.log, page.weights, n_summed);
        if constexpr (requires { ar.expect_end(); }) {
            require(n_summed <= n_slots && page.epochs.size() == rungs());
            page.sums = std::move(sums);
            page.summed.resize(n_summed);
            take_slots(page, n_slots, atoms, records);
        }
        for (LadderPage::Summed& column : page.summed)
            ar(column.place, column.state, column.squares);
    }

    // Validates a deserialized state.
    void take_slots(LadderPage& page, std::size_t n_slots, std::span<const double> atoms,
                    std::span<const std::uint8_t> records) {
        require(atoms.size() == n_slots && records.size() == n_slots);
        require(page.sums.size() % layout_.stride() == 0);
        check_slots(page.slot_of, n_slots);
        std::array<bool, kColumns + 1> has_record{};
        std::size_t n_records = 0;
        for (std::size_t k = 0; k < n_slots; ++k) {
            require(std::isfinite(atoms[k]) || atoms[k] == SparsePage::kNoAtom);
            require(atoms[k] != 0.0 || config_.absent_is_missing);
            require(records[k] <= page.n_records(layout_));
            require(records[k] == 0 || !has_record[records[k]]);
            has_record[records[k]] = true;
            n_records += records[k] != 0;
            page.slots.push_back({atoms[k], 0, 0, records[k]});
        }
        require(n_records == page.n_records(layout_));
        page.version = 0;
        for (const std::int64_t epoch : page.epochs) {
            require(std::abs(epoch) < (std::int64_t{1} << 54));
            page.version += epoch;
        }
        for (const LadderValue& item : page.log) {
            require(item.place < kColumns && page.seen(item.place));
            LadderPage::Slot& slot = page.slot(item.place);
            if (LadderPage::is_same(item.value, slot.atom))
                require(slot.record == 0 && ++slot.n_atoms < LadderPage::most_atoms(rungs()));
            else
                require(++slot.waiting < LadderPage::block(config_));
        }
    }

    // Validates a deserialized state.
    void check(const LadderPage& page) const {
        if (page.slots.empty()) return;
        for (std::size_t r = 0; r < rungs(); ++r) {
            require(page.epochs[r] <= ledgers_[r].epoch);
            require(fadings_[r].fades() || page.epochs[r] == 0);
        }
        for (const double sum : page.sums) require_weight(sum);
        require(page.weights.empty() || page.weights.size() == page.log.size());
        for (const double weight : page.weights) require_weight(weight);
        for (const LadderValue& item : page.log) {
            require(std::isfinite(item.time));
            for (std::size_t r = 0; r < rungs(); ++r)
                require(fadings_[r].epoch_of(item.time) <= ledgers_[r].epoch);
            require(item.cls < ledgers_[0].totals.size());
            config_.check_value(item.value);
        }
        std::array<bool, kColumns> known{};
        for (const LadderPage::Summed& column : page.summed) {
            require(column.place < kColumns && page.seen(column.place) && !known[column.place]);
            known[column.place] = true;
            column.state.check(ledgers_[0].totals.size(), rungs());
            require(column.state.counting.empty());
            require(column.squares.size() == rungs() * layout_.n_squares());
            for (const double squared : column.squares) require_weight(squared);
        }
    }
};

}  // namespace driftsieve
