/* Offsets and sizes of every public struct, as they are on all 64-bit platforms. A field may be
 * added at the end of a struct, which changes the struct's size here; all other lines must stay,
 * because from MERCER_ABI 1 on a change would break existing programs and plugins. symbols.py
 * checks that no struct and no field is missing here. This file is compiled as C and as C++. */
#include <mercer/plugin.h>

#ifdef __cplusplus
#define PIN static_assert
#else
#define PIN _Static_assert
#endif
#define AT(type, field, offset) PIN(offsetof(type, field) == (offset), #type "." #field)
#define SIZE(type, size) PIN(sizeof(type) == (size), "sizeof " #type)

/* clang-format off */
SIZE(mercer_view, 56);
AT(mercer_view, struct_size, 0);
AT(mercer_view, dtype, 8);
AT(mercer_view, reserved, 12);
AT(mercer_view, rows, 16);
AT(mercer_view, cols, 24);
AT(mercer_view, row_stride, 32);
AT(mercer_view, col_stride, 40);
AT(mercer_view, data, 48);

SIZE(mercer_progress, 40);
AT(mercer_progress, struct_size, 0);
AT(mercer_progress, stage, 8);
AT(mercer_progress, fraction, 16);
AT(mercer_progress, elapsed, 24);
AT(mercer_progress, remaining, 32);

SIZE(mercer_run, 56);
AT(mercer_run, struct_size, 0);
AT(mercer_run, threads, 8);
AT(mercer_run, memory, 16);
AT(mercer_run, progress, 24);
AT(mercer_run, user, 32);
AT(mercer_run, cancel, 40);
AT(mercer_run, checkpoint, 48);

SIZE(mercer_entry, 72);
AT(mercer_entry, struct_size, 0);
AT(mercer_entry, name, 8);
AT(mercer_entry, aliases, 16);
AT(mercer_entry, summary, 24);
AT(mercer_entry, reference, 32);
AT(mercer_entry, path, 40);
AT(mercer_entry, value, 48);
AT(mercer_entry, version, 56);
AT(mercer_entry, takes, 64);

SIZE(mercer_file, 56);
AT(mercer_file, struct_size, 0);
AT(mercer_file, format, 8);
AT(mercer_file, separator, 12);
AT(mercer_file, header, 16);
AT(mercer_file, values, 20);
AT(mercer_file, labels, 24);
AT(mercer_file, weights, 32);
AT(mercer_file, columns, 40);
AT(mercer_file, ids, 48);

SIZE(mercer_chunks, 56);
AT(mercer_chunks, struct_size, 0);
AT(mercer_chunks, dtype, 8);
AT(mercer_chunks, flags, 12);
AT(mercer_chunks, rows, 16);
AT(mercer_chunks, cols, 24);
AT(mercer_chunks, next, 32);
AT(mercer_chunks, user, 40);
AT(mercer_chunks, release, 48);

SIZE(mercer_sparse, 72);
AT(mercer_sparse, struct_size, 0);
AT(mercer_sparse, layout, 8);
AT(mercer_sparse, dtype, 12);
AT(mercer_sparse, index_dtype, 16);
AT(mercer_sparse, base, 20);
AT(mercer_sparse, rows, 24);
AT(mercer_sparse, cols, 32);
AT(mercer_sparse, count, 40);
AT(mercer_sparse, offsets, 48);
AT(mercer_sparse, indices, 56);
AT(mercer_sparse, values, 64);

SIZE(mercer_objects, 56);
AT(mercer_objects, struct_size, 0);
AT(mercer_objects, rows, 8);
AT(mercer_objects, values, 16);
AT(mercer_objects, flags, 20);
AT(mercer_objects, pairs, 24);
AT(mercer_objects, self, 32);
AT(mercer_objects, user, 40);
AT(mercer_objects, release, 48);

SIZE(mercer_data_facts, 112);
AT(mercer_data_facts, struct_size, 0);
AT(mercer_data_facts, rows, 8);
AT(mercer_data_facts, cols, 16);
AT(mercer_data_facts, dtype, 24);
AT(mercer_data_facts, kind, 28);
AT(mercer_data_facts, labels, 32);
AT(mercer_data_facts, names, 88);
AT(mercer_data_facts, ids, 96);
AT(mercer_data_facts, integers, 104);
AT(mercer_data_facts, reserved, 108);

SIZE(mercer_row, 72);
AT(mercer_row, struct_size, 0);
AT(mercer_row, name, 8);
AT(mercer_row, doc, 16);
AT(mercer_row, initial, 24);
AT(mercer_row, choices, 32);
AT(mercer_row, group, 40);
AT(mercer_row, type, 48);
AT(mercer_row, flags, 52);
AT(mercer_row, lo, 56);
AT(mercer_row, hi, 64);

