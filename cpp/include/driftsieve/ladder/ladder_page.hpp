#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "driftsieve/base/fading.hpp"
#include "driftsieve/base/squares.hpp"
#include "driftsieve/ladder/ladder_absorber.hpp"
#include "driftsieve/ladder/ladder_feature.hpp"
#include "driftsieve/ladder/ladder_layout.hpp"
#include "driftsieve/ladder/ladder_run.hpp"
#include "driftsieve/memory/room.hpp"
#include "driftsieve/sparse/page_lists.hpp"
#include "driftsieve/sparse/sparse_page.hpp"

namespace driftsieve {

// A value of a sparse column that is not summed up yet: see LadderPage.
struct LadderValue {
    double value;
    std::uint32_t cls;
    std::uint32_t place;  // of the column in its page
    double time;          // clock reading of the row
};

// Weights of rows at some half-lives. Many values have few clock readings, and a weight takes
// longer to compute than to look up.
class RowWeights {
  public:
    // Keeps the weights of about `n_rows` clock readings, at most of `most`.
    RowWeights(std::span<const Fading> fadings, std::size_t n_rows, std::size_t most = kMost)
        : fadings_(fadings),
          bits_(static_cast<unsigned>(std::bit_width(std::clamp<std::size_t>(n_rows, 1, most)))),
          known_(std::size_t{1} << bits_),
          weights_(known_.size() * fadings.size()) {}
    // For reading: logged values may come from rows of a long time.
    static constexpr std::size_t kMany = std::size_t{1} << 14;

    // Weights of a row with sample weight 1, relative to the epochs epoch_of(rung), whose sum is
    // `version`. Valid until the next call.
    template <class EpochOf>
    const double* of(double time, std::int64_t version, const EpochOf& epoch_of) {
        const std::size_t k =
            std::bit_cast<std::uint64_t>(time) * 0x9e3779b97f4a7c15u >> (64 - bits_);
        double* weights = weights_.data() + k * fadings_.size();
        if (known_[k].is_set && known_[k].time == time && known_[k].version == version)
            return weights;
        known_[k] = {time, version, true};
        for (std::size_t r = 0; r < fadings_.size(); ++r)
            weights[r] = fadings_[r].weight(time, epoch_of(r));
        return weights;
    }

  private:
    static constexpr std::size_t kMost = std::size_t{1} << 12;
    struct Known {
        double time = 0.0;
        std::int64_t version = 0;
        bool is_set = false;
    };

    std::span<const Fading> fadings_;
    unsigned bits_;
    std::vector<Known> known_;
    Room<double> weights_;
};

// Buffers; one for each thread.
struct LadderScratch {
    // `n_rows`: see RowWeights.
    LadderScratch(const Config& config, std::span<const Fading> fadings, std::size_t n_rows)
        : rows(fadings, n_rows), absorber(config, fadings.size()) {}

    RowWeights rows;
    LadderAbsorber absorber;
    Scratch feature;
    std::vector<std::uint32_t> lists;  // of each logged value: see LadderPage::sum_up()
    std::vector<std::uint32_t> order;
    std::vector<std::size_t> offsets;
    LadderRun run;
};

// The state of kColumns neighbouring sparse columns at several half-lives; the counterpart of
// SparsePage, which explains records, atoms, logs and marks.
//
// A logged value has the clock reading of its row in place of a weight, so that it takes as many
// bytes as at one half-life. Its weights are computed when it is summed up or read. The atom is
// logged like other values until it has occurred most_atoms() times; only then it gets a record.
struct alignas(64) LadderPage {
    static constexpr std::size_t kColumns = SparsePage::kColumns;

    struct Slot {
        double atom = 0.0;
        std::uint32_t waiting = 0;  // values in the log, the atom apart
        std::uint16_t n_atoms = 0;  // atoms in the log, at most most_atoms()
        std::uint16_t record = 0;   // its number, from 1; 0: it has none
    };
    struct Summed {
        std::uint64_t place = 0;
        LadderFeature state;
        std::vector<double> squares;  // sums of squared weights of its values
    };

