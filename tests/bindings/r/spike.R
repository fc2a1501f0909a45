# What R needs of the ABI, tried on it. Run in the folder of mercer.so.
so <- dyn.load(file.path(getwd(), "mercer.so"))
native <- getDLLRegisteredRoutines(so)$.Call
fit <- function(x, method, ..., function_ = NULL) {
    options <- list(...)
    .Call(native$fit, x, method, as.character(names(options)), vapply(options, format, "", digits = 17), function_)
}
transform <- function(model, x) .Call(native$transform, model, x)

set.seed(1)
x <- matrix(rnorm(400 * 5), 400) + 3 * sample(0:2, 400, TRUE)
q <- matrix(rnorm(70 * 5), 70)
sigma <- 4
r <- 6
gaussian <- function(x, y) exp(-(outer(rowSums(x^2), rowSums(y^2), "+") - 2 * tcrossprod(x, y)) / (2 * sigma^2))
same <- function(a, b, tol) all(pmin(apply(abs(a - b), 2, max), apply(abs(a + b), 2, max)) < tol)
message_of <- function(expr, class = "error") tryCatch({ expr; stop("nothing was raised") }, condition = function(c) {
    stopifnot(inherits(c, class))
    conditionMessage(c)
})

# Numbers: the centred kernel matrix by R's own eigen.
centre <- diag(400) - 1 / 400
top <- eigen(centre %*% gaussian(x, x) %*% centre, symmetric = TRUE)
scores <- top$vectors[, 1:r] %*% diag(sqrt(top$values[1:r]))
model <- fit(x, "kpca", sigma = sigma, components = r)
stopifnot(all.equal(drop(.Call(native$tensor, model, "lambda")) * 400, top$values[1:r], tolerance = 1e-10),
          same(transform(model, x), scores, 1e-8))

# A kernel in R, which then stops; an error of its own class keeps it; so does a restart.
user <- fit(x, "kpca", kernel = "user", components = r, function_ = gaussian)
stopifnot(same(transform(user, x), scores, 1e-7))
stopifnot(message_of(fit(x, "kpca", kernel = "user", function_ = function(x, y) stop("my own text, \u00fc"))) == "my own text, \u00fc")
own <- structure(class = c("my_error", "error", "condition"), list(message = "mine", call = NULL))
stopifnot(message_of(fit(x, "kpca", kernel = "user", function_ = function(x, y) stop(own)), "my_error") == "mine")
stopifnot(withRestarts(fit(x, "kpca", kernel = "user", function_ = function(x, y) invokeRestart("leave", 7)), leave = identity) == 7)
stopifnot(grepl("256 x 256", message_of(fit(x, "kpca", kernel = "user", function_ = function(x, y) x))))
stopifnot(same(transform(user, x), scores, 1e-7))
nested <- function(a, b) { # uses the library inside of its own call
    transform(model, a)
    message_of(transform(model, a[, 1:2]))
    gaussian(a, b)
}
stopifnot(same(transform(fit(x, "kpca", kernel = "user", components = r, function_ = nested), x), scores, 1e-7))

# saveRDS: the bytes go into the file, the handle is made again.
file <- tempfile()
saveRDS(.Call(native$to_raw, model), file)
stopifnot(identical(transform(.Call(native$from_raw, readRDS(file)), q), transform(model, q)))

# The interrupt key.
interrupt <- function(expr) {
    at <- tempfile()
    system(sprintf("(sleep 2; date +%%s.%%N >%s; kill -INT %d) &", at, Sys.getpid()))
    message_of(expr, "interrupt")
    now <- as.numeric(Sys.time())
    late <- now - as.numeric(readLines(at))
    cat(sprintf("interrupt condition after %.3f s\n", late))
    stopifnot(late < 0.5, same(transform(fit(x, "kpca", sigma = sigma, components = r), x), scores, 1e-8))
}
big <- matrix(rnorm(60000 * 16), 60000)
# 1.8e9 kernel values a pass; never converges to 1e-15. Then 2080 tiles of 20 ms.
interrupt(fit(big, "kpca", sigma = sigma, gram.storage = "stream", solver.tol = 1e-15, solver.max_passes = 1000))
interrupt(fit(big[1:16384, ], "kpca", kernel = "user", function_ = function(x, y) { Sys.sleep(0.02); tcrossprod(x, y) }))
interrupt(fit(big[1:1000, ], "kpca", kernel = "user", function_ = function(x, y) Sys.sleep(60)))

# Finalisers, and memory that stays flat over errors.
rm(user)
invisible(gc())
stopifnot(.Call(native$alive) == 0)
bad <- x
bad[4, 2] <- NaN
cases <- list(quote(fit(x, "kpca", sigm = 1)), quote(fit(x, "kpca", sigma = -1)), quote(fit(bad, "kpca")), quote(fit(x, "kpcaa")),
              quote(transform(model, q[, 1:2])), quote(.Call(native$from_raw, as.raw(1:99))), quote(.Call(native$tensor, model, "Z")))
for (case in cases) cat("   ", message_of(eval(case)), "\n")
rss <- function() { gc(); as.numeric(strsplit(grep("VmRSS", readLines("/proc/self/status"), value = TRUE), " +")[[1]][2]) }
for (i in 1:250) {
    if (i == 50) before <- rss()
    for (case in cases) message_of(eval(case))
}
more <- rss() - before
cat(more, "kB more after 200 repeats of", length(cases), "errors\n")
stopifnot(more < 4000)