SIZE(mercer_user_kernel, 40);
AT(mercer_user_kernel, struct_size, 0);
AT(mercer_user_kernel, flags, 8);
AT(mercer_user_kernel, reserved, 12);
AT(mercer_user_kernel, tile, 16);
AT(mercer_user_kernel, user, 24);
AT(mercer_user_kernel, release, 32);

SIZE(mercer_figure, 16);
AT(mercer_figure, likely, 0);
AT(mercer_figure, most, 8);

SIZE(mercer_forecast, 120);
AT(mercer_forecast, struct_size, 0);
AT(mercer_forecast, bytes, 8);
AT(mercer_forecast, kernel_evaluations, 24);
AT(mercer_forecast, passes, 40);
AT(mercer_forecast, flops, 56);
AT(mercer_forecast, dense_seconds, 72);
AT(mercer_forecast, streams, 80);
AT(mercer_forecast, reserved, 84);
AT(mercer_forecast, strategy, 88);
AT(mercer_forecast, seconds, 96);
AT(mercer_forecast, rows, 104);
AT(mercer_forecast, sample_seconds, 112);

SIZE(mercer_output, 48);
AT(mercer_output, struct_size, 0);
AT(mercer_output, name, 8);
AT(mercer_output, doc, 16);
AT(mercer_output, rows, 24);
AT(mercer_output, cols, 32);
AT(mercer_output, dtype, 40);
AT(mercer_output, reserved, 44);

SIZE(mercer_summary, 72);
AT(mercer_summary, struct_size, 0);
AT(mercer_summary, n, 8);
AT(mercer_summary, d, 16);
AT(mercer_summary, m, 24);
AT(mercer_summary, r, 32);
AT(mercer_summary, dtype, 40);
AT(mercer_summary, outcome, 44);
AT(mercer_summary, capabilities, 48);
AT(mercer_summary, reserved, 52);
AT(mercer_summary, total_variance, 56);
AT(mercer_summary, d_mapped, 64);

SIZE(mercer_sink, 24);
AT(mercer_sink, struct_size, 0);
AT(mercer_sink, write, 8);
AT(mercer_sink, user, 16);

SIZE(mercer_source, 24);
AT(mercer_source, struct_size, 0);
AT(mercer_source, read, 8);
AT(mercer_source, user, 16);

SIZE(mercer_param, 88);
AT(mercer_param, struct_size, 0);
AT(mercer_param, offset, 8);
AT(mercer_param, row, 16);

SIZE(mercer_kernel_input, 24);
AT(mercer_kernel_input, struct_size, 0);
AT(mercer_kernel_input, d, 8);
AT(mercer_kernel_input, bandwidth, 16);

SIZE(mercer_kernel_facts, 56);
AT(mercer_kernel_facts, struct_size, 0);
AT(mercer_kernel_facts, h, 8);
AT(mercer_kernel_facts, kappa, 16);
AT(mercer_kernel_facts, lo, 24);
AT(mercer_kernel_facts, hi, 32);
AT(mercer_kernel_facts, lipschitz, 40);
AT(mercer_kernel_facts, flags, 48);
AT(mercer_kernel_facts, reserved, 52);

SIZE(mercer_kernel_ops, 80);
AT(mercer_kernel_ops, struct_size, 0);
AT(mercer_kernel_ops, form, 8);
AT(mercer_kernel_ops, reserved, 12);
AT(mercer_kernel_ops, choose_form, 16);
AT(mercer_kernel_ops, finish, 24);
AT(mercer_kernel_ops, map, 32);
AT(mercer_kernel_ops, block, 40);
AT(mercer_kernel_ops, facts, 48);
AT(mercer_kernel_ops, log_map, 56);
AT(mercer_kernel_ops, profile, 64);
AT(mercer_kernel_ops, derivative, 72);

SIZE(mercer_shape, 72);
AT(mercer_shape, struct_size, 0);
AT(mercer_shape, n, 8);
AT(mercer_shape, d, 16);
AT(mercer_shape, r, 24);
AT(mercer_shape, dtype, 32);
AT(mercer_shape, form, 36);
AT(mercer_shape, flags, 40);
AT(mercer_shape, reserved, 44);
AT(mercer_shape, landmarks, 48);
AT(mercer_shape, h, 56);
AT(mercer_shape, kappa, 64);

SIZE(mercer_cost, 112);
AT(mercer_cost, struct_size, 0);
AT(mercer_cost, bytes, 8);
AT(mercer_cost, kernel_evaluations, 16);
AT(mercer_cost, passes, 24);
AT(mercer_cost, columns, 32);
AT(mercer_cost, blocks, 40);
AT(mercer_cost, m, 48);
AT(mercer_cost, flops, 56);
AT(mercer_cost, first_columns, 64);
AT(mercer_cost, first_blocks, 72);
AT(mercer_cost, likely_passes, 80);
AT(mercer_cost, likely_m, 88);
AT(mercer_cost, likely_evaluations, 96);
AT(mercer_cost, likely_bytes, 104);