    std::array<std::uint8_t, kColumns> slot_of{};  // plus 1; 0: never seen
    std::int64_t version = kNever;                 // the sum of all epochs, which never fall
    bool is_due = false;                           // whether values in the log are to be summed up
    std::vector<Slot> slots;
    std::vector<double> sums;  // record after record
    std::vector<LadderValue> log;
    std::vector<double> weights;       // sample weights of the log; empty: all 1
    std::vector<std::int64_t> epochs;  // of sums and states, at each half-life
    std::vector<Summed> summed;

    static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

    // So many logged atoms take about as many bytes as a record.
    static std::size_t most_atoms(std::size_t rungs) {
        return std::max<std::size_t>(2, 2 * rungs / 3);
    }
    // Values that are summed up together: more than at one half-life, since the state is larger.
    static std::size_t block(const Config& config) { return 2 * config.long_run(); }

    // A complete block of values of a column, and the weight of all rows before the last of them.
    struct Mark {
        std::size_t place = 0;
        std::size_t n_classes = 0;
        std::vector<double> weight;  // at each half-life
    };

    bool seen(std::size_t place) const { return slot_of[place] != 0; }
    Slot& slot(std::size_t place) { return slots[slot_of[place] - 1u]; }
    const Slot& slot(std::size_t place) const { return slots[slot_of[place] - 1u]; }
    double* record(const Slot& of, const LadderLayout& layout) {
        return sums.data() + (of.record - 1u) * layout.stride();
    }
    const double* record(const Slot& of, const LadderLayout& layout) const {
        return sums.data() + (of.record - 1u) * layout.stride();
    }
    std::size_t n_records(const LadderLayout& layout) const {
        return sums.size() / layout.stride();
    }
    static bool is_same(double a, double b) {  // missing values are no atoms
        return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
    }

    void admit(std::size_t place, double value, bool zeros_count) {
        make_room(slots);
        slots.push_back({});
        slot_of[place] = static_cast<std::uint8_t>(slots.size());
        const bool is_atom = !std::isnan(value) && (value != 0.0 || zeros_count);
        // -0 becomes 0
        slots.back().atom = is_atom ? value + 0.0 : SparsePage::kNoAtom;
    }

    // What is to be done after a value is logged.
    enum class Due { nothing, block, record };
    Due append(Slot& of, const LadderValue& value, double weight, std::size_t block) {
        if (weight != 1.0 || !weights.empty()) {
            if (weights.empty()) weights.assign(log.size(), 1.0);
            make_room(weights);
            weights.push_back(weight);
        }
        make_room(log);
        log.push_back(value);
        if (is_same(value.value, of.atom)) {
            const std::size_t most = most_atoms(epochs.size());
            return of.n_atoms < most && ++of.n_atoms == most ? Due::record : Due::nothing;
        }
        if (++of.waiting < block) return Due::nothing;
        of.waiting = 0;
        return Due::block;
    }

    double* make_record(Slot& of, const LadderLayout& layout) {
        if (of.record == 0) {
            const std::size_t n = n_records(layout) + 1;
            if (n * layout.stride() > sums.capacity())
                sums.reserve(SparsePage::room_for_records(n) * layout.stride());
            sums.resize(n * layout.stride());
            of.record = static_cast<std::uint16_t>(n);
        }
        return record(of, layout);
    }

    Summed* state_of(std::size_t place) {
        for (Summed& column : summed)
            if (column.place == place) return &column;
        return nullptr;
    }
    const Summed* state_of(std::size_t place) const {
        return const_cast<LadderPage*>(this)->state_of(place);
    }
    Summed& make_state(std::size_t place, const LadderLayout& layout) {
        if (Summed* known = state_of(place)) return *known;
        make_room(summed);
        return summed.emplace_back(
            Summed{place, {}, std::vector<double>(layout.rungs() * layout.n_squares())});
    }

    double weight(std::size_t i) const { return weights.empty() ? 1.0 : weights[i]; }
    // Weights of a logged value at each half-life.
    void weigh(std::size_t i, RowWeights& rows, double* out) const {
        const double weight = this->weight(i);
        const double* row = rows.of(log[i].time, version, [&](std::size_t r) { return epochs[r]; });
        for (std::size_t r = 0; r < epochs.size(); ++r) out[r] = weight * row[r];
    }

