// The first pass over the rows. It computes the input map T and the bandwidths and shifts of the
// kernel, and chooses the type of tiles (f32 or f64).
#pragma once
#include "../gram/data.h"
#include "../recipe/recipe.h"

#include <optional>

namespace mercer {

// True if tiles are in f32: if data.dtype = f32, or if data.dtype = as-given and the rows are in
// f32.
bool tile_is_f32(const Recipe &recipe, const Source &source);
// f32: the type of tiles; by default tile_is_f32 chooses it.
Prepared prepare(Run &run, const Recipe &recipe, const Data &data, std::optional<bool> f32 = {});
// The memory that prepare() needs in addition to the weights of the rows.
Bytes prepare_bytes(const Run &run, const Recipe &recipe, const Source &source);

// Returns the weights of the rows of source, scaled so that their sum is n; all 1 if the data have
// no weights. source: the rows of `data` as given, as loaded, or without those that have missing
// values. sum: receives the sum of the weights before scaling.
RowWeights sample_weights(const Data &data, const Source &source, double *sum = nullptr);

// Returns the rows in a form that can be read at any position. If data.missing = rows, the rows
// that have missing values are left out.
std::shared_ptr<const Source> rows_of(Run &run, const Recipe &recipe, std::shared_ptr<const Source> source);
// Returns `given` with the rows that rows_of() returns. Fails with E_DATA if every row has a
// missing value.
Data data_of(Run &run, const Recipe &recipe, const Data &given);

} // namespace mercer
