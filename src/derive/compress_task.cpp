#include "compress_task.h"

#include "../gram/object_matrix.h"

#include <cinttypes>

namespace mercer {

Originals::Originals(const Model &model) : r(model.r()), count(r) {
    if (model.tensor("nu")) mean = count++;
    const Tensor *w = model.can(MERCER_CAN_DENSITY) ? model.tensor("w") : nullptr;
    double sum = 0;
    // A model has a density estimate only if it has weights, none of them negative, with a sum
    // above 0.
    for (int64_t i = 0; w && i < model.m(); ++i) {
        const double weight = tensor_data<double>(*w)[i];
        if (weight < 0) return;
        sum += weight;
    }
    if (sum > 0) density = count++;
}

Weights<double> Originals::columns(Run &run, const Model &model) const {
    Weights<double> out(run, model.m(), count);
    const Tensor &a = *model.tensor("A");
    for (int64_t i = 0; i < out.rows; ++i)
        for (int64_t j = 0; j < r; ++j) out.values[i * out.stride + j] = entry_of(a, i * r + j);
    if (mean >= 0) out.column(mean, tensor_data<double>(*model.tensor("nu")), 1);
    if (density >= 0) out.column(density, tensor_data<double>(*model.tensor("w")), 1);
    return out;
}

Prepared centres_as_rows(const DeriveTask &task, const Model &model, const Originals &originals) {
    Prepared out;
    out.source = model.centres();
    out.kernel = model.kernel();
    if (model.indices()) {
        const auto all = task.data ? std::dynamic_pointer_cast<const ObjectSource>(task.data->source) : nullptr;
        if (!all)
            fail(MERCER_E_ARGUMENT,
                 "data: the centres of the model are objects, so the objects that it was fitted on are required");
        if (all->rows() != model.n())
            fail(MERCER_E_SHAPE, "data: %" PRId64 " objects, but the model was fitted on %" PRId64, all->rows(),
                 model.n());
        check_objects(out.kernel, *all);
        if (const auto *matrix = dynamic_cast<const MatrixSource *>(all.get())) matrix->check_fit(task.run);
        out.source = std::make_shared<ObjectSource>(all, model.indices(), model.m());
        for (Leaf &leaf : out.kernel.leaves)
            if (!leaf.plugin && all->psd()) leaf.facts.flags |= MERCER_PSD;
    } else if (task.data) {
        fail(MERCER_E_ARGUMENT, "data: must be NULL, because the model stores its centres");
    }
    out.kernel.need_psd("'compress'");
    out.f32 = model.dtype() == MERCER_F32;
    out.weights = RowWeights(model.m());
    if (originals.density < 0) return out;
    const double *w = tensor_data<double>(*model.tensor("w"));
    CountedVector<double> weights(w, w + model.m());
    scale_weights(weights, model.m());
    out.weights = std::move(weights);
    return out;
}

void check_compressible(const Model &model) {
    const Expression &kernel = model.kernel();
    if (model.tensor("v"))
        fail(MERCER_E_UNSUPPORTED, "compress: models with a denominator g (tensor 'v') are not supported");
    if (model.has_frequencies())
        fail(MERCER_E_UNSUPPORTED, "compress: models of random features (tensor 'frequencies') are not supported");
    if (kernel.has_user() && !kernel.user && !model.indices())
        fail(MERCER_E_UNSUPPORTED, "the model's user kernel is not set: restore it with mercer_model_bind");
}

namespace {

// True if the recipe has no reducer, or if it requests at least as many centres as the model has
// and all other parameters of the reducer have their defaults, so that none of them can end the
// selection earlier.
bool wants_all(const Recipe &recipe, int64_t m) {
    if (!recipe.reducer()) return true;
    const Params &params = recipe.reducer_params();
    bool all = false;
    for (size_t i = 0; i < params.table().rows().size(); ++i) {
        const mercer_row &row = params.table().rows()[i].row;
        const std::string value = params.get(static_cast<int64_t>(i));
        int64_t count = 0;
        if (row.flags & MERCER_CENTRES)
            all = parse_number(value, &count) && count >= m;
        else if (value != row.initial)
            return false;
    }
    return all;
}

} // namespace

bool copies_model(const Recipe &recipe, const Model &model, const Originals &originals) {
    return wants_all(recipe, model.m()) || model.m() == 0 || originals.count == 0;
}

} // namespace mercer
