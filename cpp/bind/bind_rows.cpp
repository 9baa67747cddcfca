#include <nanobind/stl/tuple.h>

#include "row_collector.hpp"

namespace driftsieve::bind {
namespace {

using Keys = nb::typed<nb::tuple, nb::object, nb::ellipsis>;

Row pick(const Row& x, const Keys& keys) {
    Row picked;
    for (const nb::handle key : keys) {
        PyObject* value = PyDict_GetItemWithError(x.ptr(), key.ptr());
        if (value != nullptr ? PyDict_SetItem(picked.ptr(), key.ptr(), value) != 0
                             : PyErr_Occurred() != nullptr)
            throw nb::python_error();
    }
    return picked;
}

}  // namespace

void register_rows(nb::module_& m) {
    nb::class_<Turn>(m, "Turn")
        .def(nb::init<>())
        .def("__enter__", &Turn::begin)
        .def(
            "__exit__", [](Turn& turn, const nb::args&) { turn.end(); },
            nb::sig("def __exit__(self, *args: object) -> None"));
    nb::class_<RowCollector>(m, "RowCollector")
        .def(nb::init<Index, Index, std::size_t, double, bool, bool, double, SharedBank*,
                      const Turn&>(),
             nb::arg("columns"), nb::arg("classes"), nb::arg("width"), nb::arg("absent"),
             nb::arg("allow_nan"), nb::arg("timed"), nb::arg("half_life"), nb::arg("bank").none(),
             nb::arg("turn"), nb::keep_alive<1, 9>(), nb::keep_alive<1, 10>())
        .def("check", &RowCollector::check, nb::arg("weight"), nb::arg("time").none())
        .def("make_room", &RowCollector::make_room, nb::arg("rows"), nb::arg("values"))
        .def(
            "append",
            [](RowCollector& rows, const Row& x, nb::handle y, double weight,
               std::optional<double> time) { return int{rows.append(x, y, weight, time)}; },
            nb::arg("x"), nb::arg("y").none(), nb::arg("weight"), nb::arg("time").none())
        .def("rows", [](nb::handle self) { return nb::cast<RowCollector&>(self).rows(self); })
        .def("clear", &RowCollector::clear)
        .def("most_bytes_with", &RowCollector::most_bytes_with, nb::arg("rows"), nb::arg("values"),
             nb::arg("columns"))
        .def("__len__", &RowCollector::size)
        .def_prop_ro("n_values", &RowCollector::n_values)
        .def_prop_ro("nbytes", &RowCollector::nbytes);
    m.attr("TAKEN") = int{kTaken};
    m.attr("NO_ROOM") = int{kNoRoom};
    m.def("pick", &pick, nb::arg("x"), nb::arg("keys"),
          "A dictionary of those of the keys that x has, in their order.");
}

}  // namespace driftsieve::bind
