// The centres of a model. A reducer selects them as landmarks; make_centres brings them into the
// form in which lifts use them and the model stores them.
#pragma once
#include "../gram/data.h"
#include "tensors.h"

namespace mercer {

// What a reducer selects: row numbers, or new points. The weights sum to n.
struct Landmarks {
    CountedVector<int64_t> index;
    Buffer<unsigned char> points; // in the tile type; empty if the landmarks are the rows in index
    int64_t m = 0;
    CountedVector<double> weights;
    Buffer<int64_t> assignment; // the landmark that each row is assigned to; empty if not requested
    // Each landmark has the total weight of the rows assigned to it. Certificates rely on this.
    bool represents_rows = false;
    // Upper bounds on the distance of any row from its landmark. A reducer may report several;
    // every one of them must hold.
    std::vector<double> radii;
};
Landmarks all_rows(const Prepared &prepared); // all rows of positive sample weight

// The centres C as lifts use them, each of positive weight: rows mapped by the input map T, in the
// type of tiles; sparse rows; or row numbers of objects.
struct Centres {
    std::shared_ptr<const Source> source;
    CountedVector<int64_t> index; // row numbers of objects; empty for other data
    CountedVector<double> weights;
    Buffer<int64_t> assignment;   // the centre of each row, or -1 if its landmark had weight 0; empty if unknown
    bool represents_rows = false; // each centre has the total weight of the rows assigned to it
    std::vector<double> radii;    // as in Landmarks
    bool rows = true;             // the centres are rows of the data; otherwise they are new points
    Tensors tensors;              // C, or its sparse or object form, as the model stores it
    const int64_t *numbers() const { return index.empty() ? nullptr : index.data(); }
    int64_t m() const { return static_cast<int64_t>(weights.size()); }
    KernelRows rows_of(const Expression &kernel) const { return {source, {}, kernel, numbers(), m(), nullptr}; }
};
template <class T>
Points<T> points_of(const Expression &kernel, const Centres &centres) {
    return points_of<T>(centres.rows_of(kernel));
}

// Drops landmarks of weight 0, because lifts divide by weights, and moves the assignment out of the
// landmarks.
Centres make_centres(Run &run, const Prepared &prepared, Landmarks &landmarks);

// Returns the bytes that a fit holds from beginning to end: the weights of the rows, if there are
// any, the m centres as the model stores them, and the loaded rows.
int64_t base_bytes(const Source &source, bool weighted, int64_t m, bool f32);

} // namespace mercer