    // The weights of the logged values of some columns (a bit for each), value after value, each at
    // all half-lives of `rows`, which stand at these epochs.
    void weigh_log(std::uint64_t places, RowWeights& rows, std::span<const std::int64_t> at,
                   Room<double>& lines) const {
        lines.resize(log.size() * at.size());
        double* line = lines.data();
        for (std::size_t i = 0; i < log.size(); ++i, line += at.size()) {
            if ((places >> log[i].place & 1) == 0) continue;
            const double weight = this->weight(i);
            const double* row = rows.of(log[i].time, 0, [&](std::size_t r) { return at[r]; });
            for (std::size_t r = 0; r < at.size(); ++r) line[r] = weight * row[r];
        }
    }

    void rebase(std::span<const Ledger> ledgers, std::int64_t to, const LadderLayout& layout) {
        if (version == to) return;
        version = to;
        std::vector<double> factors(ledgers.size(), 1.0);
        for (std::size_t r = 0; r < epochs.size(); ++r)
            factors[r] = Fading::rebase_factor(ledgers[r].epoch - epochs[r]);
        scale(factors, layout);
        epochs.resize(ledgers.size());
        for (std::size_t r = 0; r < ledgers.size(); ++r) epochs[r] = ledgers[r].epoch;
    }
    // Multiplies all weights, except those of logged values, by a factor for each half-life.
    void scale(std::span<const double> factors, const LadderLayout& layout) {
        if (std::all_of(factors.begin(), factors.end(), [](double f) { return f == 1.0; })) return;
        const std::size_t rungs = factors.size();
        for (std::size_t at = 0; at < sums.size(); at += layout.stride())
            layout.scale(&sums[at], factors);
        for (Summed& column : summed) {
            column.state.scale(factors);
            for (std::size_t i = 0; i < column.squares.size(); ++i)
                column.squares[i] *= factors[i % rungs] * factors[i % rungs];
        }
    }

    // Sums up blocks of `size` values, given their marks in the order in which they were made, and
    // atoms that are due to have a record.
    void sum_up(std::span<const Mark> marks, std::size_t size, const LadderLayout& layout,
                const Config& config, LadderScratch& scratch) {
        // the lists of a column, one for each block, have consecutive numbers
        std::array<std::size_t, kColumns + 1> first_list{};
        std::array<bool, kColumns> has_record{};
        for (std::size_t place = 0; place < kColumns; ++place) {
            if (!seen(place)) continue;
            Slot& of = slot(place);
            has_record[place] = is_record_due(of, layout);
            if (has_record[place]) of.n_atoms = 0;
        }
        std::size_t n_classes = 0;
        for (const Mark& mark : marks) {
            ++first_list[mark.place + 1];
            n_classes = std::max(n_classes, mark.n_classes);
        }
        for (std::size_t k = 1; k <= kColumns; ++k) first_list[k] += first_list[k - 1];
        std::array<std::size_t, kColumns> passed{};
        const std::size_t n_lists = first_list[kColumns];
        scratch.lists.assign(log.size(), kStays);
        scratch.offsets.assign(n_lists * n_classes + 1, 0);
        for (std::size_t i = 0; i < log.size(); ++i) {
            const LadderValue& item = log[i];
            Slot& of = slot(item.place);
            if (is_same(item.value, of.atom)) {
                if (!has_record[item.place]) continue;
                scratch.lists[i] = kAtoms;
                double row[kMostRungs];
                weigh(i, scratch.rows, row);
                layout.add(make_record(of, layout), item.cls, row);
                continue;
            }
            const std::size_t list = first_list[item.place] + passed[item.place]++ / size;
            if (list >= first_list[item.place + 1]) continue;
            scratch.lists[i] = static_cast<std::uint32_t>(list);
            ++scratch.offsets[list * n_classes + item.cls + 1];
        }
        // list by list and class by class, in the order of the rows
        std::vector<std::size_t>& offsets = scratch.offsets;
        for (std::size_t k = 1; k < offsets.size(); ++k) offsets[k] += offsets[k - 1];
        scratch.order.resize(offsets.back());
        for (std::size_t i = 0; i < log.size(); ++i)
            if (scratch.lists[i] < kAtoms)
                scratch.order[offsets[scratch.lists[i] * n_classes + log[i].cls]++] =
                    static_cast<std::uint32_t>(i);
        for (const Mark& mark : marks) {
            const std::size_t list = first_list[mark.place]++;
            const std::size_t from = list == 0 ? 0 : offsets[list * n_classes - 1];
            const std::size_t to = offsets[(list + 1) * n_classes - 1];
            fold({scratch.order.data() + from, to - from}, mark, layout, config, scratch);
        }
        drop(scratch.lists);
        is_due = false;
    }