SIZE(mercer_want, 16);
AT(mercer_want, struct_size, 0);
AT(mercer_want, assignment, 8);

SIZE(mercer_reducer_ops, 32);
AT(mercer_reducer_ops, struct_size, 0);
AT(mercer_reducer_ops, flags, 8);
AT(mercer_reducer_ops, reserved, 12);
AT(mercer_reducer_ops, forecast, 16);
AT(mercer_reducer_ops, reduce, 24);

SIZE(mercer_tile, 88);
AT(mercer_tile, struct_size, 0);
AT(mercer_tile, dtype, 8);
AT(mercer_tile, reserved, 12);
AT(mercer_tile, row0, 16);
AT(mercer_tile, rows, 24);
AT(mercer_tile, col0, 32);
AT(mercer_tile, cols, 40);
AT(mercer_tile, stride, 48);
AT(mercer_tile, values, 56);
AT(mercer_tile, x, 64);
AT(mercer_tile, y, 72);
AT(mercer_tile, d, 80);

SIZE(mercer_consumer, 48);
AT(mercer_consumer, struct_size, 0);
AT(mercer_consumer, state_size, 8);
AT(mercer_consumer, row_size, 16);
AT(mercer_consumer, user, 24);
AT(mercer_consumer, tile, 32);
AT(mercer_consumer, combine, 40);

SIZE(mercer_visit, 72);
AT(mercer_visit, struct_size, 0);
AT(mercer_visit, row0, 8);
AT(mercer_visit, rows, 16);
AT(mercer_visit, points, 24);
AT(mercer_visit, index, 32);
AT(mercer_visit, count, 40);
AT(mercer_visit, measure, 48);
AT(mercer_visit, reserved, 52);
AT(mercer_visit, list, 56);
AT(mercer_visit, listed, 64);

SIZE(mercer_gram, 64);
AT(mercer_gram, struct_size, 0);
AT(mercer_gram, n, 8);
AT(mercer_gram, op, 16);
AT(mercer_gram, self, 24);
AT(mercer_gram, columns, 32);
AT(mercer_gram, row_squares, 40);
AT(mercer_gram, distance, 48);
AT(mercer_gram, positive, 56);
AT(mercer_gram, reserved, 60);

SIZE(mercer_pivot_state, 120);
AT(mercer_pivot_state, struct_size, 0);
AT(mercer_pivot_state, n, 8);
AT(mercer_pivot_state, step, 16);
AT(mercer_pivot_state, residual, 24);
AT(mercer_pivot_state, weights, 32);
AT(mercer_pivot_state, index, 40);
AT(mercer_pivot_state, mse, 48);
AT(mercer_pivot_state, least, 56);
AT(mercer_pivot_state, self, 64);
AT(mercer_pivot_state, columns, 72);
AT(mercer_pivot_state, product, 80);
AT(mercer_pivot_state, row_squares, 88);
AT(mercer_pivot_state, factor_rows, 96);
AT(mercer_pivot_state, energy, 104);
AT(mercer_pivot_state, expansion, 112);

SIZE(mercer_pivot_rule, 64);
AT(mercer_pivot_rule, struct_size, 0);
AT(mercer_pivot_rule, needs, 8);
AT(mercer_pivot_rule, reserved, 12);
AT(mercer_pivot_rule, user, 16);
AT(mercer_pivot_rule, init, 24);
AT(mercer_pivot_rule, score, 32);
AT(mercer_pivot_rule, update, 40);
AT(mercer_pivot_rule, delta, 48);
AT(mercer_pivot_rule, drop, 56);
AT(mercer_pivot_rule, reserved_too, 60);

SIZE(mercer_pivot_stop, 80);
AT(mercer_pivot_stop, struct_size, 0);
AT(mercer_pivot_stop, m, 8);
AT(mercer_pivot_stop, mse, 16);
AT(mercer_pivot_stop, maxerr, 24);
AT(mercer_pivot_stop, trace, 32);
AT(mercer_pivot_stop, factor, 40);
AT(mercer_pivot_stop, needs, 44);
AT(mercer_pivot_stop, selection, 48);
AT(mercer_pivot_stop, reserved, 52);
AT(mercer_pivot_stop, rank, 56);
AT(mercer_pivot_stop, must, 64);
AT(mercer_pivot_stop, never, 72);

