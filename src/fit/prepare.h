// A first pass over the rows: it computes the input map T and the bandwidths and shifts of the
// kernel, and chooses types.
#pragma once
#include "../gram/data.h"
#include "../recipe/recipe.h"

#include <optional>

namespace mercer {

bool tile_is_f32(const Recipe &recipe, const Source &source);
// f32: overrides the tile type that tile_is_f32 chooses.
Prepared prepare(Run &run, const Recipe &recipe, const Data &data, std::optional<bool> f32 = {});
// The memory that prepare needs in addition to the weights of the rows.
Bytes prepare_bytes(const Run &run, const Recipe &recipe, const Source &source);

// Sample weights of the rows of source (the data, the loaded data or its complete rows), scaled to
// sum n; all 1 if the data have none.
CountedVector<double> sample_weights(const Data &data, const Source &source);

// The rows in a form that can be read at any position, without those that data.missing leaves out.
std::shared_ptr<const Source> rows_of(Run &run, const Recipe &recipe, std::shared_ptr<const Source> source);
Data data_of(Run &run, const Recipe &recipe, const Data &given);

} // namespace mercer