    // Sums up all values of columns that have a state or at least `fewest` values, and atoms that
    // are due; `mark` has the weight of all rows.
    void sum_up_most(std::size_t fewest, Mark mark, const LadderLayout& layout,
                     const Config& config, LadderScratch& scratch) {
        std::vector<Mark> marks;
        for (mark.place = 0; mark.place < kColumns; ++mark.place) {
            if (!seen(mark.place)) continue;
            Slot& of = slot(mark.place);
            is_due = is_due || is_record_due(of, layout);
            if (of.waiting == 0 || (of.waiting < fewest && state_of(mark.place) == nullptr))
                continue;
            marks.push_back(mark);
            of.waiting = 0;
        }
        if (marks.empty() && !is_due) return;
        sum_up(marks, SparsePage::kNoBlocks, layout, config, scratch);
        shrink();
    }

    // Releases spare capacity.
    void shrink() {
        drop_spare_room(log);
        drop_spare_room(weights);
    }

    // Gives the records another layout.
    void lay_out(const LadderLayout& from, const LadderLayout& to) {
        std::vector<double> wide;
        const std::size_t n = n_records(from);
        wide.reserve(SparsePage::room_for_records(n) * to.stride());
        wide.resize(n * to.stride());
        for (std::size_t k = 0; k < n; ++k)
            to.convert(from, sums.data() + k * from.stride(), epochs,
                       wide.data() + k * to.stride());
        sums.swap(wide);
        for (Summed& column : summed) column.squares.resize(to.rungs() * to.n_squares());
    }

    // Loads the columns in `places` (a bit for each) at one half-life into `page`, with weights
    // relative to `epoch`. `line` has those of logged values, `stride` apart: see weigh_log().
    void load_alone(std::size_t rung, const double* line, std::size_t stride, std::int64_t epoch,
                    std::uint64_t places, const LadderLayout& layout, const RecordLayout& to,
                    SparsePage& page) const {
        page.slot_of.fill(0);
        page.records.clear();
        page.log.clear();
        page.weights.clear();
        page.waiting.clear();
        page.summed.clear();
        if (slots.empty()) return;
        page.epoch = epoch;
        const double factor = Fading::rebase_factor(epoch - epochs[rung]);
        const auto wanted = [&](std::size_t place) { return (places >> place & 1) != 0; };
        const bool counts_rows = to.squares() == Squares::none;
        const std::size_t n_squares = counts_rows ? 0 : layout.n_squares();
        std::array<std::byte*, kColumns> records{};
        Summary scratch;
        for (std::size_t place = 0; place < kColumns; ++place) {
            if (!seen(place) || !wanted(place)) continue;
            const Slot& of = slot(place);
            page.admit(place, SparsePage::has_atom(of.atom) ? of.atom : std::nan(""), true, to);
            std::byte* record = page.record(place, to);
            if (of.record != 0) {
                const double* from = this->record(of, layout);
                for (std::size_t k = 0; k < n_squares; ++k)
                    to.add_squared(record, k,
                                   layout.squared(from, epochs, k, rung) * factor * factor);
                for (std::size_t c = 0; c < layout.room(); ++c) {
                    const double weight = from[layout.weight_at(c) + rung] * factor;
                    to.add(record, c, weight, static_cast<std::uint64_t>(weight));
                }
            }
            const Summed* known = state_of(place);
            if (known == nullptr) continue;
            for (std::size_t k = 0; k < n_squares; ++k)
                to.add_squared(record, k,
                               known->squares[k * layout.rungs() + rung] * factor * factor);
            FeatureState state = known->state.alone(rung, layout.rungs());
            if (counts_rows) {
                known->state.list.load(rung, layout.rungs(), layout.room(), scratch);
                for (std::size_t c = 0; c < layout.room(); ++c) {
                    double rows = c < state.classes.size() ? state.classes[c].missing : 0.0;
                    for (std::size_t i = 0; i < scratch.size(); ++i) rows += scratch.of(i)[c];
                    to.add(record, c, 0.0, static_cast<std::uint64_t>(rows));
                }
            }
            state.scale(factor, scratch);
            page.make_state(place) = std::move(state);
        }
        if (log.empty()) return;
        for (std::size_t place = 0; place < kColumns; ++place)  // none is added any more
            if (page.seen(place)) records[place] = page.record(place, to);
        page.log.resize(log.size());
        page.weights.resize(log.size());
        page.waiting.assign(kColumns, 0);
        std::size_t n = 0;
        for (std::size_t i = 0; i < log.size(); ++i, line += stride) {
            const LadderValue& item = log[i];
            if (!wanted(item.place)) continue;
            const double weight = *line;
            std::byte* record = records[item.place];
            if (!counts_rows && !std::isnan(item.value))
                to.add_squared(record, place_in(to.squares(), item.cls), weight * weight);
            const bool is_atom = is_same(item.value, to.value(record));
            if (is_atom || counts_rows) to.add(record, item.cls, is_atom ? weight : 0.0, 1);
            page.log[n] = {item.value, item.cls, item.place};
            page.weights[n] = weight;
            n += !is_atom;
            page.waiting[item.place] += !is_atom;
        }
        page.log.resize(n);
        page.weights.resize(n);
    }

