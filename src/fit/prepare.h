// The first pass over the rows. It computes the input map T and the bandwidths and shifts of the
// kernel, and chooses the type of tiles.
#pragma once
#include "../gram/data.h"
#include "../recipe/recipe.h"

#include <optional>

namespace mercer {

// True if tiles are in f32: data.dtype = f32, or by default the rows are.
bool tile_is_f32(const Recipe &recipe, const Source &source);
// f32: the type of tiles; by default tile_is_f32 chooses it.
Prepared prepare(Run &run, const Recipe &recipe, const Data &data, std::optional<bool> f32 = {});
// The memory that prepare needs in addition to the weights of the rows.
Bytes prepare_bytes(const Run &run, const Recipe &recipe, const Source &source);

// Returns the weights of the rows of source, scaled to sum n; all 1 if the data have none. source:
// the rows of `data`, as they are, loaded, or without the incomplete ones. sum: receives the sum of
// the weights as they were given.
RowWeights sample_weights(const Data &data, const Source &source, double *sum = nullptr);

// Returns the rows in a form that can be read at any position, without the incomplete ones if
// data.missing says so.
std::shared_ptr<const Source> rows_of(Run &run, const Recipe &recipe, std::shared_ptr<const Source> source);
// Returns the data with these rows; fails if none is left.
Data data_of(Run &run, const Recipe &recipe, const Data &given);

} // namespace mercer
