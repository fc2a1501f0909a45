// How fast this machine multiplies matrices, for forecasts in seconds. Measured once in a process; no path is chosen by it.
#pragma once

namespace mercer {

double product_rate(); // flops a second of one thread, in f32
double now_seconds();  // of a clock that only goes forwards

} // namespace mercer