    std::size_t heap_bytes(const LadderLayout& layout) const {
        std::size_t bytes = capacity_for(slots.size()) * sizeof(Slot) +
                            SparsePage::room_for_records(n_records(layout)) * layout.bytes() +
                            capacity_for(log.size()) * sizeof(LadderValue) +
                            capacity_for(weights.size()) * sizeof(double) +
                            epochs.size() * sizeof(std::int64_t) +
                            capacity_for(summed.size()) * sizeof(Summed);
        for (const Summed& column : summed)
            bytes += column.state.nbytes() + column.squares.capacity() * sizeof(double);
        return bytes;
    }

  private:
    static constexpr std::uint32_t kStays = static_cast<std::uint32_t>(-1);
    static constexpr std::uint32_t kAtoms = kStays - 1;

    // Whether the logged atoms are to be added to a record.
    static bool is_record_due(const Slot& of, const LadderLayout& layout) {
        return of.n_atoms > 0 && (of.record != 0 || of.n_atoms >= most_atoms(layout.rungs()));
    }

    // Adds logged values of a column, class by class, to its state.
    void fold(std::span<const std::uint32_t> places, const Mark& mark, const LadderLayout& layout,
              const Config& config, LadderScratch& scratch) {
        const std::size_t rungs = layout.rungs();
        Summed& column = make_state(mark.place, layout);
        LadderRun& run = scratch.run;
        run.clear(mark.n_classes, rungs);
        for (const std::uint32_t i : places) {
            double row[kMostRungs];
            weigh(i, scratch.rows, row);
            if (!run.add(log[i].value, log[i].cls, row, column.state)) continue;
            double* squares = &column.squares[rungs * place_in(layout.squares(), log[i].cls)];
            for (std::size_t r = 0; r < rungs; ++r) squares[r] += row[r] * row[r];
        }
        if (run.values.empty()) return;
        run.close();
        if (config.moments) run.add_moments_to(column.state);
        if (!config.quantiles) return;
        scratch.feature.fit(run.values, config.cells());
        std::vector<double> weight = mark.weight;
        if (config.absent_is_missing || !column.state.missing.empty()) {
            weight = run.total;
            column.state.list.add_weights(weight);
        }
        scratch.absorber.absorb(column.state.list,
                                {run.column(), run.weights.data(), run.total, scratch.feature.map,
                                 scratch.feature.finest.data()},
                                weight);
    }

    // Removes the values that are in a list.
    void drop(std::span<const std::uint32_t> lists) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < log.size(); ++i) {
            if (lists[i] != kStays) continue;
            if (!weights.empty()) weights[kept] = weights[i];
            log[kept++] = log[i];
        }
        log.resize(kept);
        if (!weights.empty()) weights.resize(kept);
    }
};

}  // namespace driftsieve
