# RSpectra in R on a stored, centred kernel matrix: see ../peer.h. R has doubles only.
reply <- function(line) {
  words <- strsplit(line, " ")[[1]]
  numbers <- as.numeric(words[-(1:2)])
  if (!requireNamespace("RSpectra", quietly = TRUE)) return("absent no R package RSpectra")
  file <- file(words[2], "rb")
  on.exit(close(file))
  header <- rawToChar(readBin(file, "raw", 128)[-(1:10)]) # as the bench writes them, behind magic and length
  end <- sub(".*shape", "", header)
  shape <- as.integer(regmatches(end, gregexpr("[0-9]+", end))[[1]])
  size <- if (grepl("<f8", header, fixed = TRUE)) 8 else 4
  x <- matrix(readBin(file, "double", prod(shape), size = size), shape[1], shape[2], byrow = TRUE)

  start <- proc.time()[["elapsed"]]
  z <- x / numbers[1]
  half <- rowSums(z^2) / 2
  k <- exp(tcrossprod(z) - outer(half, half, "+"))
  means <- colMeans(k)
  k <- k - outer(means, means, "+") + mean(means)
  values <- RSpectra::eigs_sym(k, numbers[2], which = "LA", opts = list(tol = numbers[3]))$values
  seconds <- proc.time()[["elapsed"]] - start
  paste("ok", seconds, paste(format(values / shape[1], digits = 17), collapse = " "), "#", R.version.string)
}

input <- file("stdin", "r")
while (length(line <- readLines(input, 1)) > 0) {
  if (line == "") next
  answer <- tryCatch(reply(line), error = function(problem) paste("error", gsub("\n", " ", conditionMessage(problem))))
  cat(answer, "\n", sep = "")
  flush(stdout())
}
