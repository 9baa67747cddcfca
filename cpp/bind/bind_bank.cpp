#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "driftsieve/bank/ladder.hpp"
#include "driftsieve/base/archive.hpp"
#include "known_labels.hpp"
#include "shared_bank.hpp"

namespace driftsieve::bind {
namespace {

// Returns false, without a change, if raw rows are invalid.
template <class Rows>
bool update(SharedBank& shared, const Rows& rows, const RowInfo& info, std::size_t n_classes,
            unsigned n_threads, bool checked, nb::object header) {
    const bool taken = shared.use(
        [&](Ladder& bank) { return bank.update(rows, info, n_classes, n_threads, checked); });
    if (taken) shared.header = std::move(header);
    return taken;
}

template <class T>
bool update_dense(SharedBank& shared, const Matrix<T>& X, const Vector<std::uint32_t>& classes,
                  const std::optional<Vector<double>>& weights,
                  const std::optional<Vector<double>>& times, std::size_t n_classes,
                  unsigned n_threads, bool checked, nb::object header) {
    return update(shared, view(X), row_info(classes, weights, times), n_classes, n_threads, checked,
                  std::move(header));
}

struct Hold {
    SharedBank& shared;
    explicit Hold(SharedBank& held) : shared(held) { shared.hold(); }
    ~Hold() { shared.release(); }
};

template <class T>
bool update_plain(SharedBank& shared, const Matrix<T>& X, nb::handle y, unsigned n_threads) {
    const Bank& bank = shared.peek();
    if (shared.is_held() || X.shape(1) != bank.n_features() || !bank.is_dense() ||
        bank.clock() == Clock::time)
        return false;
    std::vector<std::uint32_t> classes;
    if (!shared.labels.find(y, classes) || classes.size() != X.shape(0)) return false;
    const auto update = [&](Ladder& used) {
        return used.update(view(X), RowInfo{classes, {}, {}}, shared.labels.size(), n_threads,
                           false);
    };
    constexpr std::size_t kFewValues = 4096;
    if (X.size() <= kFewValues && bank.only_keeps(X.shape(0), X.shape(1)))
        return shared.use_briefly(update);
    const Hold hold(shared);
    return shared.use(update);
}

// The fast path for single rows: plain arrays, a dense bank of that width, known labels. Returns
// false, without a change, for anything else.
bool update_any_plain(SharedBank& shared, nb::handle X, nb::handle y, unsigned n_threads) {
    if (!is_plain_array(X)) return false;
    Matrix<double> doubles;
    if (nb::try_cast(X, doubles, false)) return update_plain(shared, doubles, y, n_threads);
    Matrix<float> floats;
    return nb::try_cast(X, floats, false) && update_plain(shared, floats, y, n_threads);
}

template <class T, class Index>
CsrView<T, Index> csr_view(const Vector<T>& data, const Vector<Index>& indices,
                           const Vector<Index>& indptr, std::size_t n_cols, bool checked) {
    return {data.data(),
            indices.data(),
            indptr.data(),
            indptr.shape(0) - 1,
            n_cols,
            checked,
            std::min(data.shape(0), indices.shape(0))};
}

template <class T, class Index>
bool update_csr(SharedBank& shared, const Vector<T>& data, const Vector<Index>& indices,
                const Vector<Index>& indptr, std::size_t n_cols,
                const Vector<std::uint32_t>& classes, const std::optional<Vector<double>>& weights,
                const std::optional<Vector<double>>& times, std::size_t n_classes,
                unsigned n_threads, bool checked, nb::object header) {
    return update(shared, csr_view(data, indices, indptr, n_cols, checked),
                  row_info(classes, weights, times), n_classes, n_threads, checked,
                  std::move(header));
}

std::size_t limit_of(double limit) {
    return limit < 0x1p62 ? static_cast<std::size_t>(limit) : std::size_t{1} << 62;
}

// See Forecast.
template <class Rows>
std::size_t bytes_with(SharedBank& shared, const Rows& rows, const RowInfo& info,
                       std::size_t n_classes, unsigned n_threads, bool checked, double limit,
                       bool be_sure) {
    return shared.use([&](Ladder& bank) {
        const auto sound = [&] {
            return checked || is_sound(rows, bank.first().config().ignore_missing);
        };
        return bank.bytes_with_rows(rows, info, n_classes, limit_of(limit), be_sure, n_threads,
                                    sound);
    });
}

template <class T>
std::size_t bytes_with_dense(SharedBank& shared, const Matrix<T>& X,
                             const Vector<std::uint32_t>& classes,
                             const std::optional<Vector<double>>& weights,
                             const std::optional<Vector<double>>& times, std::size_t n_classes,
                             unsigned n_threads, bool checked, double limit, bool be_sure) {
    return bytes_with(shared, view(X), row_info(classes, weights, times), n_classes, n_threads,
                      checked, limit, be_sure);
}

template <class T, class Index>
std::size_t bytes_with_csr(SharedBank& shared, const Vector<T>& data, const Vector<Index>& indices,
                           const Vector<Index>& indptr, std::size_t n_cols,
                           const Vector<std::uint32_t>& classes,
                           const std::optional<Vector<double>>& weights,
                           const std::optional<Vector<double>>& times, std::size_t n_classes,
                           unsigned n_threads, bool checked, double limit, bool be_sure) {
    return bytes_with(shared, csr_view(data, indices, indptr, n_cols, checked),
                      row_info(classes, weights, times), n_classes, n_threads, checked, limit,
                      be_sure);
}

std::size_t bytes_with_bank(SharedBank& shared, SharedBank& other,
                            const Vector<std::uint32_t>& class_map,
                            const Vector<std::uint64_t>& target, std::size_t n_classes,
                            std::size_t n_features, double start, unsigned n_threads,
                            double limit) {
    const std::vector<std::size_t> columns(target.data(), target.data() + target.shape(0));
    const Ladder& theirs = other.ladder();
    return shared.use([&](Ladder& bank) {
        return bank.bytes_with_bank(theirs, view(class_map), columns, n_classes, n_features, start,
                                    limit_of(limit), n_threads);
    });
}

// A bound for rows of any weights; n_values is None for dense rows. Measuring visits the whole
// state and makes the bound tight.
std::size_t most_bytes_with(SharedBank& shared, std::size_t n_rows, std::size_t n_cols,
                            std::optional<std::size_t> n_values, std::size_t n_classes,
                            bool measure) {
    return shared.use([&](Ladder& bank) {
        Coming coming;
        coming.rows = n_rows;
        coming.columns = std::max(bank.first().n_features(), n_cols);
        coming.classes = std::max(bank.first().n_classes(), n_classes);
        coming.values = n_values.value_or(0);
        coming.is_wide = true;
        return bank.most_bytes_with(coming, n_values.has_value(), measure);
    });
}

using MaybeArray = std::optional<Doubles>;
using SnapshotTuple = std::tuple<MaybeArray, MaybeArray, MaybeArray, MaybeArray, MaybeArray,
                                 MaybeArray, MaybeArray, MaybeArray, MaybeArray>;

// weight, sum of squared weights, mean, centred mean, variance, bins, edges, rank_error,
// design_effect: None for those that the bank does not keep, and for bins if n_bins is 0
SnapshotTuple make_arrays(const Config& config, bool effects, SnapshotArrays& out) {
    const std::size_t n_classes = out.class_place.size();
    const std::size_t n_features = out.n_features;
    const std::size_t n_bins = out.n_bins;
    const bool bins = config.quantiles && n_bins > 0;
    const std::size_t of_class = (config.ignore_missing ? 2 : 0) + (config.moments ? 3 : 0);
    NewArrays room(size_of({n_features, of_class, n_classes}) + (effects ? n_features : 0) +
                   (bins ? size_of({n_features, n_bins, n_classes + 1}) : 0));
    const auto make = [&](bool wanted, double*& data, std::initializer_list<std::size_t> shape) {
        if (!wanted) return MaybeArray{};
        MaybeArray array = room.make(shape);
        data = array->data();
        return array;
    };
    return SnapshotTuple{
        make(config.ignore_missing, out.weight, {n_classes, n_features}),
        make(config.ignore_missing, out.weight_squared, {n_classes, n_features}),
        make(config.moments, out.mean, {n_classes, n_features}),
        make(config.moments, out.centred_mean, {n_classes, n_features}),
        make(config.moments, out.variance, {n_classes, n_features}),
        make(bins, out.bins, {n_features, n_bins, n_classes}),
        make(bins, out.edges, {n_features, n_bins - 1}),
        make(bins, out.rank_error, {n_features}),
        make(effects, out.design_effect, {n_features}),
    };
}

// write(bank, arrays) at each of these half-lives, by number.
template <class Write>
std::vector<SnapshotTuple> read_snapshots(SharedBank& shared, const std::vector<std::size_t>& rungs,
                                          std::size_t n_features, std::size_t n_bins,
                                          const Vector<std::uint32_t>& class_place,
                                          const Write& write,
                                          std::span<const std::uint32_t> places = {},
                                          std::size_t shared_place = 0) {
    const Bank& bank = shared.peek();
    if (class_place.shape(0) != bank.n_classes()) throw std::invalid_argument("not all classes");
    std::vector<SnapshotTuple> arrays;
    std::vector<SnapshotArrays> out(rungs.size());
    for (std::size_t k = 0; k < rungs.size(); ++k) {
        out[k].class_place = view(class_place);
        out[k].n_bins = n_bins;
        out[k].n_features = n_features;
        out[k].places = places;
        out[k].shared = shared_place;
        const bool effects = shared.ladder().has_design_effects(rungs[k]);
        arrays.push_back(make_arrays(bank.config(), effects, out[k]));
    }
    shared.use([&](const Ladder& used) { write(used, out); });
    return arrays;
}

// Given the result of `seen` for the same features, those that never occurred are left out, except
// that the last place is for all of them, if there are some.
std::vector<SnapshotTuple> take_snapshots(SharedBank& shared, const std::vector<std::size_t>& rungs,
                                          std::size_t begin, std::size_t n_features,
                                          std::size_t n_bins,
                                          const Vector<std::uint32_t>& class_place,
                                          unsigned n_threads,
                                          const std::optional<nb::bytes>& seen) {
    std::vector<std::uint32_t> places;
    std::size_t shared_place = 0;
    std::size_t n = n_features;
    if (seen.has_value()) {
        const std::span flags(seen->c_str(), seen->size());
        if (flags.size() != n_features) throw std::invalid_argument("not all features");
        const auto n_seen = static_cast<std::uint32_t>(std::count(flags.begin(), flags.end(), 1));
        shared_place =
            static_cast<std::size_t>(std::find(flags.begin(), flags.end(), 0) - flags.begin());
        places.resize(n_features);
        std::uint32_t place = 0;
        for (std::size_t i = 0; i < n_features; ++i) {
            const bool is_seen = flags[i] == 1;
            places[i] = is_seen ? place : n_seen;
            place += is_seen;
        }
        n = n_seen + (n_seen < n_features);
    }
    return read_snapshots(
        shared, rungs, n, n_bins, class_place,
        [&](const Ladder& bank, std::span<const SnapshotArrays> out) {
            bank.take_snapshot(rungs, begin, out, n_threads);
        },
        places, shared_place);
}

// The same of features by number.
std::vector<SnapshotTuple> take_snapshots_of(SharedBank& shared,
                                             const std::vector<std::size_t>& rungs,
                                             const Vector<std::uint64_t>& features,
                                             std::size_t n_bins,
                                             const Vector<std::uint32_t>& class_place) {
    const std::vector<std::size_t> chosen(features.data(), features.data() + features.shape(0));
    for (const std::size_t j : chosen)
        if (j >= shared.peek().n_features()) throw std::invalid_argument("no such feature");
    return read_snapshots(shared, rungs, chosen.size(), n_bins, class_place,
                          [&](const Ladder& bank, std::span<const SnapshotArrays> out) {
                              bank.take_snapshot_of(rungs, chosen, out);
                          });
}

// For each feature 1, or 0 if every row was 0 so far; None if all may have been seen.
std::optional<nb::bytes> seen(SharedBank& shared, std::size_t begin, std::size_t n_features) {
    if (!shared.peek().is_sparse()) return {};
    const std::vector<char> flags =
        shared.use([&](const Ladder& bank) { return bank.first().seen(begin, n_features); });
    return nb::bytes(flags.data(), flags.size());
}

std::vector<std::tuple<double, double, std::uint64_t>> totals(SharedBank& shared,
                                                              std::size_t rung) {
    std::vector<std::tuple<double, double, std::uint64_t>> result;
    for (const ClassTotal& total :
         shared.use([&](const Ladder& bank) { return bank.totals(rung); }))
        result.emplace_back(total.weight, total.weight_squared, total.rows);
    return result;
}

void merge(SharedBank& shared, SharedBank& other, const Vector<std::uint32_t>& class_map,
           const Vector<std::uint64_t>& target, std::size_t n_classes, std::size_t n_features,
           double start, unsigned n_threads, nb::object header) {
    Ladder copy = other.use([](const Ladder& bank) { return bank; });
    const std::vector<std::size_t> columns(target.data(), target.data() + target.shape(0));
    shared.use([&](Ladder& bank) {
        bank.merge(std::move(copy), view(class_map), columns, n_classes, n_features, start,
                   n_threads);
    });
    shared.header = std::move(header);
}

nb::bytes to_bytes(SharedBank& shared) {
    Writer writer;
    shared.use([&](Ladder& bank) { bank.archive(writer); });
    return nb::bytes(writer.bytes.data(), writer.bytes.size());
}

SharedBank* cut(SharedBank& shared, std::size_t begin, std::size_t count) {
    return new SharedBank(shared.use([&](const Ladder& bank) { return bank.cut(begin, count); }));
}

// Any buffer: a bank may be part of a larger state, and is not copied out of it first.
SharedBank* from_bytes(const Vector<std::uint8_t>& bytes) {
    Ladder bank;
    Reader reader(std::as_bytes(view(bytes)));
    bank.archive(reader);
    bank.check();
    return new SharedBank(std::move(bank));  // Python takes it
}

}  // namespace

void register_bank(nb::module_& m) {
    nb::enum_<Clock>(m, "Clock")
        .value("row", Clock::row)
        .value("batch", Clock::batch)
        .value("time", Clock::time);

    nb::class_<SharedBank> bank(m, "Bank");
    bank.def(
        "__init__",
        [](SharedBank* self, double epsilon, bool moments, bool quantiles, bool ignore_missing,
           Clock clock, const std::vector<double>& half_lives) {
            new (self) SharedBank(
                Ladder(Config{epsilon, moments, quantiles, ignore_missing}, clock, half_lives));
        },
        nb::arg("epsilon"), nb::arg("moments"), nb::arg("quantiles"), nb::arg("ignore_missing"),
        nb::arg("clock"), nb::arg("half_lives"));

    bank.def(
        "__enter__",
        [](SharedBank& shared) -> SharedBank& {
            shared.hold();
            return shared;
        },
        nb::rv_policy::reference);
    bank.def(
        "__exit__", [](SharedBank& shared, const nb::args&) { shared.release(); },
        nb::sig("def __exit__(self, *args: object) -> None"));

    const auto dense = [&](auto update) {
        bank.def("update_dense", update, nb::arg("X").noconvert(), nb::arg("classes").noconvert(),
                 nb::arg("weights").noconvert().none(), nb::arg("times").noconvert().none(),
                 nb::arg("n_classes"), nb::arg("n_threads"), nb::arg("checked"), nb::arg("header"));
    };
    dense(&update_dense<double>);
    dense(&update_dense<float>);
    bank.def("update_plain", &update_any_plain, nb::arg("X").none(), nb::arg("y").none(),
             nb::arg("n_threads"));
    bank.def(
        "know_labels",
        [](SharedBank& shared, KnownLabels::Numbers numbers,
           std::optional<Vector<std::int64_t>> integers) {
            shared.labels = KnownLabels(std::move(numbers), integers);
        },
        nb::arg("numbers"), nb::arg("integers").noconvert().none());
    const auto csr = [&](auto update) {
        bank.def("update_csr", update, nb::arg("data").noconvert(), nb::arg("indices").noconvert(),
                 nb::arg("indptr").noconvert(), nb::arg("n_cols"), nb::arg("classes").noconvert(),
                 nb::arg("weights").noconvert().none(), nb::arg("times").noconvert().none(),
                 nb::arg("n_classes"), nb::arg("n_threads"), nb::arg("checked"), nb::arg("header"));
    };
    csr(&update_csr<double, std::int32_t>);
    csr(&update_csr<double, std::int64_t>);
    csr(&update_csr<float, std::int32_t>);
    csr(&update_csr<float, std::int64_t>);

    bank.def("merge", &merge, nb::arg("other"), nb::arg("class_map").noconvert(),
             nb::arg("target").noconvert(), nb::arg("n_classes"), nb::arg("n_features"),
             nb::arg("start"), nb::arg("n_threads"), nb::arg("header"));
    bank.def("take_absent_as_missing", [](SharedBank& shared) {
        shared.use([](Ladder& used) { used.take_absent_as_missing(); });
    });
    bank.def("take_snapshots", &take_snapshots, nb::arg("rungs"), nb::arg("begin"),
             nb::arg("n_features"), nb::arg("n_bins"), nb::arg("class_place").noconvert(),
             nb::arg("n_threads"), nb::arg("seen") = nb::none());
    bank.def("take_snapshots_of", &take_snapshots_of, nb::arg("rungs"), nb::arg("features"),
             nb::arg("n_bins"), nb::arg("class_place"));
    bank.def("seen", &seen, nb::arg("begin"), nb::arg("n_features"));
    bank.def("cut", &cut, nb::arg("begin"), nb::arg("count"));
    bank.def("totals", &totals, nb::arg("rung"));
    bank.def("to_bytes", &to_bytes);
    bank.def_static("from_bytes", &from_bytes, nb::arg("bytes"),
                    nb::sig("def from_bytes(bytes: bytes | memoryview) -> Bank"));
    bank.def_rw("header", &SharedBank::header, nb::arg().none());
    const auto property = [&](const char* name, auto getter) {
        bank.def_prop_ro(name,
                         [getter](const SharedBank& shared) { return getter(shared.peek()); });
    };
    bank.def_prop_ro("nbytes", [](const SharedBank& shared) { return shared.ladder().nbytes(); });
    bank.def_prop_ro("half_lives",
                     [](const SharedBank& shared) { return shared.ladder().half_lives(); });
    property("epsilon", [](const Bank& b) { return b.config().epsilon; });
    property("moments", [](const Bank& b) { return b.config().moments; });
    property("quantiles", [](const Bank& b) { return b.config().quantiles; });
    property("ignore_missing", [](const Bank& b) { return b.config().ignore_missing; });
    property("absent_is_missing", [](const Bank& b) { return b.config().absent_is_missing; });
    property("clock", [](const Bank& b) { return b.clock(); });
    property("n_features", [](const Bank& b) { return b.n_features(); });
    property("n_classes", [](const Bank& b) { return b.n_classes(); });
    property("ticks", [](const Bank& b) { return b.ticks(); });
    bank.def_prop_ro("is_whole", &SharedBank::is_whole);
    property("now", [](const Bank& b) { return b.now(); });
    property("is_sparse", [](const Bank& b) { return b.is_sparse(); });
    // rows that wait, and a block of them
    property("block_rows", [](const Bank& b) { return b.block_rows(); });
    property("open_rows", [](const Bank& b) { return b.open_rows(); });
    bank.def(
        "rows_to_block_end",
        [](const SharedBank& shared, std::size_t rows) {
            return shared.ladder().first().rows_to_block_end(rows);
        },
        nb::arg("rows"));

    const auto dense_bytes = [&](auto bytes_with) {
        bank.def("bytes_with_dense", bytes_with, nb::arg("X").noconvert(),
                 nb::arg("classes").noconvert(), nb::arg("weights").noconvert().none(),
                 nb::arg("times").noconvert().none(), nb::arg("n_classes"), nb::arg("n_threads"),
                 nb::arg("checked"), nb::arg("limit"), nb::arg("be_sure"));
    };
    dense_bytes(&bytes_with_dense<double>);
    dense_bytes(&bytes_with_dense<float>);
    const auto csr_bytes = [&](auto bytes_with) {
        bank.def("bytes_with_csr", bytes_with, nb::arg("data").noconvert(),
                 nb::arg("indices").noconvert(), nb::arg("indptr").noconvert(), nb::arg("n_cols"),
                 nb::arg("classes").noconvert(), nb::arg("weights").noconvert().none(),
                 nb::arg("times").noconvert().none(), nb::arg("n_classes"), nb::arg("n_threads"),
                 nb::arg("checked"), nb::arg("limit"), nb::arg("be_sure"));
    };
    csr_bytes(&bytes_with_csr<double, std::int32_t>);
    csr_bytes(&bytes_with_csr<double, std::int64_t>);
    csr_bytes(&bytes_with_csr<float, std::int32_t>);
    csr_bytes(&bytes_with_csr<float, std::int64_t>);
    bank.def("bytes_with_bank", &bytes_with_bank, nb::arg("other"),
             nb::arg("class_map").noconvert(), nb::arg("target").noconvert(), nb::arg("n_classes"),
             nb::arg("n_features"), nb::arg("start"), nb::arg("n_threads"), nb::arg("limit"));
    bank.def("most_bytes_with", &most_bytes_with, nb::arg("n_rows"), nb::arg("n_cols"),
             nb::arg("n_values").none(), nb::arg("n_classes"), nb::arg("measure"));
    bank.def(
        "most_bytes",
        [](const SharedBank& shared, std::size_t n_classes) {
            return shared.ladder().most_bytes(n_classes);
        },
        nb::arg("n_classes"));
}

}  // namespace driftsieve::bind
