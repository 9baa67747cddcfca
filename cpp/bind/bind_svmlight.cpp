#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <variant>

#include "driftsieve/svmlight/svmlight.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace driftsieve::bind {
namespace {

// A second thread gets an error, not a corrupted parser: the GIL is released while parsing.
class Parser {
  public:
    Parser(bool zero_based, std::size_t max_line) : parser_(zero_based, max_line) {}

    template <class Use>
    auto use(Use use_it) {
        if (busy_.test_and_set()) {
            throw std::runtime_error("A SvmlightParser must be used by one thread at a time.");
        }
        struct Release {
            std::atomic_flag& flag;
            ~Release() { flag.clear(); }
        } release{busy_};
        return use_it(parser_);
    }

  private:
    SvmlightParser parser_;
    std::atomic_flag busy_;
};

// The memory of any bytes-like object, valid as long as this object.
class Bytes {
  public:
    explicit Bytes(nb::handle object) {
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
    }
    Bytes(const Bytes&) = delete;
    Bytes& operator=(const Bytes&) = delete;
    ~Bytes() { PyBuffer_Release(&view_); }

    std::string_view text() const {
        return {static_cast<const char*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }

  private:
    Py_buffer view_;
};

template <class T>
nb::object as_array(std::shared_ptr<T[]> items, std::size_t n) {
    T* const data = items.get();
    auto owner = std::make_unique<std::shared_ptr<T[]>>(std::move(items));
    nb::capsule capsule(owner.get(),
                        [](void* p) noexcept { delete static_cast<std::shared_ptr<T[]>*>(p); });
    owner.release();  // now the capsule's
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {n}, capsule));
}

nb::tuple take(Parser& self, std::size_t max_rows) {
    SvmlightRows rows =
        self.use([max_rows](SvmlightParser& parser) { return parser.take(max_rows); });
    nb::dict bad;
    for (const auto& [place, why] : rows.bad) bad[nb::int_(place)] = why;
    const auto as_tuple = [&](auto& pattern) {
        return nb::make_tuple(as_array(std::move(rows.labels), rows.n_rows),
                              as_array(std::move(pattern.indptr), rows.n_rows + 1),
                              as_array(std::move(pattern.indices), rows.n_pairs),
                              as_array(std::move(rows.values), rows.n_pairs),
                              as_array(std::move(rows.lines), rows.n_read), bad);
    };
    return std::visit(as_tuple, rows.pattern);
}

}  // namespace

void register_svmlight(nb::module_& m) {
    nb::class_<Parser>(m, "SvmlightParser", "A stream of svmlight text to rows in CSR form.")
        .def(nb::init<bool, std::size_t>(), nb::kw_only(), "zero_based"_a, "max_line"_a)
        .def(
            "feed",
            [](Parser& self, nb::handle data) {
                const Bytes bytes(data);
                // The bytes are pinned, and the parser copies them before it relies on them.
                nb::gil_scoped_release release;
                self.use([&](SvmlightParser& parser) { parser.feed(bytes.text()); });
            },
            "data"_a, nb::sig("def feed(self, data: bytes | bytearray | memoryview) -> None"),
            "Parse a piece of the text, cut anywhere.")
        .def(
            "finish",
            [](Parser& self) { self.use([](SvmlightParser& parser) { parser.finish(); }); },
            nb::call_guard<nb::gil_scoped_release>(),  // the last line may be very long
            "End the text: its last line may lack a newline.")
        .def_prop_ro(
            "rows",
            [](Parser& self) {
                return self.use([](SvmlightParser& parser) { return parser.rows(); });
            },
            "Rows that wait to be taken, those at fault included.")
        .def("take", &take, "max_rows"_a,
             nb::sig("def take(self, max_rows: int) -> tuple["
                     "numpy.typing.NDArray[numpy.float64], "
                     "numpy.typing.NDArray[numpy.int32 | numpy.int64], "
                     "numpy.typing.NDArray[numpy.int32 | numpy.int64], "
                     "numpy.typing.NDArray[numpy.float64], "
                     "numpy.typing.NDArray[numpy.int64], dict[int, str]]"),
             "Take the oldest rows: labels, indptr, indices and data of those that could be "
             "parsed, the line of every row, and what is wrong with the bad ones.");
}

}  // namespace driftsieve::bind