SIZE(mercer_pivots, 112);
AT(mercer_pivots, struct_size, 0);
AT(mercer_pivots, count, 8);
AT(mercer_pivots, index, 16);
AT(mercer_pivots, factor, 24);
AT(mercer_pivots, factor_row_stride, 32);
AT(mercer_pivots, factor_col_stride, 40);
AT(mercer_pivots, residual, 48);
AT(mercer_pivots, mse, 56);
AT(mercer_pivots, trace, 64);
AT(mercer_pivots, sweeps, 72);
AT(mercer_pivots, rank_reached, 80);
AT(mercer_pivots, reserved, 84);
AT(mercer_pivots, passes, 88);
AT(mercer_pivots, refreshes, 96);
AT(mercer_pivots, columns, 104);

SIZE(mercer_range, 24);
AT(mercer_range, block, 0);
AT(mercer_range, first, 8);
AT(mercer_range, count, 16);

SIZE(mercer_operator, 64);
AT(mercer_operator, struct_size, 0);
AT(mercer_operator, n, 8);
AT(mercer_operator, dtype, 16);
AT(mercer_operator, reserved, 20);
AT(mercer_operator, self, 24);
AT(mercer_operator, apply, 32);
AT(mercer_operator, apply_rough, 40);
AT(mercer_operator, dense, 48);
AT(mercer_operator, diagonal, 56);

SIZE(mercer_eigen_request, 112);
AT(mercer_eigen_request, struct_size, 0);
AT(mercer_eigen_request, r, 8);
AT(mercer_eigen_request, tol, 16);
AT(mercer_eigen_request, max_passes, 24);
AT(mercer_eigen_request, start_count, 32);
AT(mercer_eigen_request, start, 40);
AT(mercer_eigen_request, locked, 48);
AT(mercer_eigen_request, enough, 72);
AT(mercer_eigen_request, user, 80);
AT(mercer_eigen_request, rough, 88);
AT(mercer_eigen_request, reserved, 92);
AT(mercer_eigen_request, scale, 96);
AT(mercer_eigen_request, share, 104);

SIZE(mercer_eigen_result, 80);
AT(mercer_eigen_result, struct_size, 0);
AT(mercer_eigen_result, values, 8);
AT(mercer_eigen_result, vectors, 16);
AT(mercer_eigen_result, residuals, 40);
AT(mercer_eigen_result, most_negative, 48);
AT(mercer_eigen_result, applies, 56);
AT(mercer_eigen_result, passes, 64);
AT(mercer_eigen_result, converged, 72);
AT(mercer_eigen_result, reserved, 76);

SIZE(mercer_solver_ops, 32);
AT(mercer_solver_ops, struct_size, 0);
AT(mercer_solver_ops, flags, 8);
AT(mercer_solver_ops, reserved, 12);
AT(mercer_solver_ops, forecast, 16);
AT(mercer_solver_ops, solve, 24);

SIZE(mercer_host, 320);
AT(mercer_host, struct_size, 0);
AT(mercer_host, abi, 8);
AT(mercer_host, reserved, 12);
AT(mercer_host, fail, 16);
AT(mercer_host, log, 24);
AT(mercer_host, report, 32);
AT(mercer_host, progress, 40);
AT(mercer_host, alloc, 48);
AT(mercer_host, uniform, 56);
AT(mercer_host, parallel, 64);
AT(mercer_host, exp_f32, 72);
AT(mercer_host, exp_f64, 80);
AT(mercer_host, reach, 88);
AT(mercer_host, gemm, 96);
AT(mercer_host, trsm, 104);
AT(mercer_host, potrf, 112);
AT(mercer_host, eigh, 120);
AT(mercer_host, block, 128);
AT(mercer_host, dot, 136);
AT(mercer_host, times, 144);
AT(mercer_host, copy, 152);
AT(mercer_host, norms, 160);
AT(mercer_host, random, 168);
AT(mercer_host, orthonormalise, 176);
AT(mercer_host, get, 184);
AT(mercer_host, put, 192);
AT(mercer_host, checkpoint, 200);
AT(mercer_host, resume, 208);
AT(mercer_host, visit, 216);
AT(mercer_host, columns, 224);
AT(mercer_host, pairs, 232);
AT(mercer_host, rows, 240);
AT(mercer_host, weights, 248);
AT(mercer_host, landmarks, 256);
AT(mercer_host, pivot_cholesky, 264);
AT(mercer_host, pivot_cost, 272);
AT(mercer_host, give, 280);
AT(mercer_host, radial, 288);
AT(mercer_host, nearest, 296);
AT(mercer_host, gram, 304);
AT(mercer_host, gram_cost, 312);

SIZE(mercer_module, 88);
AT(mercer_module, struct_size, 0);
AT(mercer_module, abi, 8);
AT(mercer_module, kind, 12);
AT(mercer_module, header, 16);
AT(mercer_module, name, 24);
AT(mercer_module, version, 32);
AT(mercer_module, summary, 40);
AT(mercer_module, reference, 48);
AT(mercer_module, params, 56);
AT(mercer_module, param_count, 64);
AT(mercer_module, params_size, 72);
AT(mercer_module, ops, 80);
